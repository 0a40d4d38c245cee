//! The objective of the softmax head in single precision, for distributions over classes and for single classes:
//!
//! ```text
//! 1/2 |W|^2 + c sum_i sum_k t_ik (lse(l_i) - l_ik),      l_i = W z_i + b
//! ```
//!
//! Rows are handled in fixed blocks whose sums are added in order, a few blocks at a time in storage that is kept from
//! one evaluation to the next: with ten thousand classes a block's logits and gradient are 50 MB, and mapping those
//! anew at every step took longer than computing them. How many blocks there are at a time changes no bit.

use rayon::prelude::*;

use crate::linalg::Matrix;
use crate::linalg::product::{View, product};
use crate::linalg::sums::squared_length;
use crate::scalar::Scalar;
use crate::simd::PaddedRows;

/// Rows of a block.
const BLOCK: usize = 512;
/// Classes whose targets are turned class-major together: the entries of one cache line.
const TILE: usize = 16;
/// Numbers that the storage of all blocks in hand may hold, and the fewest blocks.
const MOST_NUMBERS: usize = 1 << 27;
const FEWEST_SLOTS: usize = 4;

/// What rows are labelled with.
#[derive(Clone, Copy)]
pub(super) enum Targets<'a> {
    /// A distribution over the classes for every row, times what the row counts.
    Soft(&'a Matrix<f32>),
    /// A class for every row, and what the row counts.
    Hard(&'a [(usize, f32)]),
}

/// The objective on some rows, with its storage.
pub(super) struct SoftLoss<'a> {
    rows: &'a Matrix<f32>,
    targets: Targets<'a>,
    ways: usize,
    c: f64,
    weights: Vec<f32>,
    bias: Vec<f32>,
    slots: Vec<Slot>,
}

/// What one block of rows needs.
struct Slot {
    logits: PaddedRows<f32>,
    residuals: PaddedRows<f32>,
    log_normalizer: Vec<f32>,
    /// What the targets of each row sum to.
    totals: Vec<f32>,
    /// Targets of some classes, class-major.
    tile: Vec<f32>,
    gradient: Vec<f32>,
    bias_gradient: Vec<f64>,
    value: f64,
}

impl Slot {
    fn new(ways: usize, dim: usize, count: usize) -> Self {
        let logits = PaddedRows::zeros(ways, count);
        Self {
            residuals: PaddedRows::zeros(ways, count),
            log_normalizer: vec![0.0; logits.stride()],
            totals: vec![0.0; count],
            tile: vec![0.0; TILE * count],
            gradient: vec![0.0; ways * dim],
            bias_gradient: vec![0.0; ways],
            value: 0.0,
            logits,
        }
    }
}

impl<'a> SoftLoss<'a> {
    pub fn new(rows: &'a Matrix<f32>, targets: Targets<'a>, ways: usize, c: f64) -> Self {
        let dim = rows.columns();
        let (weights, bias) = (vec![0.0; ways * dim], vec![0.0; ways]);
        Self { rows, targets, ways, c, weights, bias, slots: Vec::new() }
    }

    /// Writes the gradient with respect to the weights, each class's bias behind them, and returns the value.
    pub fn evaluate(&mut self, point: &[f64], gradient: &mut [f64]) -> f64 {
        let (dim, ways) = (self.rows.columns(), self.ways);
        let width = dim + 1;
        for (class, from) in point.chunks_exact(width).enumerate() {
            let to = &mut self.weights[class * dim..(class + 1) * dim];
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from as f32);
            self.bias[class] = from[dim] as f32;
        }
        let blocks = self.rows.rows().div_ceil(BLOCK);
        let in_hand = (MOST_NUMBERS / (ways * (2 * BLOCK + dim)).max(1)).max(FEWEST_SLOTS).min(blocks);
        gradient.fill(0.0);
        let mut value = 0.0;
        let mut slots = std::mem::take(&mut self.slots);
        slots.resize_with(in_hand, || Slot::new(ways, dim, BLOCK.min(self.rows.rows())));
        for first in (0..blocks).step_by(in_hand.max(1)) {
            let slots = &mut slots[..in_hand.min(blocks - first)];
            slots.par_iter_mut().enumerate().for_each(|(at, slot)| self.block(first + at, slot));
            slots.iter().for_each(|slot| value += self.c * slot.value);
            gradient.par_chunks_exact_mut(width).enumerate().for_each(|(class, to)| {
                for slot in slots.iter() {
                    let from = &slot.gradient[class * dim..(class + 1) * dim];
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += self.c * f64::from(*from));
                    to[dim] += self.c * slot.bias_gradient[class];
                }
            });
        }
        self.slots = slots;
        let penalty = |(from, to): (&[f64], &mut [f64])| {
            to[..dim].iter_mut().zip(from).for_each(|(to, weight)| *to += weight);
            0.5 * squared_length(&from[..dim])
        };
        let classes = point.par_chunks_exact(width).zip(gradient.par_chunks_exact_mut(width));
        let penalties: Vec<f64> = classes.map(penalty).collect();
        value + penalties.iter().sum::<f64>()
    }

    /// Value and gradient of one block of rows.
    fn block(&self, block: usize, slot: &mut Slot) {
        let (dim, ways) = (self.rows.columns(), self.ways);
        let start = block * BLOCK;
        let count = BLOCK.min(self.rows.rows() - start);
        let rows = View::new(&self.rows.as_slice()[start * dim..(start + count) * dim], count, dim);
        let weights = View::new(&self.weights, ways, dim);
        (0..ways).for_each(|class| slot.logits.row_mut(class)[..count].fill(self.bias[class]));
        let stride = slot.logits.stride();
        product(slot.logits.as_mut_slice(), stride, weights, rows.transposed(), true);
        f32::kernels().softmax(&slot.logits, &mut slot.residuals, &mut slot.log_normalizer);
        match self.targets {
            Targets::Soft(targets) => {
                let targets = &targets.as_slice()[start * ways..(start + count) * ways];
                slot.against_distributions(targets, ways);
            }
            Targets::Hard(targets) => slot.against_classes(&targets[start..start + count]),
        }
        for (class, sum) in slot.bias_gradient.iter_mut().enumerate() {
            *sum = slot.residuals.row(class)[..count].iter().map(|&residual| f64::from(residual)).sum();
        }
        let residuals = View::with_stride(slot.residuals.as_slice(), ways, count, stride);
        product(&mut slot.gradient, dim, residuals, rows, false);
    }
}

impl Slot {
    /// From predictions to residuals, and the block's value, against distributions.
    fn against_distributions(&mut self, targets: &[f32], ways: usize) {
        let count = targets.len() / ways;
        for (total, row) in self.totals.iter_mut().zip(targets.chunks_exact(ways)) {
            *total = row.iter().sum();
        }
        self.value = 0.0;
        for first in (0..ways).step_by(TILE) {
            let classes = TILE.min(ways - first);
            for (at, row) in targets.chunks_exact(ways).enumerate() {
                for (class, &target) in row[first..first + classes].iter().enumerate() {
                    self.tile[class * count + at] = target;
                }
            }
            for (class, targets) in self.tile.chunks_exact(count).take(classes).enumerate() {
                let logits = self.logits.row(first + class);
                let residuals = &mut self.residuals.row_mut(first + class)[..count];
                for (at, (residual, &target)) in residuals.iter_mut().zip(targets).enumerate() {
                    self.value += f64::from(target * (self.log_normalizer[at] - logits[at]));
                    *residual = *residual * self.totals[at] - target;
                }
            }
        }
    }

    /// The same against single classes.
    fn against_classes(&mut self, targets: &[(usize, f32)]) {
        for (total, &(_, weight)) in self.totals.iter_mut().zip(targets) {
            *total = weight;
        }
        if targets.iter().any(|&(_, weight)| weight != 1.0) {
            for class in 0..self.residuals.rows() {
                let residuals = &mut self.residuals.row_mut(class)[..targets.len()];
                residuals.iter_mut().zip(&self.totals).for_each(|(residual, total)| *residual *= total);
            }
        }
        self.value = 0.0;
        for (at, &(class, weight)) in targets.iter().enumerate() {
            self.value += f64::from(weight * (self.log_normalizer[at] - self.logits.row(class)[at]));
            self.residuals.row_mut(class)[at] -= weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: usize = 2 * BLOCK + 77;
    const DIM: usize = 5;
    const WAYS: usize = 21;
    const C: f64 = 1.7;

    fn made_up(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|at| ((at * 7919 + seed * 613) % 1009) as f32 / 500.0 - 1.0).collect()
    }

    /// The objective and its gradient, term by term in double precision.
    fn slow(rows: &Matrix<f32>, targets: &Matrix<f32>, point: &[f64]) -> (f64, Vec<f64>) {
        let mut gradient = vec![0.0; point.len()];
        let mut value = 0.0;
        for (at, &weight) in point.iter().enumerate().filter(|(at, _)| at % (DIM + 1) < DIM) {
            value += 0.5 * weight * weight;
            gradient[at] += weight;
        }
        for (row, target) in rows.iter_rows().zip(targets.iter_rows()) {
            let with_one: Vec<f64> = row.iter().map(|&z| f64::from(z)).chain([1.0]).collect();
            let logit = |w: &[f64]| w.iter().zip(&with_one).map(|(w, z)| w * z).sum::<f64>();
            let logits: Vec<f64> = point.chunks_exact(DIM + 1).map(logit).collect();
            let lse = logits.iter().map(|l| l.exp()).sum::<f64>().ln();
            let total: f64 = target.iter().map(|&t| f64::from(t)).sum();
            for (class, (&target, logit)) in target.iter().zip(&logits).enumerate() {
                value += C * f64::from(target) * (lse - logit);
                let residual = C * (total * (logit - lse).exp() - f64::from(target));
                let to = &mut gradient[class * (DIM + 1)..(class + 1) * (DIM + 1)];
                to.iter_mut().zip(&with_one).for_each(|(to, z)| *to += residual * z);
            }
        }
        (value, gradient)
    }

    fn assert_equal(rows: &Matrix<f32>, loss: &mut SoftLoss<'_>, dense: &Matrix<f32>) {
        for seed in 1..3 {
            let point: Vec<f64> = made_up(WAYS * (DIM + 1), seed).iter().map(|&v| f64::from(v)).collect();
            let mut gradient = vec![f64::NAN; point.len()];
            let value = loss.evaluate(&point, &mut gradient);
            let (expected, slow_gradient) = slow(rows, dense, &point);
            assert!((value - expected).abs() < 1e-5 * expected.abs(), "{value} {expected}");
            for (a, b) in gradient.iter().zip(&slow_gradient) {
                assert!((a - b).abs() < 1e-3, "{a} {b}");
            }
        }
    }

    #[test]
    fn distributions_have_the_value_and_gradient_of_the_formula() {
        let rows = Matrix::from_vec(ROWS, DIM, made_up(ROWS * DIM, 0));
        let targets = made_up(ROWS * WAYS, 3).iter().map(|v| v.abs()).collect();
        let targets = Matrix::from_vec(ROWS, WAYS, targets);
        assert_equal(&rows, &mut SoftLoss::new(&rows, Targets::Soft(&targets), WAYS, C), &targets);
    }

    #[test]
    fn a_class_is_a_distribution_with_one_entry() {
        let rows = Matrix::from_vec(ROWS, DIM, made_up(ROWS * DIM, 0));
        let hard = |weight: fn(usize) -> f32| -> Vec<(usize, f32)> {
            (0..ROWS).map(|at| (at * at % WAYS, weight(at))).collect()
        };
        for hard in [hard(|_| 1.0), hard(|at| 1.0 / (1 + at % 3) as f32)] {
            let mut dense = Matrix::zeros(ROWS, WAYS);
            hard.iter().enumerate().for_each(|(at, &(class, weight))| dense.row_mut(at)[class] = weight);
            assert_equal(&rows, &mut SoftLoss::new(&rows, Targets::Hard(&hard), WAYS, C), &dense);
        }
    }
}
