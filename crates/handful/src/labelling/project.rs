//! From features as they come to the few coordinates in which rows are compared.
//!
//! Each row becomes `z = u(u(sqrt x) - m)` (u divides by the length, the root keeps the sign, m is the mean), which
//! is what the preset `default` of dm-ida does to its features plus centring, and then its coordinates on the leading
//! principal directions. The directions come from a sample of the pool by subspace iteration: a few products with the
//! sample instead of a factorisation of a d x d matrix.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::LabelError;
use super::pool::{PoolRows, evenly_spread};
use crate::linalg::symmetric_eigen;
use crate::matrix::Matrix;
use crate::scalar::Scalar;
use crate::simd::PaddedRows;
use crate::sums::{dot_by_lanes, squared_length};

/// Rows that mean and directions are computed from.
const SAMPLE: usize = 8192;
/// Directions carried besides those wanted, so that the last wanted ones converge too.
const SPARE: usize = 16;
/// Products with the sample's scatter. On features of networks two, of half the sample, change no accuracy; where noise
/// is of the same size in every direction they do (a made-up pool: 88% right instead of 96%).
const ITERATIONS: usize = 3;
/// Rows handled at a time by one thread; sums over blocks are taken in this unit, whatever the number of threads.
const BLOCK: usize = 256;

/// Mean and principal directions of a pool.
pub(crate) struct Projection {
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
        sample.as_mut_slice().par_chunks_mut(columns).for_each(unit_root);
        let mean = sample.mean_row();
        sample.as_mut_slice().par_chunks_mut(columns).for_each(|row| centred_unit(row, &mean));
        let blocks: Vec<PaddedRows<f32>> = sample
            .as_slice()
            .par_chunks(BLOCK * columns)
            .map(|rows| PaddedRows::from_rows(columns, rows.len() / columns, rows.chunks_exact(columns)))
            .collect();
        let wanted = components.min(columns).min(sample.rows());
        let carried = (wanted + SPARE).min(columns).min(sample.rows().max(1));
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let start = (0..carried * columns).map(|_| rng.random_range(-1.0..1.0)).collect();
        let mut directions = orthonormal(Matrix::from_vec(carried, columns, start));
        for _ in 0..ITERATIONS {
            directions = orthonormal(scatter_product(&blocks, &directions));
        }
        let directions = leading(&blocks, &directions, wanted);
        Ok(Self { mean, directions: PaddedRows::from_matrix(&directions) })
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
            unit_root(copy);
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

/// `sqrt|x| sign(x)`, then unit length; a row of zeros stays.
fn unit_root(row: &mut [f32]) {
    row.iter_mut().for_each(|value| *value = value.abs().sqrt().copysign(*value));
    unit(row);
}

fn centred_unit(row: &mut [f32], mean: &[f32]) {
    row.iter_mut().zip(mean).for_each(|(value, mean)| *value -= mean);
    unit(row);
}

/// Divides a row by its length.
pub(crate) fn unit(row: &mut [f32]) {
    let length = squared_length(row).sqrt();
    if length > 0.0 {
        row.iter_mut().for_each(|value| *value /= length);
    }
}

/// `out[a][b]`: inner product of row b of `rows` with row a of `weights`.
pub(crate) fn products(rows: &PaddedRows<f32>, weights: &PaddedRows<f32>) -> PaddedRows<f32> {
    let mut out = PaddedRows::zeros(weights.rows(), rows.rows());
    f32::kernels().scores(rows, weights, &vec![0.0; weights.rows()], &mut out);
    out
}

/// `V X'X` for the directions V and the sample X, summed over blocks in their order.
fn scatter_product(blocks: &[PaddedRows<f32>], directions: &Matrix<f32>) -> Matrix<f32> {
    let padded = PaddedRows::from_matrix(directions);
    let parts: Vec<PaddedRows<f32>> = blocks
        .par_iter()
        .map(|block| {
            let scores = products(block, &padded);
            let mut part = PaddedRows::zeros(directions.rows(), directions.columns());
            f32::kernels().weight_gradient(block, &scores, &mut part);
            part
        })
        .collect();
    let mut sum = Matrix::zeros(directions.rows(), directions.columns());
    for part in &parts {
        for row in 0..sum.rows() {
            sum.row_mut(row).iter_mut().zip(part.row(row)).for_each(|(sum, value)| *sum += value);
        }
    }
    sum
}

/// Gram and Schmidt, twice for accuracy; a row that depends on earlier ones becomes zero.
fn orthonormal(mut rows: Matrix<f32>) -> Matrix<f32> {
    for row in 0..rows.rows() {
        let mut own: Vec<f32> = rows.row(row).to_vec();
        unit(&mut own);
        for _ in 0..2 {
            for earlier in 0..row {
                let along = dot_by_lanes(&own, rows.row(earlier));
                own.iter_mut().zip(rows.row(earlier)).for_each(|(own, value)| *own -= along * value);
            }
        }
        if squared_length(&own) > 1e-8 {
            unit(&mut own);
        } else {
            own.fill(0.0);
        }
        rows.row_mut(row).copy_from_slice(&own);
    }
    rows
}

/// The directions turned to the principal ones within their span, by falling variance, the first `wanted`.
fn leading(blocks: &[PaddedRows<f32>], directions: &Matrix<f32>, wanted: usize) -> Matrix<f32> {
    let image = scatter_product(blocks, directions);
    let size = directions.rows();
    let entry = |at: usize| f64::from(dot_by_lanes(directions.row(at / size), image.row(at % size)));
    let small: Vec<f64> = (0..size * size).into_par_iter().map(entry).collect();
    let symmetric =
        (0..size * size).map(|at| 0.5 * (small[at] + small[at % size * size + at / size])).collect();
    let (_, vectors) = symmetric_eigen(&Matrix::from_vec(size, size, symmetric));
    let mut out = Matrix::zeros(wanted, directions.columns());
    for row in 0..wanted {
        for (source, &weight) in vectors.column(row).iter().enumerate() {
            let to = out.row_mut(row).iter_mut();
            to.zip(directions.row(source)).for_each(|(to, value)| *to += weight as f32 * value);
        }
    }
    out
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
        rows.as_mut_slice().chunks_exact_mut(20).for_each(unit_root);
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
