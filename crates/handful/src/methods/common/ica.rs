//! FastICA (Hyvarinen 1999), symmetric, with the log-cosh contrast.
//!
//! The rows of a task are the mixtures and the feature dimensions the samples, as TAFSSL has it: the independent sources,
//! one value per feature dimension, are the directions that features are projected on. It starts at the whitened
//! principal axes, so no seed is needed and the order of the rows does not matter.

use nalgebra::DMatrix;

use crate::linalg::Matrix;
use crate::linalg::dense::symmetric_eigen;
use crate::linalg::subspace::Subspace;
use crate::methods::common::feature_rows::FeatureRows;
use crate::scalar::Scalar;
use crate::simd::padded;

/// Change of the unmixing directions to stop at, and the most iterations: scikit-learn's.
const TOLERANCE: f64 = 1e-4;
const MAX_ITERATIONS: usize = 200;

/// At most `components` sources of unit variance (sources x feature dimensions).
pub(crate) fn sources(rows: &Matrix<f32>, components: usize) -> Matrix<f32> {
    let white = whitened(rows, components);
    let unmixing = rotate(&white);
    let sources = unmixing * white;
    let values = sources.transpose().iter().map(|&value| value as f32).collect();
    Matrix::from_vec(sources.nrows(), sources.ncols(), values)
}

/// Uncorrelated combinations of the rows, each centred over the feature dimensions and of unit variance.
fn whitened(rows: &Matrix<f32>, components: usize) -> DMatrix<f64> {
    let dim = rows.columns();
    let mut centred = rows.clone();
    for row in 0..centred.rows() {
        let row = centred.row_mut(row);
        let mean = row.iter().map(|&value| f64::from(value)).sum::<f64>() / dim as f64;
        row.iter_mut().for_each(|value| *value -= mean as f32);
    }
    let features = FeatureRows::new(&centred);
    let axes = Subspace::new(&features.products(&centred), components);
    let directions = features.weighted_sums(axes.coefficients());
    let scale = (dim as f64).sqrt();
    DMatrix::from_fn(directions.rows(), dim, |k, at| scale * f64::from(directions.row(k)[at]))
}

/// The rotation that makes the white signals independent.
fn rotate(white: &DMatrix<f64>) -> DMatrix<f64> {
    let (count, samples) = (white.nrows(), white.ncols() as f64);
    let mut unmixing = DMatrix::identity(count, count);
    let mut exponentials = vec![0.0; padded(white.len())];
    for _ in 0..MAX_ITERATIONS {
        let mut signals = &unmixing * white;
        let mut slopes = vec![0.0; count];
        tanh(signals.as_mut_slice(), &mut exponentials);
        for sample in signals.column_iter() {
            for (value, slope) in sample.iter().zip(&mut slopes) {
                *slope += 1.0 - value * value;
            }
        }
        let mut next = signals * white.transpose() / samples;
        for row in 0..count {
            for column in 0..count {
                next[(row, column)] -= slopes[row] / samples * unmixing[(row, column)];
            }
        }
        let next = decorrelated(&next);
        let agreement = |row: usize| next.row(row).dot(&unmixing.row(row)).abs();
        let change = (0..count).map(|row| (agreement(row) - 1.0).abs()).fold(0.0, f64::max);
        unmixing = next;
        if change < TOLERANCE {
            break;
        }
    }
    unmixing
}

/// `tanh v = 1 - 2 / (1 + exp 2v)` of every value, in single precision: calling the library for each took most of the
/// method's time. `exponentials` is room for as many values, padded.
fn tanh(values: &mut [f64], exponentials: &mut [f32]) {
    for (power, value) in exponentials.iter_mut().zip(values.iter()) {
        *power = 2.0 * *value as f32;
    }
    f32::kernels().exp(exponentials);
    for (value, power) in values.iter_mut().zip(exponentials.iter()) {
        *value = f64::from(1.0 - 2.0 / (1.0 + power));
    }
}

/// `(W W^T)^-1/2 W`, the nearest orthogonal matrix.
fn decorrelated(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    let square = matrix * matrix.transpose();
    let size = square.nrows();
    let (values, vectors) = symmetric_eigen(&Matrix::from_vec(size, size, square.as_slice().to_vec()));
    let mut scaled = vectors.clone();
    for (mut column, value) in scaled.column_iter_mut().zip(values) {
        column *= 1.0 / value.max(1e-12).sqrt();
    }
    scaled * vectors.transpose() * matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixed_signals_are_separated() {
        // A square wave, a saw tooth and a fast alternation, mixed.
        let signal = |kind: usize, at: usize| match kind {
            0 => {
                if (at / 50).is_multiple_of(2) {
                    1.0
                } else {
                    -1.0
                }
            }
            1 => (at % 70) as f32 / 35.0 - 1.0,
            _ => {
                if at.is_multiple_of(3) {
                    2.0
                } else {
                    -1.0
                }
            }
        };
        let mix = [[1.0f32, 0.6, 0.3], [0.4, 1.0, -0.5], [0.2, -0.7, 1.0]];
        let mut rows = Matrix::zeros(3, 2100);
        for (row, weights) in mix.iter().enumerate() {
            for (at, value) in rows.row_mut(row).iter_mut().enumerate() {
                *value = (0..3).map(|kind| weights[kind] * signal(kind, at)).sum();
            }
        }
        let found = sources(&rows, 3);
        for kind in 0..3 {
            let mean = (0..2100).map(|at| signal(kind, at)).sum::<f32>() / 2100.0;
            let norm = (0..2100).map(|at| (signal(kind, at) - mean).powi(2)).sum::<f32>().sqrt();
            let correlation = |row: &[f32]| {
                let product: f32 = row.iter().enumerate().map(|(at, v)| v * (signal(kind, at) - mean)).sum();
                (product / norm / (2100f32).sqrt()).abs()
            };
            let best = found.iter_rows().map(correlation).fold(0.0, f32::max);
            assert!(best > 0.98, "source {kind}: {best}");
        }
    }

    #[test]
    fn hyperbolic_tangents_are_those_of_the_library_even_far_out() {
        let mut values: Vec<f64> = (-400..=400).map(|at| f64::from(at) / 4.0).collect();
        let wanted: Vec<f64> = values.iter().map(|value| value.tanh()).collect();
        tanh(&mut values, &mut vec![0.0; padded(801)]);
        assert!(values.iter().zip(&wanted).all(|(got, wanted)| (got - wanted).abs() < 1e-6));
    }

    #[test]
    fn sources_are_white_and_no_more_than_the_rows_span() {
        let value = |at: usize| ((at * 7919 + 13) % 1009) as f32 / 500.0 - 1.0;
        let rows = Matrix::from_vec(4, 300, (0..1200).map(value).collect()).gather(&[0, 1, 2, 3, 3]);
        let found = sources(&rows, 10);
        assert_eq!(found.rows(), 4);
        for i in 0..4 {
            for j in 0..4 {
                let product: f32 = found.row(i).iter().zip(found.row(j)).map(|(a, b)| a * b).sum();
                assert!((product / 300.0 - f32::from(u8::from(i == j))).abs() < 1e-2);
            }
        }
    }
}
