//! Loops compiled twice: for every processor of the architecture, and for those with AVX2 and fused multiply-add.
//!
//! The compiler makes vector instructions of the loops here, but on x86-64 only such as every processor has: four numbers
//! wide, products and sums apart. [`widened`] chooses when the program runs, by what [`handful::instruction_set`] found.

use std::sync::OnceLock;

/// The instructions that the kernels here are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    /// What every processor has.
    Plain,
    /// AVX2 and fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512, and those of AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Instructions {
    /// What this machine has, or what `HANDFUL_SIMD` forces.
    pub(super) fn here() -> Self {
        static HERE: OnceLock<Instructions> = OnceLock::new();
        *HERE.get_or_init(|| match handful::instruction_set().as_str() {
            #[cfg(target_arch = "x86_64")]
            "avx512" if is_x86_feature_detected!("avx2") => Self::Avx512,
            #[cfg(target_arch = "x86_64")]
            "avx2" => Self::Avx2,
            _ => Self::Plain,
        })
    }
}

/// `a b + c`, rounded once where that is an instruction.
#[inline(always)]
pub(super) fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Defines a function whose body is compiled for both; in it, `FUSED` tells [`multiply_add`] for which.
macro_rules! widened {
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident<const FUSED: bool>($($argument:ident: $kind:ty),* $(,)?) $(-> $out:ty)? $body:block
    ) => {
        $(#[$attribute])*
        $visibility fn $name($($argument: $kind),*) $(-> $out)? {
            #[inline(always)]
            fn body<const FUSED: bool>($($argument: $kind),*) $(-> $out)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn wide($($argument: $kind),*) $(-> $out)? {
                body::<true>($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            if $crate::ops::wide::Instructions::here() != $crate::ops::wide::Instructions::Plain {
                // SAFETY: the instructions are there, as has just been asked.
                return unsafe { wide($($argument),*) };
            }
            body::<{ cfg!(target_arch = "aarch64") }>($($argument),*)
        }
    };
}

pub(super) use widened;
