//! The dense algebra that is not hot enough for its own kernels: Gram matrices, eigenvectors, the row span.

use nalgebra::{DMatrix, DMatrixView, SymmetricEigen};

use crate::linalg::Matrix;
use crate::scalar::Scalar;

/// Inner products of every row of `a` (rows) with every row of `b` (columns), in the precision of the inputs.
pub(crate) fn inner_products<T: Scalar>(a: &Matrix<T>, b: &Matrix<T>) -> Matrix<T> {
    let mut out = Matrix::zeros(a.rows(), b.rows());
    if a.columns() > 0 {
        T::inner_products(a.as_slice(), b.as_slice(), a.columns(), out.as_mut_slice());
    }
    out
}

/// Row-major `out = a b^T` for one concrete precision; a row-major matrix is a column-major transposed one.
macro_rules! inner_products {
    ($name:ident, $type:ty) => {
        pub(crate) fn $name(a: &[$type], b: &[$type], columns: usize, out: &mut [$type]) {
            let a = DMatrixView::from_slice(a, columns, a.len() / columns);
            let b = DMatrixView::from_slice(b, columns, b.len() / columns).transpose();
            // out (column-major, b rows x a rows) is the row-major a rows x b rows.
            let mut out = nalgebra::DMatrixViewMut::from_slice(out, b.nrows(), a.ncols());
            out.gemm(1.0, &b, &a, 0.0);
        }
    };
}

inner_products!(inner_products_f32, f32);
inner_products!(inner_products_f64, f64);

/// Eigenvalues (falling) and eigenvectors (columns, in that order) of a symmetric matrix.
pub(crate) fn symmetric_eigen(matrix: &Matrix<f64>) -> (Vec<f64>, DMatrix<f64>) {
    let size = matrix.rows();
    if size == 0 {
        return (Vec::new(), DMatrix::zeros(0, 0));
    }
    let eigen = SymmetricEigen::new(DMatrix::from_column_slice(size, size, matrix.as_slice()));
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]).then(a.cmp(&b)));
    let values = order.iter().map(|&at| eigen.eigenvalues[at]).collect();
    let vectors = DMatrix::from_fn(size, size, |row, column| eigen.eigenvectors[(row, order[column])]);
    (values, vectors)
}

/// Coordinates of the rows in an orthonormal basis of their span, from their Gram matrix.
///
/// The rows of the Cholesky factor have the same inner products as the rows themselves, in at most as many dimensions
/// as there are rows. A row that depends on earlier ones (a duplicate, say) adds no dimension.
pub(crate) fn span_coordinates<T: Scalar>(gram: &Matrix<T>) -> Matrix<T> {
    let size = gram.rows();
    let largest = (0..size).map(|at| gram.row(at)[at].to_f64()).fold(0.0, f64::max);
    let tolerance = largest * 1e-6;
    let mut factor: Vec<Vec<f64>> = Vec::with_capacity(size);
    let mut pivots: Vec<usize> = Vec::new();
    for row in 0..size {
        let mut coordinates: Vec<f64> = Vec::with_capacity(pivots.len() + 1);
        for (dimension, &pivot) in pivots.iter().enumerate() {
            let known: f64 = coordinates.iter().zip(&factor[pivot]).map(|(a, b)| a * b).sum();
            coordinates.push((gram.row(row)[pivot].to_f64() - known) / factor[pivot][dimension]);
        }
        let rest = gram.row(row)[row].to_f64() - coordinates.iter().map(|value| value * value).sum::<f64>();
        if rest > tolerance {
            coordinates.push(rest.sqrt());
            pivots.push(row);
        }
        factor.push(coordinates);
    }
    let dimensions = pivots.len().max(1);
    let mut out = Matrix::zeros(size, dimensions);
    for (row, coordinates) in factor.iter().enumerate() {
        for (to, &from) in out.row_mut(row).iter_mut().zip(coordinates) {
            *to = T::from_f64(from);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn random(rows: usize, columns: usize, seed: u64) -> Matrix<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        Matrix::from_vec(rows, columns, (0..rows * columns).map(|_| rng.random_range(-1.0..1.0)).collect())
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn inner_products_are_row_by_row() {
        let (a, b) = (random(7, 11, 1), random(5, 11, 2));
        let products = inner_products(&a, &b);
        for i in 0..7 {
            for j in 0..5 {
                assert!((products.row(i)[j] - dot(a.row(i), b.row(j))).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn eigenvectors_rebuild_the_matrix_in_falling_order() {
        let x = random(6, 4, 3);
        let gram = inner_products(&x, &x);
        let (values, vectors) = symmetric_eigen(&gram);
        assert!(values.windows(2).all(|pair| pair[0] >= pair[1]));
        for i in 0..6 {
            for j in 0..6 {
                let rebuilt: f64 = (0..6).map(|k| values[k] * vectors[(i, k)] * vectors[(j, k)]).sum();
                assert!((rebuilt - gram.row(i)[j]).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn span_coordinates_keep_inner_products_and_drop_duplicates() {
        let x = random(6, 40, 4);
        let doubled = x.stack(&x.gather(&[2, 2, 5]));
        let coordinates = span_coordinates(&inner_products(&doubled, &doubled));
        assert_eq!(coordinates.columns(), 6);
        for i in 0..9 {
            for j in 0..9 {
                let difference =
                    dot(coordinates.row(i), coordinates.row(j)) - dot(doubled.row(i), doubled.row(j));
                assert!(difference.abs() < 1e-9);
            }
        }
    }

    #[test]
    fn span_of_zero_rows_is_one_zero_dimension() {
        let coordinates = span_coordinates(&Matrix::<f64>::zeros(3, 3));
        assert_eq!((coordinates.columns(), coordinates.as_slice()), (1, &[0.0; 3][..]));
    }
}
