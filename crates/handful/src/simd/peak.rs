//! The roof that benchmarks measure the kernels against: multiply-adds on registers, nothing else.

use super::lanes::Lanes;
use crate::scalar::Scalar;

/// Independent chains: enough to hide the latency of two multiply-add units (five cycles each at most).
pub(crate) const CHAINS: usize = 10;

/// # Safety
/// The instruction set of `S` is present.
#[inline(always)]
pub(crate) unsafe fn multiply_adds<S: Lanes>(rounds: usize) -> S::Element {
    // SAFETY: touches no memory; the caller vouches for the instruction set.
    unsafe {
        // Kept from the optimiser, which would otherwise fold the whole loop into a constant.
        let factor = S::splat(std::hint::black_box(S::Element::from_f64(0.999)));
        let term = S::splat(std::hint::black_box(S::Element::from_f64(1e-3)));
        let mut sums = [S::splat(S::Element::ONE); CHAINS];
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = S::mul_add(*sum, factor, term);
            }
        }
        let mut total = sums[0];
        for &sum in &sums[1..] {
            total = S::add(total, sum);
        }
        S::sum(total)
    }
}
