//! `ilpc`: iterative label propagation, balancing and cleaning (Lazarou et al. 2021). Knows class sizes.
//!
//! ```text
//! until no row is left:
//!   a) labels of the remaining rows by propagation over a kNN graph: w = cos^3, (I - alpha S) F = Y, rows normalised
//!   b) F^T balanced by Sinkhorn: row sums 1, column sums the remaining class sizes
//!   c) a linear layer fitted to all labels; the 3 rows of each class with the least loss over the fit join the labelled
//! ```
//!
//! MichalisLazarou/iLPC (`iterative_graph_functions.py`): PT-MAP's preprocessing, K = 20 neighbours (WRN features), alpha = 0.8,
//! conjugate gradients to 1e-6 within 20 steps, T = 3; the layer starts at the unit-length class means and takes 1,000
//! full-batch steps of SGD (0.1, momentum 0.9, decay 5e-4), without bias here; fewer than 5 rows joining ends the loop. Their
//! neighbours are found among all rows, so the graph is the same in every round and is made once. In a semi-supervised
//! task the pool goes through the loop and the query is labelled by the layer fitted to everything that joined.
//! `class_sizes = unknown` leaves the column sums out (preset `unbalanced`).

mod cleaning;

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::PseudoLabel;
use crate::fit::basis::Basis;
use crate::graph::dense::{check_size, cosines, nearest, normalise_symmetric};
use crate::graph::propagation::propagate;
use crate::linalg::Matrix;
use crate::linalg::conjugate_gradients::CgStop;
use crate::linalg::sinkhorn::{Stop, transport};
use crate::methods::common::answer::{answer, normalise_rows};
use crate::methods::common::feature_rows::{FeatureRows, unit_rows};
use crate::methods::common::{check_count, check_fraction, check_positive, comparator};
use crate::methods::pt_map::power_and_centre;
use crate::methods::{MethodParams, Setting};
use crate::self_training::class_sizes::ClassSizes;
use crate::self_training::{Judgement, Keep, Learner, Quota, Rounds, UnlabeledRows, self_train};
use crate::solution::{Solution, argmax};
use crate::task::Task;
use crate::transform::Transform;
use cleaning::Layer;

/// Parameters of `ilpc`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IlpcParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// K.
    pub neighbours: usize,
    /// alpha.
    pub alpha: f64,
    /// T, the power that propagated labels are raised to.
    pub power: f64,
    /// What is assumed about the number of unlabelled rows of each class.
    pub class_sizes: ClassSizes,
    /// Sinkhorn stops when no row sum is further than this from one.
    pub sinkhorn_tolerance: f64,
    /// The most sweeps of one scaling.
    pub sinkhorn_sweeps: usize,
    /// Steps of the fit in c).
    pub steps: usize,
    /// Its learning rate.
    pub learning_rate: f64,
    /// Rows of each class that join in a round.
    pub per_class: usize,
}

comparator!(IlpcParams, "ilpc", Setting::UsesUnlabeled,
    knows_class_sizes: |params| params.class_sizes.known(), presets: {
    "default" => Self::authors(),
    "authors" => Self::authors(),
    "unbalanced" => Self { class_sizes: ClassSizes::Unknown, ..Self::authors() },
});

const CONJUGATE_GRADIENTS: CgStop = CgStop { tolerance: 1e-6, max_steps: 20 };
/// A round in which fewer rows join is the last.
const FEWEST_JOINING: usize = 5;

impl IlpcParams {
    fn authors() -> Self {
        Self {
            transform: power_and_centre(),
            neighbours: 20,
            alpha: 0.8,
            power: 3.0,
            class_sizes: ClassSizes::Equal,
            sinkhorn_tolerance: 1e-6,
            sinkhorn_sweeps: 1000,
            steps: 1000,
            learning_rate: 0.1,
            per_class: 3,
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_count("neighbours", self.neighbours)?;
        check_fraction("alpha", self.alpha)?;
        check_positive("power", self.power)?;
        check_positive("sinkhorn_tolerance", self.sinkhorn_tolerance)?;
        check_count("sinkhorn_sweeps", self.sinkhorn_sweeps)?;
        check_count("steps", self.steps)?;
        check_positive("learning_rate", self.learning_rate)?;
        check_count("per_class", self.per_class)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = Basis::Span.applied(self.transform.applied(task)?);
        let mut rows = task.support().stack(task.pool());
        check_size(Self::NAME, rows.rows())?;
        unit_rows(&mut rows);
        let labelled = task.support().rows();
        let mut learner = Propagation {
            params: self,
            ways: task.ways(),
            graph: self.graph(&rows),
            rows: &rows,
            labels: task.support_labels().iter().map(|&label| Some(label)).collect(),
            probabilities: Matrix::zeros(task.pool().rows(), task.ways()),
            joined: vec![0; task.ways()],
            labelled,
        };
        learner.labels.resize(rows.rows(), None);
        self_train(&mut learner, &self.rounds());
        let classes = learner.classes();
        Ok(answer(&task, UnlabeledRows::Pool, &learner.probabilities, |query| {
            let mut query = query.clone();
            unit_rows(&mut query);
            let mut layer = Layer::imprinted(&rows, &classes, task.ways());
            layer.fit(&rows, &classes, self.steps, self.learning_rate);
            layer.probabilities(&query)
        }))
    }

    fn rounds(&self) -> Rounds {
        Rounds {
            quota: Quota::Fresh(self.per_class),
            keep: Keep::Refresh,
            stop_when_stable: false,
            max_rounds: usize::MAX,
            fewest_joining: FEWEST_JOINING,
        }
    }

    /// S: cubed cosines of the nearest rows, either way round.
    fn graph(&self, rows: &Matrix<f32>) -> Matrix<f64> {
        let similarities = cosines(&FeatureRows::new(rows).gram());
        let mut weights = Matrix::zeros(rows.rows(), rows.rows());
        for i in 0..rows.rows() {
            for j in nearest(similarities.row(i), i, self.neighbours) {
                let weight = similarities.row(i)[j].max(0.0).powi(3);
                weights.row_mut(i)[j] += weight;
                weights.row_mut(j)[i] += weight;
            }
        }
        normalise_symmetric(&mut weights, 0.0);
        weights
    }
}

/// Steps a) to c), and what changes from round to round.
struct Propagation<'a> {
    params: &'a IlpcParams,
    ways: usize,
    graph: Matrix<f64>,
    /// Labelled rows, then the unlabelled ones.
    rows: &'a Matrix<f32>,
    /// Class of each row that is labelled or has joined.
    labels: Vec<Option<usize>>,
    /// Balanced labels of each unlabelled row, as of the round in which it joined.
    probabilities: Matrix<f64>,
    /// Rows of each class that have joined.
    joined: Vec<usize>,
    /// Labelled rows at the start.
    labelled: usize,
}

impl Learner for Propagation<'_> {
    type Model = ();

    fn ways(&self) -> usize {
        self.ways
    }

    fn pool_rows(&self) -> usize {
        self.labels.len() - self.labelled
    }

    fn fit(&mut self, joined: &[PseudoLabel]) {
        for label in joined {
            self.labels[self.labelled + label.row] = Some(label.class);
        }
        self.joined.fill(0);
        joined.iter().for_each(|label| self.joined[label.class] += 1);
        let open: Vec<usize> =
            (self.labelled..self.labels.len()).filter(|&row| self.labels[row].is_none()).collect();
        let plan = self.balanced(&open);
        for (at, &row) in open.iter().enumerate() {
            self.probabilities.row_mut(row - self.labelled).copy_from_slice(plan.row(at));
        }
    }

    fn judge(&mut self, (): &(), _: &[PseudoLabel], _: usize) -> Judgement {
        let classes = self.classes();
        let mut layer = Layer::imprinted(self.rows, &classes, self.ways);
        let losses = layer.fit(self.rows, &classes, self.params.steps, self.params.learning_rate);
        Judgement {
            labels: classes[self.labelled..].to_vec(),
            credibility: losses[self.labelled..].iter().map(|loss| -loss).collect(),
        }
    }
}

impl Propagation<'_> {
    /// Labels so far: given and joined ones, and for the others those of the last balancing.
    fn classes(&self) -> Vec<usize> {
        let class = |(row, label): (usize, &Option<usize>)| {
            label.unwrap_or_else(|| argmax(self.probabilities.row(row - self.labelled)))
        };
        self.labels.iter().enumerate().map(class).collect()
    }

    /// Steps a) and b) for the rows that have not joined.
    fn balanced(&self, open: &[usize]) -> Matrix<f64> {
        let mut given = Matrix::zeros(self.labels.len(), self.ways);
        for (row, label) in self.labels.iter().enumerate() {
            if let Some(label) = label {
                given.row_mut(row)[*label] = 1.0;
            }
        }
        let spread = propagate(&self.graph, self.params.alpha, &given, CONJUGATE_GRADIENTS);
        let mut labels = spread.gather(open);
        labels.as_mut_slice().iter_mut().for_each(|value| *value = value.max(0.0));
        normalise_rows(&mut labels);
        let power = self.params.power;
        labels.as_mut_slice().iter_mut().for_each(|value| *value = power * value.max(1e-12).ln());
        let columns = self.params.class_sizes.known().then(|| self.remaining(open.len()));
        let stop =
            Stop { tolerance: self.params.sinkhorn_tolerance, max_sweeps: self.params.sinkhorn_sweeps };
        transport(labels, columns.as_deref(), stop).plan
    }

    /// Rows of each class that should be left, in sum as many as are.
    fn remaining(&self, open: usize) -> Vec<f64> {
        let share = (self.labels.len() - self.labelled) as f64 / self.ways as f64;
        let left: Vec<f64> = self.joined.iter().map(|&joined| (share - joined as f64).max(0.0)).collect();
        let total: f64 = left.iter().sum();
        if total > 0.0 {
            left.iter().map(|left| left * open as f64 / total).collect()
        } else {
            vec![open as f64 / self.ways as f64; self.ways]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{mean_accuracy, usual};

    #[test]
    fn the_graph_is_symmetric_and_normalised() {
        let graph = IlpcParams::authors().graph(usual(None, 0.9, 1).task.query());
        for i in 0..75 {
            assert_eq!(graph.row(i)[i], 0.0);
            for j in 0..i {
                assert!((graph.row(i)[j] - graph.row(j)[i]).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn joined_rows_make_room_for_the_others() {
        let params = IlpcParams::authors();
        let rows = Matrix::zeros(12, 1);
        let state = Propagation {
            params: &params,
            ways: 2,
            graph: Matrix::zeros(0, 0),
            rows: &rows,
            labels: vec![None; 12],
            probabilities: Matrix::zeros(10, 2),
            joined: vec![3, 1],
            labelled: 2,
        };
        assert_eq!(state.remaining(6), vec![2.0, 4.0]);
    }

    #[test]
    fn it_beats_the_nearest_mean_with_and_without_a_pool() {
        for pool in [None, Some(15)] {
            let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), pool);
            let method = build("ilpc", None, &[]).expect("valid");
            assert!(mean_accuracy(&*method, pool) > nearest + 0.05, "{pool:?}");
            assert!(method.prior().knows_class_sizes);
        }
    }
}
