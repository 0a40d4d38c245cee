//! Dependence normalised by the covariance of the features: Fisher's criterion psi (Eq. 5) with soft labels, as a loss.
//!
//! ```text
//! F = 1 / (C-1)  sum_c |V' p_c|^2 / n_c,      n_c = sum_u p_uc,      V the whitened pool
//! ```
//!
//! With hard labels that is psi of [`WhitenedPool`] divided by its maximum, so F lies between 0 and 1. Plain dependence
//! is dominated by the leading directions of the kernel and merges classes that differ in others; whitened, every
//! direction kept counts alike, and each class counts by its mean, not by its size.
//!
//! With respect to a prediction, `dF/dp_uc = (2 v_u . V'p_c / n_c - |V'p_c|^2 / n_c^2) / (C-1)`.

use crate::linalg::Matrix;
use crate::linalg::sums::{squared_length, sum_by_lanes};
use crate::paper::ida::{FisherParams, RidgeScale, WhitenedPool};
use crate::scalar::Scalar;
use crate::simd::{Kernels, PaddedRows, padded};

/// The ridge of the whitening, in mean eigenvalues of the directions kept; the same as that of IDA.
const RIDGE: f64 = 0.1;
/// What a class's size is at least, so that an empty one divides by something.
const LEAST_SIZE: f64 = 1e-6;

/// The term for one pool, and the buffers of its gradient.
pub(crate) struct FisherDependence<T> {
    whitened: PaddedRows<T>,
    /// `V' p_c`, scaled to what each row is pulled by.
    moments: PaddedRows<T>,
    /// No bias on the scores that the pull is computed as.
    no_bias: Vec<T>,
    pull: PaddedRows<T>,
}

impl<T: Scalar> FisherDependence<T> {
    /// Whitens the rows in this many leading directions; 0 keeps all.
    pub fn new(rows: &Matrix<T>, ways: usize, directions: usize) -> Self {
        let params = FisherParams {
            pca: directions,
            ridge: RIDGE,
            ridge_scale: RidgeScale::Relative,
            psi_per_class: true,
        };
        let whitened = WhitenedPool::new(rows, &params);
        let whitened: Matrix<T> = whitened.coordinates().cast();
        Self {
            moments: PaddedRows::zeros(ways, whitened.columns()),
            no_bias: vec![T::ZERO; padded(ways)],
            pull: PaddedRows::zeros(ways, whitened.rows()),
            whitened: PaddedRows::from_matrix(&whitened),
        }
    }

    /// Returns F, and adds the gradient of `-weight F` with respect to class-major predictions: what depends on the
    /// row to `pull`, what does not to `marginal`.
    pub fn add_pull(
        &mut self,
        kernels: &Kernels<T>,
        predictions: &PaddedRows<T>,
        weight: f64,
        pull: &mut PaddedRows<T>,
        marginal: &mut [T],
    ) -> T {
        let (ways, rows) = (predictions.rows(), self.whitened.rows());
        let share = 1.0 / (ways.max(2) - 1) as f64;
        kernels.weight_gradient(&self.whitened, predictions, &mut self.moments);
        let mut value = 0.0;
        for (class, marginal) in marginal.iter_mut().enumerate().take(ways) {
            let size = sum_by_lanes(&predictions.row(class)[..rows], |value| value).to_f64().max(LEAST_SIZE);
            let columns = self.moments.columns();
            let moment = &mut self.moments.row_mut(class)[..columns];
            let square = squared_length(moment).to_f64();
            value += share * square / size;
            *marginal += T::from_f64(weight * share * square / (size * size));
            let scale = T::from_f64(-2.0 * weight * share / size);
            moment.iter_mut().for_each(|value| *value *= scale);
        }
        kernels.scores(&self.whitened, &self.moments, &self.no_bias, &mut self.pull);
        for class in 0..ways {
            let from = self.pull.row(class);
            pull.row_mut(class).iter_mut().zip(from).for_each(|(to, &from)| *to += from);
        }
        T::from_f64(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_labels_have_psi_as_a_part_of_its_maximum() {
        let value = |at: usize| ((at * 7919 % 101) as f64).sin();
        let rows = Matrix::from_vec(9, 4, (0..36).map(value).collect());
        let labels = [0, 1, 2, 0, 1, 2, 0, 0, 1];
        let mut hard = PaddedRows::<f64>::zeros(3, 9);
        labels.iter().enumerate().for_each(|(row, &class)| hard.row_mut(class)[row] = 1.0);
        let params =
            FisherParams { pca: 3, ridge: RIDGE, ridge_scale: RidgeScale::Relative, psi_per_class: true };
        let psi = WhitenedPool::new(&rows, &params).fisher(&labels, 3);
        let mut pull = PaddedRows::zeros(3, 9);
        let found = FisherDependence::new(&rows, 3, 3).add_pull(
            f64::kernels(),
            &hard,
            1.0,
            &mut pull,
            &mut [0.0; 16],
        );
        assert!((found - psi).abs() < 1e-12 && psi > 0.0 && psi < 1.0, "{found} against {psi}");
    }

    #[test]
    fn one_class_and_equal_rows_have_none() {
        let rows = Matrix::from_vec(3, 2, vec![1.0f64; 6]);
        let mut all = PaddedRows::<f64>::zeros(1, 3);
        all.row_mut(0)[..3].fill(1.0);
        let mut pull = PaddedRows::zeros(1, 3);
        let mut marginal = [0.0; 16];
        let mut term = FisherDependence::new(&rows, 1, 0);
        let value = term.add_pull(f64::kernels(), &all, 1.0, &mut pull, &mut marginal);
        assert!(value == 0.0 && pull.as_slice().iter().chain(&marginal).all(|value| *value == 0.0));
    }
}
