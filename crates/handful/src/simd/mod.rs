//! The hot loops, compiled once per instruction set and chosen when the program runs.
//!
//! A fit is a few thousand tiny products on data that lives in the second-level cache. Libraries for large matrices
//! reach a quarter of what the processor can do at these shapes, so the loops are written here, once, against the
//! `lanes::Lanes` trait, and instantiated for AVX-512, AVX2 with fused multiply-add, NEON and plain arrays. All give the same
//! bits: they round and add in the same order.
//!
//! `HANDFUL_SIMD=portable|avx2|avx512|neon` forces a path; see [`forced_path`].

mod adam;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod buffer;
mod calls;
mod dependence;
mod lanes;
mod moments;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pair;
mod path;
mod peak;
mod portable;
mod predictions;
mod products;
#[cfg(test)]
mod tests;

pub use adam::AdamStep;
pub use buffer::{LANE_PADDING, PaddedRows, RowsView, padded};
pub(crate) use calls::{PredictionRows, dependence_scratch};
pub use path::{Path, UnknownPath, forced_path};

use std::sync::OnceLock;

use crate::scalar::Scalar;
use dependence::DependenceInput;
use predictions::PredictionWeights;
use products::Strided;

/// The kernels of one instruction set, behind bounds-checked calls.
pub struct Kernels<T: Scalar> {
    path: Path,
    scores: unsafe fn(usize, &Strided<*const T>, &Strided<*const T>, *const T, &Strided<*mut T>),
    gradient: unsafe fn(bool, usize, &Strided<*const T>, &Strided<*const T>, &Strided<*mut T>),
    moments: unsafe fn(usize, &Strided<*const T>, *mut T, *mut T),
    softmax: unsafe fn(usize, usize, *const T, *mut T, *mut T),
    #[allow(clippy::type_complexity)]
    logit_gradient: unsafe fn(
        usize,
        usize,
        PredictionWeights<T>,
        *const T,
        *const T,
        *const T,
        *const T,
        *const T,
        *mut T,
    ),
    dependence: unsafe fn(usize, &DependenceInput<T>, *mut T, *mut T, *mut T) -> T,
    adam: unsafe fn(AdamStep<T>, usize, *mut T, *const T, *mut T, *mut T),
    exp: unsafe fn(usize, *mut T),
    peak: unsafe fn(usize) -> T,
    lanes: usize,
}

/// Instantiates every kernel for one instruction set, behind the attribute that turns that set on.
macro_rules! instantiate {
    ($module:ident, $lanes:ty, $element:ty, $path:expr $(, $feature:meta)?) => {
        mod $module {
            use super::*;
            use super::lanes::Lanes;

            type S = $lanes;
            type T = $element;

            pub(super) static KERNELS: Kernels<T> = Kernels {
                path: $path,
                scores,
                gradient,
                moments,
                softmax,
                logit_gradient,
                dependence,
                adam,
                exp,
                peak,
                lanes: S::WIDTH,
            };

            // SAFETY of every block below: the contract of the function it forwards to, and the instruction set is
            // present because `Kernels::on` hands this table out only then.
            $(#[$feature])?
            #[allow(clippy::undocumented_unsafe_blocks)]
            unsafe fn scores(
                columns: usize,
                rows: &Strided<*const T>,
                weights: &Strided<*const T>,
                bias: *const T,
                scores: &Strided<*mut T>,
            ) {
                unsafe { products::scores::<S>(columns, rows, weights, bias, scores) }
            }
            $(#[$feature])?
            #[allow(clippy::undocumented_unsafe_blocks)]
            unsafe fn gradient(
                add: bool,
                columns: usize,
                rows: &Strided<*const T>,
                residuals: &Strided<*const T>,
                gradient: &Strided<*mut T>,
            ) {
                unsafe { products::weight_gradient::<S>(add, columns, rows, residuals, gradient) }
            }
            $(#[$feature])?
            #[allow(clippy::undocumented_unsafe_blocks)]
            unsafe fn moments(columns: usize, rows: &Strided<*const T>, sums: *mut T, squares: *mut T) {
                unsafe { super::moments::moments::<S>(columns, rows, sums, squares) }
            }
            $(#[$feature])?
            #[allow(clippy::undocumented_unsafe_blocks)]
            unsafe fn softmax(classes: usize, stride: usize, logits: *const T, p: *mut T, log_z: *mut T) {
                unsafe { predictions::softmax::<S>(classes, stride, logits, p, log_z) }
            }
            $(#[$feature])?
            #[allow(clippy::undocumented_unsafe_blocks, clippy::too_many_arguments)]
            unsafe fn logit_gradient(
                classes: usize,
                stride: usize,
                weights: PredictionWeights<T>,
                logits: *const T,
                log_z: *const T,
                p: *const T,
                pull: *const T,
                marginal: *const T,
                out: *mut T,
            ) {
                unsafe {
                    predictions::logit_gradient::<S>(
                        classes, stride, weights, logits, log_z, p, pull, marginal, out,
                    )
                }
            }
            $(#[$feature])?
            #[allow(clippy::undocumented_unsafe_blocks)]
            unsafe fn dependence(
                classes: usize,
                input: &DependenceInput<T>,
                half_norms: *mut T,
                sums: *mut T,
                pull: *mut T,
            ) -> T {
                unsafe { super::dependence::dependence::<S>(classes, input, half_norms, sums, pull) }
            }
            $(#[$feature])?
            #[allow(clippy::undocumented_unsafe_blocks)]
            unsafe fn adam(
                step: AdamStep<T>,
                length: usize,
                w: *mut T,
                g: *const T,
                first: *mut T,
                second: *mut T,
            ) {
                unsafe { super::adam::adam::<S>(step, length, w, g, first, second) }
            }
            $(#[$feature])?
            #[allow(clippy::undocumented_unsafe_blocks)]
            unsafe fn peak(rounds: usize) -> T {
                unsafe { super::peak::multiply_adds::<S>(rounds) }
            }
            $(#[$feature])?
            #[allow(clippy::undocumented_unsafe_blocks)]
            unsafe fn exp(length: usize, values: *mut T) {
                let mut at = 0;
                while at < length {
                    unsafe { S::store(values.add(at), S::exp(S::load(values.add(at)))) };
                    at += S::WIDTH;
                }
            }
        }
    };
}

instantiate!(portable_f32_kernels, portable::PortableF32, f32, Path::Portable);
instantiate!(portable_f64_kernels, portable::PortableF64, f64, Path::Portable);
// The same array operations with the instructions of AVX2, fused where single precision is: the same bits, sooner.
#[cfg(target_arch = "x86_64")]
instantiate!(wide_f32_kernels, portable::FusedF32, f32, Path::Portable, target_feature(enable = "avx2,fma"));
#[cfg(target_arch = "x86_64")]
instantiate!(wide_f64_kernels, portable::PortableF64, f64, Path::Portable, target_feature(enable = "avx2"));
#[cfg(target_arch = "x86_64")]
instantiate!(avx2_kernels, avx2::Avx2, f32, Path::Avx2, target_feature(enable = "avx2,fma"));
#[cfg(target_arch = "x86_64")]
instantiate!(avx512_kernels, avx512::Avx512, f32, Path::Avx512, target_feature(enable = "avx512f,fma"));
#[cfg(target_arch = "aarch64")]
instantiate!(neon_kernels, neon::Neon, f32, Path::Neon, target_feature(enable = "neon"));

/// The single-precision kernels: the forced path if one is set and present, else the best the machine has.
pub(crate) fn best_f32() -> &'static Kernels<f32> {
    static BEST: OnceLock<&'static Kernels<f32>> = OnceLock::new();
    BEST.get_or_init(|| {
        let wanted = forced_path().ok().flatten().unwrap_or_else(Path::best);
        Kernels::on(wanted).unwrap_or(&portable_f32_kernels::KERNELS)
    })
}

/// The instruction set that methods compute with on this machine: results are the same bits wherever it is the same.
pub fn instruction_set() -> String {
    best_f32().path().to_string()
}

/// The double-precision reference kernels. The machine changes their speed, never their results.
pub(crate) fn reference_f64() -> &'static Kernels<f64> {
    #[cfg(target_arch = "x86_64")]
    if Path::Avx2.is_available() {
        return &wide_f64_kernels::KERNELS;
    }
    &portable_f64_kernels::KERNELS
}

impl Kernels<f32> {
    /// The kernels of an instruction set, if this machine has it.
    pub fn on(path: Path) -> Option<&'static Self> {
        if !path.is_available() {
            return None;
        }
        match path {
            #[cfg(target_arch = "x86_64")]
            Path::Portable if Path::Avx2.is_available() => Some(&wide_f32_kernels::KERNELS),
            Path::Portable => Some(&portable_f32_kernels::KERNELS),
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => Some(&avx2_kernels::KERNELS),
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => Some(&avx512_kernels::KERNELS),
            #[cfg(target_arch = "aarch64")]
            Path::Neon => Some(&neon_kernels::KERNELS),
            #[allow(unreachable_patterns)]
            _ => None,
        }
    }
}
