//! `ridge`: ridge regression on one-hot labels (R2D2, Bertinetto et al. 2019), inductive.
//!
//! ```text
//! A = (X X^T + lambda I)^-1 Y,      logits(z) = z X^T A
//! ```
//!
//! kjunelee/MetaOptNet (`models/classification_heads.py`) has lambda = 50 on its raw 16,000-dimensional maps (preset
//! `authors`); its ridge head of its own solves the same system for 2 Y. `default` is lambda = 1 on unit-length features.
//! The output scale they learn in training is `scale` here and only shapes the probabilities.

use nalgebra::{Cholesky, DMatrix};
use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::classifier::softmax_rows;
use crate::linalg::Matrix;
use crate::linalg::subspace::multiply;
use crate::methods::MethodParams;
use crate::methods::Setting;
use crate::methods::common::answer::{inductive_answer, one_hot};
use crate::methods::common::feature_rows::FeatureRows;
use crate::methods::common::{check_positive, comparator};
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `ridge`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RidgeParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// lambda.
    pub penalty: f64,
    /// What regressed values are multiplied by before the softmax.
    pub scale: f64,
}

comparator!(RidgeParams, "ridge", Setting::Inductive, knows_class_sizes: |_| false, presets: {
    "default" => Self { transform: Transform::new(vec![Step::L2]), penalty: 1.0, scale: 10.0 },
    "authors" => Self { transform: Transform::none(), penalty: 50.0, scale: 1.0 },
});

impl RidgeParams {
    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("penalty", self.penalty)?;
        check_positive("scale", self.scale)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.apply(task)?;
        let gram = FeatureRows::new(task.support()).gram();
        let targets = one_hot(task.support_labels(), task.ways());
        let dual = dual_solution(&gram, &targets, self.penalty).ok_or_else(|| TaskError::Unsupported {
            method: Self::NAME,
            reason: format!("penalty = {} is too small for features of this size", self.penalty),
        })?;
        Ok(inductive_answer(&task, |rows| {
            let mut logits = multiply(&FeatureRows::new(rows).products(task.support()), &dual);
            logits.as_mut_slice().iter_mut().for_each(|logit| *logit *= self.scale);
            softmax_rows(&mut logits);
            logits
        }))
    }
}

/// `(G + lambda I)^-1 Y`, or none where rounding has made the matrix indefinite.
fn dual_solution(gram: &Matrix<f64>, targets: &Matrix<f64>, penalty: f64) -> Option<Matrix<f64>> {
    let size = gram.rows();
    let mut system = DMatrix::from_row_slice(size, size, gram.as_slice());
    // The products come in single precision, in which a Gram matrix is symmetric only up to rounding.
    system = (&system + system.transpose()) * 0.5;
    system += DMatrix::identity(size, size) * penalty;
    let right = DMatrix::from_row_slice(size, targets.columns(), targets.as_slice());
    let solved = Cholesky::new(system)?.solve(&right);
    Some(Matrix::from_vec(size, targets.columns(), solved.transpose().as_slice().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dense::inner_products;

    #[test]
    fn the_dual_solution_minimises_the_penalised_squares() {
        let value = |at: usize| ((at * 7919 + 13) % 1009) as f64 / 500.0 - 1.0;
        let x = Matrix::from_vec(5, 3, (0..15).map(value).collect());
        let y = one_hot(&[0, 1, 0, 1, 1], 2);
        let dual = dual_solution(&inner_products(&x, &x), &y, 0.7).expect("definite");
        // W = X^T A must satisfy X^T (X W - Y) + lambda W = 0.
        let weight = |k: usize, c: usize| -> f64 { (0..5).map(|i| x.row(i)[k] * dual.row(i)[c]).sum() };
        for k in 0..3 {
            for c in 0..2 {
                let fit = |i: usize| -> f64 { (0..3).map(|m| x.row(i)[m] * weight(m, c)).sum() };
                let gradient: f64 = (0..5).map(|i| x.row(i)[k] * (fit(i) - y.row(i)[c])).sum();
                assert!((gradient + 0.7 * weight(k, c)).abs() < 1e-9);
            }
        }
    }
}
