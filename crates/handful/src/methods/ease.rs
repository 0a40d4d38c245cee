//! `ease`: unsupervised discriminant subspace, then transport (EASE + SIAMESE, Zhu and Koniusz 2022). Knows class sizes.
//!
//! ```text
//! W  = |U U^T| of the top 5 left singular vectors U of all rows X, zero diagonal, symmetrically normalised
//! W1 = the same of the matrix of ones
//! keep the 40 smallest eigenvectors of X^T (100 W1 - W) X, project, unit length
//! then the iteration of `pt-map` with 40 epochs and Sinkhorn to 1e-3
//! ```
//!
//! allenhaozhu/EASE (`main.py`), power transform first (theirs for WRN features), eps = 1e-4 in the normalisation. Their
//! Sinkhorn scales labelled rows along, sets them back to one-hot after each half-step and wants column sums K + U/N;
//! that converges to the scaling of the unlabelled rows alone to U/N, which is computed here. With more classes than
//! `clusters` singular vectors W cannot tell them apart: `clusters` and `dimensions` are raised to the number of classes.

use nalgebra::DMatrix;
use serde::{Deserialize, Serialize};

use crate::error::check_range;
use crate::error::{ParamError, TaskError};
use crate::fit::basis::Basis;
use crate::graph::dense::{check_size, normalise_symmetric};
use crate::linalg::Matrix;
use crate::linalg::dense::symmetric_eigen;
use crate::linalg::subspace::Subspace;
use crate::methods::common::answer::answer;
use crate::methods::common::feature_rows::{FeatureRows, unit_rows};
use crate::methods::common::reduce::{all_rows, with_rows};
use crate::methods::common::transport_map::TransportMap;
use crate::methods::common::{check_count, comparator};
use crate::methods::single_fit::unlabelled_rows;
use crate::methods::{MethodParams, Setting};
use crate::self_training::UnlabeledRows;
use crate::self_training::class_sizes::ClassSizes;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `ease`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EaseParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Left singular vectors that W is made of.
    pub clusters: usize,
    /// Eigenvectors that are kept.
    pub dimensions: usize,
    /// Weight of W1.
    pub spread_weight: f64,
    /// Which unlabelled rows of a semi-supervised task are learnt from.
    pub unlabelled: UnlabeledRows,
    /// The iteration.
    #[serde(flatten)]
    pub map: TransportMap,
}

comparator!(EaseParams, "ease", Setting::UsesUnlabeled,
    knows_class_sizes: |params| params.map.class_sizes.known(), presets: {
    "default" => Self::authors(),
    "authors" => Self::authors(),
    "unbalanced" => Self {
        map: TransportMap { class_sizes: ClassSizes::Unknown, ..Self::authors().map },
        ..Self::authors()
    },
});

/// Their eps of the symmetric normalisation.
const DEGREE_FLOOR: f64 = 1e-4;

impl EaseParams {
    fn authors() -> Self {
        Self {
            transform: Transform::new(vec![Step::Power, Step::L2]),
            clusters: 5,
            dimensions: 40,
            spread_weight: 100.0,
            unlabelled: UnlabeledRows::Pool,
            map: TransportMap {
                lambda: 10.0,
                epochs: 40,
                rate: 0.2,
                class_sizes: ClassSizes::Equal,
                sinkhorn_tolerance: 1e-3,
                sinkhorn_sweeps: 1000,
            },
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_count("clusters", self.clusters)?;
        check_count("dimensions", self.dimensions)?;
        check_range("spread_weight", self.spread_weight, self.spread_weight >= 0.0, "a number from 0 up")?;
        self.map.check()
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = Basis::Span.applied(self.transform.applied(task)?);
        let rows = all_rows(&task);
        check_size(Self::NAME, rows.rows())?;
        let (clusters, dimensions) = (self.clusters.max(task.ways()), self.dimensions.max(task.ways()));
        let mut projected = embed(&rows, clusters, dimensions, self.spread_weight);
        unit_rows(&mut projected);
        let task = with_rows(&task, &projected);
        let rows = unlabelled_rows(&task, self.unlabelled);
        let mapped = self.map.run(&task, rows.as_ref(), |plan| plan);
        Ok(answer(&task, self.unlabelled, &mapped.plan, |rows| self.map.label(rows, &mapped.centres)))
    }
}

/// Rows projected on the smallest eigenvectors of `X^T (spread W1 - W) X`.
fn embed(rows: &Matrix<f32>, clusters: usize, dimensions: usize, spread: f64) -> Matrix<f32> {
    let gram = FeatureRows::new(rows).gram();
    let left = Subspace::new(&gram, clusters).left;
    let count = rows.rows();
    let mut similar = Matrix::zeros(count, count);
    let mut ones = Matrix::zeros(count, count);
    for i in 0..count {
        for j in (0..count).filter(|&j| j != i) {
            let product: f64 = left.row(i).iter().zip(left.row(j)).map(|(a, b)| a * b).sum();
            similar.row_mut(i)[j] = product.abs();
            ones.row_mut(i)[j] = 1.0;
        }
    }
    normalise_symmetric(&mut similar, DEGREE_FLOOR);
    normalise_symmetric(&mut ones, DEGREE_FLOOR);
    let x = DMatrix::from_fn(count, rows.columns(), |i, k| f64::from(rows.row(i)[k]));
    let graph = DMatrix::from_fn(count, count, |i, j| spread * ones.row(i)[j] - similar.row(i)[j]);
    let form = x.transpose() * (graph * &x);
    let size = form.nrows();
    let symmetric = Matrix::from_vec(size, size, ((&form + form.transpose()) * 0.5).as_slice().to_vec());
    let (_, vectors) = symmetric_eigen(&symmetric);
    let kept = dimensions.min(size);
    let projected = x * vectors.columns(size - kept, kept);
    Matrix::from_vec(count, kept, projected.transpose().iter().map(|&value| value as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{PerClass, accuracy, clouds, usual};

    #[test]
    fn all_eigenvectors_only_rotate() {
        let rows = usual(None, 0.5, 1).task.query().clone();
        let embedded = embed(&rows, 5, 1000, 100.0);
        let dot = |m: &Matrix<f32>, i: usize, j: usize| -> f32 {
            m.row(i).iter().zip(m.row(j)).map(|(a, b)| a * b).sum()
        };
        for (i, j) in [(0, 0), (3, 9), (20, 71)] {
            assert!((dot(&rows, i, j) - dot(&embedded, i, j)).abs() < 1e-3 * dot(&rows, i, i));
        }
    }

    #[test]
    fn few_eigenvectors_leave_the_common_direction_out() {
        // Non-negative rows share a direction; W1's eigenvector of it has the largest eigenvalue.
        let rows = usual(None, 0.5, 1).task.query().clone();
        let mean = |m: &Matrix<f32>| m.mean_row().iter().map(|value| value * value).sum::<f32>();
        assert!(mean(&embed(&rows, 5, 30, 100.0)) < 0.05 * mean(&rows));
    }

    #[test]
    fn it_beats_the_nearest_mean_on_balanced_tasks() {
        // In 200 dimensions, so that there is something to leave out.
        let mean = |name: &str| {
            let method = build(name, None, &[]).expect("valid");
            let per_class = PerClass { shots: 1, queries: 15, pool: None };
            (0..10).map(|seed| accuracy(&*method, &clouds(5, 200, per_class, 1.5, seed))).sum::<f64>() / 10.0
        };
        assert!(mean("ease") > mean("simpleshot") + 0.1);
        let method = build("ease", None, &[]).expect("valid");
        assert!(method.prior().knows_class_sizes);
    }
}
