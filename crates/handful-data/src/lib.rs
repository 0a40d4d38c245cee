//! Feature tables, image datasets and few-shot tasks: everything that happens before learning.
//!
//! Data flows one way. A reader turns a file into a [`FeatureTable`]; an [`EpisodeSampler`] draws [`Episode`]s
//! from its classes, or [`read_task_list`] reads those that another program drew. Nothing here learns, and nothing
//! that learns opens files.

mod arrays;
pub mod atomic;
mod class_vectors;
pub mod datasets;
mod error;
pub mod heads;
pub mod labelled;
pub mod labels;
pub mod lock;
mod readers;
pub mod shipped;
pub mod spreadsheet;
pub mod synthetic;
mod table;
mod tasks;
mod writers;

pub use class_vectors::ClassVectors;
pub use error::DataError;
pub use labels::read_labels;
pub use readers::{OpenOptions, TableFormat, content_digest, open_table, parse_table, read_table};
pub use table::{ClassIndex, ClassSummary, FeatureTable, RowParts, TableSummary};
pub use tasks::{
    Episode, EpisodeSampler, EpisodeSpec, TASK_LIST_VERSION, log_gamma_variate, parse_task_list,
    read_task_list, write_task_list,
};
pub use writers::{Cells, write_columns, write_half_npz, write_table};
