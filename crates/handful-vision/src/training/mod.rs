//! Pretraining on base classes.

pub mod augment;
pub(crate) mod average;
pub(crate) mod batches;
pub mod checkpoint;
pub mod metrics;
pub(crate) mod mixing;
pub mod model;
pub mod plot;
mod rotation;
pub mod schedule;
pub mod settings;
pub mod sgd;
pub mod teacher;
pub mod trainer;
pub(crate) mod validation;
