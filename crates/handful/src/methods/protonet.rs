//! `protonet`: the nearest class mean (Snell et al. 2017), inductive.
//!
//! ```text
//! p_c(z) ~ exp(-|z - mu_c|^2 / T)
//! ```
//!
//! Defaults: unit-length features, T = 2/15 (TIM's temperature 15; it only shapes the probabilities).

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::classifier::{LinearClassifier, prototypes, softmax_rows};
use crate::methods::Setting;
use crate::methods::common::answer::inductive_answer;
use crate::methods::common::feature_rows::FeatureRows;
use crate::methods::common::{check_positive, comparator};
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `protonet`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProtonetParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// T of the probabilities.
    pub temperature: f64,
}

comparator!(ProtonetParams, "protonet", Setting::Inductive, knows_class_sizes: |_| false, presets: {
    "default" => Self { transform: Transform::new(vec![Step::L2]), temperature: 2.0 / 15.0 },
});

impl ProtonetParams {
    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("temperature", self.temperature)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.applied(task)?;
        let means = prototypes(task.support(), task.support_labels(), task.ways());
        let classifier = LinearClassifier::from_prototypes(&means, self.temperature as f32);
        let mut solution = inductive_answer(&task, |rows| {
            let mut scores = FeatureRows::new(rows).squared_distances(&means);
            scores.as_mut_slice().iter_mut().for_each(|score| *score /= -self.temperature);
            softmax_rows(&mut scores);
            scores
        });
        solution.classifier = Some(classifier);
        Ok(solution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;
    use crate::methods::Method;
    use crate::task::Unlabeled;

    #[test]
    fn labels_are_those_of_the_nearest_mean() {
        let support = Matrix::from_vec(3, 2, vec![1.0f32, 0.0, 0.9, 0.1, 0.0, 1.0]);
        let query = Matrix::from_vec(3, 2, vec![5.0, 1.0, 1.0, 5.0, 0.1, 0.2]);
        let task = Task::new(0, 2, support, vec![0, 0, 1], Unlabeled::Query, query).expect("valid");
        let method = crate::methods::Protonet::builder().build().expect("valid");
        assert_eq!(method.solve(&task).expect("solvable").query_labels(), vec![0, 1, 1]);
    }
}
