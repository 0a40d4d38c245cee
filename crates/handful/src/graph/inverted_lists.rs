//! Approximate nearest neighbours of rows that were not there before: anchors in lists around centres, and a row compared
//! with those of its nearest lists alone (an inverted file, Jegou et al. 2011).
//!
//! Few anchors are compared with all of them, exactly. Rows come in blocks, and those that look into the same list are
//! compared with it in one matrix product. The result of a row depends on no other row.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::kernel_graph::spherical_means;
use super::neighbours::Neighbours;
use crate::linalg::Matrix;
use crate::linalg::product::{View, product};

/// Anchors up to which every one is compared.
const EXACT: usize = 1024;
/// Anchors of a list on average.
const LIST: usize = 128;
/// Lists that a row looks into.
const PROBES: usize = 10;
/// Rows that are compared together.
const BLOCK: usize = 1024;
/// Rows from which centres are learnt, and steps of k-means.
const SAMPLE: usize = 20_000;
const STEPS: usize = 4;

/// Anchors, arranged to be searched.
#[derive(Debug)]
pub struct InvertedLists {
    centres: Matrix<f32>,
    /// Anchors list by list.
    anchors: Matrix<f32>,
    /// The anchor's number before it was put into a list.
    numbers: Vec<u32>,
    starts: Vec<usize>,
}

/// An anchor near a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// The anchor.
    pub anchor: u32,
    /// Its inner product with the row.
    pub similarity: f32,
}

impl InvertedLists {
    /// Arranges unit rows.
    pub fn new(anchors: &Matrix<f32>) -> Self {
        let lists = if anchors.rows() <= EXACT { 1 } else { anchors.rows().div_ceil(LIST) };
        let sample = anchors.gather(&super::evenly_spread(anchors.rows(), SAMPLE));
        let centres = spherical_means(&sample, lists, if lists > 1 { STEPS } else { 0 });
        let (starts, numbers) = match centres.rows() {
            0 => (vec![0], Vec::new()),
            rows => Neighbours::find(anchors, &centres, 1).reversed(rows),
        };
        let order: Vec<usize> = numbers.iter().map(|&number| number as usize).collect();
        Self { centres, anchors: anchors.gather(&order), numbers, starts }
    }

    /// Returns the number of anchors.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Finds the nearest anchors of unit rows, nearest first; fewer than `wanted` where fewer are found.
    pub fn nearest(&self, rows: &Matrix<f32>, wanted: usize) -> Vec<Vec<Near>> {
        let columns = rows.columns().max(1);
        let blocks = rows.as_slice().par_chunks(BLOCK * columns);
        blocks.flat_map_iter(|block| self.nearest_of_block(block, columns, wanted)).collect()
    }

    fn nearest_of_block(&self, rows: &[f32], columns: usize, wanted: usize) -> Vec<Vec<Near>> {
        let count = rows.len() / columns;
        let mut found = vec![Vec::with_capacity(wanted + 1); count];
        if wanted == 0 || self.is_empty() {
            return found;
        }
        for (list, visitors) in self.visitors(rows, columns, count) {
            let (start, end) = (self.starts[list], self.starts[list + 1]);
            let mut gathered = Vec::with_capacity(visitors.len() * columns);
            visitors
                .iter()
                .for_each(|&row| gathered.extend_from_slice(&rows[row * columns..(row + 1) * columns]));
            let mut similarity = vec![0.0; visitors.len() * (end - start)];
            let anchors =
                View::new(&self.anchors.as_slice()[start * columns..end * columns], end - start, columns);
            let visiting = View::new(&gathered, visitors.len(), columns);
            product(&mut similarity, end - start, visiting, anchors.transposed(), false);
            for (&row, similarity) in visitors.iter().zip(similarity.chunks_exact((end - start).max(1))) {
                let numbers = &self.numbers[start..end];
                for (&anchor, &similarity) in numbers.iter().zip(similarity) {
                    insert(&mut found[row], Near { anchor, similarity }, wanted);
                }
            }
        }
        found
    }

    /// The rows of a block that look into each list.
    fn visitors(&self, rows: &[f32], columns: usize, count: usize) -> BTreeMap<usize, Vec<usize>> {
        let mut visitors: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        if self.centres.rows() == 1 {
            visitors.insert(0, (0..count).collect());
            return visitors;
        }
        let lists = self.centres.rows();
        let mut similarity = vec![0.0; count * lists];
        let centres = View::new(self.centres.as_slice(), lists, columns);
        product(&mut similarity, lists, View::new(rows, count, columns), centres.transposed(), false);
        for (row, similarity) in similarity.chunks_exact(lists).enumerate() {
            let mut best: Vec<Near> = Vec::with_capacity(PROBES + 1);
            for (list, &similarity) in similarity.iter().enumerate() {
                insert(&mut best, Near { anchor: list as u32, similarity }, PROBES);
            }
            best.iter().for_each(|near| visitors.entry(near.anchor as usize).or_default().push(row));
        }
        visitors
    }
}

/// Puts a newcomer into its place; of equals the earlier anchor is the nearer.
fn insert(best: &mut Vec<Near>, new: Near, wanted: usize) {
    if best.len() == wanted && best.last().is_some_and(|last| new.similarity < last.similarity) {
        return;
    }
    let is_before = |old: &Near| {
        old.similarity > new.similarity || (old.similarity == new.similarity && old.anchor < new.anchor)
    };
    let place = best.partition_point(is_before);
    best.insert(place, new);
    best.truncate(wanted);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{dot, unit};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn unit_rows(rows: usize, columns: usize, seed: u64) -> Matrix<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let values = (0..rows * columns).map(|_| rng.random_range(-1.0..1.0)).collect();
        let mut rows = Matrix::from_vec(rows, columns, values);
        (0..rows.rows()).for_each(|row| unit(rows.row_mut(row)));
        rows
    }

    #[test]
    fn few_anchors_are_all_compared() {
        let (rows, anchors) = (unit_rows(50, 5, 1), unit_rows(300, 5, 2));
        let found = InvertedLists::new(&anchors).nearest(&rows, 4);
        let exact = Neighbours::find(&rows, &anchors, 4);
        for (row, found) in found.iter().enumerate() {
            for (near, &wanted) in found.iter().zip(exact.of_row(row)) {
                let best = dot(rows.row(row), anchors.row(wanted as usize));
                assert!((near.similarity - best).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn many_anchors_are_found_nearly_always_and_an_anchor_finds_itself() {
        let anchors = unit_rows(5000, 8, 3);
        let lists = InvertedLists::new(&anchors);
        let rows = unit_rows(200, 8, 4);
        let exact = Neighbours::find(&rows, &anchors, 10);
        let found = lists.nearest(&rows, 10);
        let hits: usize = (0..200)
            .map(|row| found[row].iter().filter(|near| exact.of_row(row).contains(&near.anchor)).count())
            .sum();
        assert!(hits > 1700, "{hits} of 2000");
        for (row, found) in lists.nearest(&anchors, 1).iter().enumerate() {
            assert_eq!(found[0].anchor as usize, row);
        }
    }

    #[test]
    fn no_anchors_give_no_neighbours() {
        let found = InvertedLists::new(&Matrix::zeros(0, 3)).nearest(&unit_rows(2, 3, 5), 4);
        assert_eq!(found, [Vec::new(), Vec::new()]);
    }
}
