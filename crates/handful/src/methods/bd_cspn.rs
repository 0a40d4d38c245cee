//! `bd-cspn`: prototype rectification (Liu et al. 2020), transductive.
//!
//! ```text
//! z_u  <- z_u + mean(support) - mean(unlabelled)
//! mu_c <- average of w_ic z_i over the rows of class c (labelled, or unlabelled and nearest to mu_c by cosine)
//! p_c(z) ~ exp(s cos(z, mu_c)),     w_ic = softmax_c(s cos(z_i, mu_c))
//! ```
//!
//! The authors' code is not public; the reading is that of imtiazziko/LaplacianShot (`train_lshot.py`, `proto_rect`),
//! s = 10, on features minus the base-class mean at unit length (preset `authors`; needs that mean). There weighted rows
//! are divided by their number, not by their weights, so prototypes shrink, and a class nobody is nearest to is lost;
//! here it keeps its prototype. `default` leaves the base mean out. `easyfsl` is that library's reading: weights
//! exp(cos), labelled rows in their own class, and the query rows classified where they were before the shift.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::classifier::{prototypes, softmax_rows};
use crate::methods::Setting;
use crate::methods::common::answer::answer;
use crate::methods::common::comparator;
use crate::methods::common::rectification::{Averaging, Rectification, ShiftedRows, SupportRows, Weighting};
use crate::methods::simpleshot::Metric;
use crate::methods::single_fit::unlabelled_rows;
use crate::self_training::UnlabeledRows;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Which rows are classified at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Classified {
    /// Those moved by the shift.
    Shifted,
    /// Those given.
    AsGiven,
}

/// Parameters of `bd-cspn`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BdCspnParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Which unlabelled rows of a semi-supervised task are learnt from.
    pub unlabelled: UnlabeledRows,
    /// How prototypes are rectified.
    #[serde(flatten)]
    pub rectification: Rectification,
    /// How rows and prototypes are compared at the end.
    pub metric: Metric,
    /// Which rows are classified at the end.
    pub classified: Classified,
}

comparator!(BdCspnParams, "bd-cspn", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self { transform: Transform::new(vec![Step::L2]), ..Self::authors() },
    "authors" => Self::authors(),
    "easyfsl" => Self {
        transform: Transform::new(vec![Step::L2]),
        rectification: EASYFSL,
        classified: Classified::AsGiven,
        ..Self::authors()
    },
});

/// `proto_rect` of LaplacianShot's code.
pub(crate) const PROTO_RECT: Rectification = Rectification {
    scale: 10.0,
    weighting: Weighting::Softmax,
    support_rows: SupportRows::Nearest,
    averaging: Averaging::Count,
};

/// easyfsl's reading.
pub(crate) const EASYFSL: Rectification = Rectification {
    scale: 1.0,
    weighting: Weighting::Exponential,
    support_rows: SupportRows::Given,
    averaging: Averaging::Weights,
};

impl BdCspnParams {
    fn authors() -> Self {
        Self {
            transform: Transform::new(vec![Step::Centre, Step::L2]),
            unlabelled: UnlabeledRows::Pool,
            rectification: PROTO_RECT,
            metric: Metric::Cosine,
            classified: Classified::Shifted,
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        self.rectification.check()
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.applied(task)?;
        let means = prototypes(task.support(), task.support_labels(), task.ways());
        let rows = unlabelled_rows(&task, self.unlabelled);
        let shifted = ShiftedRows::new(task.support(), rows.as_ref(), &means);
        let rectified = self.rectification.rectify(&shifted, task.support_labels(), &means);
        let label = |rows: ShiftedRows| {
            let rows = match self.classified {
                Classified::Shifted => rows,
                Classified::AsGiven => rows.without_shift(),
            };
            let (mut scores, factor) = match self.metric {
                Metric::Euclidean => (rows.unlabelled(&rows.squared_distances(&rectified)), -0.5),
                Metric::Cosine => (rows.unlabelled(&rows.cosines(&rectified)), 1.0),
            };
            let scale = factor * self.rectification.scale;
            scores.as_mut_slice().iter_mut().for_each(|score| *score *= scale);
            softmax_rows(&mut scores);
            scores
        };
        Ok(answer(&task, self.unlabelled, &label(shifted), |rows| {
            label(ShiftedRows::new(task.support(), rows, &means))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;
    use crate::methods::build;
    use crate::methods::common::test_tasks::mean_accuracy;
    use crate::task::Unlabeled;

    #[test]
    fn rectified_prototypes_label_better_than_the_means() {
        let means = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        for preset in ["default", "easyfsl"] {
            let method = build("bd-cspn", Some(preset), &[]).expect("valid");
            assert!(mean_accuracy(&*method, None) > means + 0.02, "{preset}");
        }
    }

    #[test]
    fn a_common_shift_of_the_query_changes_nothing() {
        let support = Matrix::from_vec(2, 2, vec![1.0, 0.0, 0.0, 1.0]);
        let query = |by: f32| Matrix::from_vec(2, 2, vec![0.9 + by, 0.2, 0.1 + by, 0.7]);
        let raw = [("transform".to_owned(), "none".to_owned())];
        let method = build("bd-cspn", None, &raw).expect("valid");
        let solve = |by: f32| {
            let task = Task::new(0, 2, support.clone(), vec![0, 1], Unlabeled::Query, query(by));
            method.solve(&task.expect("valid")).expect("solvable").query
        };
        let (here, there) = (solve(0.0), solve(5.0));
        for (a, b) in here.as_slice().iter().zip(there.as_slice()) {
            assert!((a - b).abs() < 1e-4);
        }
    }
}
