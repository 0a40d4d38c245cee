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
