//! The calls of the kernels: shapes are checked here, once, and behind them every row is whole registers.

use super::adam::AdamStep;
use super::buffer::{LANE_PADDING, PaddedRows, RowsView, padded};
use super::dependence::DependenceInput;
use super::predictions::PredictionWeights;
use super::products::Strided;
use super::{Kernels, Path, peak};
use crate::scalar::Scalar;

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
