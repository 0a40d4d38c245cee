//! `epnet`: embedding propagation, then label propagation (Rodriguez et al. 2020), transductive and semi-supervised.
//!
//! ```text
//! A_ij = exp(-|z_i - z_j|^2 / s) off the diagonal, s the standard deviation of the non-zero squared distances
//! S = D^-1/2 A D^-1/2,  D = 1e-4 + row sums,      P(alpha) = (I - alpha S)^-1
//! Z <- P(0.5) Z,      labels ~ P'(0.2) Y + 1e-6,   rows of P' summing to one, A remade from the new Z
//! ```
//!
//! ElementAI/embedding-propagation; its division of distances by sqrt(d) cancels against s. In a semi-supervised task
//! the graph joins all rows, columns of Y are divided by their number of labels, the pool gets the labels of a first pass
//! and counts as labelled in a second one that labels the query. Everything is a function of inner products, so neither
//! pass touches the features. The published figures are of a backbone trained through the propagation; on plain features
//! this is only the head.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::graph::dense::{check_size, normalise_symmetric, squared_distances};
use crate::graph::propagation::propagator;
use crate::linalg::Matrix;
use crate::methods::common::answer::{answer, normalise_rows, one_hot};
use crate::methods::common::feature_rows::{FeatureRows, column_sums};
use crate::methods::common::reduce::all_rows;
use crate::methods::common::{check_fraction, comparator};
use crate::methods::{MethodParams, Setting};
use crate::self_training::UnlabeledRows;
use crate::solution::{Solution, argmax};
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `epnet`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpnetParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// alpha of the embeddings.
    pub embedding_alpha: f64,
    /// alpha of the labels.
    pub label_alpha: f64,
}

comparator!(EpnetParams, "epnet", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self { transform: Transform::new(vec![Step::L2]), ..Self::authors() },
    "authors" => Self::authors(),
});

/// Their eps of the degrees and of the logarithm of labels.
pub(super) const DEGREE_FLOOR: f64 = 1e-4;
pub(super) const LABEL_FLOOR: f64 = 1e-6;

impl EpnetParams {
    fn authors() -> Self {
        Self { transform: Transform::none(), embedding_alpha: 0.5, label_alpha: 0.2 }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_fraction("embedding_alpha", self.embedding_alpha)?;
        check_fraction("label_alpha", self.label_alpha)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.apply(task)?;
        let rows = all_rows(&task);
        check_size(Self::NAME, rows.rows())?;
        let gram = FeatureRows::new(&rows).gram();
        let spread = self.label_propagator(&propagated_gram(&gram, self.embedding_alpha));

        let given = one_hot(task.support_labels(), task.ways());
        let labelled = given.rows();
        let mut labels = given.stack(&Matrix::zeros(rows.rows() - labelled, task.ways()));
        if !task.is_transductive() && task.pool().rows() > 0 {
            balance(&mut labels);
            let first = spread_labels(&spread, &labels);
            labels = given.stack(&Matrix::zeros(rows.rows() - labelled, task.ways()));
            for row in labelled..labelled + task.pool().rows() {
                labels.row_mut(row)[argmax(first.row(row))] = 1.0;
            }
            balance(&mut labels);
        }
        let learnt = spread_labels(&spread, &labels).gather(&(labelled..rows.rows()).collect::<Vec<_>>());
        Ok(answer(&task, UnlabeledRows::Both, &learnt, |_| learnt.gather(&[])))
    }

    /// P' with rows that sum to one.
    fn label_propagator(&self, gram: &Matrix<f64>) -> DMatrix<f64> {
        let mut spread = propagator(&similarities(gram), self.label_alpha);
        for mut row in spread.row_iter_mut() {
            let total = row.sum();
            row /= total;
        }
        spread
    }
}

/// S of the module's first lines.
fn similarities(gram: &Matrix<f64>) -> Matrix<f64> {
    let mut weights = squared_distances(gram);
    let scale = deviation_of_non_zero(weights.as_slice());
    for i in 0..weights.rows() {
        for (j, value) in weights.row_mut(i).iter_mut().enumerate() {
            *value = if i == j { 0.0 } else { (-*value / scale).exp() };
        }
    }
    normalise_symmetric(&mut weights, DEGREE_FLOOR);
    weights
}

/// Standard deviation of the entries that are not zero; one where they do not differ.
fn deviation_of_non_zero(values: &[f64]) -> f64 {
    let (mut count, mut sum) = (0.0, 0.0);
    for value in values.iter().filter(|value| **value != 0.0) {
        count += 1.0;
        sum += value;
    }
    let mean = sum / f64::max(count, 1.0);
    let squares: f64 = values.iter().filter(|value| **value != 0.0).map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / f64::max(count - 1.0, 1.0)).sqrt();
    if deviation > f64::EPSILON * mean { deviation } else { 1.0 }
}

/// Inner products of `P Z` from those of Z: `P G P^T`.
fn propagated_gram(gram: &Matrix<f64>, alpha: f64) -> Matrix<f64> {
    let size = gram.rows();
    let spread = propagator(&similarities(gram), alpha);
    let products = DMatrix::from_row_slice(size, size, gram.as_slice());
    let out = &spread * products * spread.transpose();
    Matrix::from_vec(size, size, out.as_slice().to_vec())
}

/// Divides each column by its number of labels.
fn balance(labels: &mut Matrix<f64>) {
    let totals = column_sums(labels);
    for row in 0..labels.rows() {
        labels.row_mut(row).iter_mut().zip(&totals).for_each(|(label, total)| *label /= total.max(1.0));
    }
}

fn spread_labels(spread: &DMatrix<f64>, labels: &Matrix<f64>) -> Matrix<f64> {
    let product = spread * DMatrix::from_row_slice(labels.rows(), labels.columns(), labels.as_slice());
    let values = product.transpose().iter().map(|value| value.max(0.0) + LABEL_FLOOR).collect();
    let mut out = Matrix::from_vec(labels.rows(), labels.columns(), values);
    normalise_rows(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{mean_accuracy, usual};

    #[test]
    fn propagated_products_are_those_of_propagated_features() {
        let rows = usual(None, 0.9, 1).task.query().gather(&(0..12).collect::<Vec<_>>());
        let gram = FeatureRows::new(&rows).gram();
        let spread = propagator(&similarities(&gram), 0.5);
        let moved = &spread * DMatrix::from_fn(12, 40, |i, k| f64::from(rows.row(i)[k]));
        let products = &moved * moved.transpose();
        let got = propagated_gram(&gram, 0.5);
        for i in 0..12 {
            for j in 0..12 {
                assert!((got.row(i)[j] - products[(i, j)]).abs() < 1e-4 * products[(i, i)]);
            }
        }
    }

    #[test]
    fn the_scale_of_the_features_does_not_matter() {
        let gram = Matrix::from_vec(3, 3, vec![4.0, 1.0, 0.0, 1.0, 3.0, 0.5, 0.0, 0.5, 2.0]);
        let larger = Matrix::from_vec(3, 3, gram.as_slice().iter().map(|value| 100.0 * value).collect());
        for (a, b) in similarities(&gram).as_slice().iter().zip(similarities(&larger).as_slice()) {
            assert!((a - b).abs() < 1e-12);
        }
        assert!((deviation_of_non_zero(&[0.0, 1.0, 3.0]) - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(deviation_of_non_zero(&[0.0, 0.0]), 1.0);
    }

    #[test]
    fn propagation_helps_with_and_without_a_pool() {
        for pool in [None, Some(15)] {
            let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), pool);
            let method = build("epnet", None, &[]).expect("valid");
            assert!(mean_accuracy(&*method, pool) > nearest + 0.02, "{pool:?}");
        }
    }
}
