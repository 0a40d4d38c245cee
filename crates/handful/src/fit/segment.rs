//! Rows of one kind during a fit (labelled or unlabelled), with their predictions and residuals.
//!
//! Predictions are class-major: the passes over them are vectorised over examples.

use crate::linalg::Matrix;
use crate::linalg::sums::sum_by_lanes;
use crate::paper::fisher_dependence::FisherDependence;
use crate::paper::objective::TermWeights;
use crate::scalar::Scalar;
use crate::simd::{Kernels, PaddedRows, PredictionRows, dependence_scratch, padded};
use crate::solution::argmax;

/// A row with a label and its weight in the cross-entropy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labelled<T> {
    pub row: usize,
    pub class: usize,
    pub weight: T,
}

/// The terms of the loss that compare the predictions of a segment's rows with their features.
pub(crate) struct Dependence<T> {
    /// HKH, where the loss has the plain dependence.
    pub centred_kernel: Option<PaddedRows<T>>,
    /// Bandwidth of its kernel on predictions.
    pub bandwidth: T,
    /// The normalised one, where the loss has it.
    pub fisher: Option<FisherDependence<T>>,
}

/// Their values.
#[derive(Clone, Copy)]
pub(crate) struct DependenceValues<T> {
    /// tr(KHLH); zero without a kernel.
    pub trace: T,
    /// F; zero without the term.
    pub fisher: T,
}

/// Rows and everything that is recomputed for them at every step.
pub(crate) struct Segment<T> {
    pub rows: PaddedRows<T>,
    logits: PaddedRows<T>,
    /// Softmax of the logits.
    pub predictions: PaddedRows<T>,
    /// Gradient of the loss with respect to the logits.
    pub residuals: PaddedRows<T>,
    pull: PaddedRows<T>,
    log_normalizer: Vec<T>,
    marginal: Vec<T>,
    scratch: Vec<T>,
}

impl<T: Scalar> Segment<T> {
    pub fn new(rows: &Matrix<T>, ways: usize) -> Self {
        let by_class = || PaddedRows::zeros(ways, rows.rows());
        let logits = by_class();
        let stride = logits.stride();
        Self {
            rows: PaddedRows::from_matrix(rows),
            predictions: by_class(),
            residuals: by_class(),
            pull: by_class(),
            log_normalizer: vec![T::ZERO; stride],
            marginal: vec![T::ZERO; padded(ways)],
            scratch: vec![T::ZERO; dependence_scratch(ways, stride)],
            logits,
        }
    }

    fn count(&self) -> usize {
        self.rows.rows()
    }

    fn ways(&self) -> usize {
        self.logits.rows()
    }

    /// Logits and their softmax under a linear classifier.
    pub fn predict(&mut self, kernels: &Kernels<T>, weights: &PaddedRows<T>, bias: &[T]) {
        if self.count() > 0 {
            kernels.scores(&self.rows, weights, bias, &mut self.logits);
            kernels.softmax(&self.logits, &mut self.predictions, &mut self.log_normalizer);
        }
    }

    /// Writes the residuals of the terms on unlabelled rows; returns the values of the dependences.
    ///
    /// With respect to a prediction p of U rows, the loss changes by
    /// `(2 lambda / s^2) pull + (w_marg / U) log (pbar / t) - (w_cond / U) log p - w_fisher dF/dp`, up to a constant that
    /// the softmax chain removes; t are the shares the classes are pulled towards, whose logarithms are `log_shares` (none where equal).
    pub fn unlabelled_residuals(
        &mut self,
        kernels: &Kernels<T>,
        weights: &TermWeights,
        dependence: &mut Dependence<T>,
        log_shares: &[T],
    ) -> DependenceValues<T> {
        let count = self.count();
        if count == 0 || !weights.uses_unlabelled() {
            self.clear_residuals();
            return DependenceValues { trace: T::ZERO, fisher: T::ZERO };
        }
        let inverse_variance = T::ONE / (dependence.bandwidth * dependence.bandwidth);
        let (mut trace, mut fisher) = (T::ZERO, T::ZERO);
        let mut pull_weight = None;
        if let Some(kernel) = &dependence.centred_kernel {
            trace = kernels.dependence(
                &self.predictions,
                kernel,
                inverse_variance,
                &mut self.scratch,
                &mut self.pull,
            );
            pull_weight = Some(T::from_f64(2.0 * weights.trace) * inverse_variance);
        }
        self.marginal.fill(T::ZERO);
        if weights.marginal != 0.0 {
            let scale = T::from_f64(weights.marginal / count as f64);
            for class in 0..self.ways() {
                let wanted = log_shares.get(class).copied().unwrap_or(T::ZERO);
                self.marginal[class] = scale * (self.mean_prediction(class).ln() - wanted);
            }
        }
        if let Some(term) = &mut dependence.fisher {
            let scale = pull_weight.unwrap_or(T::ZERO);
            self.pull.as_mut_slice().iter_mut().for_each(|pull| *pull *= scale);
            let (pull, marginal) = (&mut self.pull, &mut self.marginal);
            fisher = term.add_pull(kernels, &self.predictions, weights.fisher, pull, marginal);
            pull_weight = Some(T::ONE);
        }
        let rows = PredictionRows {
            logits: &self.logits,
            predictions: &self.predictions,
            log_normalizer: &self.log_normalizer,
        };
        kernels.logit_gradient(
            rows,
            pull_weight.map(|weight| (weight, &self.pull)),
            &self.marginal,
            T::from_f64(-weights.conditional / count as f64),
            &mut self.residuals,
        );
        DependenceValues { trace, fisher }
    }

    /// Sets all residuals to zero.
    pub fn clear_residuals(&mut self) {
        self.residuals.as_mut_slice().fill(T::ZERO);
    }

    /// Adds `weight (p - y)` for each labelled row.
    pub fn add_cross_entropy_residuals(&mut self, labelled: &[Labelled<T>]) {
        for class in 0..self.ways() {
            let predictions = self.predictions.row(class);
            let residuals = self.residuals.row_mut(class);
            for label in labelled {
                let target = if label.class == class { T::ONE } else { T::ZERO };
                residuals[label.row] += label.weight * (predictions[label.row] - target);
            }
        }
    }

    /// Returns the residuals of one class, without padding.
    pub fn class_residuals(&self, class: usize) -> &[T] {
        &self.residuals.row(class)[..self.count()]
    }

    /// Returns the weighted cross-entropy of the labelled rows.
    pub fn cross_entropy(&self, labelled: &[Labelled<T>]) -> f64 {
        let loss = |label: &Labelled<T>| {
            label.weight * (self.log_normalizer[label.row] - self.logits.row(label.class)[label.row])
        };
        labelled.iter().map(|label| loss(label).to_f64()).sum()
    }

    /// Returns H(Y|X) and H(Y) of the current predictions; zero without rows.
    pub fn entropies(&self) -> (f64, f64) {
        if self.count() == 0 {
            return (0.0, 0.0);
        }
        let mut conditional = 0.0;
        let mut marginal = 0.0;
        for class in 0..self.ways() {
            let (logits, predictions) = (self.logits.row(class), self.predictions.row(class));
            for row in 0..self.count() {
                let log_prediction = logits[row] - self.log_normalizer[row];
                conditional -= (predictions[row] * log_prediction).to_f64();
            }
            let mean = self.mean_prediction(class).to_f64();
            marginal -= mean * mean.ln();
        }
        (conditional / self.count() as f64, marginal)
    }

    /// Returns `sum_c pbar_c log t_c`: what the pull towards given shares adds to H(Y).
    pub fn log_share_mean(&self, log_shares: &[T]) -> f64 {
        let term = |(class, share): (usize, &T)| (self.mean_prediction(class) * *share).to_f64();
        if self.count() == 0 { 0.0 } else { log_shares.iter().enumerate().map(term).sum() }
    }

    /// Returns the likeliest class of each row.
    pub fn labels(&self) -> Vec<usize> {
        let of_row =
            |row: usize| (0..self.ways()).map(|class| self.logits.row(class)[row]).collect::<Vec<_>>();
        (0..self.count()).map(|row| argmax(&of_row(row))).collect()
    }

    /// Mean prediction of a class, kept away from zero so that its logarithm is finite.
    fn mean_prediction(&self, class: usize) -> T {
        let predictions = &self.predictions.row(class)[..self.count()];
        let mean = sum_by_lanes(predictions, |value| value) / T::from_f64(self.count() as f64);
        let floor = T::from_f64(1e-30);
        if mean > floor { mean } else { floor }
    }
}
