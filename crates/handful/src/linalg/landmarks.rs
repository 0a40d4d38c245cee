//! A low-rank factor of the centred Gaussian kernel, from landmarks.
//!
//! ```text
//! k(z, z') = exp(-|z - z'|^2 / 2 s^2),     s: a multiple of the median distance between rows
//! B = H K_nL W,    W = V U D^-1/2,    V' H K_LL H V = U D U',    V: the leading directions of H K_LL H
//! B B' ~ H K H,    H = I - 11'/n (of the landmarks: I - 11'/L)
//! ```
//!
//! L landmarks spread evenly over the rows, cut to the leading directions of their kernel: Nystroem's approximation, linear
//! in the rows. Landmarks alone, as many as there are columns in B, miss the dependence by up to several percent; four
//! thousand of them cut to 512 directions are within a thousandth where the kernel is wide enough for so many directions to
//! hold it (`benches/low_rank_dependence.py`). Where there are no more rows than directions every row is a landmark, nothing
//! is cut, and `B B'` is the kernel.

use rayon::prelude::*;

use super::Matrix;
use super::pca::PrincipalDirections;
use super::product::{View, product};
use super::subspace::principal_vectors;
use super::sums::squared_length;
use crate::graph::evenly_spread;

/// Rows of the kernel computed at a time.
const BLOCK: usize = 256;
/// Rows between which the median distance is taken.
const MEDIAN_ROWS: usize = 500;

/// What a centred kernel of equal rows is of, for each row.
const ROUNDING: f32 = 1e-5;

/// The factor B of the rows' centred Gaussian kernel, at most `rank` columns from at most `landmarks` rows. `bandwidth` is s in
/// median distances.
pub fn gaussian_factor(rows: &Matrix<f32>, bandwidth: f64, rank: usize, landmarks: usize) -> Matrix<f32> {
    let exact = rows.rows() <= rank;
    let chosen = rows.gather(&evenly_spread(rows.rows(), if exact { rank } else { landmarks.max(rank) }));
    let exponent = (-0.5 / (bandwidth * bandwidth * median_squared_distance(rows))) as f32;
    let mut among = kernel(&chosen, &chosen, exponent);
    // A wide kernel is nearly constant, and what is left of it without its mean is all that counts.
    among.centre();
    for row in 0..among.rows() {
        let mean = among.row(row).iter().sum::<f32>() / among.columns() as f32;
        among.row_mut(row).iter_mut().for_each(|value| *value -= mean);
    }
    let trace: f32 = (0..among.rows()).map(|at| among.row(at)[at]).sum();
    if trace <= ROUNDING * among.rows() as f32 {
        return Matrix::zeros(rows.rows(), 1);
    }
    let mut weights = weights(&among, rank.min(chosen.rows()), exact);
    // What rounding left of the constant direction would be blown up by its small eigenvalue.
    weights.centre();
    let mut factor = Matrix::zeros(rows.rows(), weights.columns());
    let columns = weights.columns();
    let blocks = factor.as_mut_slice().par_chunks_mut(BLOCK * columns.max(1)).enumerate();
    blocks.for_each(|(at, to)| {
        let numbers: Vec<usize> = (at * BLOCK..(at * BLOCK + BLOCK).min(rows.rows())).collect();
        let kernel = kernel(&rows.gather(&numbers), &chosen, exponent);
        product(to, columns, view(&kernel), view(&weights), false);
    });
    factor.centre();
    factor
}

/// W, one row for each landmark.
fn weights(among: &Matrix<f32>, rank: usize, exact: bool) -> Matrix<f32> {
    if exact {
        let (values, vectors, rank) = principal_vectors(&among.cast(), rank);
        let mut out = Matrix::zeros(among.rows(), rank);
        for row in 0..among.rows() {
            let to = out.row_mut(row).iter_mut().enumerate();
            to.for_each(|(k, to)| *to = (vectors[(row, k)] / values[k].sqrt()) as f32);
        }
        return out;
    }
    let directions = PrincipalDirections::fit(among, rank, 1).to_matrix();
    let (rank, count) = (directions.rows(), among.rows());
    let mut half = Matrix::<f32>::zeros(rank, count);
    product(half.as_mut_slice(), count, view(&directions), view(among), false);
    let mut small = Matrix::<f32>::zeros(rank, rank);
    product(small.as_mut_slice(), rank, view(&half), view(&directions).transposed(), false);
    let (values, vectors, kept) = principal_vectors(&small.cast(), rank);
    let scaled = Matrix::from_vec(
        rank,
        kept,
        (0..rank * kept)
            .map(|at| (vectors[(at / kept, at % kept)] / values[at % kept].sqrt()) as f32)
            .collect(),
    );
    let mut out = Matrix::zeros(count, kept);
    product(out.as_mut_slice(), kept, view(&directions).transposed(), view(&scaled), false);
    out
}

fn view(matrix: &Matrix<f32>) -> View<'_> {
    View::new(matrix.as_slice(), matrix.rows(), matrix.columns())
}

/// Kernel of some rows with others.
fn kernel(rows: &Matrix<f32>, others: &Matrix<f32>, exponent: f32) -> Matrix<f32> {
    let mut out = Matrix::zeros(rows.rows(), others.rows());
    product(out.as_mut_slice(), others.rows(), view(rows), view(others).transposed(), false);
    let lengths: Vec<f32> = others.iter_rows().map(squared_length).collect();
    for row in 0..rows.rows() {
        let own = squared_length(rows.row(row));
        let values = out.row_mut(row).iter_mut().zip(&lengths);
        values.for_each(|(value, other)| *value = (exponent * (own + other - 2.0 * *value).max(0.0)).exp());
    }
    out
}

/// The median over pairs of a sample; one where there is no pair or most rows are equal.
fn median_squared_distance(rows: &Matrix<f32>) -> f64 {
    let some = rows.gather(&evenly_spread(rows.rows(), MEDIAN_ROWS));
    let distance = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
    let mut pairs: Vec<f32> = (0..some.rows())
        .flat_map(|i| (0..i).map(move |j| (i, j)))
        .map(|(i, j)| distance(some.row(i), some.row(j)))
        .collect();
    if pairs.is_empty() {
        return 1.0;
    }
    let middle = pairs.len() / 2;
    let (_, median, _) = pairs.select_nth_unstable_by(middle, f32::total_cmp);
    if *median > 0.0 { f64::from(*median) } else { 1.0 }
}

#[cfg(test)]
mod tests;
