//! Dense linear algebra: the matrix, products and eigenvectors, principal directions, transport plans.

pub(crate) mod conjugate_gradients;
pub(crate) mod dense;
pub mod landmarks;
pub(crate) mod matrix;
pub mod pca;
pub mod product;
pub(crate) mod sinkhorn;
pub(crate) mod subspace;
pub(crate) mod sums;
pub mod transport;

pub use matrix::Matrix;
pub use sums::{dot, unit};
