//! NEON on AArch64: four lanes, thirty-two registers. Part of every AArch64 processor's base.

use std::arch::aarch64::*;

use super::lanes::{FloatBits, Lanes};
use super::pair::Pair;

/// Four `f32` lanes in a 128-bit register.
#[derive(Clone, Copy)]
pub(crate) struct Neon;

// SAFETY of every block below: `Lanes` promises that the instruction set is present, and for loads and stores that
// WIDTH elements lie behind the pointer.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Neon {
    type Element = f32;
    type Vector = float32x4_t;
    const WIDTH: usize = 4;
    const REGISTERS: usize = 32;
    type Wide = Pair<Pair<Self>>;

    #[inline(always)]
    unsafe fn load(from: *const f32) -> float32x4_t {
        unsafe { vld1q_f32(from) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, vector: float32x4_t) {
        unsafe { vst1q_f32(to, vector) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> float32x4_t {
        unsafe { vdupq_n_f32(value) }
    }
    #[inline(always)]
    unsafe fn add(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        unsafe { vaddq_f32(a, b) }
    }
    #[inline(always)]
    unsafe fn sub(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        unsafe { vsubq_f32(a, b) }
    }
    #[inline(always)]
    unsafe fn mul(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        unsafe { vmulq_f32(a, b) }
    }
    #[inline(always)]
    unsafe fn div(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        unsafe { vdivq_f32(a, b) }
    }
    #[inline(always)]
    unsafe fn max(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        unsafe { vmaxq_f32(a, b) }
    }
    #[inline(always)]
    unsafe fn min(a: float32x4_t, b: float32x4_t) -> float32x4_t {
        unsafe { vminq_f32(a, b) }
    }
    #[inline(always)]
    unsafe fn sqrt(a: float32x4_t) -> float32x4_t {
        unsafe { vsqrtq_f32(a) }
    }
    #[inline(always)]
    unsafe fn mul_add(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
        unsafe { vfmaq_f32(c, a, b) }
    }
    #[inline(always)]
    unsafe fn sum(a: float32x4_t) -> f32 {
        unsafe { vaddv_f32(vadd_f32(vget_low_f32(a), vget_high_f32(a))) }
    }
    #[inline(always)]
    unsafe fn exp(a: float32x4_t) -> float32x4_t {
        unsafe { super::lanes::exp::<Self>(a) }
    }
    #[inline(always)]
    unsafe fn ln(a: float32x4_t) -> float32x4_t {
        unsafe { super::lanes::ln::<Self>(a) }
    }
}

// SAFETY of every block below: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
impl FloatBits for Neon {
    #[inline(always)]
    unsafe fn round(a: float32x4_t) -> float32x4_t {
        unsafe { vrndnq_f32(a) }
    }
    #[inline(always)]
    unsafe fn power_of_two(n: float32x4_t) -> float32x4_t {
        unsafe {
            let biased = vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127));
            vreinterpretq_f32_s32(vshlq_n_s32::<23>(biased))
        }
    }
    #[inline(always)]
    unsafe fn split(a: float32x4_t) -> (float32x4_t, float32x4_t) {
        unsafe {
            let bits = vreinterpretq_u32_f32(a);
            let exponent = vsubq_s32(vreinterpretq_s32_u32(vshrq_n_u32::<23>(bits)), vdupq_n_s32(126));
            let mantissa = vorrq_u32(vandq_u32(bits, vdupq_n_u32(0x007f_ffff)), vdupq_n_u32(0x3f00_0000));
            (vreinterpretq_f32_u32(mantissa), vcvtq_f32_s32(exponent))
        }
    }
    #[inline(always)]
    unsafe fn select_less(
        a: float32x4_t,
        b: float32x4_t,
        if_less: float32x4_t,
        otherwise: float32x4_t,
    ) -> float32x4_t {
        unsafe { vbslq_f32(vcltq_f32(a, b), if_less, otherwise) }
    }
}
