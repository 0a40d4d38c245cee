//! Sums in lanes, so that the loop vectorises and the sum is accurate.

use super::wide::widened;

const LANES: usize = 16;

/// `(Σ f(a, b), Σ g(a, b))` over two slices. To be inlined where wide instructions are on.
#[inline(always)]
pub(super) fn two_sums(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> (f32, f32)) -> (f64, f64) {
    let (mut first, mut second) = ([0.0f32; LANES], [0.0f32; LANES]);
    let (blocks, rest) = a.as_chunks::<LANES>();
    let (other_blocks, other_rest) = b.as_chunks::<LANES>();
    for (block, other) in blocks.iter().zip(other_blocks) {
        for lane in 0..LANES {
            let (x, y) = f(block[lane], other[lane]);
            first[lane] += x;
            second[lane] += y;
        }
    }
    let tail = rest.iter().zip(other_rest).map(|(&a, &b)| f(a, b));
    let (x, y) = tail.fold((0.0, 0.0), |(x, y), (a, b)| (x + f64::from(a), y + f64::from(b)));
    (
        first.iter().map(|&v| f64::from(v)).sum::<f64>() + x,
        second.iter().map(|&v| f64::from(v)).sum::<f64>() + y,
    )
}

widened! {
    /// `Σ a`.
    pub(super) fn sum<const FUSED: bool>(a: &[f32]) -> f64 {
        two_sums(a, a, |a, _| (a, 0.0)).0
    }
}

widened! {
    /// `Σ a b`.
    pub(super) fn product_sum<const FUSED: bool>(a: &[f32], b: &[f32]) -> f64 {
        two_sums(a, b, |a, b| (a * b, 0.0)).0
    }
}
