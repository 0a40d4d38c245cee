//! Dense linear algebra: the matrix, products and eigenvectors, principal subspaces, transport plans.

pub(crate) mod dense;
pub(crate) mod matrix;
pub(crate) mod sinkhorn;
pub(crate) mod subspace;
pub(crate) mod sums;

pub use matrix::Matrix;
