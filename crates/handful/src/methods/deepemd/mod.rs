//! `deepemd`: the least cost of moving the places of one feature map to those of another (Zhang et al. 2020), inductive.
//!
//! ```text
//! sim_ij = cos(q_i - mean(q_i), p_j - mean(p_j))     places i of the query's map, j of the class's; means over channels
//! weight_i = max(<q_i, mean_j p_j>, 0) + 0.00101,     weight_j likewise with the query's mean; each scaled to a sum of n
//! flow = least cost of moving the first weights to the second at 1 - sim,     logit = T/n sum flow sim,     T = 12.5
//! ```
//!
//! icoz69/DeepEMD (`Models/models/Network.py`, `emd_utils.py`, the settings of `eval.py`). A class of one row is that row's
//! map. With more rows it is a structured prototype: it starts as the mean of the maps and follows the cross entropy of the
//! labelled rows for 100 passes of batches of 4, SGD with rate 0.1, momentum 0.9 and dampening 0.9. As in their code when a
//! network is tested, the gradient sees similarities and not weights, and takes the flow as it is; since the flow is the
//! best one, that is the gradient of the cost, too.
//!
//! Their network is trained through the transport; here the network is any whose maps were kept (`embed --maps`), and maps
//! have as many places as it leaves (16 for `compact` at 32 px, 25 in theirs). `solver` is `exact` (network simplex; theirs
//! is OpenCV's) or `sinkhorn` with the given smoothness.

mod maps;
mod structured;

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError, check_range};
use crate::fit::classifier::softmax_rows;
use crate::linalg::Matrix;
use crate::methods::common::{check_count, check_positive};
use crate::methods::{Checked, MethodParams, PriorKnowledge, Setting, Solve};
use crate::parts::{PartKind, TaskParts};
use crate::solution::Solution;
use crate::task::{Task, Unlabeled};
use maps::Maps;

/// How the flow is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Solver {
    /// By network simplex.
    Exact,
    /// By Sinkhorn's scaling.
    Sinkhorn,
}

/// Parameters of `deepemd`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeepemdParams {
    /// T of the logits.
    pub temperature: f64,
    /// How the flow is found.
    pub solver: Solver,
    /// Weight of the flow's entropy with `sinkhorn`.
    pub smoothness: f64,
    /// Passes of a structured prototype; 0 leaves the mean of the maps.
    pub prototype_epochs: usize,
    /// Its learning rate.
    pub prototype_rate: f64,
    /// Its momentum, and its dampening.
    pub prototype_momentum: f64,
    /// Labelled rows of one of its steps.
    pub prototype_batch: usize,
    /// Seed of the order of its batches.
    pub seed: u64,
}

impl DeepemdParams {
    fn authors() -> Self {
        Self {
            temperature: 12.5,
            solver: Solver::Exact,
            smoothness: 0.05,
            prototype_epochs: 100,
            prototype_rate: 0.1,
            prototype_momentum: 0.9,
            prototype_batch: 4,
            seed: 0,
        }
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let Some(parts) = task.parts().filter(|parts| parts.kind() == PartKind::Maps) else {
            let reason = "the features have no maps; `handful embed --maps` keeps them, in an .npz file";
            return Err(TaskError::Unsupported { method: Self::NAME, reason: reason.into() });
        };
        let classes = self.classes(task, parts);
        let label = |vectors: &Matrix<f32>| -> Matrix<f32> {
            let mut logits = Matrix::zeros(vectors.rows() / parts.count(), task.ways());
            if logits.rows() > 0 {
                logits = self.logits(&classes, &Maps::new(vectors.clone(), parts.count())).0;
                softmax_rows(&mut logits);
            }
            logits.cast()
        };
        let query = label(parts.query());
        let unlabeled = match task.unlabeled() {
            Unlabeled::Query => query.clone(),
            Unlabeled::Pool(_) => label(parts.pool()),
        };
        Ok(Solution::from_probabilities(query, unlabeled))
    }

    /// The map of each class.
    fn classes(&self, task: &Task<f32>, parts: &TaskParts) -> Maps {
        let (places, labels) = (parts.count(), task.support_labels());
        let mut means = Matrix::zeros(task.ways() * places, parts.support().columns());
        for (row, &label) in labels.iter().enumerate() {
            let share = 1.0 / labels.iter().filter(|&&other| other == label).count() as f32;
            for place in 0..places {
                let to = means.row_mut(label * places + place);
                to.iter_mut()
                    .zip(parts.support().row(row * places + place))
                    .for_each(|(to, from)| *to += share * from);
            }
        }
        if labels.len() == task.ways() {
            return Maps::new(means, places);
        }
        structured::fitted(self, task, parts, means)
    }
}

impl MethodParams for DeepemdParams {
    type Method = Checked<Self>;
    const NAME: &'static str = "deepemd";
    const PRESETS: &'static [&'static str] = &["authors"];

    fn default_preset() -> Self {
        Self::authors()
    }

    fn preset(name: &str) -> Option<Self> {
        (name == "authors").then(Self::authors)
    }

    fn check(self) -> Result<Self::Method, ParamError> {
        check_positive("temperature", self.temperature)?;
        check_positive("smoothness", self.smoothness)?;
        check_positive("prototype_rate", self.prototype_rate)?;
        let momentum = self.prototype_momentum;
        check_range(
            "prototype_momentum",
            momentum,
            (0.0..1.0).contains(&momentum),
            "a number from 0 up and below 1",
        )?;
        check_count("prototype_batch", self.prototype_batch)?;
        Ok(Checked(self))
    }
}

impl Solve for DeepemdParams {
    fn prior(&self) -> PriorKnowledge {
        PriorKnowledge { setting: Setting::Inductive, knows_class_sizes: false }
    }

    fn solve(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        self.solve_task(task)
    }
}

#[cfg(test)]
mod tests;
