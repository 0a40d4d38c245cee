//! A pool in two dimensions: rows that are neighbours lie together.
//!
//! It begins with the two leading principal coordinates, which are there at once. From there neighbours of the graph pull
//! each other, and rows drawn by chance push each other away, with UMAP's forces for a = b = 1:
//!
//! ```text
//! pull  2 / (1 + d^2)          push  2 / ((0.001 + d^2) (1 + d^2))
//! ```
//!
//! The steps get shorter and end after [`ROUNDS`]; somebody who watches sees groups come apart. One thread and a generator
//! of its own, so the map depends on the pool alone.

use handful::Matrix;
use handful::graph::inverted_lists::InvertedLists;
use handful::graph::weighted::WeightedGraph;

use crate::error::LabelError;
use crate::prepared::PreparedPool;

/// Rounds until a map stands still.
const ROUNDS: usize = 200;
/// Rows that push a row away for each that pulls it.
const PUSHES: usize = 4;
/// Width at which the principal coordinates begin, in units of the forces.
const WIDTH: f32 = 10.0;
/// The longest step along an axis, in units of the step length.
const LONGEST_STEP: f32 = 4.0;
/// Rows whose mean is the place of a row that is not in the graph.
const ANCHORS: usize = 3;
/// Rows that are projected together.
const BLOCK: usize = 16_384;
/// Share of the rows at either end of an axis that do not stretch it.
const ENDS: f32 = 0.002;

/// A map that can be improved.
pub struct PoolMap {
    /// Of the rows of the graph.
    points: Vec<[f32; 2]>,
    /// Pairs of rows with the share of the rounds in which they pull.
    pairs: Vec<(u32, u32, f32)>,
    /// For every row of the pool the points it lies between, where the graph has only a sample of the rows.
    anchors: Option<Vec<[u32; ANCHORS]>>,
    /// Rows of the pool; prototypes of classes, which come after them, are not shown.
    rows: usize,
    round: usize,
    chance: Chance,
}

impl PoolMap {
    /// The map at its beginning.
    ///
    /// # Errors
    /// A value that is not finite.
    pub(crate) fn new(
        pool: &PreparedPool,
        coordinates: &Matrix<f32>,
        graph: Option<(&WeightedGraph, &InvertedLists)>,
    ) -> Result<Self, LabelError> {
        let pair = |row: &[f32]| [row.first().copied().unwrap_or(0.0), row.get(1).copied().unwrap_or(0.0)];
        let mut points: Vec<[f32; 2]> = coordinates.iter_rows().map(pair).collect();
        stretch(&mut points, 0.0);
        let mut chance = Chance(1);
        for point in &mut points {
            // Rows at the same place would be pushed nowhere.
            point
                .iter_mut()
                .for_each(|value| *value = WIDTH * (*value - 0.5) + 1e-3 * (chance.share() - 0.5));
        }
        let mut pairs = Vec::new();
        let mut anchors = None;
        if let Some((graph, lists)) = graph {
            for row in 0..points.len() {
                pairs.extend(graph.of_row(row).map(|(other, weight)| (row as u32, other as u32, weight)));
            }
            let strongest = pairs.iter().map(|pair| pair.2).fold(f32::MIN_POSITIVE, f32::max);
            pairs.iter_mut().for_each(|pair| pair.2 /= strongest);
            if points.len() < pool.rows() {
                anchors = Some(anchors_of(pool, lists)?);
            }
        }
        Ok(Self { points, pairs, anchors, rows: pool.rows(), round: 0, chance })
    }

    /// Whether it stands still.
    pub fn is_finished(&self) -> bool {
        self.round >= ROUNDS || self.pairs.is_empty()
    }

    /// Goes on for some rounds.
    pub fn improve(&mut self, rounds: usize) {
        for _ in 0..rounds {
            if self.is_finished() {
                return;
            }
            let (round, length) = (self.round as f32, 1.0 - self.round as f32 / ROUNDS as f32);
            for at in 0..self.pairs.len() {
                let (row, other, share) = self.pairs[at];
                if ((round + 1.0) * share).floor() > (round * share).floor() {
                    self.pull(row as usize, other as usize, length);
                    for _ in 0..PUSHES {
                        let other = self.chance.below(self.points.len());
                        self.push(row as usize, other, length);
                    }
                }
            }
            self.round += 1;
        }
    }

    fn pull(&mut self, row: usize, other: usize, length: f32) {
        let ([x, y], square) = self.between(row, other);
        let force = -2.0 / (1.0 + square);
        for (axis, along) in [x, y].into_iter().enumerate() {
            let step = length * (force * along).clamp(-LONGEST_STEP, LONGEST_STEP);
            self.points[row][axis] += step;
            self.points[other][axis] -= step;
        }
    }

    fn push(&mut self, row: usize, other: usize, length: f32) {
        let ([x, y], square) = self.between(row, other);
        let force = 2.0 / ((0.001 + square) * (1.0 + square));
        for (axis, along) in [x, y].into_iter().enumerate() {
            self.points[row][axis] += length * (force * along).clamp(-LONGEST_STEP, LONGEST_STEP);
        }
    }

    fn between(&self, row: usize, other: usize) -> ([f32; 2], f32) {
        let (a, b) = (self.points[row], self.points[other]);
        let [x, y] = [a[0] - b[0], a[1] - b[1]];
        ([x, y], x * x + y * y)
    }

    /// The place of every row of the pool, from 0 to 1 along both axes.
    pub fn places(&self) -> Vec<[f32; 2]> {
        let mut places = match &self.anchors {
            None => self.points.clone(),
            Some(anchors) => anchors.iter().map(|anchors| self.mean(anchors)).collect(),
        };
        places.truncate(self.rows);
        stretch(&mut places, ENDS);
        places
    }

    fn mean(&self, anchors: &[u32; ANCHORS]) -> [f32; 2] {
        [0, 1].map(|axis| {
            anchors.iter().map(|&at| self.points[at as usize][axis]).sum::<f32>() / ANCHORS as f32
        })
    }
}

/// For every row of the pool the rows of the graph nearest to it.
fn anchors_of(pool: &PreparedPool, lists: &InvertedLists) -> Result<Vec<[u32; ANCHORS]>, LabelError> {
    let rows: Vec<usize> = (0..pool.rows()).collect();
    let mut anchors = Vec::with_capacity(rows.len());
    for rows in rows.chunks(BLOCK) {
        let found = lists.nearest(&pool.coordinates_of(rows)?, ANCHORS);
        anchors.extend(found.iter().map(|near| {
            let last = near.last().map_or(0, |near| near.anchor);
            std::array::from_fn(|at| near.get(at).map_or(last, |near| near.anchor))
        }));
    }
    Ok(anchors)
}

/// Stretches both axes over 0 to 1, a share of the rows at each end aside, which lie on the edge.
fn stretch(points: &mut [[f32; 2]], ends: f32) {
    for axis in 0..2 {
        let mut values: Vec<f32> = points.iter().map(|point| point[axis]).collect();
        values.sort_by(f32::total_cmp);
        let skipped = (ends * values.len() as f32) as usize;
        let (Some(&low), Some(&high)) = (values.get(skipped), values.iter().rev().nth(skipped)) else {
            return;
        };
        let width = (high - low).max(f32::MIN_POSITIVE);
        points.iter_mut().for_each(|point| point[axis] = ((point[axis] - low) / width).clamp(0.0, 1.0));
    }
}

/// SplitMix64: a map needs no better chance, and few as quick.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn share(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use handful::Matrix;

    use crate::{LabelParams, PreparedPool};

    const ROWS: usize = 240;

    /// Three groups in twelve dimensions.
    fn pool(exact_rows: usize) -> PreparedPool {
        let value = |row: usize, column: usize| {
            let noise = ((row * 37 + column * 101 + row * row) % 97) as f32 / 97.0 - 0.5;
            f32::from(u8::from(column % 3 == row % 3)) + 0.8 * noise
        };
        let values = (0..ROWS).flat_map(|row| (0..12).map(move |column| value(row, column))).collect();
        let params = LabelParams { exact_rows, ..LabelParams::default() };
        PreparedPool::new(Arc::new(Matrix::from_vec(ROWS, 12, values)), &params).expect("a pool")
    }

    /// Share of the five nearest places that are of the row's own group.
    fn together(places: &[[f32; 2]]) -> f64 {
        let distance = |a: usize, b: usize| {
            (places[a][0] - places[b][0]).powi(2) + (places[a][1] - places[b][1]).powi(2)
        };
        let own = (0..ROWS).map(|row| {
            let mut others: Vec<usize> = (0..ROWS).filter(|&other| other != row).collect();
            others.sort_by(|&a, &b| distance(row, a).total_cmp(&distance(row, b)));
            others[..5].iter().filter(|&&other| other % 3 == row % 3).count()
        });
        own.sum::<usize>() as f64 / (5 * ROWS) as f64
    }

    #[test]
    fn groups_come_apart_and_every_place_is_on_the_map() {
        for exact_rows in [usize::MAX, 100] {
            let mut map = pool(exact_rows).map().expect("a map");
            assert_eq!(map.places().len(), ROWS);
            while !map.is_finished() {
                map.improve(25);
            }
            let places = map.places();
            assert!(together(&places) > 0.95, "{} with {exact_rows} in the graph", together(&places));
            assert!(places.iter().flatten().all(|value| (0.0..=1.0).contains(value)));
        }
    }

    #[test]
    fn the_same_pool_has_the_same_map_however_it_is_improved() {
        let (mut one, mut other) =
            (pool(usize::MAX).map().expect("a map"), pool(usize::MAX).map().expect("a map"));
        one.improve(20);
        (0..4).for_each(|_| other.improve(5));
        assert_eq!(one.places(), other.places());
    }
}
