//! Principal subspaces from inner products alone: neither the features nor their dimension is needed.
//!
//! With rows X and `X X^T = U L U^T`, the top right singular vectors are `B = X^T U L^-1/2`, so the coordinates of any
//! row x are `x B = (x X^T) U L^-1/2`.

use nalgebra::DMatrix;

use crate::linalg::Matrix;
use crate::linalg::dense::symmetric_eigen;

/// Eigenvalues below this part of the largest are rounding of single-precision products.
const RANK_TOLERANCE: f64 = 1e-6;

/// The top principal subspace of some rows.
pub(crate) struct Subspace {
    /// Left singular vectors (rows x dimensions).
    pub left: Matrix<f64>,
    /// U L^-1/2 (rows x dimensions).
    coefficients: Matrix<f64>,
}

impl Subspace {
    /// At most `dimensions` of them, fewer where the rows span fewer; at least one.
    pub fn new(gram: &Matrix<f64>, dimensions: usize) -> Self {
        let (values, vectors, rank) = principal_vectors(gram, dimensions);
        let rank = rank.max(1);
        let mut left = Matrix::zeros(gram.rows(), rank);
        let mut coefficients = Matrix::zeros(gram.rows(), rank);
        for row in 0..gram.rows() {
            for k in 0..rank {
                let value = vectors[(row, k)];
                left.row_mut(row)[k] = value;
                // All rows zero: every coordinate is zero.
                coefficients.row_mut(row)[k] = if values[k] > 0.0 { value / values[k].sqrt() } else { 0.0 };
            }
        }
        Self { left, coefficients }
    }

    /// U L^-1/2: the weights with which the rows make up the orthonormal directions.
    pub fn coefficients(&self) -> &Matrix<f64> {
        &self.coefficients
    }

    /// Coordinates of rows, given their inner products with the rows the subspace was made from.
    pub fn coordinates(&self, products: &Matrix<f64>) -> Matrix<f64> {
        multiply(products, &self.coefficients)
    }
}

/// Eigenvalues and eigenvectors of a Gram matrix, and how many of the first `dimensions` are more than rounding.
pub(crate) fn principal_vectors(gram: &Matrix<f64>, dimensions: usize) -> (Vec<f64>, DMatrix<f64>, usize) {
    let (values, vectors) = symmetric_eigen(gram);
    let floor = values.first().copied().unwrap_or(0.0) * RANK_TOLERANCE;
    let rank = values.iter().take(dimensions).filter(|&&value| value > floor).count();
    (values, vectors, rank)
}

/// `a b`.
pub(crate) fn multiply(a: &Matrix<f64>, b: &Matrix<f64>) -> Matrix<f64> {
    let mut out = Matrix::zeros(a.rows(), b.columns());
    for row in 0..a.rows() {
        let to = out.row_mut(row);
        for (&weight, from) in a.row(row).iter().zip(b.iter_rows()) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += weight * from);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dense::inner_products;

    fn rows(count: usize, dim: usize) -> Matrix<f64> {
        let value = |at: usize| ((at * 7919 + 13) % 1009) as f64 / 500.0 - 1.0;
        Matrix::from_vec(count, dim, (0..count * dim).map(value).collect())
    }

    #[test]
    fn all_dimensions_keep_every_inner_product() {
        let x = rows(6, 20);
        let gram = inner_products(&x, &x);
        let coordinates = Subspace::new(&gram, 99).coordinates(&gram);
        assert_eq!(coordinates.columns(), 6);
        let again = inner_products(&coordinates, &coordinates);
        for (a, b) in again.as_slice().iter().zip(gram.as_slice()) {
            assert!((a - b).abs() < 1e-9);
        }
    }

    #[test]
    fn the_top_dimension_is_the_direction_of_most_energy() {
        // Rows along (1, 0) and a little along (0, 1); a foreign row is projected on (1, 0).
        let x = Matrix::from_vec(3, 2, vec![5.0, 0.0, -4.0, 0.0, 0.0, 1.0]);
        let space = Subspace::new(&inner_products(&x, &x), 1);
        let foreign = Matrix::from_vec(1, 2, vec![2.0, 7.0]);
        let coordinates = space.coordinates(&inner_products(&foreign, &x));
        assert!((coordinates.row(0)[0].abs() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn duplicates_and_zero_rows_span_what_they_span() {
        let x = rows(3, 10).gather(&[0, 0, 0, 1]);
        assert_eq!(Subspace::new(&inner_products(&x, &x), 10).left.columns(), 2);
        let zero = Subspace::new(&Matrix::zeros(3, 3), 5);
        assert_eq!(zero.coordinates(&Matrix::zeros(2, 3)).as_slice(), &[0.0, 0.0]);
    }
}
