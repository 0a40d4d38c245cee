//! `soft-kmeans`: class means refined by soft assignments of the pool (Ren et al. 2018), semi-supervised.
//!
//! ```text
//! p_u = softmax(-|z_u - mu_c|^2 / T),      mu_c = (sum of labelled rows of c + sum_u p_uc z_u) / (shots + sum_u p_uc)
//! ```
//!
//! renmengye/few-shot-ssl-public: one step, T = 1 on its learnt features (preset `authors`). `default` is unit length
//! and T = 2/15. Their variants for distractors (a cluster at zero with a learnt radius, and a learnt mask) have parameters
//! that are trained over many tasks, and are not here.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::classifier::{prototypes, softmax_rows};
use crate::linalg::Matrix;
use crate::methods::Setting;
use crate::methods::common::answer::{answer, one_hot};
use crate::methods::common::feature_rows::FeatureRows;
use crate::methods::common::{check_count, check_positive, comparator};
use crate::methods::single_fit::unlabelled_rows;
use crate::self_training::UnlabeledRows;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `soft-kmeans`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SoftKmeansParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Which unlabelled rows of a semi-supervised task are learnt from.
    pub unlabelled: UnlabeledRows,
    /// T.
    pub temperature: f64,
    /// Refinements.
    pub steps: usize,
}

comparator!(SoftKmeansParams, "soft-kmeans", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self {
        transform: Transform::new(vec![Step::L2]),
        temperature: 2.0 / 15.0,
        ..Self::authors()
    },
    "authors" => Self::authors(),
});

impl SoftKmeansParams {
    fn authors() -> Self {
        let (transform, unlabelled) = (Transform::none(), UnlabeledRows::Pool);
        Self { transform, unlabelled, temperature: 1.0, steps: 1 }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("temperature", self.temperature)?;
        check_count("steps", self.steps)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.apply(task)?;
        let rows = unlabelled_rows(&task, self.unlabelled);
        let mut centres = prototypes(task.support(), task.support_labels(), task.ways());
        let label = |rows: &FeatureRows, centres: &Matrix<f32>| {
            let mut logits = rows.squared_distances(centres);
            logits.as_mut_slice().iter_mut().for_each(|value| *value /= -self.temperature);
            softmax_rows(&mut logits);
            logits
        };
        let own = FeatureRows::new(rows.as_ref());
        if own.count() > 0 {
            let all = FeatureRows::stacked(task.support(), rows.as_ref());
            let given = one_hot(task.support_labels(), task.ways());
            for _ in 0..self.steps {
                centres = all.weighted_means(&given.stack(&label(&own, &centres)));
            }
        }
        let learnt = label(&own, &centres);
        Ok(answer(&task, self.unlabelled, &learnt, |rows| label(&FeatureRows::new(rows), &centres)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::mean_accuracy;
    use crate::task::Unlabeled;

    #[test]
    fn one_step_worked_by_hand() {
        let column = |values: Vec<f32>| Matrix::from_vec(values.len(), 1, values);
        let pool = Unlabeled::Pool(column(vec![0.5]));
        let task =
            Task::new(0, 2, column(vec![0.0, 2.0]), vec![0, 1], pool, column(vec![1.1])).expect("valid");
        let solution =
            build("soft-kmeans", Some("authors"), &[]).expect("valid").solve(&task).expect("solvable");
        // Squared distances .25 and 2.25: p = 1 / (1 + e^-2) for the first class.
        let p = 1.0 / (1.0 + f64::exp(-2.0));
        let centres = [p * 0.5 / (1.0 + p), (2.0 + (1.0 - p) * 0.5) / (2.0 - p)];
        let logit = |c: usize| -(1.1 - centres[c]).powi(2);
        let wanted = 1.0 / (1.0 + (logit(1) - logit(0)).exp());
        assert!((f64::from(solution.query.row(0)[0]) - wanted).abs() < 1e-5);
    }

    #[test]
    fn a_pool_helps() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), Some(30));
        assert!(mean_accuracy(&*build("soft-kmeans", None, &[]).expect("valid"), Some(30)) > nearest + 0.02);
    }
}
