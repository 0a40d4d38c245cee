//! A block of the pool: its predictions, what they add to the sums over all rows, and its part of the gradient.

use super::terms::{Terms, Totals};
use crate::linalg::product::{View, product};
use crate::scalar::Scalar;
use crate::simd::PaddedRows;

/// One block of rows and what is recomputed for them at every step, class-major.
pub(super) struct Block<'a> {
    pub(super) rows: View<'a>,
    pub(super) count: usize,
    pub(super) kernel: Option<View<'a>>,
    pub(super) whitened: Option<View<'a>>,
    pub(super) logits: PaddedRows<f32>,
    pub(super) predictions: PaddedRows<f32>,
    pub(super) pull: PaddedRows<f32>,
    pub(super) log_normalizer: Vec<f32>,
}

impl Block<'_> {
    pub(super) fn predict(
        &mut self,
        weights: View<'_>,
        bias: &[f32],
        kernel_rank: usize,
        whitened_rank: usize,
    ) -> Totals {
        score(self.rows, self.count, weights, bias, &mut self.logits);
        f32::kernels().softmax(&self.logits, &mut self.predictions, &mut self.log_normalizer);
        let ways = bias.len();
        let predictions =
            View::with_stride(self.predictions.as_slice(), ways, self.count, self.predictions.stride());
        let sum = |class: usize| self.predictions.row(class)[..self.count].iter().sum();
        let moment = |factor: Option<View<'_>>, rank: usize| {
            let mut out = vec![0.0; if factor.is_some() { ways * rank } else { 0 }];
            if let Some(factor) = factor {
                product(&mut out, rank, predictions, factor, false);
            }
            out
        };
        Totals {
            sizes: (0..ways).map(sum).collect(),
            kernel: moment(self.kernel, kernel_rank),
            whitened: moment(self.whitened, whitened_rank),
        }
    }

    /// Turns predictions into residuals; returns their product with the rows, their sums, and the entropy term.
    pub(super) fn pull(&mut self, terms: &Terms<'_>, dim: usize) -> (Vec<f32>, Vec<f32>, f64) {
        let (ways, count) = (self.predictions.rows(), self.count);
        let stride = self.pull.stride();
        if let Some(factor) = self.kernel {
            let scaled = View::new(&terms.kernel_pull, ways, terms.kernel_rank);
            product(self.pull.as_mut_slice(), stride, scaled, factor.transposed(), false);
        }
        if let Some(factor) = self.whitened {
            let scaled = View::new(&terms.whitened_pull, ways, terms.whitened_rank);
            product(self.pull.as_mut_slice(), stride, scaled, factor.transposed(), self.kernel.is_some());
        }
        let has_pull = self.kernel.is_some() || self.whitened.is_some();
        let entropy = terms.params.conditional_entropy as f32 / terms.count;
        let mut mean = vec![0.0f32; count];
        let mut entropy_value = 0.0f64;
        // logits <- g = dL/dp, up to what is the same for every class of a row.
        for class in 0..ways {
            let p = &self.predictions.row(class)[..count];
            let constant = terms.constant[class];
            let g = &mut self.logits.row_mut(class)[..count];
            if entropy != 0.0 {
                let mut sum = 0.0;
                for ((g, p), normalizer) in g.iter_mut().zip(p).zip(&self.log_normalizer) {
                    let log_p = *g - normalizer;
                    sum -= p * log_p;
                    *g = constant - entropy * log_p;
                }
                entropy_value += f64::from(entropy * sum);
            } else {
                g.fill(constant);
            }
            if has_pull {
                g.iter_mut().zip(&self.pull.row(class)[..count]).for_each(|(g, pull)| *g += pull);
            }
            for ((mean, g), p) in mean.iter_mut().zip(&*g).zip(p) {
                *mean += p * g;
            }
        }
        let mut sums = vec![0.0f32; ways];
        for (class, sum) in sums.iter_mut().enumerate() {
            let g = &self.logits.row(class)[..count];
            let residuals = &mut self.predictions.row_mut(class)[..count];
            for ((residual, g), mean) in residuals.iter_mut().zip(g).zip(&mean) {
                *residual *= g - mean;
            }
            *sum = residuals.iter().sum();
        }
        let mut gradient = vec![0.0; ways * dim];
        let residuals =
            View::with_stride(self.predictions.as_slice(), ways, count, self.predictions.stride());
        product(&mut gradient, dim, residuals, self.rows, false);
        (gradient, sums, entropy_value)
    }
}

/// Softmax, logits and their normaliser of some rows, class-major.
pub(super) fn predict(
    rows: View<'_>,
    count: usize,
    weights: View<'_>,
    bias: &[f32],
) -> (PaddedRows<f32>, PaddedRows<f32>, Vec<f32>) {
    let mut logits = PaddedRows::zeros(bias.len(), count);
    let mut predictions = PaddedRows::zeros(bias.len(), count);
    let mut log_normalizer = vec![0.0; logits.stride()];
    score(rows, count, weights, bias, &mut logits);
    f32::kernels().softmax(&logits, &mut predictions, &mut log_normalizer);
    (predictions, logits, log_normalizer)
}

pub(super) fn score(
    rows: View<'_>,
    count: usize,
    weights: View<'_>,
    bias: &[f32],
    logits: &mut PaddedRows<f32>,
) {
    for (class, &bias) in bias.iter().enumerate() {
        logits.row_mut(class)[..count].fill(bias);
    }
    let stride = logits.stride();
    product(logits.as_mut_slice(), stride, weights, rows.transposed(), true);
}
