//! From features as they come to the few coordinates in which rows are compared.
//!
//! Each row becomes `z = u(u(sqrt x) - m)` (u divides by the length, the root keeps the sign and is left out where features
//! are signed, m is the mean), which is what the preset `default` of dm-ida does to its features plus centring, and then
//! its coordinates on the leading principal directions. The directions come from a sample of the pool by subspace iteration, started from random sums
//! of its rows: a few products with the sample instead of a factorisation of a d x d matrix.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::LabelError;
use super::pool::PoolRows;
use crate::graph::evenly_spread;
use crate::linalg::Matrix;
use crate::linalg::dense::symmetric_eigen;
use crate::linalg::sums::{dot_by_lanes, squared_length, unit};
use crate::scalar::Scalar;
use crate::signed::are_signed;
use crate::simd::PaddedRows;

/// Rows that mean and directions are computed from.
const SAMPLE: usize = 4096;
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
/// Rows handled at a time by one thread; sums over blocks are taken in this unit, whatever the number of threads.
const BLOCK: usize = 256;

/// Mean and principal directions of a pool.
pub(crate) struct Projection {
    /// Whether the root is taken.
    rooted: bool,
    mean: Vec<f32>,
    directions: PaddedRows<f32>,
}

impl Projection {
    /// Learns both from a sample.
    pub fn fit(pool: &dyn PoolRows, components: usize, seed: u64) -> Result<Self, LabelError> {
        let numbers = evenly_spread(pool.rows(), SAMPLE);
        let mut sample = pool.gather(&numbers);
        if let Some((row, column, value)) = sample.first_non_finite() {
            return Err(LabelError::NotFinite { row: numbers[row], column, value });
        }
        let columns = sample.columns();
        let rooted = !are_signed([sample.as_slice()]);
        sample.as_mut_slice().par_chunks_mut(columns).for_each(|row| unit_root(row, rooted));
        let mean = sample.mean_row();
        sample.as_mut_slice().par_chunks_mut(columns).for_each(|row| centred_unit(row, &mean));
        let sample = Sample::new(&sample);
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
        Ok(Self { rooted, mean, directions: PaddedRows::from_matrix(&directions) })
    }

    /// Coordinates of every row of the pool; reads it once.
    pub fn apply(&self, pool: &dyn PoolRows) -> Result<Matrix<f32>, LabelError> {
        let (columns, components) = (pool.dim(), self.directions.rows());
        let mut out = Matrix::zeros(pool.rows(), components);
        let mut bad = None;
        pool.for_each_block(&mut |first, values| {
            if let Some(at) =
                (!all_finite(values)).then(|| values.iter().position(|v| !v.is_finite())).flatten()
            {
                bad.get_or_insert(LabelError::NotFinite {
                    row: first + at / columns,
                    column: at % columns,
                    value: f64::from(values[at]),
                });
                return;
            }
            let to = &mut out.as_mut_slice()[first * components..][..values.len() / columns * components];
            to.par_chunks_mut(BLOCK * components)
                .zip(values.par_chunks(BLOCK * columns))
                .for_each(|(to, rows)| self.project(rows, columns, to));
        })
        .map_err(LabelError::Read)?;
        bad.map_or(Ok(out), Err)
    }

    fn project(&self, rows: &[f32], columns: usize, to: &mut [f32]) {
        let components = self.directions.rows();
        let mut padded = PaddedRows::zeros(rows.len() / columns, columns);
        for (at, row) in rows.chunks_exact(columns).enumerate() {
            let copy = &mut padded.row_mut(at)[..columns];
            copy.copy_from_slice(row);
            unit_root(copy, self.rooted);
            centred_unit(copy, &self.mean);
        }
        let scores = products(&padded, &self.directions);
        for (at, to) in to.chunks_exact_mut(components).enumerate() {
            for (component, to) in to.iter_mut().enumerate() {
                *to = scores.row(component)[at];
            }
        }
    }
}

fn all_finite(values: &[f32]) -> bool {
    values.iter().fold(true, |finite, value| finite & value.is_finite())
}

/// `sqrt|x| sign(x)` if wanted, then unit length; a row of zeros stays.
fn unit_root(row: &mut [f32], rooted: bool) {
    if rooted {
        row.iter_mut().for_each(|value| *value = value.abs().sqrt().copysign(*value));
    }
    unit(row);
}

fn centred_unit(row: &mut [f32], mean: &[f32]) {
    row.iter_mut().zip(mean).for_each(|(value, mean)| *value -= mean);
    unit(row);
}

/// `out[a][b]`: inner product of row b of `rows` with row a of `weights`.
pub(crate) fn products(rows: &PaddedRows<f32>, weights: &PaddedRows<f32>) -> PaddedRows<f32> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(rows: usize, columns: usize) -> Matrix<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        // Three strong directions among weak ones.
        let strong: Vec<f32> = (0..3 * columns).map(|_| rng.random_range(0.0..2.0)).collect();
        let mut values = Vec::new();
        for _ in 0..rows {
            let weights: [f32; 3] = std::array::from_fn(|_| rng.random_range(0.0..1.0));
            for column in 0..columns {
                let along: f32 = (0..3).map(|which| weights[which] * strong[which * columns + column]).sum();
                values.push(along + rng.random_range(0.0..0.1));
            }
        }
        Matrix::from_vec(rows, columns, values)
    }

    #[test]
    fn leading_directions_are_those_of_the_full_factorisation() {
        let pool = pool(300, 20);
        let projected = Projection::fit(&pool, 2, 1).expect("finite").apply(&pool).expect("readable");
        let mut rows = pool.clone();
        let rooted = !are_signed([rows.as_slice()]);
        rows.as_mut_slice().chunks_exact_mut(20).for_each(|row| unit_root(row, rooted));
        let mean = rows.mean_row();
        rows.as_mut_slice().chunks_exact_mut(20).for_each(|row| centred_unit(row, &mean));
        let rows: Matrix<f64> = rows.cast();
        let mut scatter = vec![0.0; 400];
        for row in rows.iter_rows() {
            (0..400).for_each(|at| scatter[at] += row[at / 20] * row[at % 20]);
        }
        let (_, vectors) = symmetric_eigen(&Matrix::from_vec(20, 20, scatter));
        for component in 0..2 {
            let exact = rows.iter_rows().map(|row| -> f64 {
                row.iter().zip(vectors.column(component).iter()).map(|(a, b)| a * b).sum()
            });
            let pairs: Vec<(f64, f64)> =
                exact.zip(projected.iter_rows().map(|row| f64::from(row[component]))).collect();
            let sign: f64 = pairs.iter().map(|(a, b)| a * b).sum::<f64>().signum();
            assert!(pairs.iter().all(|(a, b)| (a - sign * b).abs() < 1e-3));
        }
    }

    #[test]
    fn fewer_rows_than_directions_and_rows_of_zeros_are_fine() {
        let mut few = pool(3, 40);
        few.row_mut(1).fill(0.0);
        let projected = Projection::fit(&few, 128, 1).expect("finite").apply(&few).expect("readable");
        assert!(projected.rows() == 3 && projected.first_non_finite().is_none());
    }

    #[test]
    fn a_bad_value_is_located() {
        let mut bad = pool(10, 4);
        bad.row_mut(7)[2] = f32::NAN;
        let error = Projection::fit(&bad, 2, 1).err().expect("NaN is refused");
        assert!(matches!(error, LabelError::NotFinite { row: 7, column: 2, .. }));
    }
}
