//! `label-spreading`: labels spread over a similarity graph (Zhou et al. 2004), the general user's baseline.
//!
//! ```text
//! S = D^-1/2 W D^-1/2, zero diagonal,      F = (1 - alpha)(I - alpha S)^-1 Y,      p = rows of F normalised
//! W = exp(-gamma |z_i - z_j|^2)      or      one for the k nearest rows (either way round)
//! ```
//!
//! Defaults of scikit-learn (`LabelSpreading`): alpha = 0.2, gamma = 20, or 7 neighbours (preset `knn`). It iterates to a
//! tolerance of 1e-3, at most 30 times; here the limit itself is computed, by conjugate gradients. Its kNN graph is directed, which
//! leaves S not symmetric; here an edge counts either way round. Features at unit length; scikit-learn takes them as they
//! come. The graph joins all rows of the task.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::graph::dense::{check_size, nearest, normalise_symmetric, squared_distances};
use crate::graph::propagation::{EXACT, propagate};
use crate::linalg::Matrix;
use crate::methods::common::answer::{answer, normalise_rows, one_hot};
use crate::methods::common::feature_rows::FeatureRows;
use crate::methods::common::reduce::all_rows;
use crate::methods::common::{check_count, check_fraction, check_positive, comparator};
use crate::methods::{MethodParams, Setting};
use crate::self_training::UnlabeledRows;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Which rows are joined, and how strongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Graph {
    /// All, by a Gaussian kernel.
    Rbf,
    /// The nearest ones, all alike.
    Knn,
}

/// Parameters of `label-spreading`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelSpreadingParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Which rows are joined.
    pub graph: Graph,
    /// gamma of `rbf`.
    pub gamma: f64,
    /// Neighbours of `knn`.
    pub neighbours: usize,
    /// alpha, how much a row takes over from its neighbours.
    pub alpha: f64,
}

comparator!(LabelSpreadingParams, "label-spreading", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self::with(Graph::Rbf),
    "knn" => Self::with(Graph::Knn),
});

impl LabelSpreadingParams {
    fn with(graph: Graph) -> Self {
        Self { transform: Transform::new(vec![Step::L2]), graph, gamma: 20.0, neighbours: 7, alpha: 0.2 }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("gamma", self.gamma)?;
        check_count("neighbours", self.neighbours)?;
        check_fraction("alpha", self.alpha)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.apply(task)?;
        let rows = all_rows(&task);
        check_size(Self::NAME, rows.rows())?;
        let graph = self.weights(&FeatureRows::new(&rows).gram());
        let given = one_hot(task.support_labels(), task.ways());
        let unlabelled = rows.rows() - given.rows();
        let spread =
            propagate(&graph, self.alpha, &given.stack(&Matrix::zeros(unlabelled, task.ways())), EXACT);
        let mut learnt = spread.gather(&(given.rows()..rows.rows()).collect::<Vec<_>>());
        // Rounding can leave a tiny negative number where nothing arrives.
        learnt.as_mut_slice().iter_mut().for_each(|value| *value = value.max(0.0));
        normalise_rows(&mut learnt);
        Ok(answer(&task, UnlabeledRows::Both, &learnt, |_| learnt.gather(&[])))
    }

    /// S of the module's first lines.
    fn weights(&self, gram: &Matrix<f64>) -> Matrix<f64> {
        let distances = squared_distances(gram);
        let size = gram.rows();
        let mut weights = Matrix::zeros(size, size);
        match self.graph {
            Graph::Rbf => {
                // Against the nearest distance of all, so that no kernel underflows everywhere.
                let off_diagonal = |i: usize| (0..size).filter(move |&j| j != i);
                let least = (0..size)
                    .flat_map(|i| off_diagonal(i).map(move |j| (i, j)))
                    .map(|(i, j)| distances.row(i)[j])
                    .fold(f64::INFINITY, f64::min);
                for i in 0..size {
                    for j in off_diagonal(i) {
                        weights.row_mut(i)[j] = (-self.gamma * (distances.row(i)[j] - least)).exp();
                    }
                }
            }
            Graph::Knn => {
                let negative = distances.as_slice().iter().map(|value| -value).collect();
                let similarities = Matrix::from_vec(size, size, negative);
                for i in 0..size {
                    for j in nearest(similarities.row(i), i, self.neighbours) {
                        weights.row_mut(i)[j] = 1.0;
                        weights.row_mut(j)[i] = 1.0;
                    }
                }
            }
        }
        normalise_symmetric(&mut weights, 0.0);
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{mean_accuracy, usual};

    /// The iteration of the paper, F <- alpha S F + (1 - alpha) Y, run to its limit.
    #[test]
    fn it_is_the_limit_of_the_iteration() {
        for preset in ["default", "knn"] {
            let params = LabelSpreadingParams::preset(preset).expect("there");
            let task = params.transform.apply(&usual(None, 0.9, 2).task).expect("valid");
            let rows = all_rows(&task);
            let graph = params.weights(&FeatureRows::new(&rows).gram());
            let given = one_hot(task.support_labels(), 5);
            let start = given.stack(&Matrix::zeros(75, 5));
            let mut labels = start.clone();
            for _ in 0..200 {
                let mut next = Matrix::zeros(80, 5);
                for i in 0..80 {
                    for c in 0..5 {
                        let spread: f64 = (0..80).map(|j| graph.row(i)[j] * labels.row(j)[c]).sum();
                        next.row_mut(i)[c] = params.alpha * spread + (1.0 - params.alpha) * start.row(i)[c];
                    }
                }
                labels = next;
            }
            let solution = params.solve_task(&task).expect("solvable");
            for row in 0..75 {
                let total: f64 = labels.row(row + 5).iter().sum();
                for (got, wanted) in solution.query.row(row).iter().zip(labels.row(row + 5)) {
                    assert!(total == 0.0 || (f64::from(*got) - wanted / total).abs() < 1e-4, "{preset}");
                }
            }
        }
    }

    #[test]
    fn a_pool_takes_part_in_the_graph() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), Some(15));
        let method = build("label-spreading", None, &[]).expect("valid");
        assert!(mean_accuracy(&*method, Some(15)) > nearest - 0.05);
        let solution = method.solve(&usual(Some(4), 0.9, 1).task).expect("solvable");
        assert_eq!((solution.unlabeled.rows(), solution.query.rows()), (20, 75));
    }
}
