//! Which rows to label next: greedy kernel coverage.
//!
//! ```text
//! k(x, z) = exp(-|x - z|^2 / s);   next = argmax_x  mean_z u(z) max(0, k(x, z) - c(z)),   c(z) = max over chosen x of k(x, z)
//! ```
//!
//! With u = 1 this is MaxHerding (Bae et al. 2024): every row asks what is not asked yet, and the order is a list of
//! priorities, so stopping early is right. With u the probability that a row's label is wrong it is the same authors'
//! UHerding, one rule from the cold start to the last review. Candidates and the rows that are covered are samples in
//! large pools: the cost is linear.

use handful::Matrix;
use handful::graph::evenly_spread;
use handful::linalg::product::{View, product};
use rayon::prelude::*;

use crate::error::LabelError;
use crate::labelling::Labelling;
use crate::prepared::PreparedPool;

/// s while nothing is known of the classes, and once labels are there.
const COLD_WIDTH: f32 = 1.0;
const REVIEW_WIDTH: f32 = 0.5;
/// Candidates, and rows whose coverage counts.
const CANDIDATES: usize = 2000;
const COVERED: usize = 20_000;
/// Rows of a review that are chosen to cover.
const COVERING: usize = 200;

/// A row to label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// The row.
    pub row: usize,
    /// The mean coverage of the pool once this row and those before it are labelled, from 0 to 1.
    pub coverage: f64,
}

/// Rows to label, the most useful first.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The rows in order.
    pub rows: Vec<Chosen>,
    /// The coverage before any of them.
    pub coverage_before: f64,
}

impl PreparedPool {
    /// Picks `count` rows (fewer where fewer are unlabelled) that cover the pool best beside those labelled already.
    ///
    /// # Errors
    /// [`LabelError::NothingToChoose`] where every row is labelled, [`LabelError::RowRange`].
    pub fn choose(&self, labelled: &[usize], count: usize) -> Result<Choice, LabelError> {
        self.cover(labelled, count, COLD_WIDTH, &|_| 1.0)
    }

    /// Picks rows to check: those whose labels are doubtful, each standing for others like it. `may` says which rows are
    /// asked about at all.
    ///
    /// # Errors
    /// As [`Self::choose`].
    pub fn review(&self, labelling: &Labelling, may: &[bool], count: usize) -> Result<Choice, LabelError> {
        let labelled: Vec<usize> =
            (0..self.rows()).filter(|&row| labelling.rows[row].given || !may[row]).collect();
        let given: Vec<usize> = (0..self.rows()).filter(|&row| labelling.rows[row].given).collect();
        let doubt = |row: usize| {
            let label = &labelling.rows[row];
            if label.given { 0.0 } else { (1.0 - label.probability).max(1e-4) }
        };
        self.cover_except(&given, &labelled, count, REVIEW_WIDTH, &doubt)
    }

    /// All rows that `may` be asked about in the order of checking: first rows that cover what is doubtful
    /// ([`Self::review`]), as many as anybody checks in one sitting, then the others by falling doubt.
    ///
    /// # Errors
    /// As [`Self::choose`].
    pub fn review_order(&self, labelling: &Labelling, may: &[bool]) -> Result<Vec<usize>, LabelError> {
        let rows = &labelling.rows;
        let mut rest: Vec<bool> = rows.iter().zip(may).map(|(row, &may)| may && !row.given).collect();
        let mut order = Vec::new();
        if rest.contains(&true) {
            order.extend(self.review(labelling, &rest, COVERING)?.rows.iter().map(|chosen| chosen.row));
            order.iter().for_each(|&row| rest[row] = false);
        }
        let mut last: Vec<usize> = (0..rows.len()).filter(|&row| rest[row]).collect();
        last.sort_by(|&a, &b| rows[a].probability.total_cmp(&rows[b].probability).then(a.cmp(&b)));
        order.extend(last);
        Ok(order)
    }

    fn cover(
        &self,
        labelled: &[usize],
        count: usize,
        width: f32,
        weight: &(dyn Fn(usize) -> f32 + Sync),
    ) -> Result<Choice, LabelError> {
        self.cover_except(labelled, labelled, count, width, weight)
    }

    /// Covers the pool beside `labelled` with rows that are not `excluded`.
    fn cover_except(
        &self,
        labelled: &[usize],
        excluded: &[usize],
        count: usize,
        width: f32,
        weight: &(dyn Fn(usize) -> f32 + Sync),
    ) -> Result<Choice, LabelError> {
        let rows = self.rows();
        let mut barred = vec![false; rows];
        for &row in excluded.iter().chain(labelled) {
            *barred.get_mut(row).ok_or(LabelError::RowRange { row, rows })? = true;
        }
        let free: Vec<usize> = (0..rows).filter(|&row| !barred[row]).collect();
        if free.is_empty() {
            return Err(LabelError::NothingToChoose);
        }
        let covered = evenly_spread(rows, COVERED);
        let candidates: Vec<usize> =
            evenly_spread(free.len(), CANDIDATES.max(count)).into_iter().map(|at| free[at]).collect();
        let targets =
            Targets::new(self.rows_of(&covered)?, covered.iter().map(|&row| weight(row)).collect(), width);
        let mut coverage = vec![0.0f32; covered.len()];
        for labelled in labelled.chunks(CANDIDATES) {
            targets.kernel(&self.rows_of(labelled)?).iter_rows().for_each(|k| raise(&mut coverage, k));
        }
        let mean = |coverage: &[f32]| {
            coverage.iter().map(|&c| f64::from(c)).sum::<f64>() / coverage.len().max(1) as f64
        };
        let coverage_before = mean(&coverage);
        let kernel = targets.kernel(&self.rows_of(&candidates)?);
        let mut gains: Vec<f32> = vec![f32::INFINITY; candidates.len()];
        let mut chosen = Vec::new();
        for _ in 0..count.min(candidates.len()) {
            let Some(best) = next(&kernel, &mut gains, &coverage, &targets.weights) else { break };
            raise(&mut coverage, kernel.row(best));
            gains[best] = f32::NEG_INFINITY;
            chosen.push(Chosen { row: candidates[best], coverage: mean(&coverage) });
        }
        Ok(Choice { rows: chosen, coverage_before })
    }

    /// Coordinates of some rows, from those at hand where they are.
    fn rows_of(&self, rows: &[usize]) -> Result<Matrix<f32>, LabelError> {
        match self.coordinates() {
            (coordinates, None) => Ok(coordinates.gather(rows)),
            (_, Some(_)) => self.coordinates_of(rows),
        }
    }
}

/// The rows whose coverage counts.
struct Targets {
    rows: Matrix<f32>,
    weights: Vec<f32>,
    width: f32,
}

impl Targets {
    fn new(rows: Matrix<f32>, weights: Vec<f32>, width: f32) -> Self {
        Self { rows, weights, width }
    }

    /// `k(x, z)` of rows x with every target z.
    fn kernel(&self, rows: &Matrix<f32>) -> Matrix<f32> {
        let (columns, targets) = (rows.columns().max(1), self.rows.rows());
        let mut out = Matrix::zeros(rows.rows(), targets);
        let view = View::new(self.rows.as_slice(), targets, self.rows.columns());
        let block = 64;
        out.as_mut_slice()
            .par_chunks_mut((block * targets).max(1))
            .zip(rows.as_slice().par_chunks(block * columns))
            .for_each(|(out, rows)| {
                let rows = View::new(rows, rows.len() / columns, columns);
                product(out, targets, rows, view.transposed(), false);
                out.iter_mut().for_each(|value| *value = ((2.0 * *value - 2.0) / self.width).exp());
            });
        out
    }
}

fn raise(coverage: &mut [f32], kernel: &[f32]) {
    coverage.iter_mut().zip(kernel).for_each(|(coverage, k)| *coverage = coverage.max(*k));
}

/// The candidate that gains most. Gains only fall as coverage rises, so old ones are upper bounds (Minoux 1978): few have
/// to be computed anew.
fn next(kernel: &Matrix<f32>, gains: &mut [f32], coverage: &[f32], weights: &[f32]) -> Option<usize> {
    let mut order: Vec<usize> = (0..gains.len()).filter(|&at| gains[at] > f32::NEG_INFINITY).collect();
    order.sort_by(|&a, &b| gains[b].total_cmp(&gains[a]).then(a.cmp(&b)));
    let mut best: Option<usize> = None;
    for some in order.chunks(64) {
        if best.is_some_and(|best| gains[best] > gains[some[0]]) {
            break;
        }
        let fresh: Vec<f32> = some.par_iter().map(|&at| gain(kernel.row(at), coverage, weights)).collect();
        for (&at, fresh) in some.iter().zip(fresh) {
            gains[at] = fresh;
            if best.is_none_or(|best| fresh > gains[best] || (fresh == gains[best] && at < best)) {
                best = Some(at);
            }
        }
    }
    best
}

fn gain(kernel: &[f32], coverage: &[f32], weights: &[f32]) -> f32 {
    let blocks = kernel.chunks(16).zip(coverage.chunks(16)).zip(weights.chunks(16));
    let mut lanes = [0.0f32; 16];
    for ((kernel, coverage), weights) in blocks {
        for (lane, ((k, c), w)) in lanes.iter_mut().zip(kernel.iter().zip(coverage).zip(weights)) {
            *lane += (k - c).max(0.0) * w;
        }
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LabelParams;
    use std::sync::Arc;

    /// Three groups of rows of different sizes.
    fn pool() -> (PreparedPool, Vec<usize>) {
        let sizes = [60, 25, 15];
        let group: Vec<usize> = (0..3).flat_map(|group| vec![group; sizes[group]]).collect();
        let value = |row: usize, column: usize| {
            let noise = ((row * 37 + column * 101) % 97) as f32 / 97.0 - 0.5;
            f32::from(u8::from(column % 3 == group[row])) + 0.3 * noise
        };
        let values = (0..100).flat_map(|row| (0..12).map(move |column| (row, column)));
        let rows = Matrix::from_vec(100, 12, values.map(|(row, column)| value(row, column)).collect());
        (PreparedPool::new(Arc::new(rows), &LabelParams::default()).expect("finite"), group)
    }

    #[test]
    fn the_first_rows_are_of_different_groups_and_coverage_rises() {
        let (pool, group) = pool();
        let choice = pool.choose(&[], 8).expect("rows");
        let mut first: Vec<usize> = choice.rows[..3].iter().map(|chosen| group[chosen.row]).collect();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 2]);
        let mut before = choice.coverage_before;
        assert_eq!(before, 0.0);
        for chosen in &choice.rows {
            assert!(chosen.coverage > before && chosen.coverage <= 1.0);
            before = chosen.coverage;
        }
    }

    #[test]
    fn the_lazy_choice_is_the_greedy_one() {
        let (pool, _) = pool();
        let choice = pool.choose(&[5, 70], 6).expect("rows");
        let z = pool.coordinates().0;
        let k =
            |a: usize, b: usize| ((2.0 * handful::linalg::dot(z.row(a), z.row(b)) - 2.0) / COLD_WIDTH).exp();
        let mut taken = vec![5, 70];
        for chosen in &choice.rows {
            let covered = |z: usize| taken.iter().map(|&row| k(row, z)).fold(0.0, f32::max);
            let gain = |row: usize| (0..100).map(|z| (k(row, z) - covered(z)).max(0.0)).sum::<f32>();
            let best = (0..100).filter(|row| !taken.contains(row)).map(gain).fold(0.0, f32::max);
            assert!((gain(chosen.row) - best).abs() < 1e-3 * best);
            taken.push(chosen.row);
        }
    }

    #[test]
    fn more_than_there_are_is_all_there_are_and_none_is_an_error() {
        let (pool, _) = pool();
        assert_eq!(pool.choose(&(0..90).collect::<Vec<_>>(), 50).expect("ten rows").rows.len(), 10);
        let all: Vec<usize> = (0..100).collect();
        assert!(matches!(pool.choose(&all, 1), Err(LabelError::NothingToChoose)));
        assert!(matches!(pool.choose(&[100], 1), Err(LabelError::RowRange { row: 100, rows: 100 })));
    }
}
