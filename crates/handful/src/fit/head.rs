//! The softmax head of pools, fitted to labelled rows by L-BFGS:
//!
//! ```text
//! min_{W, b}  1/2 |W|^2 + C sum_i w_i CE(softmax(W z_i + b), y_i)
//! ```
//!
//! with weight 1 for a given label and less for a pseudo-label. Nothing in it knows the sizes of the classes.

use rayon::prelude::*;

use crate::fit::lbfgs::{LbfgsStop, minimise};
use crate::fit::logistic::fit_weighted;
use crate::linalg::Matrix;
use crate::linalg::product::{View, product};
use crate::scalar::Scalar;
use crate::simd::{PaddedRows, padded};

/// Loose: the labels decide, not the last digit of the optimum.
const STOP: LbfgsStop = LbfgsStop { tolerance: 1e-3, max_iterations: 60 };
/// Rows scored at a time by one thread.
const BLOCK: usize = 256;

/// A labelled row of the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Example {
    /// The row.
    pub row: usize,
    /// Its class.
    pub class: usize,
    /// What it counts.
    pub weight: f64,
}

impl Example {
    /// The given labels, a class with n of N labels and C classes weighted by `(N / (C n))^balance` for each: people label
    /// what they come across, so how many labels a class has says little about its size.
    pub fn given(labels: &[(usize, usize)], ways: usize, balance: f64) -> Vec<Self> {
        let mut counts = vec![0.0; ways];
        labels.iter().for_each(|&(_, class)| counts[class] += 1.0);
        let even = labels.len() as f64 / ways as f64;
        let weight = |class: usize| (even / counts[class]).powf(balance);
        labels.iter().map(|&(row, class)| Self { row, class, weight: weight(class) }).collect()
    }
}

/// Weights and biases, one row per class.
#[derive(Debug)]
pub struct SoftmaxHead {
    /// Both as they were fitted, the bias behind the weights.
    fitted: Matrix<f64>,
    weights: PaddedRows<f32>,
    bias: Vec<f32>,
}

impl SoftmaxHead {
    /// Fits to examples among `rows`, starting from an earlier head if there is one: it ends near the same place, sooner.
    pub fn fit(rows: &Matrix<f32>, examples: &[Example], ways: usize, c: f64, from: Option<&Self>) -> Self {
        let numbers: Vec<usize> = examples.iter().map(|example| example.row).collect();
        let z: Matrix<f64> = rows.gather(&numbers).cast();
        let weighted: Vec<(usize, f64)> =
            examples.iter().map(|example| (example.class, c * example.weight)).collect();
        Self::from_fitted(fit_weighted(&z, &weighted, ways, STOP, from.map(|head| &head.fitted)))
    }

    /// Fits to a distribution over classes for every row, in single precision: the same objective with soft labels, each
    /// row weighted by `c` times what its distribution sums to. Blocked products make it the faster one from a few
    /// classes on.
    pub fn fit_soft(rows: &Matrix<f32>, targets: &Matrix<f32>, c: f64, iterations: usize) -> Self {
        let (dim, ways) = (rows.columns(), targets.columns());
        let mut point = vec![0.0; ways * (dim + 1)];
        let stop = LbfgsStop { tolerance: 1e-3, max_iterations: iterations };
        minimise(&mut point, stop, |point, gradient| soft_loss(rows, targets, c, point, gradient));
        Self::from_fitted(Matrix::from_vec(ways, dim + 1, point))
    }

    /// Fits as [`Self::fit`] does, in single precision.
    pub fn fit_single(
        rows: &Matrix<f32>,
        examples: &[Example],
        ways: usize,
        c: f64,
        iterations: usize,
    ) -> Self {
        let numbers: Vec<usize> = examples.iter().map(|example| example.row).collect();
        let mut targets = Matrix::zeros(examples.len(), ways);
        for (at, example) in examples.iter().enumerate() {
            targets.row_mut(at)[example.class] = example.weight as f32;
        }
        Self::fit_soft(&rows.gather(&numbers), &targets, c, iterations)
    }

    /// Wraps weights and, behind each class's weights, its bias.
    pub fn from_fitted(fitted: Matrix<f64>) -> Self {
        let (ways, dim) = (fitted.rows(), fitted.columns().saturating_sub(1));
        let mut weights = PaddedRows::zeros(ways, dim);
        let mut bias = vec![0.0; padded(ways)];
        for (class, from) in fitted.iter_rows().enumerate() {
            weights.row_mut(class).iter_mut().zip(&from[..dim]).for_each(|(to, from)| *to = *from as f32);
            bias[class] = from[dim] as f32;
        }
        Self { fitted, weights, bias }
    }

    /// Wraps the weights and biases of a linear classifier.
    pub fn from_linear(weights: &Matrix<f32>, bias: &[f32]) -> Self {
        let width = weights.columns() + 1;
        let mut fitted = Matrix::zeros(weights.rows(), width);
        for (class, (from, &bias)) in weights.iter_rows().zip(bias).enumerate() {
            let to = fitted.row_mut(class);
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = f64::from(from));
            to[width - 1] = f64::from(bias);
        }
        Self::from_fitted(fitted)
    }

    /// Returns the weights and, behind each class's weights, its bias.
    pub fn fitted(&self) -> &Matrix<f64> {
        &self.fitted
    }

    /// Returns the probability of each class for every row.
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

/// Rows of the soft objective that one thread handles at a time.
const SOFT_BLOCK: usize = 512;

/// `1/2 |W|^2 + c sum_i sum_k t_ik (lse(l_i) - l_ik)` with its gradient, in fixed blocks of rows.
fn soft_loss(rows: &Matrix<f32>, targets: &Matrix<f32>, c: f64, point: &[f64], gradient: &mut [f64]) -> f64 {
    let (dim, ways) = (rows.columns(), targets.columns());
    let width = dim + 1;
    let mut weights = vec![0.0f32; ways * dim];
    let mut bias = vec![0.0f32; ways];
    for (class, from) in point.chunks_exact(width).enumerate() {
        weights[class * dim..(class + 1) * dim]
            .iter_mut()
            .zip(from)
            .for_each(|(to, from)| *to = *from as f32);
        bias[class] = from[dim] as f32;
    }
    let weights = View::new(&weights, ways, dim);
    let block = |(rows, targets): (&[f32], &[f32])| {
        let count = targets.len() / ways;
        let view = View::new(rows, count, dim);
        let mut logits = PaddedRows::zeros(ways, count);
        (0..ways).for_each(|class| logits.row_mut(class)[..count].fill(bias[class]));
        let stride = logits.stride();
        product(logits.as_mut_slice(), stride, weights, view.transposed(), true);
        let mut residuals = PaddedRows::zeros(ways, count);
        let mut log_normalizer = vec![0.0; stride];
        f32::kernels().softmax(&logits, &mut residuals, &mut log_normalizer);
        let totals: Vec<f32> = targets.chunks_exact(ways).map(|row| row.iter().sum()).collect();
        let mut value = 0.0f64;
        let mut bias_gradient = vec![0.0f64; ways];
        for class in 0..ways {
            let residuals = &mut residuals.row_mut(class)[..count];
            let logits = logits.row(class);
            for (at, residual) in residuals.iter_mut().enumerate() {
                let target = targets[at * ways + class];
                value += f64::from(target * (log_normalizer[at] - logits[at]));
                *residual = *residual * totals[at] - target;
            }
            bias_gradient[class] = residuals.iter().map(|&residual| f64::from(residual)).sum();
        }
        let mut part = vec![0.0f32; ways * dim];
        let residuals = View::with_stride(residuals.as_slice(), ways, count, residuals.stride());
        product(&mut part, dim, residuals, view, false);
        (value, part, bias_gradient)
    };
    let parts: Vec<(f64, Vec<f32>, Vec<f64>)> = rows
        .as_slice()
        .par_chunks(SOFT_BLOCK * dim.max(1))
        .zip(targets.as_slice().par_chunks(SOFT_BLOCK * ways.max(1)))
        .map(block)
        .collect();
    gradient.fill(0.0);
    let mut value = 0.0;
    for (part_value, part, bias) in &parts {
        value += c * part_value;
        for (class, to) in gradient.chunks_exact_mut(width).enumerate() {
            let from = &part[class * dim..(class + 1) * dim];
            to.iter_mut().zip(from).for_each(|(to, from)| *to += c * f64::from(*from));
            to[dim] += c * bias[class];
        }
    }
    for (from, to) in point.chunks_exact(width).zip(gradient.chunks_exact_mut(width)) {
        for (to, weight) in to[..dim].iter_mut().zip(from) {
            value += 0.5 * weight * weight;
            *to += weight;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_ends_where_double_precision_does() {
        let value = |at: usize| ((at * 7919 + 13) % 1009) as f32 / 500.0 - 1.0;
        let rows = Matrix::from_vec(40, 6, (0..240).map(value).collect());
        let examples: Vec<Example> = (0..40)
            .map(|row| Example { row, class: row * row % 3, weight: 1.0 / (1 + row % 4) as f64 })
            .collect();
        let double = SoftmaxHead::fit(&rows, &examples, 3, 5.0, None).probabilities(&rows);
        let single = SoftmaxHead::fit_single(&rows, &examples, 3, 5.0, 200).probabilities(&rows);
        for (a, b) in double.as_slice().iter().zip(single.as_slice()) {
            assert!((a - b).abs() < 2e-3, "{a} {b}");
        }
    }

    #[test]
    fn a_soft_label_counts_as_its_shares_of_hard_ones() {
        let rows = Matrix::from_vec(4, 2, vec![1.0f32, 0.2, -0.5, 1.0, 0.3, -0.8, 0.3, -0.8]);
        let hard: Vec<Example> = [(0, 0, 1.0), (1, 1, 1.0), (2, 0, 0.25), (3, 1, 0.75)]
            .map(|(row, class, weight)| Example { row, class, weight })
            .to_vec();
        let soft = Matrix::from_vec(3, 2, vec![1.0f32, 0.0, 0.0, 1.0, 0.25, 0.75]);
        let hard = SoftmaxHead::fit_single(&rows, &hard, 2, 4.0, 200).probabilities(&rows);
        let soft = SoftmaxHead::fit_soft(&rows.gather(&[0, 1, 2]), &soft, 4.0, 200).probabilities(&rows);
        hard.as_slice().iter().zip(soft.as_slice()).for_each(|(a, b)| assert!((a - b).abs() < 2e-3));
    }

    #[test]
    fn labels_of_a_class_with_many_weigh_less_and_all_the_same_when_classes_have_as_many() {
        let labels = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1), (5, 1)];
        let weights =
            |balance| Example::given(&labels, 2, balance).iter().map(|e| e.weight).collect::<Vec<_>>();
        assert_eq!(weights(0.0), [1.0; 6]);
        assert_eq!(weights(1.0), [0.75, 0.75, 0.75, 0.75, 1.5, 1.5]);
        let half = weights(0.5);
        assert!((half[0] - 0.75f64.sqrt()).abs() < 1e-12 && (half[5] - 1.5f64.sqrt()).abs() < 1e-12);
        let even = Example::given(&[(0, 0), (1, 1), (2, 2)], 3, 0.5);
        assert!(even.iter().all(|example| example.weight == 1.0));
    }
}
