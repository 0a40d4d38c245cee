//! What the product needs from an instruction set.

use std::arch::x86_64::*;

/// A vector register and the operations on it.
///
/// # Safety
/// Every function may be called only where the instruction set is present; what is loaded or stored, whole or as far as
/// the mask goes, lies behind the pointer.
pub(super) trait Lanes {
    type Vector: Copy;
    type Mask: Copy;
    const WIDTH: usize;

    unsafe fn first(count: usize) -> Self::Mask;
    unsafe fn load(from: *const f32) -> Self::Vector;
    unsafe fn load_part(from: *const f32, mask: Self::Mask) -> Self::Vector;
    unsafe fn store(to: *mut f32, vector: Self::Vector);
    unsafe fn store_part(to: *mut f32, mask: Self::Mask, vector: Self::Vector);
    unsafe fn splat(value: f32) -> Self::Vector;
    unsafe fn mul(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a b + c`.
    unsafe fn mul_add(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// The greater; `b` where one is not a number.
    unsafe fn max(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The smaller; `b` where one is not a number.
    unsafe fn min(a: Self::Vector, b: Self::Vector) -> Self::Vector;
}

/// Eight numbers.
pub(super) struct Avx2;

// SAFETY of every block below: what the trait asks of its callers.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Avx2 {
    type Vector = __m256;
    type Mask = __m256i;
    const WIDTH: usize = 8;

    #[inline(always)]
    unsafe fn first(count: usize) -> __m256i {
        unsafe {
            _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
        }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m256 {
        unsafe { _mm256_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, mask: __m256i) -> __m256 {
        unsafe { _mm256_maskload_ps(from, mask) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, vector: __m256) {
        unsafe { _mm256_storeu_ps(to, vector) }
    }
    #[inline(always)]
    unsafe fn store_part(to: *mut f32, mask: __m256i, vector: __m256) {
        unsafe { _mm256_maskstore_ps(to, mask, vector) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> __m256 {
        unsafe { _mm256_set1_ps(value) }
    }
    #[inline(always)]
    unsafe fn mul(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_mul_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn mul_add(a: __m256, b: __m256, c: __m256) -> __m256 {
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    unsafe fn max(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_max_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn min(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_min_ps(a, b) }
    }
}

/// Sixteen numbers.
pub(super) struct Avx512;

// SAFETY of every block below: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Lanes for Avx512 {
    type Vector = __m512;
    type Mask = __mmask16;
    const WIDTH: usize = 16;

    #[inline(always)]
    unsafe fn first(count: usize) -> __mmask16 {
        ((1u32 << count) - 1) as __mmask16
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        unsafe { _mm512_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, mask: __mmask16) -> __m512 {
        unsafe { _mm512_maskz_loadu_ps(mask, from) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, vector: __m512) {
        unsafe { _mm512_storeu_ps(to, vector) }
    }
    #[inline(always)]
    unsafe fn store_part(to: *mut f32, mask: __mmask16, vector: __m512) {
        unsafe { _mm512_mask_storeu_ps(to, mask, vector) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> __m512 {
        unsafe { _mm512_set1_ps(value) }
    }
    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn mul_add(a: __m512, b: __m512, c: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    unsafe fn max(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_max_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn min(a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_min_ps(a, b) }
    }
}
