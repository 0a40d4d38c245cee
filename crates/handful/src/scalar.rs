//! The two precisions of the engine.
//!
//! Everything is written once, generic over [`Scalar`]. `f32` is what people run: its hot loops go through the
//! instruction set the machine has. `f64` runs the same code on the portable path and is the reference that the
//! golden values and the finite-difference checks are held against.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::simd::Kernels;

/// A floating-point type the engine computes in: `f32` or `f64`.
pub trait Scalar:
    Copy
    + Debug
    + Display
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// Rounds from double precision.
    fn from_f64(value: f64) -> Self;
    /// Widens to double precision.
    fn to_f64(self) -> f64;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Exponential.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// Row-major `out = a b^T`, rows of `columns` elements.
    fn inner_products(a: &[Self], b: &[Self], columns: usize, out: &mut [Self]);
    /// The hot loops in this precision, on the best instruction set of this machine.
    fn kernels() -> &'static Kernels<Self>;
}

macro_rules! scalar {
    ($type:ty, $kernels:path, $inner_products:path) => {
        impl Scalar for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            fn from_f64(value: f64) -> Self {
                value as $type
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn sqrt(self) -> Self {
                <$type>::sqrt(self)
            }
            fn exp(self) -> Self {
                <$type>::exp(self)
            }
            fn ln(self) -> Self {
                <$type>::ln(self)
            }
            fn is_finite(self) -> bool {
                <$type>::is_finite(self)
            }
            fn inner_products(a: &[Self], b: &[Self], columns: usize, out: &mut [Self]) {
                $inner_products(a, b, columns, out);
            }
            fn kernels() -> &'static Kernels<Self> {
                $kernels()
            }
        }
    };
}

scalar!(f32, crate::simd::best_f32, crate::linalg::dense::inner_products_f32);
scalar!(f64, crate::simd::reference_f64, crate::linalg::dense::inner_products_f64);
