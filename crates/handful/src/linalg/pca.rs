//! Principal directions of many rows, without a factorisation of a d x d matrix.
//!
//! Subspace iteration from random sums of the rows: a few products with a sample, until another is expected to raise the
//! variance along the directions by next to nothing.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::Matrix;
use super::dense::symmetric_eigen;
use super::sums::{dot_by_lanes, squared_length, unit};
use crate::scalar::Scalar;
use crate::simd::PaddedRows;

/// Directions carried besides those wanted, so that the last wanted ones converge too.
const SPARE: usize = 16;
/// Products with the sample's scatter go on until the next is expected to raise the variance along the directions by
/// less than this part of itself. Features of networks are there after two; where noise is of the same size in every
/// direction it takes more, and they are needed (a made-up pool: 91% right after two, 96% after four).
const RISE: f64 = 0.005;
/// The most of them.
const MOST_ITERATIONS: usize = 10;
/// Rows of a block of the sample, and blocks of a group.
const SAMPLE_BLOCK: usize = 64;
const GROUP: usize = 8;

/// The leading principal directions of some rows, which are taken as centred.
#[derive(Debug)]
pub struct PrincipalDirections {
    directions: PaddedRows<f32>,
}

impl PrincipalDirections {
    /// Finds at most `components` directions; `seed` decides where the iteration starts.
    pub fn fit(sample: &Matrix<f32>, components: usize, seed: u64) -> Self {
        let columns = sample.columns();
        let sample = Sample::new(sample);
        let wanted = components.min(columns).min(sample.rows);
        let carried = (wanted + SPARE).min(columns).min(sample.rows.max(1));
        let weights = sample.random_weights(carried, seed);
        let mut directions = orthonormal(sample.weighted_sums(&weights));
        let mut scores = sample.scores(&directions);
        let mut variance = total_square(&scores);
        let mut last_rise = f64::INFINITY;
        for _ in 0..MOST_ITERATIONS {
            directions = orthonormal(sample.weighted_sums(&scores));
            scores = sample.scores(&directions);
            let before = std::mem::replace(&mut variance, total_square(&scores));
            let rise = variance / before - 1.0;
            // Rises fall geometrically, so the last two say what the next one will be.
            if !(rise * rise / last_rise > RISE || last_rise.is_infinite()) {
                break;
            }
            last_rise = rise;
        }
        let directions = leading(&directions, &scores, wanted);
        Self { directions: PaddedRows::from_matrix(&directions) }
    }

    /// Wraps directions found earlier, one a row.
    pub fn from_matrix(directions: &Matrix<f32>) -> Self {
        Self { directions: PaddedRows::from_matrix(directions) }
    }

    /// Returns the directions, one a row.
    pub fn to_matrix(&self) -> Matrix<f32> {
        let columns = self.directions.columns();
        let row = |row: usize| self.directions.row(row)[..columns].to_vec();
        Matrix::from_vec(self.directions.rows(), columns, (0..self.directions.rows()).flat_map(row).collect())
    }

    /// Returns the number of directions.
    pub fn components(&self) -> usize {
        self.directions.rows()
    }

    /// Projects `count` rows, which `fill` writes one at a time.
    pub fn project(&self, count: usize, fill: impl Fn(usize, &mut [f32]), to: &mut [f32]) {
        let columns = self.directions.columns();
        let mut padded = PaddedRows::zeros(count, columns);
        (0..count).for_each(|row| fill(row, &mut padded.row_mut(row)[..columns]));
        let scores = products(&padded, &self.directions);
        for (at, to) in to.chunks_exact_mut(self.components().max(1)).enumerate() {
            for (component, to) in to.iter_mut().enumerate() {
                *to = scores.row(component)[at];
            }
        }
    }
}

/// `out[a][b]`: inner product of row b of `rows` with row a of `weights`.
fn products(rows: &PaddedRows<f32>, weights: &PaddedRows<f32>) -> PaddedRows<f32> {
    let mut out = PaddedRows::zeros(weights.rows(), rows.rows());
    f32::kernels().scores(rows, weights, &vec![0.0; weights.rows()], &mut out);
    out
}

/// The prepared rows that directions are computed from, in blocks that fit the second-level cache. The blocks of a group
/// are one thread's work and share a sum, so that sums depend on no number of threads.
struct Sample {
    groups: Vec<Vec<PaddedRows<f32>>>,
    rows: usize,
    columns: usize,
}

impl Sample {
    fn new(rows: &Matrix<f32>) -> Self {
        let columns = rows.columns();
        let block =
            |rows: &[f32]| PaddedRows::from_rows(columns, rows.len() / columns, rows.chunks_exact(columns));
        let group = |rows: &[f32]| rows.chunks(SAMPLE_BLOCK * columns).map(block).collect();
        let groups = rows.as_slice().par_chunks(GROUP * SAMPLE_BLOCK * columns).map(group).collect();
        Self { groups, rows: rows.rows(), columns }
    }

    /// Inner products of every direction with every row, block by block.
    fn scores(&self, directions: &Matrix<f32>) -> Vec<PaddedRows<f32>> {
        let padded = PaddedRows::from_matrix(directions);
        self.groups.par_iter().flatten().map(|block| products(block, &padded)).collect()
    }

    /// `S X` for the rows X and weights S, given block by block as scores are.
    fn weighted_sums(&self, weights: &[PaddedRows<f32>]) -> Matrix<f32> {
        let count = weights.first().map_or(0, PaddedRows::rows);
        let group = |(blocks, weights): (&Vec<PaddedRows<f32>>, &[PaddedRows<f32>])| {
            let mut part = PaddedRows::zeros(count, self.columns);
            for (block, weights) in blocks.iter().zip(weights) {
                f32::kernels().add_weight_gradient(block, weights, &mut part);
            }
            part
        };
        let parts: Vec<PaddedRows<f32>> =
            self.groups.par_iter().zip(weights.par_chunks(GROUP)).map(group).collect();
        let mut sum = Matrix::zeros(count, self.columns);
        for part in &parts {
            for row in 0..count {
                sum.row_mut(row).iter_mut().zip(part.row(row)).for_each(|(sum, value)| *sum += value);
            }
        }
        sum
    }

    /// Random weights for sums of the rows: what varies much shows in all of them.
    fn random_weights(&self, count: usize, seed: u64) -> Vec<PaddedRows<f32>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut weights = |rows: usize| {
            let mut weights = PaddedRows::zeros(count, rows);
            for row in 0..count {
                weights.row_mut(row)[..rows].fill_with(|| rng.random_range(-1.0..1.0));
            }
            weights
        };
        self.groups.iter().flatten().map(|block| weights(block.rows())).collect()
    }
}

fn total_square(scores: &[PaddedRows<f32>]) -> f64 {
    scores.iter().map(|block| f64::from(squared_length(block.as_slice()))).sum()
}

/// The directions turned to the principal ones within their span, by falling variance, the first `wanted`.
fn leading(directions: &Matrix<f32>, scores: &[PaddedRows<f32>], wanted: usize) -> Matrix<f32> {
    let size = directions.rows();
    let parts: Vec<PaddedRows<f32>> = scores.par_iter().map(|block| products(block, block)).collect();
    let entry = |at: usize| parts.iter().map(|part| f64::from(part.row(at / size)[at % size])).sum();
    let scatter = (0..size * size).into_par_iter().map(entry).collect();
    let (_, vectors) = symmetric_eigen(&Matrix::from_vec(size, size, scatter));
    let mut out = Matrix::zeros(wanted, directions.columns());
    for row in 0..wanted {
        for (source, &weight) in vectors.column(row).iter().enumerate() {
            let to = out.row_mut(row).iter_mut();
            to.zip(directions.row(source)).for_each(|(to, value)| *to += weight as f32 * value);
        }
    }
    out
}

/// Gram and Schmidt, twice for accuracy; a row that depends on earlier ones becomes zero.
fn orthonormal(mut rows: Matrix<f32>) -> Matrix<f32> {
    let columns = rows.columns().max(1);
    let mut lengths: Vec<f32> = rows.iter_rows().map(|row| squared_length(row).sqrt()).collect();
    for _ in 0..2 {
        for row in 0..rows.rows() {
            let (earlier, later) = rows.as_mut_slice().split_at_mut((row + 1) * columns);
            let own = &mut earlier[row * columns..];
            // What is left of a row, next to what it was, is rounding where it depends on earlier ones.
            if squared_length(own).sqrt() > 1e-4 * lengths[row] {
                unit(own);
            } else {
                own.fill(0.0);
            }
            later.par_chunks_mut(columns).for_each(|other| {
                let along = dot_by_lanes(own, other);
                other.iter_mut().zip(&*own).for_each(|(other, value)| *other -= along * value);
            });
        }
        lengths.fill(1.0);
    }
    rows
}
