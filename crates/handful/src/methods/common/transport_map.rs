//! Prototypes refined by optimal transport: the iteration that PT-MAP, EASE and protoLP share.
//!
//! ```text
//! P   = Sinkhorn(exp(-lambda |z_u - mu_c|^2)),   row sums 1, column sums U/N where class sizes are known
//! mu <- mu + rate (weighted mean of labelled rows and P-weighted unlabelled rows - mu)
//! ```

use serde::{Deserialize, Serialize};

use crate::error::ParamError;
use crate::error::check_range;
use crate::fit::classifier::prototypes;
use crate::linalg::Matrix;
use crate::linalg::sinkhorn::{Stop, equal_shares, transport};
use crate::methods::common::answer::one_hot;
use crate::methods::common::feature_rows::FeatureRows;
use crate::methods::common::{check_count, check_positive};
use crate::self_training::class_sizes::ClassSizes;
use crate::task::Task;

/// Parameters of the iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransportMap {
    /// lambda.
    pub lambda: f64,
    /// Updates of the prototypes.
    pub epochs: usize,
    /// How far they move towards the weighted mean.
    pub rate: f64,
    /// What is assumed about the number of unlabelled rows of each class.
    pub class_sizes: ClassSizes,
    /// Sinkhorn stops when no row sum is further than this from one.
    pub sinkhorn_tolerance: f64,
    /// The most sweeps of one scaling.
    pub sinkhorn_sweeps: usize,
}

/// The plan over the unlabelled rows, and the last prototypes.
pub(crate) struct Mapped {
    pub plan: Matrix<f64>,
    pub centres: Matrix<f32>,
}

impl TransportMap {
    /// Checks every value's range.
    ///
    /// # Errors
    /// [`ParamError::OutOfRange`] names the first value that is wrong.
    pub fn check(&self) -> Result<(), ParamError> {
        check_positive("lambda", self.lambda)?;
        check_count("epochs", self.epochs)?;
        check_range("rate", self.rate, self.rate > 0.0 && self.rate <= 1.0, "a number above 0, at most 1")?;
        check_positive("sinkhorn_tolerance", self.sinkhorn_tolerance)?;
        check_count("sinkhorn_sweeps", self.sinkhorn_sweeps)
    }

    /// Runs on a task's labelled rows and some unlabelled ones. `remix` may change each epoch's plan before it moves the
    /// prototypes.
    pub(crate) fn run(
        &self,
        task: &Task<f32>,
        unlabelled: &Matrix<f32>,
        mut remix: impl FnMut(Matrix<f64>) -> Matrix<f64>,
    ) -> Mapped {
        let mut centres = prototypes(task.support(), task.support_labels(), task.ways());
        let rows = FeatureRows::new(unlabelled);
        if unlabelled.rows() > 0 {
            let all = FeatureRows::stacked(task.support(), unlabelled);
            let given = one_hot(task.support_labels(), task.ways());
            for _ in 0..self.epochs {
                let (plan, _) = self.plan(&rows, &centres);
                let target = all.weighted_means(&given.stack(&remix(plan)));
                let rate = self.rate as f32;
                let moves = centres.as_mut_slice().iter_mut().zip(target.as_slice());
                moves.for_each(|(centre, target)| *centre += rate * (target - *centre));
            }
        }
        let (plan, _) = self.plan(&rows, &centres);
        Mapped { plan: remix(plan), centres }
    }

    /// The transport plan from rows to prototypes, and the sweeps it took.
    pub(crate) fn plan(&self, rows: &FeatureRows, centres: &Matrix<f32>) -> (Matrix<f64>, usize) {
        self.scale(self.logits(rows, centres))
    }

    /// Scales positive numbers, given by their logarithms.
    pub(crate) fn scale(&self, logits: Matrix<f64>) -> (Matrix<f64>, usize) {
        let shares = self.class_sizes.known().then(|| equal_shares(logits.rows(), logits.columns()));
        let stop = Stop { tolerance: self.sinkhorn_tolerance, max_sweeps: self.sinkhorn_sweeps };
        let scaled = transport(logits, shares.as_deref(), stop);
        (scaled.plan, scaled.sweeps)
    }

    /// Labels of rows outside the plan: their softmax, without any constraint.
    pub(crate) fn label(&self, rows: &Matrix<f32>, centres: &Matrix<f32>) -> Matrix<f64> {
        let logits = self.logits(&FeatureRows::new(rows), centres);
        transport(logits, None, Stop { tolerance: 0.0, max_sweeps: 0 }).plan
    }

    fn logits(&self, rows: &FeatureRows, centres: &Matrix<f32>) -> Matrix<f64> {
        let mut logits = rows.squared_distances(centres);
        logits.as_mut_slice().iter_mut().for_each(|value| *value *= -self.lambda);
        logits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::common::feature_rows::column_sums;
    use crate::methods::common::test_tasks::usual;

    const MAP: TransportMap = TransportMap {
        lambda: 10.0,
        epochs: 20,
        rate: 0.2,
        class_sizes: ClassSizes::Equal,
        sinkhorn_tolerance: 1e-6,
        sinkhorn_sweeps: 1000,
    };

    #[test]
    fn every_scaling_stops_on_its_tolerance() {
        for seed in 0..5 {
            let task = usual(None, 0.9, seed).task;
            let task =
                "l2".parse::<crate::transform::Transform>().expect("known").apply(&task).expect("valid");
            // The scaling after each number of epochs is the one the next epoch uses.
            for epochs in 1..=MAP.epochs {
                let map = TransportMap { epochs, ..MAP };
                let mapped = map.run(&task, task.query(), |plan| plan);
                let (plan, sweeps) = map.plan(&FeatureRows::new(task.query()), &mapped.centres);
                assert!(sweeps > 1 && sweeps < 300, "{sweeps} sweeps after {epochs} epochs");
                for sum in column_sums(&plan) {
                    assert!((sum - 15.0).abs() < 1e-3);
                }
            }
        }
    }

    #[test]
    fn one_full_step_puts_prototypes_at_the_weighted_mean() {
        let task = usual(None, 0.9, 7).task;
        let map = TransportMap { epochs: 1, rate: 1.0, ..MAP };
        let mapped = map.run(&task, task.query(), |plan| plan);
        let start = prototypes(task.support(), task.support_labels(), task.ways());
        let (plan, _) = map.plan(&FeatureRows::new(task.query()), &start);
        for class in 0..5 {
            let mut weighted = 0.0;
            let mut weight = 0.0;
            for (row, &label) in task.support_labels().iter().enumerate() {
                if label == class {
                    weighted += f64::from(task.support().row(row)[3]);
                    weight += 1.0;
                }
            }
            for row in 0..task.query().rows() {
                weighted += plan.row(row)[class] * f64::from(task.query().row(row)[3]);
                weight += plan.row(row)[class];
            }
            assert!((f64::from(mapped.centres.row(class)[3]) - weighted / weight).abs() < 1e-4);
        }
    }
}
