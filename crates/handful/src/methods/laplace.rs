//! `laplace`: harmonic extension of the labels over a neighbour graph (Zhu et al. 2003).
//!
//! ```text
//! (D - W) u = 0 at unlabelled rows,     u = one-hot at labelled ones
//! ```
//!
//! over all rows of the task, W and the dozen steps of conjugate gradients as in `graph/weighted.rs`: the exact solution is flat
//! away from the labels and worth up to 20 points less with one label per class. 10 neighbours (jwcalder/GraphLearning).

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::methods::Setting;
use crate::methods::common::answer::{answer, labelled_examples};
use crate::methods::common::{check_count, comparator};
use crate::methods::poisson::{graph_features, task_graph, unlabelled_part};
use crate::self_training::UnlabeledRows;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::Transform;

/// Parameters of `laplace`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaplaceParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Neighbours of a row.
    pub neighbours: usize,
}

comparator!(LaplaceParams, "laplace", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self { transform: graph_features(), neighbours: 10 },
});

impl LaplaceParams {
    fn check_values(&self) -> Result<(), ParamError> {
        check_count("neighbours", self.neighbours)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.applied(task)?;
        let graph = task_graph(&task, self.neighbours);
        let solved = graph.laplace(&labelled_examples(task.support_labels()), task.ways());
        let learnt = unlabelled_part(&task, &solved);
        Ok(answer(&task, UnlabeledRows::Both, &learnt, |_| learnt.gather(&[])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;
    use crate::methods::build;
    use crate::methods::common::test_tasks::mean_accuracy;
    use crate::task::Unlabeled;

    /// Rows on a circle, two neighbours each: half way between two labels is half of each, a third is two to one.
    #[test]
    fn on_a_ring_it_is_the_line_between_the_labels() {
        let row = |at: usize| {
            let angle = at as f32 / 12.0 * std::f32::consts::TAU;
            [angle.cos(), angle.sin()]
        };
        let support = Matrix::from_vec(2, 2, [row(0), row(6)].concat());
        let query = [1, 2, 3, 4, 5, 7, 8, 9, 10, 11].map(row).concat();
        let task = Task::new(0, 2, support, vec![0, 1], Unlabeled::Query, Matrix::from_vec(10, 2, query));
        let changes = [("transform".into(), "none".into()), ("neighbours".into(), "2".into())];
        let solution = build("laplace", None, &changes).expect("valid").solve(&task.expect("valid"));
        let query = solution.expect("solvable").query;
        for (at, wanted) in [5.0f32, 4.0, 3.0, 2.0, 1.0].into_iter().enumerate() {
            assert!((query.row(at)[0] - wanted / 6.0).abs() < 2e-3, "{at}: {:?}", query.row(at));
        }
    }

    #[test]
    fn it_is_not_far_behind_the_nearest_mean() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        assert!(mean_accuracy(&*build("laplace", None, &[]).expect("valid"), None) > nearest - 0.05);
    }
}
