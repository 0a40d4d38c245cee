//! The nearest anchors of every row, by inner product of unit rows.
//!
//! Exact and brute force, on the engine's kernel for weight gradients, which is a plain matrix product once the rows of a
//! block lie as columns: it adds up many products at a time and no sum across a register is left at the end. Blocks stay
//! in the second-level cache while others pass by.
//! Where the anchors are the rows themselves each product serves both its rows: blocks meet in the rounds of a
//! tournament, in which no block plays twice, so that each pair belongs to one thread. Ties go to the earlier anchor,
//! so the result does not depend on the order in which blocks meet, nor on threads.

use std::sync::Mutex;

use rayon::prelude::*;

use crate::linalg::Matrix;
use crate::scalar::Scalar;
use crate::simd::PaddedRows;

/// Rows that one thread handles at a time. Not a power of two: walking down the columns of a block would hit the same
/// cache sets again and again.
const ROW_BLOCK: usize = 240;
/// Anchors that are compared at a time, and rows where each is compared with all others.
const ANCHOR_BLOCK: usize = 496;
/// Similarities that are compared with what they must reach before any of them is looked at.
const LANES: usize = 16;

/// For every row its nearest anchors, nearest first.
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// Anchors of each row.
    pub per_row: usize,
    anchors: Vec<u32>,
}

impl Neighbours {
    /// Finds the `wanted` nearest anchors (fewer where there are fewer).
    pub fn find(rows: &Matrix<f32>, anchors: &Matrix<f32>, wanted: usize) -> Self {
        let per_row = wanted.min(anchors.rows());
        if per_row == 0 {
            return Self { per_row, anchors: Vec::new() };
        }
        let columns = rows.columns();
        let anchors = blocks(anchors, ANCHOR_BLOCK);
        let mut found = vec![0u32; rows.rows() * per_row];
        // Large pools are short of room: only the block at hand is copied.
        found
            .par_chunks_mut(ROW_BLOCK * per_row)
            .zip(rows.as_slice().par_chunks(ROW_BLOCK * columns))
            .for_each(|(found, rows)| {
                let rows = transposed(rows, columns);
                let mut nearest = Nearest::new(rows.columns(), per_row);
                for (block, anchors) in anchors.iter().enumerate() {
                    nearest.meet(block * ANCHOR_BLOCK, &similarities(anchors, &rows), |_, _| true);
                }
                found.copy_from_slice(&nearest.found);
            });
        Self { per_row, anchors: found }
    }

    /// Finds the `wanted` nearest other rows of every row.
    pub fn among(rows: &Matrix<f32>, wanted: usize) -> Self {
        let per_row = wanted.min(rows.rows().saturating_sub(1));
        if per_row == 0 {
            return Self { per_row, anchors: Vec::new() };
        }
        let columns = rows.columns();
        let blocks = blocks(rows, ANCHOR_BLOCK);
        let across: Vec<PaddedRows<f32>> = rows
            .as_slice()
            .par_chunks(ANCHOR_BLOCK * columns)
            .map(|rows| transposed(rows, columns))
            .collect();
        let found: Vec<Mutex<Nearest>> =
            blocks.iter().map(|block| Mutex::new(Nearest::new(block.rows(), per_row))).collect();
        let with = |block: usize, work: &mut dyn FnMut(&mut Nearest)| {
            // Only a panic elsewhere poisons it, and that is on its way to the caller already.
            work(&mut found[block].lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        };
        (0..blocks.len()).into_par_iter().for_each(|block| {
            let own = similarities(&blocks[block], &across[block]);
            with(block, &mut |nearest| nearest.meet(block * ANCHOR_BLOCK, &own, |row, anchor| row != anchor));
        });
        for round in rounds(blocks.len()) {
            round.into_par_iter().for_each(|(one, other)| {
                let similarity = similarities(&blocks[other], &across[one]);
                with(one, &mut |nearest| nearest.meet(other * ANCHOR_BLOCK, &similarity, |_, _| true));
                with(other, &mut |nearest| nearest.meet_transposed(one * ANCHOR_BLOCK, &similarity));
            });
        }
        let found = found
            .into_iter()
            .map(|nearest| nearest.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).found);
        Self { per_row, anchors: found.collect::<Vec<_>>().concat() }
    }

    /// Returns the anchors of a row, nearest first.
    pub fn of_row(&self, row: usize) -> &[u32] {
        &self.anchors[row * self.per_row..(row + 1) * self.per_row]
    }

    /// Keeps the neighbours of some rows alone.
    pub fn of_rows(&self, rows: &[usize]) -> Self {
        let anchors = rows.iter().flat_map(|&row| self.of_row(row)).copied().collect();
        Self { per_row: self.per_row, anchors }
    }

    /// Lists for every anchor the rows that have it, rising: where each anchor's list begins, and the lists.
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

fn blocks(rows: &Matrix<f32>, size: usize) -> Vec<PaddedRows<f32>> {
    let columns = rows.columns();
    let block =
        |rows: &[f32]| PaddedRows::from_rows(columns, rows.len() / columns, rows.chunks_exact(columns));
    rows.as_slice().par_chunks(size * columns).map(block).collect()
}

/// Rows as columns.
fn transposed(rows: &[f32], columns: usize) -> PaddedRows<f32> {
    let mut out = PaddedRows::zeros(columns, rows.len() / columns);
    for (at, row) in rows.chunks_exact(columns).enumerate() {
        row.iter().enumerate().for_each(|(column, &value)| out.row_mut(column)[at] = value);
    }
    out
}

/// `out[a][b]`: inner product of anchor a with the row that is column b.
fn similarities(anchors: &PaddedRows<f32>, rows: &PaddedRows<f32>) -> PaddedRows<f32> {
    let mut out = PaddedRows::zeros(anchors.rows(), rows.columns());
    f32::kernels().weight_gradient(rows, anchors, &mut out);
    out
}

/// The rounds of a tournament of `count` players: every two meet once, and no one plays twice in a round.
fn rounds(count: usize) -> Vec<Vec<(usize, usize)>> {
    // The last of an even number stays where it is and the others move around it; of an odd number, whoever would meet
    // the one that is missing rests.
    let circle = (count + count % 2).saturating_sub(1);
    let round = |round: usize| {
        let pairs = (0..=circle / 2).map(|step| match step {
            0 => (round, circle),
            _ => ((round + step) % circle, (round + circle - step) % circle),
        });
        pairs.filter(|&(one, other)| one < count && other < count).collect()
    };
    (0..circle).map(round).collect()
}

/// The nearest anchors so far of the rows of a block.
struct Nearest {
    per_row: usize,
    similarity: Vec<f32>,
    found: Vec<u32>,
    /// The similarity a newcomer must reach, contiguous, so that the common case is one vector comparison.
    worst: Vec<f32>,
}

impl Nearest {
    fn new(rows: usize, per_row: usize) -> Self {
        Self {
            per_row,
            similarity: vec![f32::NEG_INFINITY; rows * per_row],
            found: vec![0; rows * per_row],
            worst: vec![f32::NEG_INFINITY; rows],
        }
    }

    /// Takes in anchors from `first` on: one row of `similarity` for each, with a column for each row of the block.
    fn meet(&mut self, first: usize, similarity: &PaddedRows<f32>, may: impl Fn(usize, usize) -> bool) {
        let rows = self.worst.len();
        for at in 0..similarity.rows() {
            let values = &similarity.row(at)[..rows];
            for (lanes, values) in values.chunks(LANES).enumerate() {
                let worst = &self.worst[lanes * LANES..][..values.len()];
                // All are compared without a branch first: hardly any is near enough.
                if !values.iter().zip(worst).fold(false, |any, (new, worst)| any | (new >= worst)) {
                    continue;
                }
                for (lane, &value) in values.iter().enumerate() {
                    let row = lanes * LANES + lane;
                    if value >= self.worst[row] && may(row, at) {
                        self.insert(row, value, (first + at) as u32);
                    }
                }
            }
        }
    }

    /// The same where `similarity` has a row for each row of the block, with a column for each anchor.
    fn meet_transposed(&mut self, first: usize, similarity: &PaddedRows<f32>) {
        let anchors = similarity.columns();
        for row in 0..self.worst.len() {
            for (lanes, values) in similarity.row(row)[..anchors].chunks(LANES).enumerate() {
                let worst = self.worst[row];
                if !values.iter().fold(false, |any, &new| any | (new >= worst)) {
                    continue;
                }
                for (lane, &value) in values.iter().enumerate() {
                    if value >= self.worst[row] {
                        self.insert(row, value, (first + lanes * LANES + lane) as u32);
                    }
                }
            }
        }
    }

    /// Puts a newcomer into its place among the nearest; of equals the earlier anchor is the nearer.
    fn insert(&mut self, row: usize, value: f32, anchor: u32) {
        let own = row * self.per_row..(row + 1) * self.per_row;
        let (similarity, found) = (&mut self.similarity[own.clone()], &mut self.found[own]);
        let is_further =
            |(&other, &holder): (&f32, &u32)| value > other || (value == other && anchor < holder);
        let Some(place) = similarity.iter().zip(&*found).position(is_further) else { return };
        similarity[place..].rotate_right(1);
        found[place..].rotate_right(1);
        similarity[place] = value;
        found[place] = anchor;
        self.worst[row] = similarity[similarity.len() - 1];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::sums::dot_by_lanes;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn random(rows: usize, seed: u64) -> Matrix<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        Matrix::from_vec(rows, 6, (0..rows * 6).map(|_| rng.random_range(-1.0..1.0)).collect())
    }

    #[test]
    fn neighbours_are_those_of_a_full_sort() {
        let (rows, anchors) = (random(300, 1), random(1100, 2));
        let found = Neighbours::find(&rows, &anchors, 7);
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
        let found = Neighbours::among(&equal, 10);
        assert_eq!(found.per_row, 3);
        assert_eq!([found.of_row(0), found.of_row(2)], [&[1, 2, 3], &[0, 1, 3]]);
    }

    #[test]
    fn other_rows_are_found_as_anchors_are_however_blocks_meet() {
        // Blocks of 496: one, an even and an odd number of them, the last one short.
        for count in [40, 1000, 1300] {
            let rows = random(count, 5);
            let among = Neighbours::among(&rows, 6);
            let found = Neighbours::find(&rows, &rows, 7);
            for row in 0..count {
                let others: Vec<u32> = found
                    .of_row(row)
                    .iter()
                    .copied()
                    .filter(|&other| other as usize != row)
                    .take(6)
                    .collect();
                let similarity = |other: u32| dot_by_lanes(rows.row(row), rows.row(other as usize));
                for (&got, &wanted) in among.of_row(row).iter().zip(&others) {
                    assert!((similarity(got) - similarity(wanted)).abs() < 1e-5, "{count} rows, row {row}");
                }
            }
        }
    }

    #[test]
    fn everyone_meets_everyone_once_and_nobody_plays_twice_in_a_round() {
        for count in 0..9 {
            let mut met = vec![0; count * count];
            for round in rounds(count) {
                let mut players: Vec<usize> = round.iter().flat_map(|&(one, other)| [one, other]).collect();
                players.sort_unstable();
                assert!(players.windows(2).all(|two| two[0] < two[1]), "{count}: {round:?}");
                round.iter().for_each(|&(one, other)| met[one.min(other) * count + one.max(other)] += 1);
            }
            for one in 0..count {
                (one + 1..count).for_each(|other| assert_eq!(met[one * count + other], 1, "{count}"));
            }
        }
    }

    #[test]
    fn reversed_lists_hold_every_pair() {
        let (rows, anchors) = (random(50, 3), random(9, 4));
        let found = Neighbours::find(&rows, &anchors, 3);
        let (starts, lists) = found.reversed(9);
        assert_eq!(lists.len(), 150);
        for anchor in 0..9 {
            for &row in &lists[starts[anchor]..starts[anchor + 1]] {
                assert!(found.of_row(row as usize).contains(&(anchor as u32)));
            }
        }
    }
}
