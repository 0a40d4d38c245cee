//! The engine of handful: few-shot classification of frozen features.

pub mod basis;
pub mod classifier;
pub mod error;
pub mod fisher;
pub mod fit;
pub mod ida_bound;
pub mod kernel;
mod linalg;
pub mod matrix;
pub mod methods;
pub mod objective;
pub mod presets;
pub mod scalar;
mod segment;
pub mod select;
pub mod self_training;
pub mod simd;
pub mod solution;
mod sums;
pub mod task;
pub mod transform;
