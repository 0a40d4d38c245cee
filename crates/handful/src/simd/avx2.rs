//! AVX2 with fused multiply-add: eight lanes, sixteen registers.

use std::arch::x86_64::*;

use super::lanes::{FloatBits, Lanes};
use super::pair::Pair;

/// Eight `f32` lanes in a 256-bit register.
#[derive(Clone, Copy)]
pub(crate) struct Avx2;

// SAFETY of every block below: `Lanes` promises that the instruction set is present, and for loads and stores that
// WIDTH elements lie behind the pointer.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Avx2 {
    type Element = f32;
    type Vector = __m256;
    const WIDTH: usize = 8;
    const REGISTERS: usize = 16;
    type Wide = Pair<Self>;

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m256 {
        unsafe { _mm256_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, vector: __m256) {
        unsafe { _mm256_storeu_ps(to, vector) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> __m256 {
        unsafe { _mm256_set1_ps(value) }
    }
    #[inline(always)]
    unsafe fn add(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_add_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn sub(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_sub_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn mul(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_mul_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn div(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_div_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn max(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_max_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn min(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_min_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn sqrt(a: __m256) -> __m256 {
        unsafe { _mm256_sqrt_ps(a) }
    }
    #[inline(always)]
    unsafe fn mul_add(a: __m256, b: __m256, c: __m256) -> __m256 {
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    unsafe fn sum(a: __m256) -> f32 {
        unsafe {
            let quad = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let pair = _mm_add_ps(quad, _mm_movehl_ps(quad, quad));
            _mm_cvtss_f32(_mm_add_ss(pair, _mm_shuffle_ps::<1>(pair, pair)))
        }
    }
    #[inline(always)]
    unsafe fn exp(a: __m256) -> __m256 {
        unsafe { super::lanes::exp::<Self>(a) }
    }
    #[inline(always)]
    unsafe fn ln(a: __m256) -> __m256 {
        unsafe { super::lanes::ln::<Self>(a) }
    }
}

// SAFETY of every block below: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
impl FloatBits for Avx2 {
    #[inline(always)]
    unsafe fn round(a: __m256) -> __m256 {
        unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }
    #[inline(always)]
    unsafe fn power_of_two(n: __m256) -> __m256 {
        unsafe {
            let biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
        }
    }
    #[inline(always)]
    unsafe fn split(a: __m256) -> (__m256, __m256) {
        unsafe {
            let bits = _mm256_castps_si256(a);
            let exponent = _mm256_sub_epi32(_mm256_srli_epi32::<23>(bits), _mm256_set1_epi32(126));
            let mantissa = _mm256_or_si256(
                _mm256_and_si256(bits, _mm256_set1_epi32(0x007f_ffff)),
                _mm256_set1_epi32(0x3f00_0000),
            );
            (_mm256_castsi256_ps(mantissa), _mm256_cvtepi32_ps(exponent))
        }
    }
    #[inline(always)]
    unsafe fn select_less(a: __m256, b: __m256, if_less: __m256, otherwise: __m256) -> __m256 {
        unsafe { _mm256_blendv_ps(otherwise, if_less, _mm256_cmp_ps::<_CMP_LT_OQ>(a, b)) }
    }
}
