//! `bpa`: balanced pairwise affinities as features, then PT-MAP (Shalam and Korman 2024; formerly SOT). Knows class sizes.
//!
//! ```text
//! C_ij = 1 - cos(z_i, z_j),   C_ii = infinity;     W = Sinkhorn(exp(-C / r)), all row and column sums one
//! W <- W / max W;  W_ij = 1 or 0 for labelled rows of the same or of different classes;  W_ii = 1
//! ```
//!
//! The rows of W are the new features, one dimension per row of the task. DanielShalam/BPA (`balanced_pairwise_affinities.py`):
//! r = 0.1 as the class has it, 0.2 in the training script, which did better on validation classes; 10 sweeps. The authors'
//! batched code stops when the mean change of a factor is below 0.1, often after one sweep; here all are made.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::graph::dense::{check_size, cosines};
use crate::linalg::Matrix;
use crate::linalg::sinkhorn::{Stop, transport};
use crate::methods::common::answer::answer;
use crate::methods::common::feature_rows::FeatureRows;
use crate::methods::common::reduce::{all_rows, with_rows};
use crate::methods::common::transport_map::TransportMap;
use crate::methods::common::{check_count, check_positive, comparator};
use crate::methods::pt_map::{PtMapParams, power_and_centre};
use crate::methods::single_fit::unlabelled_rows;
use crate::methods::{MethodParams, Setting};
use crate::self_training::UnlabeledRows;
use crate::self_training::class_sizes::ClassSizes;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::Transform;

/// Parameters of `bpa`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BpaParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Which unlabelled rows of a semi-supervised task the prototypes learn from; all take part in the affinities.
    pub unlabelled: UnlabeledRows,
    /// r.
    pub regularisation: f64,
    /// Sweeps of the scaling.
    pub affinity_sweeps: usize,
    /// The iteration of PT-MAP on the affinities.
    #[serde(flatten)]
    pub map: TransportMap,
}

comparator!(BpaParams, "bpa", Setting::UsesUnlabeled,
    knows_class_sizes: |params| params.map.class_sizes.known(), presets: {
    "default" => Self::with(0.2, ClassSizes::Equal),
    "authors" => Self::with(0.1, ClassSizes::Equal),
    "unbalanced" => Self::with(0.2, ClassSizes::Unknown),
});

impl BpaParams {
    fn with(regularisation: f64, class_sizes: ClassSizes) -> Self {
        Self {
            transform: power_and_centre(),
            unlabelled: UnlabeledRows::Both,
            regularisation,
            affinity_sweeps: 10,
            map: TransportMap { class_sizes, ..PtMapParams::authors().map },
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("regularisation", self.regularisation)?;
        check_count("affinity_sweeps", self.affinity_sweeps)?;
        self.map.check()
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.applied(task)?;
        let rows = all_rows(&task);
        check_size(Self::NAME, rows.rows())?;
        let affinities = self.affinities(&FeatureRows::new(&rows).gram(), task.support_labels());
        let task = with_rows(&task, &affinities.cast());
        let rows = unlabelled_rows(&task, self.unlabelled);
        let mapped = self.map.run(&task, rows.as_ref(), |plan| plan);
        Ok(answer(&task, self.unlabelled, &mapped.plan, |rows| self.map.label(rows, &mapped.centres)))
    }

    /// W of the module's first lines; the labelled rows come first.
    fn affinities(&self, gram: &Matrix<f64>, labels: &[usize]) -> Matrix<f64> {
        let size = gram.rows();
        let mut logits = cosines(gram);
        for row in 0..size {
            logits.row_mut(row).iter_mut().for_each(|value| *value = (*value - 1.0) / self.regularisation);
            logits.row_mut(row)[row] = -1e9;
        }
        let stop = Stop { tolerance: 0.0, max_sweeps: self.affinity_sweeps };
        let mut affinities = transport(logits, Some(&vec![1.0; size]), stop).plan;
        let off_diagonal = |i: usize, j: usize| i != j;
        let largest = (0..size)
            .flat_map(|i| (0..size).filter(move |&j| off_diagonal(i, j)).map(move |j| (i, j)))
            .map(|(i, j)| affinities.row(i)[j])
            .fold(f64::MIN_POSITIVE, f64::max);
        affinities.as_mut_slice().iter_mut().for_each(|value| *value /= largest);
        for (i, own) in labels.iter().enumerate() {
            for (j, other) in labels.iter().enumerate() {
                affinities.row_mut(i)[j] = f64::from(u8::from(own == other));
            }
        }
        (0..size).for_each(|row| affinities.row_mut(row)[row] = 1.0);
        affinities
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{mean_accuracy, usual};

    /// The scaling written out in the logarithm, as the authors have it.
    #[test]
    fn affinities_are_those_of_the_plain_scaling() {
        let params = BpaParams { affinity_sweeps: 200, ..BpaParams::with(0.2, ClassSizes::Equal) };
        let task = "l2".parse::<Transform>().expect("known").apply(&usual(None, 0.9, 3).task).expect("valid");
        let rows = task.support().stack(&task.query().gather(&[0, 1, 2, 3, 4, 5, 6, 7]));
        let gram = FeatureRows::new(&rows).gram();
        let got = params.affinities(&gram, task.support_labels());
        let size = rows.rows();
        let kernel = |i: usize, j: usize| if i == j { 0.0 } else { ((gram.row(i)[j] - 1.0) / 0.2).exp() };
        let (mut u, mut v): (Vec<f64>, Vec<f64>) = (vec![1.0; size], vec![1.0; size]);
        for _ in 0..2000 {
            u = (0..size).map(|i| 1.0 / (0..size).map(|j| kernel(i, j) * v[j]).sum::<f64>()).collect();
            v = (0..size).map(|j| 1.0 / (0..size).map(|i| kernel(i, j) * u[i]).sum::<f64>()).collect();
        }
        let plan = |i: usize, j: usize| u[i] * kernel(i, j) * v[j];
        let largest = (0..size * size).map(|at| plan(at / size, at % size)).fold(0.0, f64::max);
        for i in 5..size {
            for j in 0..size {
                let wanted = if i == j { 1.0 } else { plan(i, j) / largest };
                assert!((got.row(i)[j] - wanted).abs() < 1e-4, "{i} {j}: {} {wanted}", got.row(i)[j]);
            }
        }
        assert_eq!(&got.row(0)[..5], &[1.0, 0.0, 0.0, 0.0, 0.0], "labelled rows of different classes");
    }

    #[test]
    fn it_beats_the_nearest_mean_and_is_told_class_sizes() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        let method = build("bpa", None, &[]).expect("valid");
        assert!(mean_accuracy(&*method, None) > nearest + 0.05);
        assert!(method.prior().knows_class_sizes);
        assert!(!build("bpa", Some("unbalanced"), &[]).expect("valid").prior().knows_class_sizes);
    }
}
