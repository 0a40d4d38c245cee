//! The terms of the loss that look at every row at once: class sizes, shares and both dependences.

use super::PoolFitParams;
use crate::linalg::sums::squared_length;

/// What the blocks add up to before the second half of a step.
pub(super) struct Totals {
    /// Sum of each class's predictions.
    pub(super) sizes: Vec<f32>,
    /// `B' P`, class by class.
    pub(super) kernel: Vec<f32>,
    /// `A' P`, class by class.
    pub(super) whitened: Vec<f32>,
}

impl Totals {
    pub(super) fn add(mut self, other: Self) -> Self {
        let add = |to: &mut [f32], from: &[f32]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        add(&mut self.sizes, &other.sizes);
        add(&mut self.kernel, &other.kernel);
        add(&mut self.whitened, &other.whitened);
        self
    }
}

/// The terms that need every row, and what they pull each class by.
pub(super) struct Terms<'a> {
    pub(super) params: &'a PoolFitParams,
    pub(super) count: f32,
    /// The part of dL/dp that is the same for every row.
    pub(super) constant: Vec<f32>,
    pub(super) kernel_pull: Vec<f32>,
    pub(super) whitened_pull: Vec<f32>,
    pub(super) kernel_rank: usize,
    pub(super) whitened_rank: usize,
    pub(super) value: f64,
}

impl<'a> Terms<'a> {
    pub(super) fn new(
        params: &'a PoolFitParams,
        count: f32,
        totals: Totals,
        (kernel_rank, whitened_rank): (usize, usize),
        shares: Option<&[f32]>,
    ) -> Self {
        let ways = totals.sizes.len();
        let marginal = params.marginal_entropy as f32;
        let mut value = 0.0f64;
        let mut constant = vec![0.0f32; ways];
        for (constant, size) in constant.iter_mut().zip(&totals.sizes) {
            let share = (size / count).max(f32::MIN_POSITIVE);
            *constant = marginal * share.ln() / count;
            value += f64::from(marginal * share * share.ln());
        }
        let match_weight = params.class_shares as f32;
        for ((constant, size), share) in
            constant.iter_mut().zip(&totals.sizes).zip(shares.into_iter().flatten())
        {
            let mean = (size / count).max(f32::MIN_POSITIVE);
            *constant -= match_weight * share / mean / count;
            value -= f64::from(match_weight * share * mean.ln());
        }
        let mut kernel_pull = totals.kernel;
        let dependence = params.dependence as f32 / (count * count);
        value -= f64::from(dependence * squared_length(&kernel_pull));
        kernel_pull.iter_mut().for_each(|value| *value *= -2.0 * dependence);
        let mut whitened_pull = totals.whitened;
        let fisher = (params.fisher_dependence / ways as f64) as f32 / count;
        for (class, moment) in whitened_pull.chunks_exact_mut(whitened_rank.max(1)).enumerate() {
            let size = totals.sizes[class].max(1e-6);
            let square = squared_length(moment);
            value -= f64::from(fisher * square / size);
            constant[class] += fisher * square / (size * size);
            moment.iter_mut().for_each(|value| *value *= -2.0 * fisher / size);
        }
        Self { params, count, constant, kernel_pull, whitened_pull, kernel_rank, whitened_rank, value }
    }
}
