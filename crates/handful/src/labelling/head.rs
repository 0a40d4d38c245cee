//! The softmax head of the labelling job, fitted to labelled rows by L-BFGS:
//!
//! ```text
//! min_{W, b}  1/2 |W|^2 + C sum_i w_i CE(softmax(W z_i + b), y_i)
//! ```
//!
//! with weight 1 for a given label and less for a pseudo-label. Nothing in it knows the sizes of the classes.

use rayon::prelude::*;

use crate::matrix::Matrix;
use crate::methods::common::lbfgs::{LbfgsStop, minimise};
use crate::scalar::Scalar;
use crate::simd::{PaddedRows, padded};
use crate::sums::dot_by_lanes;

/// Loose: the labels decide, not the last digit of the optimum.
const STOP: LbfgsStop = LbfgsStop { tolerance: 1e-3, max_iterations: 60 };
/// Rows scored at a time by one thread.
const BLOCK: usize = 256;

/// A labelled row of the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Example {
    pub row: usize,
    pub class: usize,
    pub weight: f64,
}

/// Weights and biases, one row per class.
pub(crate) struct SoftmaxHead {
    weights: PaddedRows<f32>,
    bias: Vec<f32>,
}

impl SoftmaxHead {
    /// Fits to examples among `rows`.
    pub fn fit(rows: &Matrix<f32>, examples: &[Example], ways: usize, c: f64) -> Self {
        let dim = rows.columns();
        let numbers: Vec<usize> = examples.iter().map(|example| example.row).collect();
        let z: Matrix<f64> = rows.gather(&numbers).cast();
        let mut point = vec![0.0; ways * (dim + 1)];
        minimise(&mut point, STOP, |point, gradient| objective(&z, examples, ways, c, point, gradient));
        let mut weights = PaddedRows::zeros(ways, dim);
        let mut bias = vec![0.0; padded(ways)];
        for (class, from) in point.chunks_exact(dim + 1).enumerate() {
            weights.row_mut(class).iter_mut().zip(&from[..dim]).for_each(|(to, from)| *to = *from as f32);
            bias[class] = from[dim] as f32;
        }
        Self { weights, bias }
    }

    /// Probability of each class for every row.
    pub fn probabilities(&self, rows: &Matrix<f32>) -> Matrix<f32> {
        let (columns, ways) = (rows.columns(), self.weights.rows());
        let mut out = Matrix::zeros(rows.rows(), ways);
        let blocks = rows.as_slice().par_chunks(BLOCK * columns);
        out.as_mut_slice().par_chunks_mut(BLOCK * ways).zip(blocks).for_each(|(out, rows)| {
            let rows = PaddedRows::from_rows(columns, rows.len() / columns, rows.chunks_exact(columns));
            let mut logits = PaddedRows::zeros(ways, rows.rows());
            let mut predictions = PaddedRows::zeros(ways, rows.rows());
            let mut log_normalizer = vec![0.0; logits.stride()];
            f32::kernels().scores(&rows, &self.weights, &self.bias, &mut logits);
            f32::kernels().softmax(&logits, &mut predictions, &mut log_normalizer);
            for (at, out) in out.chunks_exact_mut(ways).enumerate() {
                out.iter_mut().enumerate().for_each(|(class, out)| *out = predictions.row(class)[at]);
            }
        });
        out
    }
}

fn objective(
    z: &Matrix<f64>,
    examples: &[Example],
    ways: usize,
    c: f64,
    point: &[f64],
    gradient: &mut [f64],
) -> f64 {
    let dim = z.columns();
    let mut value = 0.0;
    for (class, to) in point.chunks_exact(dim + 1).zip(gradient.chunks_exact_mut(dim + 1)) {
        value += 0.5 * dot_by_lanes(&class[..dim], &class[..dim]);
        to[..dim].copy_from_slice(&class[..dim]);
        to[dim] = 0.0;
    }
    let mut scores = vec![0.0; ways];
    for (row, example) in z.iter_rows().zip(examples) {
        for (score, class) in scores.iter_mut().zip(point.chunks_exact(dim + 1)) {
            *score = dot_by_lanes(row, &class[..dim]) + class[dim];
        }
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
        let weight = c * example.weight;
        value += weight * (largest + total.ln() - scores[example.class]);
        for (class, to) in gradient.chunks_exact_mut(dim + 1).enumerate() {
            let target = f64::from(u8::from(class == example.class));
            let residual = weight * ((scores[class] - largest).exp() / total - target);
            to[..dim].iter_mut().zip(row).for_each(|(to, z)| *to += residual * z);
            to[dim] += residual;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradient_is_that_of_finite_differences() {
        let z = Matrix::from_vec(4, 3, (0..12).map(|at| ((at * 7 % 11) as f64).cos()).collect());
        let examples: Vec<Example> = [(0, 1.0), (1, 1.0), (2, 0.3), (1, 0.1)]
            .iter()
            .enumerate()
            .map(|(row, &(class, weight))| Example { row, class, weight })
            .collect();
        let point: Vec<f64> = (0..12).map(|at| (at as f64).sin()).collect();
        let mut gradient = vec![0.0; 12];
        objective(&z, &examples, 3, 10.0, &point, &mut gradient);
        for at in 0..12 {
            let moved = |by: f64| {
                let mut point = point.clone();
                point[at] += by;
                objective(&z, &examples, 3, 10.0, &point, &mut [0.0; 12])
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((slope - gradient[at]).abs() < 1e-5 * (1.0 + slope.abs()), "{at}");
        }
    }
}
