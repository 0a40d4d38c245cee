//! Multinomial logistic regression by L-BFGS:
//!
//! ```text
//! min_{W, b}  1/2 |W|^2 + sum_i c_i -log softmax(W z_i + b)_{y_i}
//! ```
//!
//! with one c for all rows in the method `logistic`, and less for pseudo-labels in the labelling job.

use crate::classifier::softmax_rows;
use crate::matrix::Matrix;
use crate::methods::common::lbfgs::{LbfgsStop, minimise};
use crate::sums::dot_by_lanes;

/// The fitted classifier in double precision.
#[derive(Clone, Debug)]
pub(crate) struct LogisticClassifier {
    /// One row per class: the weights, then the bias.
    rows: Matrix<f64>,
}

impl LogisticClassifier {
    /// Fits to labelled rows that all weigh the same. The penalty leaves the bias free.
    pub fn fit(rows: &Matrix<f64>, labels: &[usize], ways: usize, c: f64, stop: LbfgsStop) -> Self {
        let examples: Vec<(usize, f64)> = labels.iter().map(|&label| (label, c)).collect();
        Self { rows: fit_weighted(rows, &examples, ways, stop) }
    }

    /// Probability of each class.
    pub fn probabilities(&self, rows: &Matrix<f64>) -> Matrix<f64> {
        let mut out = Matrix::zeros(rows.rows(), self.rows.rows());
        for row in 0..rows.rows() {
            score(rows.row(row), self.rows.as_slice(), out.row_mut(row));
        }
        softmax_rows(&mut out);
        out
    }
}

/// Weights and bias of each class, fitted to rows of which the class and c_i are given.
pub(crate) fn fit_weighted(
    rows: &Matrix<f64>,
    examples: &[(usize, f64)],
    ways: usize,
    stop: LbfgsStop,
) -> Matrix<f64> {
    let width = rows.columns() + 1;
    let mut point = vec![0.0; ways * width];
    minimise(&mut point, stop, |point, gradient| objective(rows, examples, ways, point, gradient));
    Matrix::from_vec(ways, width, point)
}

fn score(row: &[f64], point: &[f64], out: &mut [f64]) {
    for (score, class) in out.iter_mut().zip(point.chunks_exact(row.len() + 1)) {
        *score = dot_by_lanes(row, &class[..row.len()]) + class[row.len()];
    }
}

/// Value and gradient at `point` (class by class: weights, bias).
fn objective(
    rows: &Matrix<f64>,
    examples: &[(usize, f64)],
    ways: usize,
    point: &[f64],
    gradient: &mut [f64],
) -> f64 {
    let dim = rows.columns();
    let mut value = 0.0;
    for (class, to) in point.chunks_exact(dim + 1).zip(gradient.chunks_exact_mut(dim + 1)) {
        value += 0.5 * dot_by_lanes(&class[..dim], &class[..dim]);
        to[..dim].copy_from_slice(&class[..dim]);
        to[dim] = 0.0;
    }
    let mut scores = vec![0.0; ways];
    for (row, &(label, c)) in rows.iter_rows().zip(examples) {
        score(row, point, &mut scores);
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
        value += c * (largest + total.ln() - scores[label]);
        for (class, to) in gradient.chunks_exact_mut(dim + 1).enumerate() {
            let target = f64::from(u8::from(class == label));
            let residual = c * ((scores[class] - largest).exp() / total - target);
            to[..dim].iter_mut().zip(row).for_each(|(to, z)| *to += residual * z);
            to[dim] += residual;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Matrix<f64> {
        let value = |at: usize| ((at * 7919 + 13) % 1009) as f64 / 500.0 - 1.0;
        Matrix::from_vec(8, 5, (0..40).map(value).collect())
    }

    const LABELS: [usize; 8] = [0, 1, 2, 0, 0, 1, 2, 0];

    /// Rows that weigh differently, so that a weight in the wrong place shows.
    fn examples() -> Vec<(usize, f64)> {
        LABELS.iter().enumerate().map(|(row, &label)| (label, 10.0 / (1 + row) as f64)).collect()
    }

    #[test]
    fn gradient_is_that_of_finite_differences() {
        let point: Vec<f64> = (0..18).map(|at| (at as f64).sin()).collect();
        let mut gradient = vec![0.0; 18];
        objective(&rows(), &examples(), 3, &point, &mut gradient);
        let value = |point: &[f64]| objective(&rows(), &examples(), 3, point, &mut [0.0; 18]);
        for at in 0..18 {
            let moved = |by: f64| {
                let mut point = point.clone();
                point[at] += by;
                value(&point)
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((slope - gradient[at]).abs() < 1e-5 * (1.0 + slope.abs()), "{at}");
        }
    }

    #[test]
    fn the_optimum_has_no_gradient() {
        let stop = LbfgsStop { tolerance: 1e-8, max_iterations: 1000 };
        let fitted = fit_weighted(&rows(), &examples(), 3, stop);
        let mut gradient = vec![1.0; 18];
        objective(&rows(), &examples(), 3, fitted.as_slice(), &mut gradient);
        assert!(gradient.iter().all(|entry| entry.abs() <= 1e-8), "{gradient:?}");
    }
}
