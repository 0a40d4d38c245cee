//! `poisson`: Poisson learning on a neighbour graph (Calder et al. 2020), for very few labels per class.
//!
//! ```text
//! ((1 + e) I - D^-1/2 W D^-1/2) D^1/2 u = D^-1/2 (one-hot - mean one-hot) at labelled rows, 0 elsewhere
//! ```
//!
//! over all rows of the task, W and e as in `graph/weighted.rs`. Scores are divided by the class's number of labels; their softmax
//! is the answer. jwcalder/GraphLearning: 10 neighbours. Features as the labelling of pools has them.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::classifier::softmax_rows;
use crate::graph::neighbours::Neighbours;
use crate::graph::weighted::WeightedGraph;
use crate::linalg::Matrix;
use crate::methods::Setting;
use crate::methods::common::answer::{answer, labelled_examples};
use crate::methods::common::feature_rows::unit_rows;
use crate::methods::common::reduce::all_rows;
use crate::methods::common::{check_count, check_positive, comparator};
use crate::self_training::UnlabeledRows;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `poisson`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoissonParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Neighbours of a row.
    pub neighbours: usize,
    /// What scores of unit size are multiplied by before their softmax; it changes probabilities, not labels.
    pub sharpness: f64,
}

comparator!(PoissonParams, "poisson", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self { transform: graph_features(), neighbours: 10, sharpness: 1.0 },
});

/// What the graph methods compare: `power+l2+centre-all+l2`.
pub(crate) fn graph_features() -> Transform {
    Transform::new(vec![Step::Power, Step::L2, Step::CentreAll, Step::L2])
}

/// The graph over all rows of a task.
pub(crate) fn task_graph(task: &Task<f32>, neighbours: usize) -> WeightedGraph {
    let mut rows = all_rows(task);
    unit_rows(&mut rows);
    WeightedGraph::new(&rows, &Neighbours::among(&rows, neighbours))
}

/// The rows after the labelled ones.
pub(crate) fn unlabelled_part(task: &Task<f32>, solved: &Matrix<f32>) -> Matrix<f64> {
    solved.gather(&(task.support().rows()..solved.rows()).collect::<Vec<_>>()).cast()
}

impl PoissonParams {
    fn check_values(&self) -> Result<(), ParamError> {
        check_count("neighbours", self.neighbours)?;
        check_positive("sharpness", self.sharpness)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.applied(task)?;
        let graph = task_graph(&task, self.neighbours);
        let scores = graph.poisson(&labelled_examples(task.support_labels()), task.ways());
        let mut learnt = unlabelled_part(&task, &scores);
        learnt.as_mut_slice().iter_mut().for_each(|value| *value *= self.sharpness);
        softmax_rows(&mut learnt);
        Ok(answer(&task, UnlabeledRows::Both, &learnt, |_| learnt.gather(&[])))
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;

    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{mean_accuracy, usual};

    /// The system solved exactly; a dozen steps of conjugate gradients come close where it is well conditioned.
    #[test]
    fn labels_are_those_of_the_exact_solution() {
        let method = build("poisson", None, &[]).expect("valid");
        for seed in 0..3 {
            let task = graph_features().apply(&usual(None, 0.5, seed).task).expect("valid");
            let graph = task_graph(&task, 10);
            let size = 80;
            let mut weights = DMatrix::<f64>::zeros(size, size);
            for row in 0..size {
                graph.of_row(row).for_each(|(other, weight)| weights[(row, other)] = f64::from(weight));
            }
            let degrees: Vec<f64> = (0..size).map(|row| weights.row(row).sum()).collect();
            let system = DMatrix::from_fn(size, size, |i, j| {
                f64::from(u8::from(i == j)) * 1.01 - weights[(i, j)] / (degrees[i] * degrees[j]).sqrt()
            });
            let source = DMatrix::from_fn(size, 5, |i, c| {
                if i < 5 { (f64::from(u8::from(i == c)) - 0.2) / degrees[i].sqrt() } else { 0.0 }
            });
            let solved = system.lu().solve(&source).expect("regular");
            let volume: f64 = degrees.iter().sum();
            let mean = |class: usize| {
                (0..size).map(|i| degrees[i].sqrt() * solved[(i, class)]).sum::<f64>() / volume
            };
            let got = method.solve(&task).expect("solvable").query_labels();
            let score =
                |row: usize, class: usize| solved[(row + 5, class)] / degrees[row + 5].sqrt() - mean(class);
            let best = |row: usize| {
                (0..5).max_by(|&a, &b| score(row, a).total_cmp(&score(row, b))).expect("five classes")
            };
            let same = (0..75).filter(|&row| best(row) == got[row]).count();
            assert!(same >= 73, "seed {seed}: {same} of 75");
        }
    }

    #[test]
    fn it_beats_the_nearest_mean() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        assert!(mean_accuracy(&*build("poisson", None, &[]).expect("valid"), None) > nearest);
    }
}
