//! `am`: adaptive manifold (Lazarou et al. 2024): label propagation from class centroids, with centroids and graph learnt per
//! task by information maximisation.
//!
//! ```text
//! nodes: C centroids x_c (at the class means), labelled rows, unlabelled rows
//! A_ij = exp(-G_ij |x_i - x_j| / sd) for the k nearest j of a row i, none from a centroid;   W = B o (A + A') / 2
//! S = D^-1/2 W D^-1/2,    F = (I - a S)^-1 Y, Y one at each centroid for its class,          p = softmax(15 F)
//! min over x_c, G, B      l0 CE(labelled) - l1 H(mean p) + l2 mean H(p)                       by Adam from G = 1, B = a
//! ```
//!
//! MichalisLazarou/AM (`src/methods/AM.py`): (k, a) = (20, 0.8) below five shots and (10, 0.9) from there, hard-coded over its
//! configuration; Adam at 1e-4, 1,000 steps; distances are not squared, though named so. `am`: Shannon's entropy, weights (1, 10, 1),
//! power, unit length, minus the mean of all rows, unit length. Preset `alpha-am`, for unknown class sizes: Tsallis' entropy with
//! exponent 2 below five shots and 5 from there, weights (1, 1, 1), unit length only. The mask of neighbours and the deviation sd
//! are recomputed at each step and not differentiated. `default` and `alpha-am` make 100 steps of 1e-3 instead; `authors` is the
//! balanced method with their steps.

mod manifold;

use manifold::Manifold;
use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError, check_range};
use crate::fit::basis::Basis;
use crate::fit::classifier::prototypes;
use crate::fit::has_five_shots;
use crate::linalg::Matrix;
use crate::methods::common::answer::answer;
use crate::methods::common::reduce::all_rows;
use crate::methods::common::{check_count, check_fraction, check_positive, comparator};
use crate::methods::{MethodParams, Setting};
use crate::self_training::UnlabeledRows;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `am`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AmParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// k, and the same from five labelled rows per class on.
    pub neighbours: usize,
    /// k from five labelled rows per class on.
    pub neighbours_five_shot: usize,
    /// a.
    pub alpha: f64,
    /// a from five labelled rows per class on.
    pub alpha_five_shot: f64,
    /// Exponent of the entropies; 1 is Shannon's.
    pub entropy_exponent: f64,
    /// The same from five labelled rows per class on.
    pub entropy_exponent_five_shot: f64,
    /// l0.
    pub cross_entropy_weight: f64,
    /// l1.
    pub marginal_weight: f64,
    /// l2.
    pub conditional_weight: f64,
    /// What F is multiplied by.
    pub inverse_temperature: f64,
    /// Adam steps.
    pub steps: usize,
    /// Adam's learning rate.
    pub learning_rate: f64,
}

comparator!(AmParams, "am", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self { steps: 100, learning_rate: 1e-3, ..Self::authors() },
    "alpha-am" => Self {
        transform: Transform::new(vec![Step::L2]),
        entropy_exponent: 2.0,
        entropy_exponent_five_shot: 5.0,
        marginal_weight: 1.0,
        steps: 100,
        learning_rate: 1e-3,
        ..Self::authors()
    },
    "authors" => Self::authors(),
});

/// The most nodes: a step takes time with their cube.
const MOST_ROWS: usize = 2_000;

impl AmParams {
    fn authors() -> Self {
        Self {
            transform: Transform::new(vec![Step::Power, Step::L2, Step::CentreAll, Step::L2]),
            neighbours: 20,
            neighbours_five_shot: 10,
            alpha: 0.8,
            alpha_five_shot: 0.9,
            entropy_exponent: 1.0,
            entropy_exponent_five_shot: 1.0,
            cross_entropy_weight: 1.0,
            marginal_weight: 10.0,
            conditional_weight: 1.0,
            inverse_temperature: 15.0,
            steps: 1000,
            learning_rate: 1e-4,
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_count("neighbours", self.neighbours)?;
        check_count("neighbours_five_shot", self.neighbours_five_shot)?;
        check_fraction("alpha", self.alpha)?;
        check_fraction("alpha_five_shot", self.alpha_five_shot)?;
        check_positive("entropy_exponent", self.entropy_exponent)?;
        check_positive("entropy_exponent_five_shot", self.entropy_exponent_five_shot)?;
        for (key, value) in [
            ("cross_entropy_weight", self.cross_entropy_weight),
            ("marginal_weight", self.marginal_weight),
            ("conditional_weight", self.conditional_weight),
        ] {
            check_range(key, value, value >= 0.0, "a number from 0 up")?;
        }
        check_positive("inverse_temperature", self.inverse_temperature)?;
        check_positive("learning_rate", self.learning_rate)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = Basis::Span.applied(self.transform.applied(task)?);
        let rows: Matrix<f64> = all_rows(&task).cast();
        if rows.rows() + task.ways() > MOST_ROWS {
            return Err(TaskError::TooManyRows { method: Self::NAME, rows: rows.rows(), limit: MOST_ROWS });
        }
        let start: Matrix<f64> = prototypes(task.support(), task.support_labels(), task.ways()).cast();
        let mut manifold =
            Manifold::new(self, has_five_shots(task.mean_shots()), rows, task.support_labels(), &start);
        for step in 0..self.steps {
            manifold.step(step);
        }
        let learnt = manifold.predictions();
        Ok(answer(&task, UnlabeledRows::Both, &learnt, |_| learnt.gather(&[])))
    }
}

#[cfg(test)]
mod tests {
    use crate::methods::build;
    use crate::methods::common::test_tasks::mean_accuracy;

    #[test]
    fn it_beats_the_nearest_mean() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        for preset in ["default", "alpha-am"] {
            let method = build("am", Some(preset), &[]).expect("valid");
            assert!(mean_accuracy(&*method, None) > nearest, "{preset}");
        }
    }
}
