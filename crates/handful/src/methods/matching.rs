//! `matching`: attention over the labelled rows by cosine (Vinyals et al. 2016), inductive.
//!
//! ```text
//! a_i(z) = softmax_i(s cos(z, x_i)),      p_c(z) = sum over i of class c of a_i(z)
//! ```
//!
//! The paper has s = 1 (preset `paper`), which leaves the attention almost flat; wyharveychen/CloserLookFewShot
//! (`methods/matchingnet.py`) scales by 100 (preset `authors`), which `default` takes over. The paper's learnt full-context
//! embeddings belong to training and are not part of a head on frozen features. With unequal shots a class with more
//! rows gets more attention, as in the paper.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::classifier::softmax_rows;
use crate::linalg::Matrix;
use crate::methods::Setting;
use crate::methods::common::answer::inductive_answer;
use crate::methods::common::feature_rows::FeatureRows;
use crate::methods::common::{check_positive, comparator};
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::Transform;

/// Parameters of `matching`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchingParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// s, what cosines are multiplied by.
    pub scale: f64,
}

comparator!(MatchingParams, "matching", Setting::Inductive, knows_class_sizes: |_| false, presets: {
    "default" => Self { transform: Transform::none(), scale: 100.0 },
    "authors" => Self { transform: Transform::none(), scale: 100.0 },
    "paper" => Self { transform: Transform::none(), scale: 1.0 },
});

impl MatchingParams {
    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("scale", self.scale)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.applied(task)?;
        let label = |rows: &Matrix<f32>| {
            let mut attention = FeatureRows::new(rows).cosines(task.support());
            attention.as_mut_slice().iter_mut().for_each(|cosine| *cosine *= self.scale);
            softmax_rows(&mut attention);
            let mut out = Matrix::zeros(rows.rows(), task.ways());
            for (row, attention) in attention.iter_rows().enumerate() {
                for (share, &class) in attention.iter().zip(task.support_labels()) {
                    out.row_mut(row)[class] += share;
                }
            }
            out
        };
        Ok(inductive_answer(&task, label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::task::Unlabeled;

    #[test]
    fn attention_is_summed_by_class() {
        let support = Matrix::from_vec(3, 2, vec![1.0, 0.0, 0.0, 2.0, -3.0, 0.0]);
        let query = Matrix::from_vec(1, 2, vec![0.6, 0.8]);
        let task = Task::new(0, 2, support, vec![0, 1, 1], Unlabeled::Query, query).expect("valid");
        let solution = build("matching", Some("paper"), &[]).expect("valid").solve(&task).expect("solvable");
        let weights = [0.6f64.exp(), 0.8f64.exp(), (-0.6f64).exp()];
        let wanted = weights[0] / weights.iter().sum::<f64>();
        assert!((f64::from(solution.query.row(0)[0]) - wanted).abs() < 1e-6);
    }
}
