//! The portable path: eight lanes as an array, which the compiler vectorises as it can, and the f64 reference.

use super::lanes::{FloatBits, Lanes};

/// Eight `f32` lanes in an array.
#[derive(Clone, Copy)]
pub(crate) struct PortableF32;

/// Four `f64` lanes in an array, with the standard library's `exp` and `ln`.
#[derive(Clone, Copy)]
pub(crate) struct PortableF64;

macro_rules! array_lanes {
    ($name:ident, $element:ty, $width:literal, $exp:expr, $ln:expr) => {
        impl Lanes for $name {
            type Element = $element;
            type Vector = [$element; $width];
            const WIDTH: usize = $width;
            const REGISTERS: usize = 16;

            #[inline(always)]
            unsafe fn load(from: *const $element) -> Self::Vector {
                // SAFETY: the caller gives WIDTH valid elements.
                unsafe { from.cast::<Self::Vector>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(to: *mut $element, vector: Self::Vector) {
                // SAFETY: the caller gives WIDTH valid elements.
                unsafe { to.cast::<Self::Vector>().write_unaligned(vector) }
            }
            #[inline(always)]
            unsafe fn splat(value: $element) -> Self::Vector {
                [value; $width]
            }
            #[inline(always)]
            unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| a[lane] + b[lane])
            }
            #[inline(always)]
            unsafe fn sub(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| a[lane] - b[lane])
            }
            #[inline(always)]
            unsafe fn mul(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| a[lane] * b[lane])
            }
            #[inline(always)]
            unsafe fn div(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| a[lane] / b[lane])
            }
            #[inline(always)]
            unsafe fn max(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| if a[lane] > b[lane] { a[lane] } else { b[lane] })
            }
            #[inline(always)]
            unsafe fn min(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| if a[lane] < b[lane] { a[lane] } else { b[lane] })
            }
            #[inline(always)]
            unsafe fn sqrt(a: Self::Vector) -> Self::Vector {
                a.map(|value| value.sqrt())
            }
            // Two roundings: `mul_add` without hardware support is a slow library call.
            #[inline(always)]
            unsafe fn mul_add(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| a[lane] * b[lane] + c[lane])
            }
            #[inline(always)]
            unsafe fn sum(a: Self::Vector) -> $element {
                a.iter().sum()
            }
            #[inline(always)]
            unsafe fn exp(a: Self::Vector) -> Self::Vector {
                $exp(a)
            }
            #[inline(always)]
            unsafe fn ln(a: Self::Vector) -> Self::Vector {
                $ln(a)
            }
        }
    };
}

array_lanes!(
    PortableF32,
    f32,
    8,
    // SAFETY: arrays need no instruction set.
    |a| unsafe { super::lanes::exp::<PortableF32>(a) },
    // SAFETY: arrays need no instruction set.
    |a| unsafe { super::lanes::ln::<PortableF32>(a) }
);
array_lanes!(PortableF64, f64, 4, |a: [f64; 4]| a.map(f64::exp), |a: [f64; 4]| a.map(f64::ln));

impl FloatBits for PortableF32 {
    // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer without a library call.
    #[inline(always)]
    unsafe fn round(a: Self::Vector) -> Self::Vector {
        const MAGIC: f32 = 12_582_912.0;
        a.map(|value| (value + MAGIC) - MAGIC)
    }
    #[inline(always)]
    unsafe fn power_of_two(n: Self::Vector) -> Self::Vector {
        n.map(|value| f32::from_bits(((value as i32 + 127) as u32) << 23))
    }
    #[inline(always)]
    unsafe fn split(a: Self::Vector) -> (Self::Vector, Self::Vector) {
        let mantissa = a.map(|value| f32::from_bits((value.to_bits() & 0x007f_ffff) | 0x3f00_0000));
        let exponent = a.map(|value| ((value.to_bits() >> 23) as i32 - 126) as f32);
        (mantissa, exponent)
    }
    #[inline(always)]
    unsafe fn select_less(
        a: Self::Vector,
        b: Self::Vector,
        if_less: Self::Vector,
        otherwise: Self::Vector,
    ) -> Self::Vector {
        std::array::from_fn(|lane| if a[lane] < b[lane] { if_less[lane] } else { otherwise[lane] })
    }
}
