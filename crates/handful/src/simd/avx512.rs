//! AVX-512 (foundation subset): sixteen lanes, thirty-two registers.

use std::arch::x86_64::*;

use super::avx2::Avx2;
use super::lanes::{FloatBits, Lanes};

/// Sixteen `f32` lanes in a 512-bit register.
#[derive(Clone, Copy)]
pub(crate) struct Avx512;

// SAFETY of every block below: `Lanes` promises that the instruction set is present, and for loads and stores that
// WIDTH elements lie behind the pointer.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Avx512 {
    type Element = f32;
    type Vector = __m512;
    const WIDTH: usize = 16;
    const REGISTERS: usize = 32;
    type Wide = Self;

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        unsafe { _mm512_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, vector: __m512) {
        unsafe { _mm512_storeu_ps(to, vector) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> __m512 {
        unsafe { _mm512_set1_ps(value) }
    }
    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn sub(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_sub_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn div(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_div_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn max(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_max_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn min(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_min_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn sqrt(a: __m512) -> __m512 {
        unsafe { _mm512_sqrt_ps(a) }
    }
    #[inline(always)]
    unsafe fn mul_add(a: __m512, b: __m512, c: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    unsafe fn sum(a: __m512) -> f32 {
        unsafe {
            let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(a)));
            Avx2::sum(_mm256_add_ps(_mm512_castps512_ps256(a), high))
        }
    }
    #[inline(always)]
    unsafe fn exp(a: __m512) -> __m512 {
        unsafe { super::lanes::exp::<Self>(a) }
    }
    #[inline(always)]
    unsafe fn ln(a: __m512) -> __m512 {
        unsafe { super::lanes::ln::<Self>(a) }
    }
}

// SAFETY of every block below: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
impl FloatBits for Avx512 {
    #[inline(always)]
    unsafe fn round(a: __m512) -> __m512 {
        unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }
    #[inline(always)]
    unsafe fn power_of_two(n: __m512) -> __m512 {
        unsafe {
            let biased = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(biased))
        }
    }
    #[inline(always)]
    unsafe fn split(a: __m512) -> (__m512, __m512) {
        unsafe {
            let bits = _mm512_castps_si512(a);
            let exponent = _mm512_sub_epi32(_mm512_srli_epi32::<23>(bits), _mm512_set1_epi32(126));
            let mantissa = _mm512_or_si512(
                _mm512_and_si512(bits, _mm512_set1_epi32(0x007f_ffff)),
                _mm512_set1_epi32(0x3f00_0000),
            );
            (_mm512_castsi512_ps(mantissa), _mm512_cvtepi32_ps(exponent))
        }
    }
    #[inline(always)]
    unsafe fn select_less(a: __m512, b: __m512, if_less: __m512, otherwise: __m512) -> __m512 {
        unsafe { _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b), otherwise, if_less) }
    }
}
