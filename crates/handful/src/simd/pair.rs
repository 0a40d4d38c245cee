//! Two registers as one of twice the width: paths with narrow registers sum over as many lanes as those with wide ones.

use std::marker::PhantomData;

use super::lanes::Lanes;

/// Two registers of `S`, the lower lanes first.
#[derive(Clone, Copy)]
pub(crate) struct Pair<S>(PhantomData<S>);

// SAFETY of every block below: the same call on each half, whose `WIDTH` elements are among ours.
#[allow(clippy::undocumented_unsafe_blocks)]
impl<S: Lanes> Lanes for Pair<S> {
    type Element = S::Element;
    type Vector = [S::Vector; 2];
    const WIDTH: usize = 2 * S::WIDTH;
    const REGISTERS: usize = S::REGISTERS / 2;
    type Wide = S::Wide;

    #[inline(always)]
    unsafe fn load(from: *const S::Element) -> Self::Vector {
        unsafe { [S::load(from), S::load(from.add(S::WIDTH))] }
    }
    #[inline(always)]
    unsafe fn store(to: *mut S::Element, [low, high]: Self::Vector) {
        unsafe {
            S::store(to, low);
            S::store(to.add(S::WIDTH), high);
        }
    }
    #[inline(always)]
    unsafe fn splat(value: S::Element) -> Self::Vector {
        unsafe { [S::splat(value); 2] }
    }
    #[inline(always)]
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector {
        unsafe { [S::add(a[0], b[0]), S::add(a[1], b[1])] }
    }
    #[inline(always)]
    unsafe fn sub(a: Self::Vector, b: Self::Vector) -> Self::Vector {
        unsafe { [S::sub(a[0], b[0]), S::sub(a[1], b[1])] }
    }
    #[inline(always)]
    unsafe fn mul(a: Self::Vector, b: Self::Vector) -> Self::Vector {
        unsafe { [S::mul(a[0], b[0]), S::mul(a[1], b[1])] }
    }
    #[inline(always)]
    unsafe fn div(a: Self::Vector, b: Self::Vector) -> Self::Vector {
        unsafe { [S::div(a[0], b[0]), S::div(a[1], b[1])] }
    }
    #[inline(always)]
    unsafe fn max(a: Self::Vector, b: Self::Vector) -> Self::Vector {
        unsafe { [S::max(a[0], b[0]), S::max(a[1], b[1])] }
    }
    #[inline(always)]
    unsafe fn min(a: Self::Vector, b: Self::Vector) -> Self::Vector {
        unsafe { [S::min(a[0], b[0]), S::min(a[1], b[1])] }
    }
    #[inline(always)]
    unsafe fn sqrt([low, high]: Self::Vector) -> Self::Vector {
        unsafe { [S::sqrt(low), S::sqrt(high)] }
    }
    #[inline(always)]
    unsafe fn mul_add(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
        unsafe { [S::mul_add(a[0], b[0], c[0]), S::mul_add(a[1], b[1], c[1])] }
    }
    #[inline(always)]
    unsafe fn sum([low, high]: Self::Vector) -> S::Element {
        unsafe { S::sum(S::add(low, high)) }
    }
    #[inline(always)]
    unsafe fn exp([low, high]: Self::Vector) -> Self::Vector {
        unsafe { [S::exp(low), S::exp(high)] }
    }
    #[inline(always)]
    unsafe fn ln([low, high]: Self::Vector) -> Self::Vector {
        unsafe { [S::ln(low), S::ln(high)] }
    }
}
