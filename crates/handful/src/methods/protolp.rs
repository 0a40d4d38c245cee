//! `protolp`: prototype-based label propagation (Zhu and Koniusz 2023). Knows class sizes.
//!
//! ```text
//! B  = PT-MAP's assignment of the unlabelled rows, labelled rows one-hot      (rows x N)
//! Lap = I - B^T B diag(1 / column sums of B),      A = (B_s^T B_s + Lap)^-1 B_s^T Y_s,      R = Sinkhorn(B A)
//! M  = clamp(m R + (1 - m) B, 0, 1),      mu <- mu + rate (M-weighted mean - mu)
//! ```
//!
//! allenhaozhu/protoLP: power transform, unit length, 40 principal dimensions, centred as in PT-MAP; lambda = 10, m = 0.6,
//! rate 0.2, 100 epochs, Sinkhorn to 0.01. Its Sinkhorn scales labelled rows along and sets them back to one-hot after each
//! half-step; the scaling it converges to is the one over the unlabelled rows alone, which is computed here.

use nalgebra::{DMatrix, LU};
use serde::{Deserialize, Serialize};

use crate::error::check_range;
use crate::error::{ParamError, TaskError};
use crate::linalg::Matrix;
use crate::linalg::subspace::multiply;
use crate::methods::Setting;
use crate::methods::common::answer::{answer, one_hot};
use crate::methods::common::feature_rows::column_sums;
use crate::methods::common::reduce::principal_task;
use crate::methods::common::transport_map::TransportMap;
use crate::methods::common::{check_count, comparator};
use crate::methods::single_fit::unlabelled_rows;
use crate::self_training::UnlabeledRows;
use crate::self_training::class_sizes::ClassSizes;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `protolp`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProtolpParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Principal dimensions that are kept.
    pub dimensions: usize,
    /// What is done to the reduced features.
    pub reduced_transform: Transform,
    /// Which unlabelled rows of a semi-supervised task are learnt from.
    pub unlabelled: UnlabeledRows,
    /// m, the share of the propagated labels.
    pub propagated_share: f64,
    /// The iteration.
    #[serde(flatten)]
    pub map: TransportMap,
}

comparator!(ProtolpParams, "protolp", Setting::UsesUnlabeled,
    knows_class_sizes: |params| params.map.class_sizes.known(), presets: {
    "default" => Self::authors(),
    "authors" => Self::authors(),
    "unbalanced" => Self {
        map: TransportMap { class_sizes: ClassSizes::Unknown, ..Self::authors().map },
        ..Self::authors()
    },
});

impl ProtolpParams {
    fn authors() -> Self {
        Self {
            transform: Transform::new(vec![Step::Power, Step::L2]),
            dimensions: 40,
            reduced_transform: Transform::new(vec![Step::CentreParts, Step::L2]),
            unlabelled: UnlabeledRows::Pool,
            propagated_share: 0.6,
            map: TransportMap {
                lambda: 10.0,
                epochs: 100,
                rate: 0.2,
                class_sizes: ClassSizes::Equal,
                sinkhorn_tolerance: 1e-2,
                sinkhorn_sweeps: 1000,
            },
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        let share = self.propagated_share;
        check_range("propagated_share", share, (0.0..=1.0).contains(&share), "a number from 0 to 1")?;
        check_count("dimensions", self.dimensions)?;
        self.map.check()
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = principal_task(&self.transform.apply(task)?, self.dimensions);
        let task = self.reduced_transform.apply(&task)?;
        let rows = unlabelled_rows(&task, self.unlabelled);
        let given = one_hot(task.support_labels(), task.ways());
        let mapped = self.map.run(&task, rows.as_ref(), |plan| {
            let mut logits = propagate_to(&given, &plan);
            logits.as_mut_slice().iter_mut().for_each(|value| *value = value.max(f64::MIN_POSITIVE).ln());
            let (propagated, _) = self.map.scale(logits);
            self.mix(&propagated, &plan)
        });
        Ok(answer(&task, self.unlabelled, &mapped.plan, |rows| self.map.label(rows, &mapped.centres)))
    }

    fn mix(&self, propagated: &Matrix<f64>, plan: &Matrix<f64>) -> Matrix<f64> {
        let share = self.propagated_share;
        let pairs = propagated.as_slice().iter().zip(plan.as_slice());
        let mixed = pairs.map(|(r, b)| (share * r + (1.0 - share) * b).clamp(0.0, 1.0)).collect();
        Matrix::from_vec(plan.rows(), plan.columns(), mixed)
    }
}

/// `B A` for the unlabelled rows, with the labelled rows one-hot in B.
fn propagate_to(given: &Matrix<f64>, plan: &Matrix<f64>) -> Matrix<f64> {
    let ways = given.columns();
    let all = given.stack(plan);
    let totals = column_sums(&all);
    // With one-hot labelled rows B_s^T B_s = B_s^T Y_s is the diagonal of the shots.
    let shots = column_sums(given);
    let overlap = |a: usize, b: usize| -> f64 { all.iter_rows().map(|row| row[a] * row[b]).sum() };
    let system = DMatrix::from_fn(ways, ways, |a, b| {
        let own = if a == b { 1.0 + shots[a] } else { 0.0 };
        own - overlap(a, b) / totals[b]
    });
    let right = DMatrix::from_fn(ways, ways, |a, b| if a == b { shots[a] } else { 0.0 });
    // Positive definite but for its scaling: shots > 0 and Lap has non-negative eigenvalues.
    let solved = LU::new(system).solve(&right).unwrap_or_else(|| DMatrix::identity(ways, ways));
    let anchors = Matrix::from_vec(ways, ways, solved.transpose().as_slice().to_vec());
    multiply(plan, &anchors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::mean_accuracy;

    #[test]
    fn certain_assignments_propagate_to_themselves() {
        let given = one_hot(&[0, 1], 2);
        let plan = one_hot(&[1, 0, 0], 2);
        // Hard assignments leave no overlap between classes: Lap = 0 and A = I.
        let propagated = propagate_to(&given, &plan);
        for (got, wanted) in propagated.as_slice().iter().zip(plan.as_slice()) {
            assert!((got - wanted).abs() < 1e-12);
        }
    }

    #[test]
    fn the_anchor_system_is_solved() {
        let given = one_hot(&[0, 1, 1], 2);
        let plan = Matrix::from_vec(2, 2, vec![0.7, 0.3, 0.4, 0.6]);
        let propagated = propagate_to(&given, &plan);
        // By hand: column sums 2.1 and 2.9, overlaps 1.65, .45, 2.45; shots 1 and 2.
        let (a, b) = (2.0 - 1.65 / 2.1, -0.45 / 2.9);
        let (c, d) = (-0.45 / 2.1, 3.0 - 2.45 / 2.9);
        let determinant = a * d - b * c;
        let anchors = [[d / determinant, -2.0 * b / determinant], [-c / determinant, 2.0 * a / determinant]];
        for row in 0..2 {
            for (class, got) in propagated.row(row).iter().enumerate() {
                let wanted = plan.row(row)[0] * anchors[0][class] + plan.row(row)[1] * anchors[1][class];
                assert!((got - wanted).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn it_beats_the_nearest_mean_on_balanced_tasks() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        let method = build("protolp", None, &[]).expect("valid");
        assert!(mean_accuracy(&*method, None) > nearest + 0.05);
        assert!(method.prior().knows_class_sizes);
    }
}
