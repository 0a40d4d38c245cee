//! The engine of handful: few-shot classification of frozen features.
//!
//! A [`Task`] holds a few labelled rows, unlabelled ones and the rows to label; a [`Method`] turns it into a [`Solution`].
//! Methods come from typed builders ([`methods::DmIda::builder`]), or by name from [`methods::build`]; a type of your own
//! that implements [`Method`] goes wherever they go. The equations of the paper are in [`paper`], by number.
//!
//! ```
//! use handful::methods::DmIda;
//! use handful::{Matrix, Method, Task, Unlabeled};
//!
//! let support = Matrix::from_vec(2, 2, vec![1.0, 0.1, 0.1, 1.0]);
//! let query = Matrix::from_vec(4, 2, vec![0.9, 0.2, 1.0, 0.0, 0.2, 0.8, 0.0, 1.1]);
//! let task = Task::new(0, 2, support, vec![0, 1], Unlabeled::Query, query)?;
//! let solution = DmIda::builder().steps(50).build()?.solve(&task)?;
//! assert_eq!(solution.query_labels(), [0, 0, 1, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod differentiation;
pub mod embedder;
pub mod error;
pub mod fit;
pub mod graph;
pub mod linalg;
pub mod methods;
pub mod paper;
pub mod parts;
pub mod scalar;
pub mod self_training;
pub mod signed;
pub(crate) mod simd;
pub mod solution;
pub mod task;
pub mod transform;

pub use linalg::Matrix;
pub use methods::{Method, PriorKnowledge};
pub use paper::objective::Objective;
pub use self_training::select::SelectorKind;
pub use simd::{UnknownPath, forced_path, instruction_set};
pub use solution::Solution;
pub use task::{Task, Unlabeled};

/// The hot loops themselves, for `cargo bench` to measure; no part of the interface.
#[doc(hidden)]
pub mod kernels {
    pub use crate::simd::{Kernels, PaddedRows, Path};
}

/// The method that CONTRIBUTING.md writes must compile.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
pub struct Contributing;
