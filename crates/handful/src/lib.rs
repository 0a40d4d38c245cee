//! The engine of handful: few-shot classification of frozen features.
//!
//! A [`matrix::Matrix`] holds features, one example a row.

pub mod matrix;
pub mod scalar;
pub mod simd;
