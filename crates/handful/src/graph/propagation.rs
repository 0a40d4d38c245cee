//! Propagation over a graph: `(I - alpha S)^-1 Y` by conjugate gradients, all columns of Y at once, or the inverse
//! itself where it is needed.
//!
//! S is symmetric with eigenvalues from -1 to 1 (a normalised graph) and 0 < alpha < 1, so the system is positive
//! definite with condition number at most (1 + alpha) / (1 - alpha): nine at alpha = 0.8, a few dozen steps to full
//! precision.

use nalgebra::{Cholesky, DMatrix};

use crate::linalg::Matrix;
use crate::linalg::conjugate_gradients::{CgStop, conjugate_gradients};

/// Steps and precision for those who want the solution rather than somebody's approximation of it.
pub(crate) const EXACT: CgStop = CgStop { tolerance: 1e-10, max_steps: 1000 };

/// `(I - alpha S)^-1 Y`.
pub(crate) fn propagate(graph: &Matrix<f64>, alpha: f64, labels: &Matrix<f64>, stop: CgStop) -> Matrix<f64> {
    conjugate_gradients(|x, out| apply(graph, alpha, x, out), labels, None, stop)
}

/// `(I - alpha S)^-1`; the identity in the impossible case that rounding made the matrix indefinite.
pub(crate) fn propagator(graph: &Matrix<f64>, alpha: f64) -> DMatrix<f64> {
    let size = graph.rows();
    let system = DMatrix::from_fn(size, size, |i, j| f64::from(u8::from(i == j)) - alpha * graph.row(i)[j]);
    Cholesky::new(system).map_or_else(|| DMatrix::identity(size, size), |factor| factor.inverse())
}

/// `out = x - alpha S x`.
fn apply(graph: &Matrix<f64>, alpha: f64, x: &Matrix<f64>, out: &mut Matrix<f64>) {
    for row in 0..x.rows() {
        let to = out.row_mut(row);
        to.fill(0.0);
        for (&weight, from) in graph.row(row).iter().zip(x.iter_rows()) {
            if weight != 0.0 {
                to.iter_mut().zip(from).for_each(|(to, from)| *to += weight * from);
            }
        }
        to.iter_mut().zip(x.row(row)).for_each(|(to, from)| *to = from - alpha * *to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dense::normalise_symmetric;

    fn graph(size: usize) -> Matrix<f64> {
        let mut weights = Matrix::zeros(size, size);
        for i in 0..size {
            for j in 0..i {
                let weight = ((i * 31 + j * 17) % 7) as f64;
                weights.row_mut(i)[j] = weight;
                weights.row_mut(j)[i] = weight;
            }
        }
        normalise_symmetric(&mut weights, 0.0);
        weights
    }

    #[test]
    fn conjugate_gradients_agree_with_the_dense_inverse() {
        let graph = graph(12);
        // One column is all zeros: nothing to propagate.
        let labels = Matrix::from_vec(
            12,
            3,
            (0..36).map(|at| if at % 3 == 2 { 0.0 } else { (at % 5) as f64 }).collect(),
        );
        let solved = propagate(&graph, 0.8, &labels, EXACT);
        let dense = propagator(&graph, 0.8) * DMatrix::from_row_slice(12, 3, labels.as_slice());
        for i in 0..12 {
            for c in 0..3 {
                assert!((solved.row(i)[c] - dense[(i, c)]).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn the_inverse_undoes_the_system() {
        let graph = graph(9);
        let inverse = propagator(&graph, 0.5);
        let system = DMatrix::from_fn(9, 9, |i, j| f64::from(u8::from(i == j)) - 0.5 * graph.row(i)[j]);
        assert!((inverse * system - DMatrix::identity(9, 9)).amax() < 1e-12);
    }

    #[test]
    fn few_steps_leave_an_approximation() {
        let graph = graph(12);
        let labels = Matrix::from_vec(12, 1, (0..12).map(f64::from).collect());
        let exact = propagate(&graph, 0.8, &labels, EXACT);
        let early = propagate(&graph, 0.8, &labels, CgStop { tolerance: 0.0, max_steps: 2 });
        assert!((0..12).any(|i| (exact.row(i)[0] - early.row(i)[0]).abs() > 1e-6));
    }
}
