//! How labels are inferred: one file per rule.

pub(crate) mod adaptive;
pub(crate) mod method;
pub(crate) mod smoothing;
mod training;
