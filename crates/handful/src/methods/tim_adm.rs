//! `tim-adm`: transductive information maximisation by alternating steps (Boudiaf et al. 2020).
//!
//! ```text
//! the objective of `tim-gd`, with q standing in for the predictions p of unlabelled rows:
//! q_ik  ~  p_ik^(1+l2) / (sum_i p_ik^(1+l2))^(l1/(1+l1)),     rows sum to one
//! w_k  <-  w_k + alpha (w_k* - w_k),     c = l0 / (1 + l2),  r = S / U
//! w_k*  =  [ c (sum_s (y_sk - p_sk) z_s + w_k sum_s p_sk) + r (sum_u (q_uk - p_uk) z_u + w_k sum_u p_uk) ]
//!          / [ c sum_s y_sk + r sum_u q_uk ]
//! ```
//!
//! Defaults (mboudiaf/TIM, `src/tim.py`): unit-length features, logits -(tau/2)|z - w|^2 with tau = 15, w from the
//! prototypes, (l0, l1, l2) = (0.1, 1, 0.1), alpha = 1, 150 steps. Everything is a function of inner products, so the
//! steps run in the span of the task's rows.

use serde::{Deserialize, Serialize};

use crate::error::check_range;
use crate::error::{ParamError, TaskError};
use crate::fit::basis::Basis;
use crate::fit::classifier::{prototypes, softmax_rows};
use crate::linalg::Matrix;
use crate::methods::Setting;
use crate::methods::common::answer::{answer, normalise_rows, one_hot};
use crate::methods::common::feature_rows::{FeatureRows, column_sums};
use crate::methods::common::{check_count, check_positive, comparator};
use crate::methods::single_fit::unlabelled_rows;
use crate::self_training::UnlabeledRows;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `tim-adm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimAdmParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Which unlabelled rows of a semi-supervised task are learnt from.
    pub unlabelled: UnlabeledRows,
    /// tau.
    pub inverse_temperature: f64,
    /// l0.
    pub cross_entropy_weight: f64,
    /// l1.
    pub marginal_weight: f64,
    /// l2.
    pub conditional_weight: f64,
    /// alpha, how far prototypes move.
    pub rate: f64,
    /// Alternations.
    pub steps: usize,
}

comparator!(TimAdmParams, "tim-adm", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self::authors(),
    "authors" => Self::authors(),
});

impl TimAdmParams {
    fn authors() -> Self {
        Self {
            transform: Transform::new(vec![Step::L2]),
            unlabelled: UnlabeledRows::Pool,
            inverse_temperature: 15.0,
            cross_entropy_weight: 0.1,
            marginal_weight: 1.0,
            conditional_weight: 0.1,
            rate: 1.0,
            steps: 150,
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("inverse_temperature", self.inverse_temperature)?;
        check_positive("cross_entropy_weight", self.cross_entropy_weight)?;
        for (key, value) in
            [("marginal_weight", self.marginal_weight), ("conditional_weight", self.conditional_weight)]
        {
            check_range(key, value, value >= 0.0, "a number from 0 up")?;
        }
        check_range("rate", self.rate, self.rate > 0.0 && self.rate <= 1.0, "a number above 0, at most 1")?;
        check_count("steps", self.steps)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = Basis::Span.applied(self.transform.applied(task)?);
        let rows = unlabelled_rows(&task, self.unlabelled);
        let unlabelled = rows.as_ref();
        let mut centres = prototypes(task.support(), task.support_labels(), task.ways());
        if unlabelled.rows() > 0 {
            let features = FeatureRows::stacked(task.support(), unlabelled);
            let targets = one_hot(task.support_labels(), task.ways());
            for _ in 0..self.steps {
                centres = self.step(&features, &targets, &centres);
            }
        }
        let label = |rows: &Matrix<f32>| self.predict(&FeatureRows::new(rows), &centres);
        Ok(answer(&task, self.unlabelled, &label(unlabelled), label))
    }

    fn predict(&self, rows: &FeatureRows, centres: &Matrix<f32>) -> Matrix<f64> {
        let mut logits = rows.squared_distances(centres);
        let scale = -0.5 * self.inverse_temperature;
        logits.as_mut_slice().iter_mut().for_each(|value| *value *= scale);
        softmax_rows(&mut logits);
        logits
    }

    /// Both updates; `features` holds the labelled rows first.
    fn step(&self, features: &FeatureRows, targets: &Matrix<f64>, centres: &Matrix<f32>) -> Matrix<f32> {
        let labelled = targets.rows();
        let predictions = self.predict(features, centres);
        let assignments = self.assignments(&predictions, labelled);
        let support_weight = self.cross_entropy_weight / (1.0 + self.conditional_weight);
        let unlabelled_weight = labelled as f64 / (features.count() - labelled) as f64;

        let ways = centres.rows();
        let mut pulls = Matrix::zeros(features.count(), ways);
        let (mut kept, mut totals) = (vec![0.0; ways], vec![0.0; ways]);
        for row in 0..features.count() {
            let (weight, wanted) = if row < labelled {
                (support_weight, targets.row(row))
            } else {
                (unlabelled_weight, assignments.row(row - labelled))
            };
            for (class, pull) in pulls.row_mut(row).iter_mut().enumerate() {
                let predicted = predictions.row(row)[class];
                *pull = weight * (wanted[class] - predicted);
                kept[class] += weight * predicted;
                totals[class] += weight * wanted[class];
            }
        }
        let mut moved = features.weighted_sums(&pulls);
        let rate = self.rate as f32;
        for class in 0..ways {
            let (kept, total) = (kept[class] as f32, totals[class] as f32);
            for (value, &centre) in moved.row_mut(class).iter_mut().zip(centres.row(class)) {
                let best = (*value + kept * centre) / total;
                *value = centre + rate * (best - centre);
            }
        }
        moved
    }

    /// q of the unlabelled rows.
    fn assignments(&self, predictions: &Matrix<f64>, labelled: usize) -> Matrix<f64> {
        let power = 1.0 + self.conditional_weight;
        let flattening = self.marginal_weight / (1.0 + self.marginal_weight);
        let rows: Vec<usize> = (labelled..predictions.rows()).collect();
        let mut powers = predictions.gather(&rows);
        powers.as_mut_slice().iter_mut().for_each(|value| *value = value.powf(power));
        let scales: Vec<f64> = column_sums(&powers)
            .into_iter()
            .map(|sum| sum.max(f64::MIN_POSITIVE).powf(-flattening))
            .collect();
        for row in 0..powers.rows() {
            powers.row_mut(row).iter_mut().zip(&scales).for_each(|(value, scale)| *value *= scale);
        }
        normalise_rows(&mut powers);
        powers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{mean_accuracy, usual};

    /// What the alternation bounds from above and must not increase (Boudiaf et al., Eq. 5, with q free).
    fn penalised(params: &TimAdmParams, task: &Task<f32>, centres: &Matrix<f32>) -> f64 {
        let features = FeatureRows::stacked(task.support(), task.query());
        let p = params.predict(&features, centres);
        let labelled = task.support().rows();
        let q = params.assignments(&p, labelled);
        let count = q.rows() as f64;
        let (l0, l1, l2) = (params.cross_entropy_weight, params.marginal_weight, params.conditional_weight);
        let labels = task.support_labels().iter().enumerate();
        let cross: f64 = labels.map(|(i, &y)| -p.row(i)[y].ln()).sum::<f64>() / labelled as f64;
        let mut rest = 0.0;
        for (i, q) in q.iter_rows().enumerate() {
            for (q, p) in q.iter().zip(p.row(i + labelled)) {
                rest += q * (q.ln() - (1.0 + l2) * p.ln()) / count;
            }
        }
        let marginal: f64 = column_sums(&q).into_iter().map(|s| (s / count) * (s / count).ln()).sum();
        l0 * cross + rest + l1 * marginal
    }

    #[test]
    fn steps_lower_the_penalised_objective() {
        let params = TimAdmParams::authors();
        let known = usual(None, 0.9, 4);
        let task = params.transform.apply(&known.task).expect("valid");
        let features = FeatureRows::stacked(task.support(), task.query());
        let targets = one_hot(task.support_labels(), task.ways());
        let mut centres = prototypes(task.support(), task.support_labels(), task.ways());
        let start = penalised(&params, &task, &centres);
        let mut last = start;
        for _ in 0..10 {
            centres = params.step(&features, &targets, &centres);
            let now = penalised(&params, &task, &centres);
            assert!(now <= last + 1e-4, "{last} -> {now}");
            last = now;
        }
        assert!(last < start - 1e-2);
    }

    #[test]
    fn assignments_are_those_of_the_formula() {
        let params = TimAdmParams { conditional_weight: 1.0, ..TimAdmParams::authors() };
        let p = Matrix::from_vec(2, 2, vec![0.8, 0.2, 0.6, 0.4]);
        let q = params.assignments(&p, 0);
        // Squares .64 .04 / .36 .16; column sums 1 and .2; divided by their roots.
        let (a, b) = (0.64, 0.04 / 0.2f64.sqrt());
        assert!((q.row(0)[0] - a / (a + b)).abs() < 1e-12);
    }

    #[test]
    fn it_beats_the_prototypes_it_starts_from() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        let method = build("tim-adm", None, &[]).expect("valid");
        assert!(mean_accuracy(&*method, None) > nearest + 0.03);
    }
}
