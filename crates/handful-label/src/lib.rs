//! The practical job: a handful of labels in, the whole pool labelled, with what each label is worth.
//!
//! Three calls, which every front end shares:
//!
//! - [`PreparedPool::new`] does all that does not depend on labels, once: principal coordinates, neighbours, smoothing,
//!   whitening;
//! - [`PreparedPool::fit`] is what a person waits for after a click: labels for every row of the pool, and a model;
//! - [`LabelModel::predict`] needs neither the pool nor the labels any more.
//!
//! ```
//! use std::sync::Arc;
//! use handful::Matrix;
//! use handful_label::{LabelParams, PreparedPool};
//!
//! // Two groups of rows, one label in each.
//! let row = |at: usize| [(at % 2) as f32 + 0.01 * at as f32, 1.0 - (at % 2) as f32, 0.1];
//! let rows = Matrix::from_vec(20, 3, (0..20).flat_map(row).collect());
//! let pool = PreparedPool::new(Arc::new(rows), &LabelParams::default())?;
//! let fit = pool.fit(&[(0, 0), (1, 1)], 2)?;
//! assert!(fit.labelling.rows.iter().enumerate().all(|(at, row)| row.class == at % 2));
//! let new = Matrix::from_vec(1, 3, vec![0.1, 0.9, 0.1]);
//! assert_eq!(fit.model.predict(&new)?.rows[0].class, 0);
//! # Ok::<(), handful_label::LabelError>(())
//! ```
//!
//! Which rows to label first is [`PreparedPool::choose`]'s business, and [`PreparedPool::review`]'s once there are labels.
//! How labels are inferred is [`LabelParams::rule`]'s (`rules`); pools of more than
//! [`LabelParams::exact_rows`] rows are fitted on a sample and predicted from it. Results do not depend on the number of
//! threads.

mod acceptance;
pub mod calibration;
mod choose;
mod credibility;
mod error;
mod familiarity;
mod labelling;
mod map;
mod members;
mod memory;
mod mixture;
mod model;
mod model_file;
mod neighbourhood;
mod params;
mod pool;
mod prepared;
mod projection;
mod prototypes;
mod rules;
pub mod session;
mod strangers;

pub use acceptance::{Acceptance, Promise};
pub use calibration::Calibration;
pub use choose::{Choice, Chosen};
pub use error::LabelError;
pub use labelling::{Labelling, LeftOut, NeighbourRow, RowLabel};
pub use map::PoolMap;
pub use members::Member;
pub use memory::memory_estimate;
pub use mixture::Share;
pub use model::{LabelModel, ModelHeader};
pub use model_file::ModelError;
pub use params::{LabelParams, POOL, Rule, SmoothingParams};
pub use pool::{PoolRows, ReadError};
pub use prepared::{LabelEvidence, LabelFit, PreparedPool};
pub use prototypes::{PrototypePool, Prototypes};
pub use session::{Session, SessionError};
pub use strangers::StrangerGroup;

#[cfg(test)]
mod tests;
