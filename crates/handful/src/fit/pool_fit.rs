//! The softmax classifier fitted to a few labels and a whole pool: Eq. 4 at the size of a data set.
//!
//! ```text
//! min_w  a CE(labelled)  +  b mean_i H(p_i)  -  m H(mean_i p_i)  -  s sum_c share_c log(mean_i p_ic)
//!        -  d tr(K H P P' H) / U^2                          plain dependence: HSIC with the linear kernel on predictions
//!        -  f sum_c |A' p_c|^2 / (n_c U)                    dependence normalised by the covariance of the features
//!
//! p_i = softmax_c(-|z_i - w_c|^2 / T),    K = B B' with B the centred rows (or any low-rank factor of a kernel),
//! A: the centred rows whitened, n_c = sum_i p_ic
//! ```
//!
//! The last term is Fisher's criterion psi (Eq. 5) with soft labels, used as the loss. Plain dependence has no opinion
//! on class sizes and is the best of these terms on unbalanced pools; normalised it is the best on balanced
//! fine-grained ones. The [`Fitter`](super::Fitter) of tasks holds a kernel of every row with every other; here kernels
//! are products of two factors, and a step costs O(rows x (dimensions + rank) x classes).
//!
//! Rows are handled in fixed blocks whose sums are added in order: the number of threads changes no bit.

mod block;
mod terms;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::block::{Block, predict};
use self::terms::{Terms, Totals};
use super::head::Example;
use crate::error::{ParamError, check_range};
use crate::linalg::Matrix;
use crate::linalg::product::{View, product};
use crate::linalg::sums::squared_length;
use crate::simd::PaddedRows;

/// Rows of a block; a block's predictions stay in the second-level cache.
const BLOCK: usize = 512;
const BETA1: f32 = 0.9;
const BETA2: f32 = 0.99;

/// What is fitted, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolFitParams {
    /// a, weight of the cross-entropy of the labelled rows.
    pub cross_entropy: f64,
    /// b, weight of the conditional entropy.
    pub conditional_entropy: f64,
    /// m, weight of the marginal entropy; it wants classes of equal size.
    pub marginal_entropy: f64,
    /// s, weight of the match between the classes' mean predictions and given shares.
    pub class_shares: f64,
    /// d, weight of the dependence.
    pub dependence: f64,
    /// f, weight of the normalised dependence, times the number of classes.
    pub fisher_dependence: f64,
    /// T of the prototype head.
    pub temperature: f64,
    /// Steps of Adam with one second moment for all entries, so that the basis of the features does not matter; their
    /// length falls to zero along a cosine.
    pub steps: usize,
    /// Their length at first, as the root mean square of an entry.
    pub learning_rate: f64,
}

impl PoolFitParams {
    /// Checks every value's range.
    ///
    /// # Errors
    /// The first value outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        for (key, value) in [
            ("cross_entropy", self.cross_entropy),
            ("conditional_entropy", self.conditional_entropy),
            ("marginal_entropy", self.marginal_entropy),
            ("class_shares", self.class_shares),
            ("dependence", self.dependence),
            ("fisher_dependence", self.fisher_dependence),
        ] {
            check_range(key, value, value >= 0.0, "a number from 0 up")?;
        }
        check_range("temperature", self.temperature, self.temperature > 0.0, "a number above 0")?;
        check_range("steps", self.steps as f64, self.steps <= 100_000, "at most 100000")?;
        check_range("learning_rate", self.learning_rate, self.learning_rate > 0.0, "a number above 0")
    }
}

/// What is known of the rows besides themselves: low-rank factors of kernels on them, centred (`K = factor factor'`), and
/// the shares of the classes.
#[derive(Clone, Copy, Default)]
pub struct Factors<'a> {
    /// B of the plain dependence.
    pub kernel: Option<&'a Matrix<f32>>,
    /// A of the normalised dependence.
    pub whitened: Option<&'a Matrix<f32>>,
    /// Share of each class, for the term `s`.
    pub shares: Option<&'a [f32]>,
}

/// Prototypes fitted to a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolClassifier {
    /// One prototype per class.
    pub prototypes: Matrix<f32>,
    /// T of its logits.
    pub temperature: f64,
}

impl PoolClassifier {
    /// Starts at the weighted mean of each class's labelled rows.
    pub fn at_class_means(rows: &Matrix<f32>, given: &[Example], ways: usize, temperature: f64) -> Self {
        let mut prototypes = Matrix::<f32>::zeros(ways, rows.columns());
        let mut total = vec![0.0f32; ways];
        for example in given {
            let weight = example.weight as f32;
            total[example.class] += weight;
            let to = prototypes.row_mut(example.class).iter_mut();
            to.zip(rows.row(example.row)).for_each(|(to, value)| *to += weight * value);
        }
        for (class, total) in total.into_iter().enumerate() {
            let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
            prototypes.row_mut(class).iter_mut().for_each(|value| *value *= scale);
        }
        Self { prototypes, temperature }
    }

    /// Fits to labelled rows and the pool they are in, from where the prototypes are.
    pub fn fit(
        &mut self,
        rows: &Matrix<f32>,
        factors: Factors<'_>,
        given: &[Example],
        params: &PoolFitParams,
    ) {
        let mut fit = Fit::new(rows, factors, given, self.prototypes.rows(), params);
        let mut gradient = vec![0.0f32; self.prototypes.as_slice().len()];
        let mut first = vec![0.0f32; gradient.len()];
        let mut second = 0.0f32;
        for step in 1..=params.steps {
            fit.gradient(self, &mut gradient);
            let mean = squared_length(&gradient) / gradient.len().max(1) as f32;
            second = BETA2 * second + (1.0 - BETA2) * mean;
            let first_correction = 1.0 - BETA1.powi(step as i32);
            let second_correction = 1.0 - BETA2.powi(step as i32);
            let length = (second / second_correction).sqrt().max(f32::MIN_POSITIVE);
            let progress = (step - 1) as f32 / params.steps as f32;
            let falling = 0.5 * (1.0 + (std::f32::consts::PI * progress).cos());
            let rate = params.learning_rate as f32 * falling / first_correction / length;
            let moved = self.prototypes.as_mut_slice().iter_mut().zip(&gradient).zip(&mut first);
            for ((value, gradient), first) in moved {
                *first = BETA1 * *first + (1.0 - BETA1) * gradient;
                *value -= rate * *first;
            }
        }
    }

    /// Returns value and gradient of the loss with respect to the prototypes, for checking.
    pub fn loss(
        &self,
        rows: &Matrix<f32>,
        factors: Factors<'_>,
        given: &[Example],
        params: &PoolFitParams,
    ) -> (f64, Matrix<f32>) {
        let mut gradient = Matrix::zeros(self.prototypes.rows(), self.prototypes.columns());
        let value = Fit::new(rows, factors, given, self.prototypes.rows(), params)
            .gradient(self, gradient.as_mut_slice());
        (value, gradient)
    }

    /// Writes it as a linear classifier: `W = 2 w / T`, `b = -|w|^2 / T`.
    pub fn linear(&self) -> (Matrix<f32>, Vec<f32>) {
        let scale = (2.0 / self.temperature) as f32;
        let mut weights = self.prototypes.clone();
        weights.as_mut_slice().iter_mut().for_each(|value| *value *= scale);
        let bias = self.prototypes.iter_rows().map(|row| -squared_length(row) / self.temperature as f32);
        (weights, bias.collect())
    }
}

struct Fit<'a> {
    params: &'a PoolFitParams,
    ways: usize,
    dim: usize,
    blocks: Vec<Block<'a>>,
    count: f32,
    labelled: Matrix<f32>,
    given: &'a [Example],
    label_weight: f32,
    kernel_rank: usize,
    whitened_rank: usize,
    shares: Option<&'a [f32]>,
}

impl<'a> Fit<'a> {
    fn new(
        rows: &'a Matrix<f32>,
        factors: Factors<'a>,
        given: &'a [Example],
        ways: usize,
        params: &'a PoolFitParams,
    ) -> Self {
        let kernel = factors.kernel.filter(|_| params.dependence > 0.0);
        let whitened = factors.whitened.filter(|_| params.fisher_dependence > 0.0);
        let part = |matrix: &'a Matrix<f32>, start: usize, count: usize| {
            let columns = matrix.columns();
            View::new(&matrix.as_slice()[start * columns..(start + count) * columns], count, columns)
        };
        let block = |start: usize| {
            let count = BLOCK.min(rows.rows() - start);
            let logits = PaddedRows::zeros(ways, count);
            Block {
                rows: part(rows, start, count),
                count,
                kernel: kernel.map(|matrix| part(matrix, start, count)),
                whitened: whitened.map(|matrix| part(matrix, start, count)),
                predictions: PaddedRows::zeros(ways, count),
                pull: PaddedRows::zeros(ways, if kernel.is_some() || whitened.is_some() { count } else { 0 }),
                log_normalizer: vec![0.0; logits.stride()],
                logits,
            }
        };
        let numbers: Vec<usize> = given.iter().map(|example| example.row).collect();
        let total: f64 = given.iter().map(|example| example.weight).sum();
        Self {
            params,
            ways,
            dim: rows.columns(),
            blocks: (0..rows.rows()).step_by(BLOCK).map(block).collect(),
            count: rows.rows() as f32,
            labelled: rows.gather(&numbers),
            given,
            label_weight: (params.cross_entropy / total.max(f64::MIN_POSITIVE)) as f32,
            kernel_rank: kernel.map_or(0, Matrix::columns),
            whitened_rank: whitened.map_or(0, Matrix::columns),
            shares: factors.shares.filter(|_| params.class_shares > 0.0),
        }
    }

    /// Writes the gradient with respect to the prototypes and returns the loss.
    fn gradient(&mut self, classifier: &PoolClassifier, gradient: &mut [f32]) -> f64 {
        let (weights, bias) = classifier.linear();
        let weights = View::new(weights.as_slice(), self.ways, self.dim);
        let (ways, dim) = (self.ways, self.dim);
        let totals: Vec<Totals> = self
            .blocks
            .par_iter_mut()
            .map(|block| block.predict(weights, &bias, self.kernel_rank, self.whitened_rank))
            .collect();
        let totals = totals.into_iter().reduce(Totals::add);
        let ranks = (self.kernel_rank, self.whitened_rank);
        let terms = totals.map(|totals| Terms::new(self.params, self.count, totals, ranks, self.shares));
        let mut value = terms.as_ref().map_or(0.0, |terms| terms.value);
        let parts: Vec<(Vec<f32>, Vec<f32>, f64)> = match &terms {
            Some(terms) => self.blocks.par_iter_mut().map(|block| block.pull(terms, dim)).collect(),
            None => Vec::new(),
        };
        gradient.fill(0.0);
        let mut residual_sums = vec![0.0f32; ways];
        for (part, sums, entropy) in &parts {
            gradient.iter_mut().zip(part).for_each(|(to, from)| *to += from);
            residual_sums.iter_mut().zip(sums).for_each(|(to, from)| *to += from);
            value += entropy;
        }
        value += self.add_labelled(weights, &bias, gradient, &mut residual_sums);
        // Through the prototypes: d logit_ic / d w_c = 2 (z_i - w_c) / T.
        let scale = (2.0 / self.params.temperature) as f32;
        for (class, to) in gradient.chunks_exact_mut(dim.max(1)).enumerate() {
            let prototype = classifier.prototypes.row(class);
            to.iter_mut().zip(prototype).for_each(|(to, w)| *to = scale * (*to - residual_sums[class] * w));
        }
        value
    }

    /// Adds the cross-entropy of the labelled rows: residuals to the gradient, and its value.
    fn add_labelled(&self, weights: View<'_>, bias: &[f32], gradient: &mut [f32], sums: &mut [f32]) -> f64 {
        let count = self.given.len();
        let rows = View::new(self.labelled.as_slice(), count, self.dim);
        let (predictions, logits, log_normalizer) = predict(rows, count, weights, bias);
        let mut residuals = predictions;
        let mut value = 0.0;
        for (at, example) in self.given.iter().enumerate() {
            let loss = log_normalizer[at] - logits.row(example.class)[at];
            value += f64::from(self.label_weight) * example.weight * f64::from(loss);
            residuals.row_mut(example.class)[at] -= 1.0;
        }
        for (class, sum) in sums.iter_mut().enumerate() {
            let row = &mut residuals.row_mut(class)[..count];
            for (residual, example) in row.iter_mut().zip(self.given) {
                *residual *= self.label_weight * example.weight as f32;
            }
            *sum += row.iter().sum::<f32>();
        }
        let view = View::with_stride(residuals.as_slice(), self.ways, count, residuals.stride());
        product(gradient, self.dim, view, rows, true);
        value
    }
}

#[cfg(test)]
mod tests;
