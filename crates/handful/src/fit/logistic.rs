//! Multinomial logistic regression by L-BFGS:
//!
//! ```text
//! min_{W, b}  1/2 |W|^2 + sum_i c_i -log softmax(W z_i + b)_{y_i}
//! ```
//!
//! with one c for all rows in the method `logistic`, and less for pseudo-labels in the labelling job.

use crate::fit::classifier::softmax_rows;
use crate::fit::lbfgs::{LbfgsStop, minimise};
use crate::linalg::Matrix;
use crate::linalg::sums::dot_by_lanes;
use crate::scalar::Scalar;
use crate::simd::PaddedRows;

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
        Self { rows: fit_weighted(rows, &examples, ways, stop, None) }
    }

    /// Returns the probability of each class.
    pub fn probabilities(&self, rows: &Matrix<f64>) -> Matrix<f64> {
        let mut out = Matrix::zeros(rows.rows(), self.rows.rows());
        for row in 0..rows.rows() {
            score(rows.row(row), self.rows.as_slice(), out.row_mut(row));
        }
        softmax_rows(&mut out);
        out
    }
}

/// Weights and bias of each class, fitted to rows of which the class and c_i are given, from `start` or from zeros.
pub(crate) fn fit_weighted(
    rows: &Matrix<f64>,
    examples: &[(usize, f64)],
    ways: usize,
    stop: LbfgsStop,
    start: Option<&Matrix<f64>>,
) -> Matrix<f64> {
    let width = rows.columns() + 1;
    let mut point = start.map_or_else(|| vec![0.0; ways * width], |start| start.as_slice().to_vec());
    let mut objective = Objective::new(rows, examples, ways);
    minimise(&mut point, stop, |point, gradient| objective.at(point, gradient));
    Matrix::from_vec(ways, width, point)
}

fn score(row: &[f64], point: &[f64], out: &mut [f64]) {
    for (score, class) in out.iter_mut().zip(point.chunks_exact(row.len() + 1)) {
        *score = dot_by_lanes(row, &class[..row.len()]) + class[row.len()];
    }
}

/// The function to minimise, on the engine's kernels, with its working memory.
struct Objective<'a> {
    /// The rows with a one behind each, which makes the bias a weight like the others.
    rows: PaddedRows<f64>,
    examples: &'a [(usize, f64)],
    weights: PaddedRows<f64>,
    logits: PaddedRows<f64>,
    predictions: PaddedRows<f64>,
    log_normalizer: Vec<f64>,
    gradient: PaddedRows<f64>,
}

impl<'a> Objective<'a> {
    fn new(rows: &Matrix<f64>, examples: &'a [(usize, f64)], ways: usize) -> Self {
        let (count, dim) = (rows.rows(), rows.columns());
        let mut extended = PaddedRows::zeros(count, dim + 1);
        for (at, row) in rows.iter_rows().enumerate() {
            extended.row_mut(at)[..dim].copy_from_slice(row);
            extended.row_mut(at)[dim] = 1.0;
        }
        let logits = PaddedRows::zeros(ways, count);
        Self {
            rows: extended,
            examples,
            weights: PaddedRows::zeros(ways, dim + 1),
            log_normalizer: vec![0.0; logits.stride()],
            predictions: PaddedRows::zeros(ways, count),
            logits,
            gradient: PaddedRows::zeros(ways, dim + 1),
        }
    }

    /// Value and gradient at `point` (class by class: weights, bias).
    fn at(&mut self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let (width, ways) = (self.rows.columns(), self.weights.rows());
        let kernels = f64::kernels();
        for (class, from) in point.chunks_exact(width).enumerate() {
            self.weights.row_mut(class)[..width].copy_from_slice(from);
        }
        kernels.scores(&self.rows, &self.weights, &vec![0.0; ways], &mut self.logits);
        kernels.softmax(&self.logits, &mut self.predictions, &mut self.log_normalizer);
        let mut value = 0.0;
        for (row, &(label, c)) in self.examples.iter().enumerate() {
            value += c * (self.log_normalizer[row] - self.logits.row(label)[row]);
            self.predictions.row_mut(label)[row] -= 1.0;
        }
        // The predictions become the residuals.
        for class in 0..ways {
            let residuals = self.predictions.row_mut(class).iter_mut();
            residuals.zip(self.examples).for_each(|(residual, (_, c))| *residual *= c);
        }
        kernels.weight_gradient(&self.rows, &self.predictions, &mut self.gradient);
        for (class, (from, to)) in point.chunks_exact(width).zip(gradient.chunks_exact_mut(width)).enumerate()
        {
            to.copy_from_slice(&self.gradient.row(class)[..width]);
            let weights = &from[..width - 1];
            value += 0.5 * dot_by_lanes(weights, weights);
            to.iter_mut().zip(weights).for_each(|(to, weight)| *to += weight);
        }
        value
    }
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
        let (rows, examples) = (rows(), examples());
        Objective::new(&rows, &examples, 3).at(&point, &mut gradient);
        let value = |point: &[f64]| Objective::new(&rows, &examples, 3).at(point, &mut [0.0; 18]);
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
    fn the_value_is_the_sum_over_rows_written_out() {
        let point: Vec<f64> = (0..18).map(|at| (at as f64).cos()).collect();
        let (rows, examples) = (rows(), examples());
        let mut slow = 0.0;
        for class in point.chunks_exact(6) {
            slow += class[..5].iter().map(|weight| weight * weight / 2.0).sum::<f64>();
        }
        for (row, (label, c)) in rows.iter_rows().zip(&examples) {
            let score = |class: &[f64]| (0..5).map(|k| class[k] * row[k]).sum::<f64>() + class[5];
            let scores: Vec<f64> = point.chunks_exact(6).map(score).collect();
            slow += c * (scores.iter().map(|score| score.exp()).sum::<f64>().ln() - scores[*label]);
        }
        let value = Objective::new(&rows, &examples, 3).at(&point, &mut [0.0; 18]);
        assert!((value - slow).abs() < 1e-9 * slow.abs(), "{value} {slow}");
    }

    #[test]
    fn the_optimum_has_no_gradient() {
        let stop = LbfgsStop { tolerance: 1e-8, max_iterations: 1000 };
        let fitted = fit_weighted(&rows(), &examples(), 3, stop, None);
        let mut gradient = vec![1.0; 18];
        Objective::new(&rows(), &examples(), 3).at(fitted.as_slice(), &mut gradient);
        assert!(gradient.iter().all(|entry| entry.abs() <= 1e-8), "{gradient:?}");
    }
}
