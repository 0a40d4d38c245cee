//! The fused pass over the kernel matrix of predictions: value and gradient of tr(Kc L) without storing L.
//!
//! With Kc = HKH (constant over a fit), L_ij = exp(-|p_i - p_j|^2 / 2 s^2) and M = Kc o L, one sweep gives
//! `pull_i = (M 1)_i p_i - (M P)_i`, from which `d tr(Kc L) / d p_i = -(2 / s^2) pull_i`, and the value `sum M`.
//! A register holds several `i`; the sums over `j` then never cross lanes. M is symmetric, so reading column `i` of
//! row `j` is as good as the other way round, and contiguous.

use super::buffer::LANE_PADDING;
use super::lanes::Lanes;
use crate::scalar::Scalar;

/// What the pass reads: predictions class-major, and the centred feature kernel.
pub(crate) struct DependenceInput<T> {
    pub examples: usize,
    /// Elements from one class (or kernel row) to the next; a multiple of the register width.
    pub stride: usize,
    pub predictions: *const T,
    pub centred_kernel: *const T,
    pub kernel_stride: usize,
    /// 1 / s^2.
    pub inverse_variance: T,
}

/// Writes `pull` class-major and returns the sum of M.
///
/// # Safety
/// The instruction set of `S` is present; `predictions` and `pull` hold `classes` rows of `stride` elements, the
/// kernel `examples` rows of at least `stride` elements that are zero from `examples` on, `half_norms` holds `stride`
/// and `sums` `(classes + 1) * WIDTH` elements of scratch.
#[inline(always)]
pub(crate) unsafe fn dependence<S: Lanes>(
    classes: usize,
    input: &DependenceInput<S::Element>,
    half_norms: *mut S::Element,
    sums: *mut S::Element,
    pull: *mut S::Element,
) -> S::Element {
    // SAFETY: forwarded.
    unsafe {
        scaled_half_norms::<S>(classes, input, half_norms);
        match classes {
            2 => pass::<S, 2>(input, half_norms, pull),
            3 => pass::<S, 3>(input, half_norms, pull),
            4 => pass::<S, 4>(input, half_norms, pull),
            5 => pass::<S, 5>(input, half_norms, pull),
            6 => pass::<S, 6>(input, half_norms, pull),
            7 => pass::<S, 7>(input, half_norms, pull),
            8 => pass::<S, 8>(input, half_norms, pull),
            _ => pass_any::<S>(classes, input, half_norms, sums, pull),
        }
    }
}

/// `half_norms[i] = |p_i|^2 / 2 s^2`, so that the exponent is `<p_i, p_j> / s^2` minus two of them.
#[inline(always)]
unsafe fn scaled_half_norms<S: Lanes>(
    classes: usize,
    input: &DependenceInput<S::Element>,
    half_norms: *mut S::Element,
) {
    let half = S::Element::from_f64(0.5) * input.inverse_variance;
    let mut at = 0;
    while at < input.stride {
        // SAFETY: `class < classes` and `at + WIDTH <= stride`.
        unsafe {
            let mut sum = S::splat(S::Element::ZERO);
            for class in 0..classes {
                let p = S::load(input.predictions.add(class * input.stride + at));
                sum = S::mul_add(p, p, sum);
            }
            S::store(half_norms.add(at), S::mul(sum, S::splat(half)));
        }
        at += S::WIDTH;
    }
}

/// The sum of M, added up over as many lanes as the widest path has.
struct RowSums<S: Lanes> {
    waiting: [S::Element; LANE_PADDING],
    total: S::Element,
}

impl<S: Lanes> RowSums<S> {
    fn new() -> Self {
        Self { waiting: [S::Element::ZERO; LANE_PADDING], total: S::Element::ZERO }
    }

    /// Takes the sums of the rows from `at` on.
    ///
    /// # Safety
    /// The instruction set of `S` is present, and `at` is a multiple of its register width.
    #[inline(always)]
    unsafe fn add(&mut self, at: usize, sums: S::Vector) {
        let lanes = <S::Wide as Lanes>::WIDTH;
        let place = at % lanes;
        // SAFETY: both widths divide LANE_PADDING, so `place + WIDTH <= lanes <= LANE_PADDING`.
        unsafe {
            S::store(self.waiting.as_mut_ptr().add(place), sums);
            if place + S::WIDTH == lanes {
                self.total += <S::Wide as Lanes>::sum(<S::Wide as Lanes>::load(self.waiting.as_ptr()));
            }
        }
    }
}

/// The pass with all accumulators in registers.
#[inline(always)]
unsafe fn pass<S: Lanes, const CLASSES: usize>(
    input: &DependenceInput<S::Element>,
    half_norms: *const S::Element,
    pull: *mut S::Element,
) -> S::Element {
    let mut total = RowSums::<S>::new();
    let mut at = 0;
    while at < input.stride {
        // SAFETY: `class < CLASSES`, `at + WIDTH <= stride`, `j < examples`.
        unsafe {
            let zero = S::splat(S::Element::ZERO);
            let own_half = S::load(half_norms.add(at));
            let mut own = [zero; CLASSES];
            let mut scaled = [zero; CLASSES];
            for class in 0..CLASSES {
                own[class] = S::load(input.predictions.add(class * input.stride + at));
                scaled[class] = S::mul(own[class], S::splat(input.inverse_variance));
            }
            let mut row_sum = zero;
            let mut weighted = [zero; CLASSES];
            for j in 0..input.examples {
                let mut exponent = S::sub(zero, S::add(own_half, S::splat(*half_norms.add(j))));
                let mut other = [zero; CLASSES];
                for class in 0..CLASSES {
                    other[class] = S::splat(*input.predictions.add(class * input.stride + j));
                    exponent = S::mul_add(scaled[class], other[class], exponent);
                }
                let l = S::exp(S::min(exponent, zero));
                let m = S::mul(S::load(input.centred_kernel.add(j * input.kernel_stride + at)), l);
                row_sum = S::add(row_sum, m);
                for class in 0..CLASSES {
                    weighted[class] = S::mul_add(m, other[class], weighted[class]);
                }
            }
            for class in 0..CLASSES {
                let value = S::sub(S::mul(row_sum, own[class]), weighted[class]);
                S::store(pull.add(class * input.stride + at), value);
            }
            total.add(at, row_sum);
        }
        at += S::WIDTH;
    }
    total.total
}

/// The pass for any number of classes, its accumulators in a scratch buffer that stays in the first-level cache.
#[inline(always)]
unsafe fn pass_any<S: Lanes>(
    classes: usize,
    input: &DependenceInput<S::Element>,
    half_norms: *const S::Element,
    sums: *mut S::Element,
    pull: *mut S::Element,
) -> S::Element {
    let mut total = RowSums::<S>::new();
    let mut at = 0;
    while at < input.stride {
        // SAFETY: `class < classes`, `at + WIDTH <= stride`, `j < examples`; `sums` holds one register per class.
        unsafe {
            let zero = S::splat(S::Element::ZERO);
            let inverse_variance = S::splat(input.inverse_variance);
            let own_half = S::load(half_norms.add(at));
            for class in 0..classes {
                S::store(sums.add(class * S::WIDTH), zero);
            }
            let mut row_sum = zero;
            for j in 0..input.examples {
                let mut product = zero;
                for class in 0..classes {
                    let row = input.predictions.add(class * input.stride);
                    product = S::mul_add(S::load(row.add(at)), S::splat(*row.add(j)), product);
                }
                let halves = S::add(own_half, S::splat(*half_norms.add(j)));
                let exponent = S::sub(S::mul(product, inverse_variance), halves);
                let l = S::exp(S::min(exponent, zero));
                let m = S::mul(S::load(input.centred_kernel.add(j * input.kernel_stride + at)), l);
                row_sum = S::add(row_sum, m);
                for class in 0..classes {
                    let sum = sums.add(class * S::WIDTH);
                    let other = S::splat(*input.predictions.add(class * input.stride + j));
                    S::store(sum, S::mul_add(m, other, S::load(sum)));
                }
            }
            for class in 0..classes {
                let own = S::load(input.predictions.add(class * input.stride + at));
                let value = S::sub(S::mul(row_sum, own), S::load(sums.add(class * S::WIDTH)));
                S::store(pull.add(class * input.stride + at), value);
            }
            total.add(at, row_sum);
        }
        at += S::WIDTH;
    }
    total.total
}
