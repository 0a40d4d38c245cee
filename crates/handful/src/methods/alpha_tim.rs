//! `alpha-tim`: information maximisation with Tsallis entropies (Veilleux et al. 2021), for unknown class sizes.
//!
//! ```text
//! min_w  l0 CE(support) - l1 H_a(mean_u p_u) + l2 mean_u H_a(p_u),     H_a(p) = (1 - sum_k p_k^a) / (a - 1)
//! logits = -(tau/2) |z - w_c|^2,   w starts at the prototypes
//! ```
//!
//! Defaults (oveilleux/Realistic_Transductive_Few_Shot, `src/methods/tim.py` and its configurations): unit-length features,
//! tau = 15, weights (1, 1, 1), a = 2 at 1 shot and 7 from 5 shots on, 1,000 steps of Adam at 1e-4 on w (preset
//! `authors`). The cross-entropy stays Shannon's. `default` is the same in the span of the task's rows, with 100 steps of
//! 1e-3, and a = 2 at any number of shots (better than 7 on validation classes). a = 1 is Shannon's entropy: `tim-gd`.

use serde::{Deserialize, Serialize};

use crate::error::check_range;
use crate::error::{ParamError, TaskError};
use crate::fit::basis::Basis;
use crate::fit::classifier::{LinearClassifier, prototypes};
use crate::fit::segment::{Labelled, Segment};
use crate::linalg::Matrix;
use crate::linalg::sums::{dot_by_lanes, sum_by_lanes};
use crate::methods::Setting;
use crate::methods::common::answer::answer;
use crate::methods::common::{check_count, check_positive, comparator};
use crate::methods::single_fit::unlabelled_rows;
use crate::scalar::Scalar;
use crate::self_training::UnlabeledRows;
use crate::simd::{AdamStep, PaddedRows, padded};
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `alpha-tim`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlphaTimParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// In which basis the prototypes are fitted.
    pub basis: Basis,
    /// Which unlabelled rows of a semi-supervised task are learnt from.
    pub unlabelled: UnlabeledRows,
    /// tau.
    pub inverse_temperature: f64,
    /// a of the entropies below five labelled rows per class on average.
    pub alpha: f64,
    /// a from five on.
    pub alpha_five_shot: f64,
    /// l0.
    pub cross_entropy_weight: f64,
    /// l1.
    pub marginal_weight: f64,
    /// l2.
    pub conditional_weight: f64,
    /// Adam steps.
    pub steps: usize,
    /// Adam's learning rate.
    pub learning_rate: f64,
}

comparator!(AlphaTimParams, "alpha-tim", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self {
        basis: Basis::Span,
        alpha_five_shot: 2.0,
        steps: 100,
        learning_rate: 1e-3,
        ..Self::authors()
    },
    "authors" => Self::authors(),
});

impl AlphaTimParams {
    fn authors() -> Self {
        Self {
            transform: Transform::new(vec![Step::L2]),
            basis: Basis::Original,
            unlabelled: UnlabeledRows::Pool,
            inverse_temperature: 15.0,
            alpha: 2.0,
            alpha_five_shot: 7.0,
            cross_entropy_weight: 1.0,
            marginal_weight: 1.0,
            conditional_weight: 1.0,
            steps: 1000,
            learning_rate: 1e-4,
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("inverse_temperature", self.inverse_temperature)?;
        for (key, value) in [("alpha", self.alpha), ("alpha_five_shot", self.alpha_five_shot)] {
            let usable = value > 0.0 && (value - 1.0).abs() > 1e-3;
            check_range(key, value, usable, "a number above 0 other than 1 (that is tim-gd)")?;
        }
        for (key, value) in [
            ("cross_entropy_weight", self.cross_entropy_weight),
            ("marginal_weight", self.marginal_weight),
            ("conditional_weight", self.conditional_weight),
        ] {
            check_range(key, value, value >= 0.0, "a number from 0 up")?;
        }
        check_count("steps", self.steps)?;
        check_positive("learning_rate", self.learning_rate)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.basis.applied(self.transform.applied(task)?);
        let rows = unlabelled_rows(&task, self.unlabelled);
        let start = prototypes(task.support(), task.support_labels(), task.ways());
        let mut fit = Fit::new(self, &task, rows.as_ref(), &start);
        for step in 0..self.steps {
            fit.gradient();
            fit.update(step);
        }
        let temperature = (2.0 / self.inverse_temperature) as f32;
        let classifier = LinearClassifier::from_prototypes(&fit.prototypes(), temperature);
        let label = |rows: &Matrix<f32>| classifier.probabilities(rows).cast();
        let mut solution = answer(&task, self.unlabelled, &label(rows.as_ref()), label);
        solution.classifier = Some(classifier);
        Ok(solution)
    }
}

/// Buffers of one descent; nothing is allocated per step.
struct Fit<'a, T: Scalar> {
    params: &'a AlphaTimParams,
    alpha: f64,
    labelled: Segment<T>,
    unlabelled: Segment<T>,
    unlabelled_count: usize,
    given: Vec<Labelled<T>>,
    centres: PaddedRows<T>,
    gradient: PaddedRows<T>,
    first: PaddedRows<T>,
    second: PaddedRows<T>,
    weights: PaddedRows<T>,
    bias: Vec<T>,
}

impl<'a, T: Scalar> Fit<'a, T> {
    fn new(params: &'a AlphaTimParams, task: &Task<T>, rows: &Matrix<T>, start: &Matrix<T>) -> Self {
        let (ways, dim) = (task.ways(), task.dim());
        let share = T::from_f64(params.cross_entropy_weight / task.support().rows() as f64);
        let labels = task.support_labels().iter().enumerate();
        let zeros = || PaddedRows::zeros(ways, dim);
        Self {
            params,
            alpha: if task.mean_shots() >= 5.0 { params.alpha_five_shot } else { params.alpha },
            labelled: Segment::new(task.support(), ways),
            // Rows of an empty part may have any width; the products need the task's.
            unlabelled: if rows.rows() > 0 {
                Segment::new(rows, ways)
            } else {
                Segment::new(&Matrix::zeros(0, dim), ways)
            },
            unlabelled_count: rows.rows(),
            given: labels.map(|(row, &class)| Labelled { row, class, weight: share }).collect(),
            centres: PaddedRows::from_matrix(start),
            gradient: zeros(),
            first: zeros(),
            second: zeros(),
            weights: zeros(),
            bias: vec![T::ZERO; padded(ways)],
        }
    }

    /// Predictions at the current prototypes, and the gradient with respect to them.
    fn gradient(&mut self) {
        let kernels = T::kernels();
        let tau = T::from_f64(self.params.inverse_temperature);
        let half = T::from_f64(-0.5 * self.params.inverse_temperature);
        let ways = self.centres.rows();
        for class in 0..ways {
            let centre = self.centres.row(class);
            self.bias[class] = half * dot_by_lanes(centre, centre);
            for (to, &from) in self.weights.row_mut(class).iter_mut().zip(centre) {
                *to = tau * from;
            }
        }
        self.labelled.predict(kernels, &self.weights, &self.bias);
        self.unlabelled.predict(kernels, &self.weights, &self.bias);
        self.labelled.clear_residuals();
        self.labelled.add_cross_entropy_residuals(&self.given);
        self.unlabelled_residuals();
        kernels.weight_gradient(&self.labelled.rows, &self.labelled.residuals, &mut self.gradient);
        kernels.add_weight_gradient(&self.unlabelled.rows, &self.unlabelled.residuals, &mut self.gradient);
        // logits = tau <z, w> - (tau/2) |w|^2, so d/dw = tau (sum r z - w sum r).
        for class in 0..ways {
            let total = sum_by_lanes(self.labelled.class_residuals(class), |value| value)
                + sum_by_lanes(self.unlabelled.class_residuals(class), |value| value);
            let centre = self.centres.row(class);
            for (gradient, &w) in self.gradient.row_mut(class).iter_mut().zip(centre) {
                *gradient = tau * (*gradient - total * w);
            }
        }
    }

    /// `p o (v - <p, v>)` with `v = a / ((a-1) U) (l1 pbar^(a-1) - l2 p^(a-1))`.
    fn unlabelled_residuals(&mut self) {
        let count = self.unlabelled_count;
        if count == 0 {
            self.unlabelled.clear_residuals();
            return;
        }
        let scale = self.alpha / ((self.alpha - 1.0) * count as f64);
        let ways = self.centres.rows();
        let (predictions, residuals) = (&self.unlabelled.predictions, &mut self.unlabelled.residuals);
        let pull = T::from_f64(-scale * self.params.conditional_weight);
        let mut along = vec![T::ZERO; count];
        for class in 0..ways {
            let p = &predictions.row(class)[..count];
            let mean = sum_by_lanes(p, |value| value).to_f64() / count as f64;
            let push = T::from_f64(scale * self.params.marginal_weight * power(mean, self.alpha - 1.0));
            for ((to, &p), along) in residuals.row_mut(class).iter_mut().zip(p).zip(&mut along) {
                *to = push + pull * T::from_f64(power(p.to_f64(), self.alpha - 1.0));
                *along += p * *to;
            }
        }
        for class in 0..ways {
            let p = &predictions.row(class)[..count];
            for ((to, &p), &along) in residuals.row_mut(class).iter_mut().zip(p).zip(&along) {
                *to = p * (*to - along);
            }
        }
    }

    fn update(&mut self, step: usize) {
        let step = AdamStep::usual(step, self.params.learning_rate);
        T::kernels().adam(
            step,
            self.centres.as_mut_slice(),
            self.gradient.as_slice(),
            self.first.as_mut_slice(),
            self.second.as_mut_slice(),
        );
    }

    fn prototypes(&self) -> Matrix<T> {
        let mut out = Matrix::zeros(self.centres.rows(), self.centres.columns());
        for class in 0..out.rows() {
            let columns = out.columns();
            out.row_mut(class).copy_from_slice(&self.centres.row(class)[..columns]);
        }
        out
    }
}

/// `base^exponent`, by multiplication where the exponent is whole: the loop spends its time here.
fn power(base: f64, exponent: f64) -> f64 {
    if exponent.fract() == 0.0 { base.powi(exponent as i32) } else { base.powf(exponent) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{mean_accuracy, usual};

    fn loss(params: &AlphaTimParams, task: &Task<f64>, centres: &Matrix<f64>) -> f64 {
        let head = LinearClassifier::from_prototypes(centres, 2.0 / params.inverse_temperature);
        let (support, query) = (head.probabilities(task.support()), head.probabilities(task.query()));
        let tsallis =
            |p: &[f64]| (1.0 - p.iter().map(|p| p.powf(params.alpha)).sum::<f64>()) / (params.alpha - 1.0);
        let labels = task.support_labels().iter().enumerate();
        let cross = labels.map(|(i, &y)| -support.row(i)[y].ln()).sum::<f64>() / support.rows() as f64;
        let conditional = query.iter_rows().map(tsallis).sum::<f64>() / query.rows() as f64;
        params.cross_entropy_weight * cross - params.marginal_weight * tsallis(&query.mean_row())
            + params.conditional_weight * conditional
    }

    #[test]
    fn gradient_is_that_of_finite_differences() {
        let known = usual(None, 0.9, 1);
        let task = "l2".parse::<Transform>().expect("known").apply(&known.task.cast::<f64>()).expect("valid");
        for alpha in [0.5, 2.0, 7.0] {
            let params = AlphaTimParams { alpha, conditional_weight: 0.7, ..AlphaTimParams::authors() };
            let mut centres = prototypes(task.support(), task.support_labels(), task.ways());
            let mut fit = Fit::new(&params, &task, task.query(), &centres);
            fit.gradient();
            for (class, column) in [(0, 0), (2, 7), (4, 39)] {
                let kept = centres.row(class)[column];
                let mut at = |value: f64| {
                    centres.row_mut(class)[column] = value;
                    loss(&params, &task, &centres)
                };
                let slope = (at(kept + 1e-5) - at(kept - 1e-5)) / 2e-5;
                at(kept);
                let got = fit.gradient.row(class)[column];
                assert!((got - slope).abs() < 1e-6 * (1.0 + slope.abs()), "alpha {alpha}: {got} {slope}");
            }
        }
    }

    #[test]
    fn it_beats_the_prototypes_it_starts_from() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        let method = build("alpha-tim", None, &[]).expect("valid");
        assert!(mean_accuracy(&*method, None) > nearest + 0.03);
    }

    #[test]
    fn shannons_exponent_is_refused() {
        let error = build("alpha-tim", None, &[("alpha".into(), "1".into())]).err().expect("refused");
        assert!(error.to_string().contains("tim-gd"), "{error}");
    }
}
