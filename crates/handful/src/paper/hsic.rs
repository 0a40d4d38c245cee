//! The Gaussian kernel on features, k(z, z') = exp(-|z - z'|^2 / 2 s^2), and its centring.
//!
//! The paper fixes s = 0.5. On raw features (median squared distance in the hundreds) that kernel is the identity; on
//! unit-length features (median about 1.2) it carries information. So the bandwidth can also be a multiple of the
//! median distance, and the kernel can look at unit-length copies of the features whatever the classifier sees.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::TaskError;
use crate::linalg::Matrix;
use crate::linalg::dense::inner_products;
use crate::scalar::Scalar;
use crate::simd::PaddedRows;

/// How wide the Gaussian is. Written as a number, or as a number before `median`: `0.5`, `1.0median`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Value", into = "serde_json::Value")]
pub enum Bandwidth {
    /// s itself.
    Fixed(f64),
    /// s as a multiple of the median distance between different rows.
    Median(f64),
}

/// Which features the kernel compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelFeatures {
    /// The features as the classifier sees them.
    AsGiven,
    /// Unit-length copies of them.
    UnitLength,
}

/// Rows of the Gram matrix computed at a time: bounds the extra memory to this many rows.
const BLOCK: usize = 256;

/// Bytes that the centred kernel of `rows` examples takes in precision `T`.
pub fn kernel_bytes<T>(rows: usize) -> u64 {
    let row = crate::simd::padded(rows) as u64 + crate::simd::LANE_PADDING as u64;
    rows as u64 * row * size_of::<T>() as u64
}

/// Computes `HKH`, the centred Gaussian kernel of the rows, padded with zeros for the kernels of a fit.
///
/// Refuses, before allocating, to take more than `limit_mb` megabytes.
///
/// # Errors
/// [`TaskError::KernelTooLarge`] says how much it would take.
pub fn centred_gaussian<T: Scalar>(
    rows: &Matrix<T>,
    bandwidth: Bandwidth,
    features: KernelFeatures,
    limit_mb: u64,
) -> Result<PaddedRows<T>, TaskError> {
    let bytes = kernel_bytes::<T>(rows.rows());
    if bytes > limit_mb.saturating_mul(1_000_000) {
        return Err(TaskError::KernelTooLarge { rows: rows.rows(), bytes, limit_mb });
    }
    let mut kernel = squared_distances(rows, features);
    let exponent = match bandwidth {
        Bandwidth::Fixed(s) => -0.5 / (s * s),
        Bandwidth::Median(factor) => -0.5 / (factor * factor * median_squared_distance(&kernel)),
    };
    let scale = T::from_f64(exponent);
    for row in 0..kernel.rows() {
        let columns = kernel.columns();
        let values = &mut kernel.row_mut(row)[..columns];
        values.iter_mut().for_each(|value| *value = (*value * scale).exp());
        // The diagonal is exactly one whatever the rounding of the distances.
        values[row] = T::ONE;
    }
    centre(&mut kernel);
    Ok(kernel)
}

fn squared_distances<T: Scalar>(rows: &Matrix<T>, features: KernelFeatures) -> PaddedRows<T> {
    let count = rows.rows();
    let norms: Vec<f64> =
        rows.iter_rows().map(|row| row.iter().map(|value| value.to_f64().powi(2)).sum()).collect();
    let mut distances = PaddedRows::zeros(count, count);
    for start in (0..count).step_by(BLOCK) {
        let block: Vec<usize> = (start..count.min(start + BLOCK)).collect();
        let products = inner_products(&rows.gather(&block), rows);
        for (&i, products) in block.iter().zip(products.iter_rows()) {
            for (j, (to, product)) in distances.row_mut(i).iter_mut().zip(products).enumerate() {
                let product = product.to_f64();
                let distance = match features {
                    KernelFeatures::AsGiven => norms[i] + norms[j] - 2.0 * product,
                    KernelFeatures::UnitLength => {
                        let lengths = (norms[i] * norms[j]).sqrt();
                        let cosine = if lengths > 0.0 { product / lengths } else { 0.0 };
                        2.0 - 2.0 * cosine
                    }
                };
                *to = T::from_f64(if i == j { 0.0 } else { distance.max(0.0) });
            }
        }
    }
    distances
}

/// The median over pairs of different rows; one where there is no pair or all rows are equal.
fn median_squared_distance<T: Scalar>(distances: &PaddedRows<T>) -> f64 {
    let mut pairs: Vec<f64> =
        (0..distances.rows()).flat_map(|i| distances.row(i)[..i].iter().map(|d| d.to_f64())).collect();
    if pairs.is_empty() {
        return 1.0;
    }
    let middle = pairs.len() / 2;
    let (_, median, _) = pairs.select_nth_unstable_by(middle, f64::total_cmp);
    if *median > 0.0 { *median } else { 1.0 }
}

/// K <- HKH with H = I - 11'/n, leaving the padding zero.
fn centre<T: Scalar>(kernel: &mut PaddedRows<T>) {
    let count = kernel.rows();
    let means: Vec<f64> = (0..count)
        .map(|row| kernel.row(row)[..count].iter().map(|value| value.to_f64()).sum::<f64>() / count as f64)
        .collect();
    let total = means.iter().sum::<f64>() / count.max(1) as f64;
    for i in 0..count {
        for (value, mean) in kernel.row_mut(i).iter_mut().zip(&means) {
            *value = T::from_f64(value.to_f64() - means[i] - mean + total);
        }
    }
}

impl FromStr for Bandwidth {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, median) = match text.strip_suffix("median") {
            Some(number) => (number, true),
            None => (text, false),
        };
        match number.parse::<f64>() {
            Ok(value) if value > 0.0 && value.is_finite() => {
                Ok(if median { Bandwidth::Median(value) } else { Bandwidth::Fixed(value) })
            }
            _ => Err(format!("a bandwidth is a positive number, or one before `median`, not {text:?}")),
        }
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bandwidth::Fixed(s) => write!(f, "{s}"),
            Bandwidth::Median(factor) => write!(f, "{factor}median"),
        }
    }
}

impl TryFrom<serde_json::Value> for Bandwidth {
    type Error = String;

    fn try_from(value: serde_json::Value) -> Result<Self, String> {
        match value {
            serde_json::Value::String(text) => text.parse(),
            other => other.to_string().parse(),
        }
    }
}

impl From<Bandwidth> for serde_json::Value {
    fn from(bandwidth: Bandwidth) -> Self {
        match bandwidth {
            Bandwidth::Fixed(s) => s.into(),
            Bandwidth::Median(_) => bandwidth.to_string().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Matrix<f64> {
        Matrix::from_vec(4, 2, vec![0.0, 1.0, 1.0, 1.0, 3.0, -1.0, 0.5, 0.25])
    }

    fn plain_centred(rows: &Matrix<f64>, s: f64) -> Vec<Vec<f64>> {
        let n = rows.rows();
        let k = |i: usize, j: usize| {
            let d: f64 = rows.row(i).iter().zip(rows.row(j)).map(|(a, b)| (a - b).powi(2)).sum();
            (-d / (2.0 * s * s)).exp()
        };
        let h = |i: usize, j: usize| f64::from(u8::from(i == j)) - 1.0 / n as f64;
        let entry = |i: usize, j: usize| {
            (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).map(|(a, b)| h(i, a) * k(a, b) * h(b, j)).sum()
        };
        (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
    }

    #[test]
    fn equals_the_definition_by_matrix_products() {
        let kernel =
            centred_gaussian(&rows(), Bandwidth::Fixed(0.8), KernelFeatures::AsGiven, 1).expect("small");
        let plain = plain_centred(&rows(), 0.8);
        for (i, plain) in plain.iter().enumerate() {
            for (got, wanted) in kernel.row(i).iter().zip(plain) {
                assert!((got - wanted).abs() < 1e-12);
            }
            assert!(kernel.row(i)[4..].iter().all(|&value| value == 0.0));
        }
    }

    #[test]
    fn unit_length_ignores_the_length_of_rows() {
        let mut scaled = rows();
        scaled.row_mut(2).iter_mut().for_each(|value| *value *= 7.0);
        let kernel = |rows: &Matrix<f64>| {
            centred_gaussian(rows, Bandwidth::Fixed(0.5), KernelFeatures::UnitLength, 1).expect("small")
        };
        let (a, b) = (kernel(&rows()), kernel(&scaled));
        assert!(a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn median_bandwidth_is_free_of_scale() {
        let mut scaled = rows();
        scaled.as_mut_slice().iter_mut().for_each(|value| *value *= 100.0);
        let kernel = |rows: &Matrix<f64>| {
            centred_gaussian(rows, Bandwidth::Median(0.7), KernelFeatures::AsGiven, 1).expect("small")
        };
        let (a, b) = (kernel(&rows()), kernel(&scaled));
        assert!(a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| (a - b).abs() < 1e-9));
    }

    #[test]
    fn a_kernel_over_the_limit_is_refused_before_it_is_made() {
        let many = Matrix::<f32>::zeros(3000, 1);
        let error =
            centred_gaussian(&many, Bandwidth::Fixed(1.0), KernelFeatures::AsGiven, 30).expect_err("36 MB");
        assert!(matches!(error, TaskError::KernelTooLarge { rows: 3000, limit_mb: 30, .. }));
    }

    #[test]
    fn equal_rows_and_no_rows_are_fine() {
        let equal = Matrix::from_vec(3, 2, vec![1.0f32; 6]);
        let kernel =
            centred_gaussian(&equal, Bandwidth::Median(1.0), KernelFeatures::AsGiven, 1).expect("small");
        assert!(kernel.as_slice().iter().all(|value| value.abs() < 1e-6));
        let none = Matrix::<f32>::zeros(0, 2);
        assert!(centred_gaussian(&none, Bandwidth::Median(1.0), KernelFeatures::AsGiven, 1).is_ok());
    }

    #[test]
    fn bandwidths_round_trip_through_text() {
        for text in ["0.5", "1.25median"] {
            assert_eq!(text.parse::<Bandwidth>().map(|bandwidth| bandwidth.to_string()), Ok(text.to_owned()));
        }
        assert!("0".parse::<Bandwidth>().is_err() && "-1median".parse::<Bandwidth>().is_err());
    }
}
