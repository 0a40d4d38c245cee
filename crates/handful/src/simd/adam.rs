//! One Adam step over a flat parameter array.

use super::lanes::Lanes;
use crate::scalar::Scalar;

/// The constants of one step, bias corrections included.
#[derive(Clone, Copy, Debug)]
pub struct AdamStep<T> {
    /// Decay of the first moment.
    pub beta1: T,
    /// Decay of the second moment.
    pub beta2: T,
    /// Learning rate divided by the first moment's bias correction.
    pub rate: T,
    /// One over the square root of the second moment's bias correction.
    pub inverse_root_correction: T,
    /// Added to the root of the second moment.
    pub epsilon: T,
}

impl<T: Scalar> AdamStep<T> {
    /// Adam's usual decays, for the step of this number from 0 on.
    pub(crate) fn usual(step: usize, learning_rate: f64) -> Self {
        let count = i32::try_from(step).unwrap_or(i32::MAX - 1) + 1;
        Self {
            beta1: T::from_f64(0.9),
            beta2: T::from_f64(0.999),
            rate: T::from_f64(learning_rate / (1.0 - 0.9f64.powi(count))),
            inverse_root_correction: T::from_f64(1.0 / (1.0 - 0.999f64.powi(count)).sqrt()),
            epsilon: T::from_f64(1e-8),
        }
    }
}

/// `m <- b1 m + (1-b1) g`, `v <- b2 v + (1-b2) g^2`, `w <- w - rate m / (sqrt(v) * correction + epsilon)`.
///
/// # Safety
/// The instruction set of `S` is present; all arrays hold `length` elements, a multiple of the register width.
#[inline(always)]
pub(crate) unsafe fn adam<S: Lanes>(
    step: AdamStep<S::Element>,
    length: usize,
    parameters: *mut S::Element,
    gradient: *const S::Element,
    first: *mut S::Element,
    second: *mut S::Element,
) {
    let one = S::Element::ONE;
    let mut at = 0;
    while at < length {
        // SAFETY: `at + WIDTH <= length`.
        unsafe {
            let g = S::load(gradient.add(at));
            let m = S::mul_add(
                S::splat(step.beta1),
                S::load(first.add(at)),
                S::mul(S::splat(one - step.beta1), g),
            );
            let v = S::mul_add(
                S::splat(step.beta2),
                S::load(second.add(at)),
                S::mul(S::splat(one - step.beta2), S::mul(g, g)),
            );
            let root = S::mul_add(S::sqrt(v), S::splat(step.inverse_root_correction), S::splat(step.epsilon));
            let change = S::div(S::mul(S::splat(step.rate), m), root);
            S::store(first.add(at), m);
            S::store(second.add(at), v);
            S::store(parameters.add(at), S::sub(S::load(parameters.add(at)), change));
        }
        at += S::WIDTH;
    }
}
