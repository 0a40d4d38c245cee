//! What a kernel needs from an instruction set.
//!
//! The kernels in the sibling modules are written once against [`Lanes`] and compiled once per instruction set, so
//! that a path this machine cannot run is still the same source as one it can.
//!
//! Every path of single precision gives the same bits: multiply-adds are fused, in software where the hardware has none, and
//! what is summed over lanes is summed over the sixteen of [`Lanes::Wide`], in the order of [`Lanes::sum`].

/// A vector register of one instruction set, and the operations the kernels use on it.
///
/// # Safety
/// Every function may be called only where the instruction set is present; the loads and stores also need
/// `WIDTH` valid elements behind the pointer (any alignment).
pub(crate) trait Lanes: Copy {
    /// Element type.
    type Element: crate::scalar::Scalar;
    /// The register.
    type Vector: Copy;
    /// Elements in a register.
    const WIDTH: usize;
    /// Registers there are.
    const REGISTERS: usize;
    /// As many lanes as every path of this element has, for sums over lanes.
    type Wide: Lanes<Element = Self::Element>;

    unsafe fn load(from: *const Self::Element) -> Self::Vector;
    unsafe fn store(to: *mut Self::Element, vector: Self::Vector);
    unsafe fn splat(value: Self::Element) -> Self::Vector;
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn sub(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn mul(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn div(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn max(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn min(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    unsafe fn sqrt(a: Self::Vector) -> Self::Vector;
    /// `a * b + c`; single precision rounds once.
    unsafe fn mul_add(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// Sum over the lanes: the upper half is added to the lower one until one lane is left.
    unsafe fn sum(a: Self::Vector) -> Self::Element;
    unsafe fn exp(a: Self::Vector) -> Self::Vector;
    /// Natural logarithm of positive, normal numbers.
    unsafe fn ln(a: Self::Vector) -> Self::Vector;
}

/// Bit-level steps of `exp` and `ln` that differ between instruction sets, for single precision.
///
/// # Safety
/// As for [`Lanes`].
pub(crate) trait FloatBits: Lanes<Element = f32> {
    /// Nearest integer, as a float.
    unsafe fn round(a: Self::Vector) -> Self::Vector;
    /// `2^n` for integral `n` in -126..=127.
    unsafe fn power_of_two(n: Self::Vector) -> Self::Vector;
    /// Splits a positive normal number into mantissa in [0.5, 1) and exponent.
    unsafe fn split(a: Self::Vector) -> (Self::Vector, Self::Vector);
    /// `if_less` where `a < b`, else `otherwise`.
    unsafe fn select_less(
        a: Self::Vector,
        b: Self::Vector,
        if_less: Self::Vector,
        otherwise: Self::Vector,
    ) -> Self::Vector;
}

/// `exp` by range reduction to |r| <= ln(2)/2 and a degree-6 polynomial; relative error about 1e-7.
///
/// Arguments are clamped to the range of normal results, so very negative ones give about 1e-38, not zero.
///
/// # Safety
/// As for [`Lanes`].
#[inline(always)]
pub(crate) unsafe fn exp<S: FloatBits>(x: S::Vector) -> S::Vector {
    // SAFETY: the caller vouches for the instruction set; no memory is touched.
    unsafe {
        let x = S::max(S::min(x, S::splat(88.0)), S::splat(-87.0));
        let n = S::round(S::mul(x, S::splat(std::f32::consts::LOG2_E)));
        // ln(2) in two parts, so that n * ln(2) loses nothing to rounding (Cody and Waite).
        let r = S::mul_add(n, S::splat(-0.693_359_4), x);
        let r = S::mul_add(n, S::splat(2.121_944_4e-4), r);
        let mut p = S::splat(1.0 / 720.0);
        for coefficient in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            p = S::mul_add(p, r, S::splat(coefficient));
        }
        S::mul(p, S::power_of_two(n))
    }
}

/// `ln` of a positive normal number: exponent times ln(2) plus a polynomial on the mantissa in [sqrt(1/2), sqrt(2)).
///
/// # Safety
/// As for [`Lanes`].
#[inline(always)]
pub(crate) unsafe fn ln<S: FloatBits>(x: S::Vector) -> S::Vector {
    // SAFETY: the caller vouches for the instruction set; no memory is touched.
    unsafe {
        let (mantissa, exponent) = S::split(x);
        let half_root = S::splat(std::f32::consts::FRAC_1_SQRT_2);
        let one = S::splat(1.0);
        let exponent = S::select_less(mantissa, half_root, S::sub(exponent, one), exponent);
        let mantissa = S::select_less(mantissa, half_root, S::add(mantissa, mantissa), mantissa);
        // ln(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.172: five odd terms reach single precision.
        let s = S::div(S::sub(mantissa, one), S::add(mantissa, one));
        let s2 = S::mul(s, s);
        let mut p = S::splat(2.0 / 9.0);
        for coefficient in [2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0, 2.0] {
            p = S::mul_add(p, s2, S::splat(coefficient));
        }
        S::mul_add(exponent, S::splat(std::f32::consts::LN_2), S::mul(p, s))
    }
}
