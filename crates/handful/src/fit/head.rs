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
use crate::fit::soft_loss::{SoftLoss, Targets};
use crate::linalg::Matrix;
use crate::linalg::product::{View, product};
use crate::scalar::Scalar;
use crate::simd::{PaddedRows, padded};

/// Loose: the labels decide, not the last digit of the optimum.
const STOP: LbfgsStop = LbfgsStop { tolerance: 1e-3, max_iterations: 60 };
/// Rows scored at a time by one thread.
const BLOCK: usize = 256;
/// From how many classes on scores are a blocked product.
const MANY_CLASSES: usize = 64;
/// Classes turned row-major together: the entries of one cache line.
const TILE: usize = 16;

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
        Self::minimise(rows, Targets::Soft(targets), targets.columns(), c, iterations)
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
        let targets: Vec<(usize, f32)> =
            examples.iter().map(|example| (example.class, example.weight as f32)).collect();
        Self::minimise(&rows.gather(&numbers), Targets::Hard(&targets), ways, c, iterations)
    }

    fn minimise(rows: &Matrix<f32>, targets: Targets<'_>, ways: usize, c: f64, iterations: usize) -> Self {
        let width = rows.columns() + 1;
        let mut point = vec![0.0; ways * width];
        let stop = LbfgsStop { tolerance: 1e-3, max_iterations: iterations };
        let mut loss = SoftLoss::new(rows, targets, ways, c);
        minimise(&mut point, stop, |point, gradient| loss.evaluate(point, gradient));
        Self::from_fitted(Matrix::from_vec(ways, width, point))
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
            if ways < MANY_CLASSES {
                f32::kernels().scores(&rows, &self.weights, &self.bias, &mut logits);
            } else {
                self.blocked_scores(&rows, &mut logits);
            }
            f32::kernels().softmax(&logits, &mut predictions, &mut log_normalizer);
            for first in (0..ways).step_by(TILE) {
                let last = ways.min(first + TILE);
                for (at, out) in out.chunks_exact_mut(ways).enumerate() {
                    let classes = out[first..last].iter_mut().zip(first..);
                    classes.for_each(|(out, class)| *out = predictions.row(class)[at]);
                }
            }
        });
        out
    }

    /// The scores as one blocked product, which overtakes the kernels of tasks from some dozens of classes on.
    fn blocked_scores(&self, rows: &PaddedRows<f32>, logits: &mut PaddedRows<f32>) {
        let view = |rows: &PaddedRows<f32>| (rows.rows(), rows.columns(), rows.stride());
        let (ways, dim, stride) = view(&self.weights);
        let weights = View::with_stride(self.weights.as_slice(), ways, dim, stride);
        let (count, _, stride) = view(rows);
        let rows = View::with_stride(rows.as_slice(), count, dim, stride);
        (0..ways).for_each(|class| logits.row_mut(class)[..count].fill(self.bias[class]));
        let stride = logits.stride();
        product(logits.as_mut_slice(), stride, weights, rows.transposed(), true);
    }
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
    fn probabilities_of_few_and_of_many_classes_are_those_of_the_formula() {
        let value = |at: usize| ((at * 7919 + 13) % 1009) as f32 / 500.0 - 1.0;
        for ways in [3, MANY_CLASSES - 1, MANY_CLASSES, 2 * MANY_CLASSES + 7] {
            let rows = Matrix::from_vec(BLOCK + 9, 6, (0..(BLOCK + 9) * 6).map(value).collect());
            let weights = Matrix::from_vec(ways, 6, (5..5 + ways * 6).map(value).collect());
            let bias: Vec<f32> = (0..ways).map(value).collect();
            let found = SoftmaxHead::from_linear(&weights, &bias).probabilities(&rows);
            for (row, found) in rows.iter_rows().zip(found.iter_rows()) {
                let logit = |(weights, bias): (&[f32], &f32)| bias + crate::linalg::dot(weights, row);
                let scores: Vec<f32> = weights.iter_rows().zip(&bias).map(|pair| logit(pair).exp()).collect();
                let total: f32 = scores.iter().sum();
                found.iter().zip(&scores).for_each(|(p, s)| assert!((p - s / total).abs() < 1e-5));
            }
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
