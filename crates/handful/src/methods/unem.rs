//! `unem`: PADDLE with its weights scheduled over the iterations (Zhou et al. 2024), learnt there by unrolling.
//!
//! ```text
//! z <- t z;  w = prototypes;  v = 1;  for l = 1..L:
//!   u_i = softmax_k((-|z_i - w_k|^2 / 2 + g_l v_k) / T_l),    v_k = log(mean_i u_ik + 1e-6) + 1
//!   w_k = (sum_i u_ik z_i + sum over labelled of class k) / (sum_i u_ik + shots of k)
//! ```
//!
//! ZhouLong0/UNEM-Transductive (`U_Paddle_embt.py`): t, g and T are fitted to validation tasks by back-propagation. `authors` are
//! the published values for mini-ImageNet with WideResNet features, at one shot and at five: a strong pull on class sizes and
//! a high temperature in the second to fifth iteration, relaxed at the end. `default` keeps their shape and fits the scale t to
//! unit-length features on validation classes; nothing is learnt by back-propagation here.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::basis::Basis;
use crate::fit::classifier::{prototypes, softmax_rows};
use crate::fit::has_five_shots;
use crate::linalg::Matrix;
use crate::methods::Setting;
use crate::methods::common::answer::{answer, one_hot};
use crate::methods::common::feature_rows::{FeatureRows, column_sums};
use crate::methods::common::{check_positive, comparator};
use crate::methods::single_fit::unlabelled_rows;
use crate::self_training::UnlabeledRows;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `unem`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnemParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Which unlabelled rows of a semi-supervised task are learnt from.
    pub unlabelled: UnlabeledRows,
    /// t.
    pub scale: f64,
    /// t from five labelled rows per class on.
    pub scale_five_shot: f64,
    /// g of each iteration.
    pub size_weights: Vec<f64>,
    /// g from five labelled rows per class on.
    pub size_weights_five_shot: Vec<f64>,
    /// T of each iteration.
    pub temperatures: Vec<f64>,
    /// T from five labelled rows per class on.
    pub temperatures_five_shot: Vec<f64>,
}

comparator!(UnemParams, "unem", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self {
        transform: Transform::new(vec![Step::Power, Step::L2, Step::CentreAll, Step::L2]),
        scale: 12.0,
        scale_five_shot: 18.0,
        ..Self::authors()
    },
    "authors" => Self::authors(),
});

/// Inside the logarithm.
const SHARE_FLOOR: f64 = 1e-6;

/// The values for a task's number of shots.
struct Schedule<'a> {
    scale: f64,
    size_weights: &'a [f64],
    temperatures: &'a [f64],
}

impl UnemParams {
    fn authors() -> Self {
        Self {
            transform: Transform::new(vec![Step::L2]),
            unlabelled: UnlabeledRows::Both,
            scale: 1.75,
            scale_five_shot: 1.81,
            size_weights: vec![1.26, 2.89, 3.41, 3.31, 2.94, 2.42, 1.85, 1.37, 1.05, 1.14],
            size_weights_five_shot: vec![1.33, 5.15, 5.01, 4.53, 3.57, 2.59, 1.98, 1.64, 1.45, 1.49],
            temperatures: vec![2.16, 1.97, 2.07, 2.07, 2.05, 1.99, 1.92, 1.83, 1.66, 1.34],
            temperatures_five_shot: vec![2.82, 3.24, 3.48, 3.00, 2.26, 1.93, 1.78, 1.66, 1.49, 1.23],
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("scale", self.scale)?;
        check_positive("scale_five_shot", self.scale_five_shot)?;
        for (weights_key, weights, key, temperatures) in [
            ("size_weights", &self.size_weights, "temperatures", &self.temperatures),
            (
                "size_weights_five_shot",
                &self.size_weights_five_shot,
                "temperatures_five_shot",
                &self.temperatures_five_shot,
            ),
        ] {
            let refuse = |key, values: &[f64], expected| {
                Err(ParamError::OutOfRange { key, value: format!("{values:?}"), expected })
            };
            if weights.is_empty() || weights.iter().any(|value| !(value.is_finite() && *value >= 0.0)) {
                return refuse(weights_key, weights, "numbers from 0 up, one per iteration");
            }
            if temperatures.len() != weights.len() {
                return refuse(key, temperatures, "as many numbers as size weights");
            }
            temperatures.iter().try_for_each(|&value| check_positive(key, value))?;
        }
        Ok(())
    }

    fn schedule(&self, mean_shots: f64) -> Schedule<'_> {
        if has_five_shots(mean_shots) {
            Schedule {
                scale: self.scale_five_shot,
                size_weights: &self.size_weights_five_shot,
                temperatures: &self.temperatures_five_shot,
            }
        } else {
            Schedule { scale: self.scale, size_weights: &self.size_weights, temperatures: &self.temperatures }
        }
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = Basis::Span.applied(self.transform.applied(task)?);
        let schedule = self.schedule(task.mean_shots());
        let rows = unlabelled_rows(&task, self.unlabelled);
        let own = FeatureRows::new(rows.as_ref());
        let mut centres = prototypes(task.support(), task.support_labels(), task.ways());
        let mut pull = vec![1.0; task.ways()];
        let mut learnt = schedule.assign(&own, &centres, &pull, 0);
        let mut used = (centres.clone(), pull.clone(), 0);
        if learnt.rows() > 0 {
            let all = FeatureRows::stacked(task.support(), rows.as_ref());
            let given = one_hot(task.support_labels(), task.ways());
            for step in 1..schedule.temperatures.len() {
                for (pull, sum) in pull.iter_mut().zip(column_sums(&learnt)) {
                    *pull = (sum / learnt.rows() as f64 + SHARE_FLOOR).ln() + 1.0;
                }
                centres = all.weighted_means(&given.stack(&learnt));
                learnt = schedule.assign(&own, &centres, &pull, step);
                used = (centres.clone(), pull.clone(), step);
            }
        }
        let (centres, pull, step) = used;
        let label = |rows: &Matrix<f32>| schedule.assign(&FeatureRows::new(rows), &centres, &pull, step);
        Ok(answer(&task, self.unlabelled, &learnt, label))
    }
}

impl Schedule<'_> {
    fn assign(&self, rows: &FeatureRows, centres: &Matrix<f32>, pull: &[f64], step: usize) -> Matrix<f64> {
        let mut logits = rows.squared_distances(centres);
        // Distances scale with the square of the features.
        let (near, temperature) = (-0.5 * self.scale * self.scale, self.temperatures[step]);
        for row in 0..logits.rows() {
            for (value, pull) in logits.row_mut(row).iter_mut().zip(pull) {
                *value = (near * *value + self.size_weights[step] * pull) / temperature;
            }
        }
        softmax_rows(&mut logits);
        logits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::mean_accuracy;
    use crate::task::Unlabeled;

    /// Two iterations on a line, worked out beside the code.
    #[test]
    fn two_iterations_are_those_of_the_formula() {
        let params = UnemParams {
            transform: Transform::none(),
            scale: 2.0,
            size_weights: vec![1.0, 3.0],
            temperatures: vec![2.0, 1.5],
            ..UnemParams::authors()
        };
        let support = Matrix::from_vec(2, 1, vec![0.0, 2.0]);
        let query = Matrix::from_vec(3, 1, vec![0.5, 1.5, 1.8]);
        let task = Task::new(0, 2, support, vec![0, 1], Unlabeled::Query, query).expect("valid");
        let got = params.solve_task(&task).expect("solvable").query;
        let z = [0.5f64, 1.5, 1.8];
        let softmax = |a: f64, b: f64| 1.0 / (1.0 + (b - a).exp());
        let u: Vec<f64> =
            z.iter().map(|z| softmax(-2.0 * z * z / 2.0, -2.0 * (z - 2.0).powi(2) / 2.0)).collect();
        let mass: f64 = u.iter().sum();
        let first = u.iter().zip(z).map(|(u, z)| u * z).sum::<f64>() / (mass + 1.0);
        let second = (u.iter().zip(z).map(|(u, z)| (1.0 - u) * z).sum::<f64>() + 2.0) / (4.0 - mass);
        let pull = |mass: f64| (mass / 3.0 + 1e-6).ln() + 1.0;
        for (row, z) in z.into_iter().enumerate() {
            let logit = |centre: f64, mass: f64| (-2.0 * (z - centre).powi(2) + 3.0 * pull(mass)) / 1.5;
            let wanted = softmax(logit(first, mass), logit(second, 3.0 - mass));
            assert!((f64::from(got.row(row)[0]) - wanted).abs() < 1e-5, "row {row}");
        }
    }

    #[test]
    fn schedules_of_different_lengths_are_refused() {
        let change = [("temperatures".to_owned(), "[1, 2]".to_owned())];
        let error = build("unem", None, &change).err().expect("refused").to_string();
        assert!(error.contains("temperatures"), "{error}");
    }

    #[test]
    fn it_beats_the_nearest_mean() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        assert!(mean_accuracy(&*build("unem", None, &[]).expect("valid"), None) > nearest + 0.02);
    }
}
