//! `paddle`: clusters with a penalty on their number (Martin et al. 2022), for many ways of which few are present.
//!
//! ```text
//! u_i = softmax(-|z_i - w_k|^2 / T + (lambda / U) v),      v_k = log(mean_i u_ik) + 1
//! w_k = (sum_i u_ik z_i + sum over labelled of class k) / (sum_i u_ik + shots of k)
//! ```
//!
//! SegoleneMartin/PADDLE: T = 2, lambda = U (here `lambda_share` = 1), 100 alternations, 1e-6 inside the logarithm, features
//! scaled by the least and the largest value of the query set (preset `authors`; their code subtracts the minimum unscaled,
//! which moves all rows alike and changes no distance). Class sizes are not assumed: v learns them. With soft
//! assignments the penalty empties classes that are there: on unit-length features the authors' values leave a single
//! class. `default` is unit length, T = 0.05 and `lambda_share` = 0.5, chosen on validation classes.

use serde::{Deserialize, Serialize};

use crate::error::check_range;
use crate::error::{ParamError, TaskError};
use crate::fit::basis::Basis;
use crate::fit::classifier::{prototypes, softmax_rows};
use crate::linalg::Matrix;
use crate::methods::Setting;
use crate::methods::common::answer::{answer, one_hot};
use crate::methods::common::feature_rows::{FeatureRows, column_sums};
use crate::methods::common::{check_count, check_positive, comparator};
use crate::methods::single_fit::unlabelled_rows;
use crate::self_training::UnlabeledRows;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// What features are scaled by after the transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// Nothing.
    None,
    /// The range of all values of the unlabelled rows.
    Range,
}

/// Parameters of `paddle`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaddleParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// What they are scaled by then.
    pub scaling: Scaling,
    /// Which unlabelled rows of a semi-supervised task are learnt from.
    pub unlabelled: UnlabeledRows,
    /// T.
    pub temperature: f64,
    /// lambda / U, the weight of the penalty on the number of classes.
    pub lambda_share: f64,
    /// Alternations.
    pub steps: usize,
}

comparator!(PaddleParams, "paddle", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self {
        transform: Transform::new(vec![Step::L2]),
        scaling: Scaling::None,
        temperature: 0.05,
        lambda_share: 0.5,
        ..Self::authors()
    },
    "authors" => Self::authors(),
});

/// Inside the logarithm.
const SHARE_FLOOR: f64 = 1e-6;

impl PaddleParams {
    fn authors() -> Self {
        Self {
            transform: Transform::none(),
            scaling: Scaling::Range,
            unlabelled: UnlabeledRows::Pool,
            temperature: 2.0,
            lambda_share: 1.0,
            steps: 100,
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("temperature", self.temperature)?;
        check_range("lambda_share", self.lambda_share, self.lambda_share >= 0.0, "a number from 0 up")?;
        check_count("steps", self.steps)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = Basis::Span.applied(self.transform.applied(task)?);
        let rows = unlabelled_rows(&task, self.unlabelled);
        let unlabelled = rows.as_ref();
        // Distances scale with the square of the features: it is enough to scale the temperature.
        let scale = match self.scaling {
            Scaling::None => 1.0,
            Scaling::Range => value_range(unlabelled),
        };
        let temperature = self.temperature * scale * scale;
        let mut centres = prototypes(task.support(), task.support_labels(), task.ways());
        let mut log_shares = vec![0.0; task.ways()];
        let own = FeatureRows::new(unlabelled);
        let mut learnt = self.assign(&own, &centres, temperature, &log_shares);
        if unlabelled.rows() > 0 {
            let all = FeatureRows::stacked(task.support(), unlabelled);
            let given = one_hot(task.support_labels(), task.ways());
            for step in 0..self.steps {
                if step > 0 {
                    learnt = self.assign(&own, &centres, temperature, &log_shares);
                }
                for (share, sum) in log_shares.iter_mut().zip(column_sums(&learnt)) {
                    *share = (sum / unlabelled.rows() as f64 + SHARE_FLOOR).ln() + 1.0;
                }
                centres = all.weighted_means(&given.stack(&learnt));
            }
        }
        Ok(answer(&task, self.unlabelled, &learnt, |rows| {
            self.assign(&FeatureRows::new(rows), &centres, temperature, &log_shares)
        }))
    }

    fn assign(
        &self,
        rows: &FeatureRows,
        centres: &Matrix<f32>,
        temperature: f64,
        shares: &[f64],
    ) -> Matrix<f64> {
        let mut logits = rows.squared_distances(centres);
        for row in 0..logits.rows() {
            for (value, share) in logits.row_mut(row).iter_mut().zip(shares) {
                *value = self.lambda_share * share - *value / temperature;
            }
        }
        softmax_rows(&mut logits);
        logits
    }
}

/// Largest minus least value; one where that is nothing.
fn value_range(rows: &Matrix<f32>) -> f64 {
    let largest = rows.as_slice().iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let least = rows.as_slice().iter().copied().fold(f32::INFINITY, f32::min);
    let range = f64::from(largest) - f64::from(least);
    if range > 0.0 { range } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{PerClass, clouds, mean_accuracy};

    fn set(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn one_step_is_the_softmax_of_distances() {
        let known = clouds(3, 8, PerClass { shots: 1, queries: 2, pool: None }, 0.5, 1);
        let one = build("paddle", None, &[set("steps", "1")]).expect("valid");
        let nearest = build("simpleshot", None, &[set("temperature", "0.05")]).expect("valid");
        let (a, b) = (one.solve(&known.task).expect("ok"), nearest.solve(&known.task).expect("ok"));
        for (a, b) in a.query.as_slice().iter().zip(b.query.as_slice()) {
            assert!((a - b).abs() < 1e-5);
        }
    }

    #[test]
    fn absent_classes_are_emptied_by_the_penalty() {
        // Twenty ways, queries of the first five only.
        let known = clouds(20, 40, PerClass { shots: 1, queries: 15, pool: None }, 0.9, 5);
        let rows: Vec<usize> = (0..known.query.len()).filter(|&row| known.query[row] < 5).collect();
        let task = Task::new(
            0,
            20,
            known.task.support().clone(),
            known.task.support_labels().to_vec(),
            crate::task::Unlabeled::Query,
            known.task.query().gather(&rows),
        )
        .expect("valid");
        let wrong = |method: &str, changes: &[(String, String)]| {
            let labels =
                build(method, None, changes).expect("valid").solve(&task).expect("ok").query_labels();
            labels.iter().filter(|&&label| label >= 5).count()
        };
        assert!(wrong("paddle", &[]) < wrong("paddle", &[set("lambda_share", "0")]));
    }

    #[test]
    fn it_beats_the_nearest_mean() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        assert!(mean_accuracy(&*build("paddle", None, &[]).expect("valid"), None) > nearest);
    }
}
