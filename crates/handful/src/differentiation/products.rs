//! Products of row-major matrices in double precision.
//!
//! nalgebra stores columns; a row-major matrix is its own transpose there, and `(A B)^T = B^T A^T`.

use nalgebra::{DMatrix, DMatrixView};

use crate::linalg::Matrix;

fn transposed(matrix: &Matrix<f64>) -> DMatrixView<'_, f64> {
    DMatrixView::from_slice(matrix.as_slice(), matrix.columns(), matrix.rows())
}

fn row_major(transposed: DMatrix<f64>) -> Matrix<f64> {
    let (columns, rows) = transposed.shape();
    Matrix::from_vec(rows, columns, transposed.data.into())
}

/// `A B`.
pub(super) fn product(a: &Matrix<f64>, b: &Matrix<f64>) -> Matrix<f64> {
    row_major(transposed(b) * transposed(a))
}

/// `A B^T`.
pub(super) fn inner_products(a: &Matrix<f64>, b: &Matrix<f64>) -> Matrix<f64> {
    row_major(transposed(b).transpose() * transposed(a))
}

/// `A^T B`.
pub(super) fn outer_products(a: &Matrix<f64>, b: &Matrix<f64>) -> Matrix<f64> {
    row_major(transposed(b) * transposed(a).transpose())
}

/// `A^-1 B` (`A^-T B` where `flipped`); not a number where there is no inverse.
pub(super) fn solve(a: &Matrix<f64>, b: &Matrix<f64>, flipped: bool) -> Matrix<f64> {
    let system = if flipped { transposed(a).into_owned() } else { transposed(a).transpose() };
    match system.lu().solve(&transposed(b).transpose()) {
        Some(solved) => row_major(solved.transpose()),
        None => Matrix::from_vec(b.rows(), b.columns(), vec![f64::NAN; b.rows() * b.columns()]),
    }
}

/// The transpose.
pub(super) fn transpose(a: &Matrix<f64>) -> Matrix<f64> {
    row_major(transposed(a).transpose())
}
