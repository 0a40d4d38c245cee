//! `simpleshot`: the nearest class mean after a feature transform (Wang et al. 2019), inductive.
//!
//! ```text
//! p_c(z) ~ exp(-|z - mu_c|^2 / T)      or, by cosine,      exp(2 cos(z, mu_c) / T)
//! ```
//!
//! Presets are the paper's three transforms (mileyan/simple_shot, `src/train.py`): `un` raw features, `l2n` unit length,
//! `cl2n` minus the base-class mean, then unit length (needs that mean). `default` is `l2n`, the best one that needs no
//! base classes. `easyfsl` compares by cosine, as that library does; the original compares by distance. T = 2/15 only
//! shapes the probabilities.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::classifier::{prototypes, softmax_rows};
use crate::linalg::Matrix;
use crate::methods::Setting;
use crate::methods::common::answer::inductive_answer;
use crate::methods::common::feature_rows::FeatureRows;
use crate::methods::common::{check_positive, comparator};
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// How a row is compared with a prototype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// By squared Euclidean distance.
    Euclidean,
    /// By cosine.
    Cosine,
}

impl Metric {
    /// Twice the cosine, or minus the squared distance: equal up to a constant for vectors of unit length.
    pub(crate) fn scores(self, rows: &FeatureRows, vectors: &Matrix<f32>) -> Matrix<f64> {
        let (mut scores, factor) = match self {
            Self::Euclidean => (rows.squared_distances(vectors), -1.0),
            Self::Cosine => (rows.cosines(vectors), 2.0),
        };
        scores.as_mut_slice().iter_mut().for_each(|score| *score *= factor);
        scores
    }
}

/// Parameters of `simpleshot`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimpleshotParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// How rows and prototypes are compared.
    pub metric: Metric,
    /// T of the probabilities.
    pub temperature: f64,
}

comparator!(SimpleshotParams, "simpleshot", Setting::Inductive, knows_class_sizes: |_| false, presets: {
    "default" => Self::with(&[Step::L2], Metric::Euclidean),
    "un" => Self::with(&[], Metric::Euclidean),
    "l2n" => Self::with(&[Step::L2], Metric::Euclidean),
    "cl2n" => Self::with(&[Step::Centre, Step::L2], Metric::Euclidean),
    "easyfsl" => Self::with(&[Step::L2], Metric::Cosine),
});

impl SimpleshotParams {
    fn with(steps: &[Step], metric: Metric) -> Self {
        Self { transform: Transform::new(steps.to_vec()), metric, temperature: 2.0 / 15.0 }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("temperature", self.temperature)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.applied(task)?;
        let means = prototypes(task.support(), task.support_labels(), task.ways());
        Ok(inductive_answer(&task, |rows| {
            let mut scores = self.metric.scores(&FeatureRows::new(rows), &means);
            scores.as_mut_slice().iter_mut().for_each(|score| *score /= self.temperature);
            softmax_rows(&mut scores);
            scores
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::task::Unlabeled;

    fn task() -> Task<f32> {
        // Class means (1, 0) and (0, 4). The query row lies nearer to the first, its direction to the second.
        let support = Matrix::from_vec(2, 2, vec![1.0, 0.0, 0.0, 4.0]);
        let query = Matrix::from_vec(1, 2, vec![0.5, 1.0]);
        Task::new(0, 2, support, vec![0, 1], Unlabeled::Query, query).expect("valid")
    }

    #[test]
    fn the_transform_decides() {
        let label = |preset: &str, task: &Task<f32>| {
            let method = build("simpleshot", Some(preset), &[]).expect("valid");
            method.solve(task).expect("solvable").query_labels()[0]
        };
        assert_eq!((label("un", &task()), label("l2n", &task()), label("easyfsl", &task())), (0, 1, 1));
        // After subtracting (0, 3) the row points away from the second class.
        let centred = task().with_base_mean(vec![0.0, 3.0]).expect("two dimensions");
        assert_eq!(label("cl2n", &centred), 0);
    }

    #[test]
    fn without_a_base_mean_cl2n_says_so() {
        let method = build("simpleshot", Some("cl2n"), &[]).expect("valid");
        assert_eq!(method.solve(&task()).err(), Some(TaskError::NoBaseMean));
    }

    #[test]
    fn probabilities_are_those_of_the_formula() {
        let method = build("simpleshot", Some("un"), &[("temperature".into(), "2".into())]).expect("valid");
        let solution = method.solve(&task()).expect("solvable");
        // Squared distances 1.25 and 9.25.
        let wanted = 1.0 / (1.0 + f64::exp(-4.0));
        assert!((f64::from(solution.query.row(0)[0]) - wanted).abs() < 1e-6);
    }
}
