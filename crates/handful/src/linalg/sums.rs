//! Sums in a fixed, interleaved order: the compiler keeps the partial sums in vector registers, and the result does not
//! depend on how it does so.

use crate::scalar::Scalar;

/// Sum in eight interleaved partial sums, which the compiler keeps in vector registers.
pub(crate) fn sum_by_lanes<T: Scalar>(values: &[T], map: impl Fn(T) -> T) -> T {
    let mut lanes = [T::ZERO; 8];
    let chunks = values.chunks_exact(8);
    let rest: T = chunks.remainder().iter().map(|&value| map(value)).sum();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += map(value);
        }
    }
    lanes.into_iter().sum::<T>() + rest
}

/// Inner product in eight interleaved partial sums.
pub(crate) fn dot_by_lanes<T: Scalar>(a: &[T], b: &[T]) -> T {
    let mut lanes = [T::ZERO; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: T = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(&a, &b)| a * b).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for (lane, (&a, &b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += a * b;
        }
    }
    lanes.into_iter().sum::<T>() + rest
}

/// Returns the inner product of two rows.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    dot_by_lanes(a, b)
}

/// Sum of squares in thirty-two interleaved partial sums: enough of them to hide the latency of an addition, and so
/// short that single precision loses nothing that shows.
pub(crate) fn squared_length<T: Scalar>(values: &[T]) -> T {
    let mut lanes = [T::ZERO; 32];
    let chunks = values.chunks_exact(32);
    let rest: T = chunks.remainder().iter().map(|&value| value * value).sum();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += value * value;
        }
    }
    lanes.into_iter().sum::<T>() + rest
}

/// Divides a row by its length.
pub fn unit(row: &mut [f32]) {
    let length = squared_length(row).sqrt();
    if length > 0.0 {
        row.iter_mut().for_each(|value| *value /= length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_definition_whatever_the_length() {
        for length in [0, 1, 7, 8, 31, 32, 33, 100] {
            let values: Vec<f64> = (0..length).map(|at| (at as f64).sin()).collect();
            let squares: f64 = values.iter().map(|value| value * value).sum();
            assert!((squared_length(&values) - squares).abs() < 1e-12);
            assert!((dot_by_lanes(&values, &values) - squares).abs() < 1e-12);
            assert!((sum_by_lanes(&values, |value| value) - values.iter().sum::<f64>()).abs() < 1e-12);
        }
    }
}
