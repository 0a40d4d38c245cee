//! The nearest anchors of every row, by inner product of unit rows.
//!
//! Exact and brute force, on the engine's product kernel: blocks of anchors stay in the second-level cache while
//! blocks of rows pass by. Ties go to the earlier anchor, so the result does not depend on blocks or threads.

use rayon::prelude::*;

use super::project::products;
use crate::matrix::Matrix;
use crate::simd::PaddedRows;

/// Rows that one thread handles at a time.
const ROW_BLOCK: usize = 128;
/// Anchors that are compared at a time.
const ANCHOR_BLOCK: usize = 512;

/// For every row its nearest anchors, nearest first.
pub(crate) struct Neighbours {
    /// Anchors of each row.
    pub per_row: usize,
    anchors: Vec<u32>,
}

/// Whether row i is anchor i, which is then no neighbour of itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    Excluded,
    Allowed,
}

impl Neighbours {
    /// Finds the `wanted` nearest anchors (fewer where there are fewer).
    pub fn find(rows: &Matrix<f32>, anchors: &Matrix<f32>, wanted: usize, own: Own) -> Self {
        let available = anchors.rows() - usize::from(own == Own::Excluded && anchors.rows() > 0);
        let per_row = wanted.min(available);
        let columns = rows.columns();
        if per_row == 0 {
            return Self { per_row, anchors: Vec::new() };
        }
        let blocks: Vec<PaddedRows<f32>> = anchors
            .as_slice()
            .par_chunks(ANCHOR_BLOCK * columns)
            .map(|rows| PaddedRows::from_rows(columns, rows.len() / columns, rows.chunks_exact(columns)))
            .collect();
        let mut found = vec![0u32; rows.rows() * per_row];
        found
            .par_chunks_mut(ROW_BLOCK * per_row)
            .zip(rows.as_slice().par_chunks(ROW_BLOCK * columns))
            .enumerate()
            .for_each(|(block, (found, rows))| {
                let first = block * ROW_BLOCK;
                let exclude = |row: usize, anchor: usize| own == Own::Excluded && first + row == anchor;
                search(rows, columns, &blocks, per_row, exclude, found);
            });
        Self { per_row, anchors: found }
    }

    /// The anchors of a row, nearest first.
    pub fn of_row(&self, row: usize) -> &[u32] {
        &self.anchors[row * self.per_row..(row + 1) * self.per_row]
    }

    /// The neighbours of some rows alone.
    pub fn of_rows(&self, rows: &[usize]) -> Self {
        let anchors = rows.iter().flat_map(|&row| self.of_row(row)).copied().collect();
        Self { per_row: self.per_row, anchors }
    }

    /// For every anchor the rows that have it, rising: where each anchor's list begins, and the lists.
    pub fn reversed(&self, anchors: usize) -> (Vec<usize>, Vec<u32>) {
        let mut starts = vec![0usize; anchors + 1];
        self.anchors.iter().for_each(|&anchor| starts[anchor as usize + 1] += 1);
        for anchor in 0..anchors {
            starts[anchor + 1] += starts[anchor];
        }
        let mut next = starts.clone();
        let mut rows = vec![0u32; self.anchors.len()];
        for (at, &anchor) in self.anchors.iter().enumerate() {
            rows[next[anchor as usize]] = (at / self.per_row) as u32;
            next[anchor as usize] += 1;
        }
        (starts, rows)
    }
}

fn search(
    rows: &[f32],
    columns: usize,
    anchors: &[PaddedRows<f32>],
    per_row: usize,
    exclude: impl Fn(usize, usize) -> bool,
    found: &mut [u32],
) {
    let count = rows.len() / columns;
    let rows = PaddedRows::from_rows(columns, count, rows.chunks_exact(columns));
    let mut nearest = vec![f32::NEG_INFINITY; count * per_row];
    // The similarity a newcomer must beat, contiguous, so that the common case is one vector comparison.
    let mut worst = vec![f32::NEG_INFINITY; count];
    for (block, anchors) in anchors.iter().enumerate() {
        let similarity = products(&rows, anchors);
        for at in 0..anchors.rows() {
            let similarity = &similarity.row(at)[..count];
            if !similarity.iter().zip(&worst).fold(false, |any, (new, worst)| any | (new > worst)) {
                continue;
            }
            let anchor = block * ANCHOR_BLOCK + at;
            for row in 0..count {
                if similarity[row] > worst[row] && !exclude(row, anchor) {
                    let own = row * per_row..(row + 1) * per_row;
                    insert(similarity[row], anchor as u32, &mut nearest[own.clone()], &mut found[own]);
                    worst[row] = nearest[(row + 1) * per_row - 1];
                }
            }
        }
    }
}

/// Puts a newcomer into its place among the nearest, behind its equals.
fn insert(value: f32, anchor: u32, nearest: &mut [f32], found: &mut [u32]) {
    let place = nearest.iter().position(|&other| value > other).unwrap_or(nearest.len() - 1);
    nearest[place..].rotate_right(1);
    found[place..].rotate_right(1);
    nearest[place] = value;
    found[place] = anchor;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::dot_by_lanes;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn random(rows: usize, seed: u64) -> Matrix<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        Matrix::from_vec(rows, 6, (0..rows * 6).map(|_| rng.random_range(-1.0..1.0)).collect())
    }

    #[test]
    fn neighbours_are_those_of_a_full_sort() {
        let (rows, anchors) = (random(300, 1), random(1100, 2));
        let found = Neighbours::find(&rows, &anchors, 7, Own::Allowed);
        for (row, values) in rows.iter_rows().enumerate() {
            let similarity: Vec<f32> =
                anchors.iter_rows().map(|anchor| dot_by_lanes(values, anchor)).collect();
            let mut order: Vec<usize> = (0..1100).collect();
            order.sort_by(|&a, &b| similarity[b].total_cmp(&similarity[a]));
            for (&got, &wanted) in found.of_row(row).iter().zip(&order) {
                // Another order of summation may swap rows that are equally near.
                assert!((similarity[got as usize] - similarity[wanted]).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn no_row_is_its_own_neighbour_and_equal_rows_come_in_order() {
        let equal = Matrix::from_vec(4, 1, vec![1.0; 4]);
        let found = Neighbours::find(&equal, &equal, 10, Own::Excluded);
        assert_eq!(found.per_row, 3);
        assert_eq!([found.of_row(0), found.of_row(2)], [&[1, 2, 3], &[0, 1, 3]]);
    }

    #[test]
    fn reversed_lists_hold_every_pair() {
        let (rows, anchors) = (random(50, 3), random(9, 4));
        let found = Neighbours::find(&rows, &anchors, 3, Own::Allowed);
        let (starts, lists) = found.reversed(9);
        assert_eq!(lists.len(), 150);
        for anchor in 0..9 {
            for &row in &lists[starts[anchor]..starts[anchor + 1]] {
                assert!(found.of_row(row as usize).contains(&(anchor as u32)));
            }
        }
    }
}
