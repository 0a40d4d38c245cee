//! `bms`: spherical means with a least class size (PEMnE-BMS, Hu et al. 2022).
//!
//! ```text
//! w_c = unit mean of the labelled rows of c
//! 20 times:  P = softmax_c(-lambda (1 - z_i.w_c)), re-weighted;    w_c = unit(sum_i P_ic z_i), labelled rows one-hot
//! ```
//!
//! Re-weighting with sizes unknown (`default`): 50 sweeps of rows scaled to sum one and of columns whose sum is below m scaled
//! up to m; m is the number of shots at first, then the size of the smallest class by the likeliest label. Told equal sizes
//! (`balanced`, the authors' BMS*): Sinkhorn with column sums U/N.
//!
//! yhu01/BMS (`test_standard_bms.py`): lambda = 8.5; the square root, unit length, minus the mean of all rows, unit length.
//! The authors' optional epochs of gradient descent on a cosine classifier are left out.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::basis::Basis;
use crate::fit::classifier::{prototypes, softmax_rows};
use crate::linalg::Matrix;
use crate::linalg::sinkhorn::{Stop, equal_shares, transport};
use crate::methods::Setting;
use crate::methods::common::answer::{answer, normalise_rows, one_hot};
use crate::methods::common::feature_rows::{FeatureRows, column_sums, unit_rows};
use crate::methods::common::{check_count, check_positive, comparator};
use crate::methods::single_fit::unlabelled_rows;
use crate::self_training::UnlabeledRows;
use crate::self_training::class_sizes::ClassSizes;
use crate::solution::{Solution, argmax};
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `bms`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BmsParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Which unlabelled rows of a semi-supervised task are learnt from.
    pub unlabelled: UnlabeledRows,
    /// lambda.
    pub lambda: f64,
    /// Updates of the means.
    pub steps: usize,
    /// Sweeps of a re-weighting.
    pub sweeps: usize,
    /// What is assumed about the number of unlabelled rows of each class.
    pub class_sizes: ClassSizes,
}

comparator!(BmsParams, "bms", Setting::UsesUnlabeled,
    knows_class_sizes: |params| params.class_sizes.known(), presets: {
    "default" => Self::authors(ClassSizes::Unknown),
    "balanced" => Self::authors(ClassSizes::Equal),
});

impl BmsParams {
    fn authors(class_sizes: ClassSizes) -> Self {
        Self {
            transform: Transform::new(vec![Step::Power, Step::L2, Step::CentreAll, Step::L2]),
            unlabelled: UnlabeledRows::Both,
            lambda: 8.5,
            steps: 20,
            sweeps: 50,
            class_sizes,
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("lambda", self.lambda)?;
        check_count("steps", self.steps)?;
        check_count("sweeps", self.sweeps)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = Basis::Span.applied(self.transform.applied(task)?);
        let rows = unlabelled_rows(&task, self.unlabelled);
        let own = FeatureRows::new(rows.as_ref());
        let given = one_hot(task.support_labels(), task.ways());
        let mut means = prototypes(task.support(), task.support_labels(), task.ways());
        unit_rows(&mut means);
        let mut least = column_sums(&given).into_iter().fold(f64::INFINITY, f64::min);
        let mut learnt = self.near(&own, &means);
        if learnt.rows() > 0 {
            let all = FeatureRows::stacked(task.support(), rows.as_ref());
            for _ in 0..self.steps {
                learnt = self.reweighted(self.near(&own, &means), least);
                let assigned = given.stack(&learnt);
                means = all.weighted_sums(&assigned);
                unit_rows(&mut means);
                least = smallest_class(&assigned);
            }
            learnt = self.reweighted(self.near(&own, &means), least);
        }
        Ok(answer(&task, self.unlabelled, &learnt, |rows| self.near(&FeatureRows::new(rows), &means)))
    }

    fn near(&self, rows: &FeatureRows, means: &Matrix<f32>) -> Matrix<f64> {
        let mut logits = rows.products(means);
        logits.as_mut_slice().iter_mut().for_each(|value| *value *= self.lambda);
        softmax_rows(&mut logits);
        logits
    }

    fn reweighted(&self, mut shares: Matrix<f64>, least: f64) -> Matrix<f64> {
        if self.class_sizes.known() {
            let wanted = equal_shares(shares.rows(), shares.columns());
            shares.as_mut_slice().iter_mut().for_each(|value| *value = value.max(f64::MIN_POSITIVE).ln());
            return transport(shares, Some(&wanted), Stop { tolerance: 1e-6, max_sweeps: self.sweeps }).plan;
        }
        // No column can be asked for more than its part of the rows.
        let least = least.min(shares.rows() as f64 / shares.columns() as f64);
        for _ in 0..self.sweeps {
            let sums = column_sums(&shares);
            if sums.iter().all(|&sum| sum >= least) {
                break;
            }
            for row in 0..shares.rows() {
                for (value, &sum) in shares.row_mut(row).iter_mut().zip(&sums) {
                    *value *= if sum < least { least / sum.max(f64::MIN_POSITIVE) } else { 1.0 };
                }
            }
            normalise_rows(&mut shares);
        }
        shares
    }
}

/// Rows of the class that is likeliest for the fewest.
fn smallest_class(assigned: &Matrix<f64>) -> f64 {
    let mut sizes = vec![0.0f64; assigned.columns()];
    assigned.iter_rows().for_each(|row| sizes[argmax(row)] += 1.0);
    sizes.into_iter().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{mean_accuracy, usual};

    #[test]
    fn a_class_below_the_least_size_is_lifted_to_it_and_others_stay() {
        let params = BmsParams { sweeps: 500, ..BmsParams::authors(ClassSizes::Unknown) };
        let shares = Matrix::from_vec(4, 2, vec![0.9, 0.1, 0.9, 0.1, 0.9, 0.1, 0.7, 0.3]);
        let lifted = params.reweighted(shares.clone(), 1.0);
        assert!((column_sums(&lifted)[1] - 1.0).abs() < 1e-3, "{:?}", column_sums(&lifted));
        assert!(lifted.iter_rows().all(|row| (row[0] + row[1] - 1.0).abs() < 1e-12));
        assert_eq!(params.reweighted(shares.clone(), 0.5), shares, "both have as much already");
        let equal = BmsParams::authors(ClassSizes::Equal).reweighted(shares, 1.0);
        assert!((column_sums(&equal)[1] - 2.0).abs() < 1e-3);
    }

    #[test]
    fn the_smallest_class_counts_likeliest_labels() {
        assert_eq!(smallest_class(&Matrix::from_vec(3, 2, vec![0.6, 0.4, 0.9, 0.1, 0.2, 0.8])), 1.0);
    }

    #[test]
    fn it_beats_the_nearest_mean() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        for preset in ["default", "balanced"] {
            let method = build("bms", Some(preset), &[]).expect("valid");
            assert!(mean_accuracy(&*method, None) > nearest + 0.05, "{preset}");
            assert_eq!(method.prior().knows_class_sizes, preset == "balanced");
            assert_eq!(method.solve(&usual(Some(3), 0.9, 1).task).expect("solvable").unlabeled.rows(), 15);
        }
    }
}
