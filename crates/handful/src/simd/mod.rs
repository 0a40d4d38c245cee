//! The hot loops, compiled once per instruction set and chosen when the program runs.
//!
//! A fit is a few thousand tiny products on data that lives in the second-level cache. Libraries for large matrices
//! reach a quarter of what the processor can do at these shapes, so the loops are written here, once, against the
//! `lanes::Lanes` trait, and instantiated for AVX-512, AVX2 with fused multiply-add, NEON and plain arrays.
//!
//! `HANDFUL_SIMD=portable|avx2|avx512|neon` forces a path; see [`forced_path`].

mod adam;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod buffer;
mod dependence;
mod lanes;
mod moments;
#[cfg(target_arch = "aarch64")]
mod neon;
mod path;
mod peak;
mod portable;
mod predictions;
mod products;
#[cfg(test)]
mod tests;

pub use adam::AdamStep;
pub use buffer::{LANE_PADDING, PaddedRows, RowsView, padded};
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

/// The double-precision reference kernels.
pub(crate) fn portable_f64() -> &'static Kernels<f64> {
    &portable_f64_kernels::KERNELS
}

impl Kernels<f32> {
    /// The kernels of an instruction set, if this machine has it.
    pub fn on(path: Path) -> Option<&'static Self> {
        if !path.is_available() {
            return None;
        }
        match path {
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

/// Predictions of one set of examples, class-major: `[class][example]`, padded.
pub(crate) struct PredictionRows<'a, T> {
    /// Logits.
    pub logits: &'a PaddedRows<T>,
    /// Softmax of the logits.
    pub predictions: &'a PaddedRows<T>,
    /// `log sum exp` of each example's logits.
    pub log_normalizer: &'a [T],
}

impl<T: Scalar> Kernels<T> {
    /// Which instruction set these kernels use.
    pub fn path(&self) -> Path {
        self.path
    }

    /// `out[c][i] = bias[c] + <weights[c], rows[i]>`.
    pub fn scores<'a>(
        &self,
        rows: impl Into<RowsView<'a, T>>,
        weights: impl Into<RowsView<'a, T>>,
        bias: &[T],
        out: &mut PaddedRows<T>,
    ) {
        let (rows, weights) = (rows.into(), weights.into());
        assert_eq!(rows.columns(), weights.columns());
        assert!(bias.len() >= weights.rows() && out.rows() == weights.rows() && out.stride() >= rows.rows());
        // SAFETY: the shapes were just checked; padding makes every row whole registers.
        unsafe {
            (self.scores)(
                padded(rows.columns()),
                &strided(rows),
                &strided(weights),
                bias.as_ptr(),
                &strided_mut(out),
            );
        }
    }

    /// `out[c][k] = sum_i residuals[c][i] rows[i][k]`.
    pub fn weight_gradient<'a>(
        &self,
        rows: impl Into<RowsView<'a, T>>,
        residuals: &PaddedRows<T>,
        out: &mut PaddedRows<T>,
    ) {
        self.gradient(false, rows.into(), residuals.into(), out);
    }

    /// `out[c][k] += sum_i residuals[c][i] rows[i][k]`.
    pub fn add_weight_gradient<'a>(
        &self,
        rows: impl Into<RowsView<'a, T>>,
        residuals: &PaddedRows<T>,
        out: &mut PaddedRows<T>,
    ) {
        self.gradient(true, rows.into(), residuals.into(), out);
    }

    fn gradient(
        &self,
        add: bool,
        rows: RowsView<'_, T>,
        residuals: RowsView<'_, T>,
        out: &mut PaddedRows<T>,
    ) {
        check_gradient_shapes(rows, residuals, out);
        // SAFETY: the shapes were just checked; padding makes every row whole registers.
        unsafe {
            let (rows, columns) = (strided(rows), padded(rows.columns()));
            (self.gradient)(add, columns, &rows, &strided(residuals), &strided_mut(out));
        }
    }

    /// The sum of the rows (a padded row) and the squared length of each.
    pub fn moments<'a>(&self, rows: impl Into<RowsView<'a, T>>) -> (Vec<T>, Vec<T>) {
        let rows = rows.into();
        let columns = padded(rows.columns());
        let (mut sums, mut squares) = (vec![T::ZERO; columns], vec![T::ZERO; rows.rows()]);
        // SAFETY: the arrays were just made to measure; padding makes every row whole registers.
        unsafe { (self.moments)(columns, &strided(rows), sums.as_mut_ptr(), squares.as_mut_ptr()) };
        (sums, squares)
    }

    /// Softmax over classes of class-major logits, and each example's log-normaliser.
    pub fn softmax(&self, logits: &PaddedRows<T>, predictions: &mut PaddedRows<T>, log_normalizer: &mut [T]) {
        let (classes, stride) = (logits.rows(), logits.stride());
        assert!(classes > 0 && predictions.rows() == classes && predictions.stride() == stride);
        assert!(log_normalizer.len() >= stride);
        // SAFETY: the shapes were just checked; strides are whole registers.
        unsafe {
            (self.softmax)(
                classes,
                stride,
                logits.as_slice().as_ptr(),
                predictions.as_mut_slice().as_mut_ptr(),
                log_normalizer.as_mut_ptr(),
            );
        }
    }

    /// The softmax chain rule on `dependence * pull + marginal[class] + log_weight * log p`; no pull means none.
    pub(crate) fn logit_gradient(
        &self,
        input: PredictionRows<'_, T>,
        pull: Option<(T, &PaddedRows<T>)>,
        marginal: &[T],
        log_weight: T,
        out: &mut PaddedRows<T>,
    ) {
        let (classes, stride) = (input.logits.rows(), input.logits.stride());
        for rows in [input.predictions, &*out].into_iter().chain(pull.map(|(_, rows)| rows)) {
            assert!(rows.rows() == classes && rows.stride() == stride);
        }
        assert!(marginal.len() >= classes && input.log_normalizer.len() >= stride);
        let weights = PredictionWeights {
            dependence: pull.map_or(T::ZERO, |(weight, _)| weight),
            log_prediction: log_weight,
        };
        // SAFETY: the shapes were just checked; strides are whole registers.
        unsafe {
            (self.logit_gradient)(
                classes,
                stride,
                weights,
                input.logits.as_slice().as_ptr(),
                input.log_normalizer.as_ptr(),
                input.predictions.as_slice().as_ptr(),
                pull.map_or(std::ptr::null(), |(_, rows)| rows.as_slice().as_ptr()),
                marginal.as_ptr(),
                out.as_mut_slice().as_mut_ptr(),
            );
        }
    }

    /// Value of tr(Kc L) and `pull_i = (M 1)_i p_i - (M P)_i` with M = Kc o L; see the `dependence` module.
    ///
    /// `scratch` holds [`dependence_scratch`] elements. Columns of the kernel past the examples must be zero.
    pub(crate) fn dependence(
        &self,
        predictions: &PaddedRows<T>,
        centred_kernel: &PaddedRows<T>,
        inverse_variance: T,
        scratch: &mut [T],
        pull: &mut PaddedRows<T>,
    ) -> T {
        let (classes, stride) = (predictions.rows(), predictions.stride());
        let examples = predictions.columns();
        assert!(pull.rows() == classes && pull.stride() == stride);
        assert!(centred_kernel.rows() >= examples && centred_kernel.stride() >= stride);
        assert!(scratch.len() >= dependence_scratch(classes, stride));
        let (half_norms, sums) = scratch.split_at_mut(stride);
        let input = DependenceInput {
            examples,
            stride,
            predictions: predictions.as_slice().as_ptr(),
            centred_kernel: centred_kernel.as_slice().as_ptr(),
            kernel_stride: centred_kernel.stride(),
            inverse_variance,
        };
        // SAFETY: the shapes were just checked; strides are whole registers.
        unsafe {
            (self.dependence)(
                classes,
                &input,
                half_norms.as_mut_ptr(),
                sums.as_mut_ptr(),
                pull.as_mut_slice().as_mut_ptr(),
            )
        }
    }

    /// One Adam step on padded parameters.
    pub fn adam(
        &self,
        step: AdamStep<T>,
        parameters: &mut [T],
        gradient: &[T],
        first: &mut [T],
        second: &mut [T],
    ) {
        let length = parameters.len();
        assert!(length.is_multiple_of(LANE_PADDING) && gradient.len() == length);
        assert!(first.len() == length && second.len() == length);
        // SAFETY: the lengths were just checked.
        unsafe {
            (self.adam)(
                step,
                length,
                parameters.as_mut_ptr(),
                gradient.as_ptr(),
                first.as_mut_ptr(),
                second.as_mut_ptr(),
            );
        }
    }

    /// Exponential of every element, in place; the length must be a multiple of [`LANE_PADDING`].
    pub fn exp(&self, values: &mut [T]) {
        assert!(values.len().is_multiple_of(LANE_PADDING));
        // SAFETY: the length was just checked.
        unsafe { (self.exp)(values.len(), values.as_mut_ptr()) };
    }
}

impl<T: Scalar> Kernels<T> {
    /// Runs independent multiply-adds on registers only: what this path could do if nothing but arithmetic cost time.
    /// Returns how many floating-point operations that were, for benchmarks to divide by.
    pub fn peak_operations(&self, rounds: usize) -> f64 {
        // SAFETY: touches no memory; the instruction set is present because this table was handed out.
        let sum = unsafe { (self.peak)(rounds) };
        std::hint::black_box(sum);
        2.0 * (rounds * peak::CHAINS * self.lanes) as f64
    }
}

/// Elements of scratch that [`Kernels::dependence`] needs.
pub(crate) fn dependence_scratch(classes: usize, stride: usize) -> usize {
    stride + (classes + 1) * LANE_PADDING
}

fn check_gradient_shapes<T: Scalar>(rows: RowsView<T>, residuals: RowsView<T>, out: &PaddedRows<T>) {
    assert_eq!(rows.columns(), out.columns());
    assert!(residuals.rows() == out.rows() && residuals.stride() >= rows.rows());
}

fn strided<T: Scalar>(rows: RowsView<T>) -> Strided<*const T> {
    Strided { start: rows.as_slice().as_ptr(), rows: rows.rows(), stride: rows.stride() }
}

fn strided_mut<T: Scalar>(rows: &mut PaddedRows<T>) -> Strided<*mut T> {
    Strided { rows: rows.rows(), stride: rows.stride(), start: rows.as_mut_slice().as_mut_ptr() }
}
