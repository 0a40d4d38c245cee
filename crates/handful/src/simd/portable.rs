//! The portable path: sixteen lanes as an array, which the compiler vectorises as it can, and the f64 reference.

use super::lanes::{FloatBits, Lanes};

/// Sixteen `f32` lanes in an array, for processors that cannot fuse a product and a sum.
#[derive(Clone, Copy)]
pub(crate) struct PortableF32;

/// Sixteen `f32` lanes in an array, for processors that can.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct FusedF32;

/// Four `f64` lanes in an array, with the standard library's `exp` and `ln`.
#[derive(Clone, Copy)]
pub(crate) struct PortableF64;

macro_rules! array_lanes {
    ($name:ident, $element:ty, $width:literal, $registers:literal, $mul_add:expr, $sum:expr, $exp:expr, $ln:expr) => {
        impl Lanes for $name {
            type Element = $element;
            type Vector = [$element; $width];
            const WIDTH: usize = $width;
            const REGISTERS: usize = $registers;
            type Wide = Self;

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
            #[inline(always)]
            unsafe fn mul_add(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
                std::array::from_fn(|lane| $mul_add(a[lane], b[lane], c[lane]))
            }
            #[inline(always)]
            unsafe fn sum(a: Self::Vector) -> $element {
                $sum(a)
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

/// The order in which [`Lanes::sum`] adds.
#[inline(always)]
fn sum_of_halves(mut a: [f32; 16]) -> f32 {
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            a[lane] += a[lane + half];
        }
    }
    a[0]
}

/// `a b + c` rounded once, without the instruction for it: the product is exact in double precision, and a sum that is
/// rounded to odd there (Boldo and Melquiond, 2008) is rounded to single precision as the exact one would be.
#[inline(always)]
fn fused(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    // What the sum lost (Knuth's two-sum).
    let added = sum - product;
    let lost = (product - (sum - added)) + (c - added);
    let bits = sum.to_bits();
    // Not a number where the sum is infinite or none: then nothing is moved.
    let inexact = lost.abs() > 0.0 && bits & 1 == 0;
    let away = (lost > 0.0) == (sum > 0.0);
    let moved = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f64::from_bits(if inexact { moved } else { bits }) as f32
}

array_lanes!(
    PortableF32,
    f32,
    16,
    8,
    fused,
    sum_of_halves,
    // SAFETY: arrays need no instruction set.
    |a| unsafe { super::lanes::exp::<PortableF32>(a) },
    // SAFETY: arrays need no instruction set.
    |a| unsafe { super::lanes::ln::<PortableF32>(a) }
);
#[cfg(target_arch = "x86_64")]
array_lanes!(
    FusedF32,
    f32,
    16,
    8,
    f32::mul_add,
    sum_of_halves,
    // SAFETY: arrays need no instruction set.
    |a| unsafe { super::lanes::exp::<FusedF32>(a) },
    // SAFETY: arrays need no instruction set.
    |a| unsafe { super::lanes::ln::<FusedF32>(a) }
);
array_lanes!(
    PortableF64,
    f64,
    4,
    16,
    |a: f64, b: f64, c: f64| a * b + c,
    |a: [f64; 4]| a.iter().sum::<f64>(),
    |a: [f64; 4]| a.map(f64::exp),
    |a: [f64; 4]| a.map(f64::ln)
);

/// The bits of single precision in arrays.
macro_rules! array_bits {
    ($name:ident) => {
        impl FloatBits for $name {
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
    };
}

array_bits!(PortableF32);
#[cfg(target_arch = "x86_64")]
array_bits!(FusedF32);

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::fused;

    #[test]
    fn fused_in_software_is_fused_in_hardware() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let check = |a: f32, b: f32, c: f32| {
            let (got, want) = (fused(a, b, c), a.mul_add(b, c));
            assert!(
                got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                "{a:e} {b:e} {c:e}: {got:e} for {want:e}"
            );
        };
        for _ in 0..200_000 {
            let [a, b, c]: [f32; 3] = std::array::from_fn(|_| f32::from_bits(rng.random()));
            check(a, b, c);
            // Sums in which almost everything cancels, and such that lie halfway between two numbers.
            let [a, b]: [f32; 2] = std::array::from_fn(|_| rng.random_range(-2.0..2.0));
            check(a, b, -a * b);
            check(1.0 + f32::EPSILON * rng.random_range(0..4) as f32, 0.5 + f32::EPSILON, b);
            check(a, f32::MIN_POSITIVE, b * f32::MIN_POSITIVE);
        }
        for c in [0.0, -0.0, f32::INFINITY, f32::NAN, f32::MAX, 1e-45] {
            for a in [0.0, -0.0, f32::INFINITY, f32::MAX, 1e-45, 1.0] {
                check(a, 1.0, c);
                check(a, -a, c);
            }
        }
    }
}
