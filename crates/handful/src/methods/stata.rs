//! `stata`: a Gaussian per class anchored on the labelled prototypes (StatA, Zanella et al. 2025), for pools where classes may be
//! absent.
//!
//! ```text
//! yhat_i = softmax_k(tau cos(z_i, mu0_k)),     S0 = variance of the rows under yhat, mu0 = labelled prototypes
//! 10 times:  5 times:  z_ik ~ yhat_ik exp((l_ik + (s / (2 k)) (W z + W' z)_ik) / s),   l the log-density of class k
//!            n_k = rows of class k,  b_k = n_k / (n_k + anchor x labelled rows of k)
//!            mu_k = unit(b_k unit(mean_k) + (1 - b_k) mu0_k),   S_k = b_k var_k + (1 - b_k) (S0 + (mu0_k - mu_k)^2)
//! ```
//!
//! W: the k = 3 most similar rows by cosine. Written from the formulas of MaxZanella/StatA (`solvers/StatA.py`), where mu0 are the
//! text prototypes of a vision-language model, tau its 100, s = 50 and the anchor 1; here mu0 are labelled rows, which an anchor
//! weighs by their number. An absent class keeps its anchor and takes no rows. tau = 10 suits prototypes of one row
//! (validation classes).

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError, check_range};
use crate::fit::classifier::{prototypes, softmax_rows};
use crate::graph::dense::{check_size, cosines, nearest};
use crate::linalg::Matrix;
use crate::methods::common::answer::{answer, one_hot};
use crate::methods::common::feature_rows::{FeatureRows, column_sums, unit_rows};
use crate::methods::common::{check_count, check_positive, comparator};
use crate::methods::single_fit::unlabelled_rows;
use crate::methods::{MethodParams, Setting};
use crate::self_training::UnlabeledRows;
use crate::solution::{Solution, argmax};
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `stata`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StataParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Which unlabelled rows of a semi-supervised task are learnt from.
    pub unlabelled: UnlabeledRows,
    /// tau.
    pub inverse_temperature: f64,
    /// s, what log-densities are divided by.
    pub density_scale: f64,
    /// k.
    pub neighbours: usize,
    /// Rows that a labelled row weighs as in b.
    pub anchor: f64,
    /// Updates of the Gaussians.
    pub steps: usize,
    /// Updates of the assignment in each.
    pub inner_steps: usize,
}

comparator!(StataParams, "stata", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self::usual(),
});

/// A variance is at least this part of the mean one, and at least the second number.
const LEAST_VARIANCE: (f64, f64) = (1e-2, 1e-12);

/// One Gaussian per class.
struct Gaussians {
    means: Matrix<f32>,
    variances: Matrix<f64>,
}

impl StataParams {
    fn usual() -> Self {
        Self {
            transform: Transform::new(vec![Step::Power, Step::L2, Step::CentreAll, Step::L2]),
            unlabelled: UnlabeledRows::Both,
            inverse_temperature: 10.0,
            density_scale: 50.0,
            neighbours: 3,
            anchor: 1.0,
            steps: 10,
            inner_steps: 5,
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("inverse_temperature", self.inverse_temperature)?;
        check_positive("density_scale", self.density_scale)?;
        check_count("neighbours", self.neighbours)?;
        check_range("anchor", self.anchor, self.anchor >= 0.0, "a number from 0 up")?;
        check_count("inner_steps", self.inner_steps)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.applied(task)?;
        let rows = unlabelled_rows(&task, self.unlabelled);
        let rows = rows.as_ref();
        check_size(Self::NAME, rows.rows())?;
        let mut anchors = prototypes(task.support(), task.support_labels(), task.ways());
        unit_rows(&mut anchors);
        let own = FeatureRows::new(rows);
        let first = self.first(&own, &anchors);
        let mut learnt = first.clone();
        let common = common_variance(rows, &anchors, &first);
        let mut gaussians = Gaussians { means: anchors.clone(), variances: repeated(&common, task.ways()) };
        if rows.rows() > 0 {
            let graph = symmetric_neighbours(&cosines(&own.gram()), self.neighbours);
            let shots = column_sums(&one_hot(task.support_labels(), task.ways()));
            for _ in 0..self.steps {
                let log_densities = gaussians.log_densities(rows);
                for _ in 0..self.inner_steps {
                    learnt = self.assign(&first, &log_densities, &graph, &learnt);
                }
                gaussians = self.anchored(rows, &own, &learnt, &anchors, &common, &shots);
            }
        }
        Ok(answer(&task, self.unlabelled, &learnt, |rows| {
            // Rows outside the graph have no neighbours in it.
            let first = self.first(&FeatureRows::new(rows), &anchors);
            self.assign(&first, &gaussians.log_densities(rows), &vec![Vec::new(); rows.rows()], &first)
        }))
    }

    /// yhat.
    fn first(&self, rows: &FeatureRows, anchors: &Matrix<f32>) -> Matrix<f64> {
        let mut logits = rows.cosines(anchors);
        logits.as_mut_slice().iter_mut().for_each(|value| *value *= self.inverse_temperature);
        softmax_rows(&mut logits);
        logits
    }

    fn assign(
        &self,
        first: &Matrix<f64>,
        log_densities: &Matrix<f64>,
        graph: &[Vec<(usize, f64)>],
        learnt: &Matrix<f64>,
    ) -> Matrix<f64> {
        let mut logits = log_densities.clone();
        let pull = 1.0 / (2.0 * self.neighbours as f64);
        for (row, edges) in graph.iter().enumerate() {
            let to = logits.row_mut(row);
            to.iter_mut().for_each(|value| *value /= self.density_scale);
            for (other, weight) in edges {
                let from = learnt.row(*other).iter();
                to.iter_mut().zip(from).for_each(|(to, share)| *to += pull * weight * share);
            }
            to.iter_mut().zip(first.row(row)).for_each(|(to, p)| *to += p.max(f64::MIN_POSITIVE).ln());
        }
        softmax_rows(&mut logits);
        logits
    }

    fn anchored(
        &self,
        rows: &Matrix<f32>,
        own: &FeatureRows,
        learnt: &Matrix<f64>,
        anchors: &Matrix<f32>,
        common: &[f64],
        shots: &[f64],
    ) -> Gaussians {
        let mut hard = vec![0.0f64; anchors.rows()];
        learnt.iter_rows().for_each(|row| hard[argmax(row)] += 1.0);
        let mut means = own.weighted_means(learnt);
        unit_rows(&mut means);
        let trust: Vec<f64> = hard
            .iter()
            .zip(shots)
            .map(|(rows, shots)| rows / (rows + self.anchor * shots).max(f64::MIN_POSITIVE))
            .collect();
        for (class, &trust) in trust.iter().enumerate() {
            let to = means.row_mut(class).iter_mut().zip(anchors.row(class));
            to.for_each(|(mean, anchor)| *mean = trust as f32 * *mean + (1.0 - trust as f32) * anchor);
        }
        unit_rows(&mut means);
        let mut variances = weighted_variances(rows, &means, learnt);
        let floor =
            LEAST_VARIANCE.1.max(LEAST_VARIANCE.0 * common.iter().sum::<f64>() / common.len().max(1) as f64);
        for (class, &trust) in trust.iter().enumerate() {
            let pairs = anchors.row(class).iter().zip(means.row(class));
            let moved: Vec<f64> = pairs.map(|(a, m)| f64::from(a - m).powi(2)).collect();
            let values = variances.row_mut(class).iter_mut().zip(common).zip(&moved);
            for ((value, common), moved) in values {
                *value = (trust * *value + (1.0 - trust) * (common + moved)).max(floor);
            }
        }
        Gaussians { means, variances }
    }
}

impl Gaussians {
    /// `-1/2 sum_d ((x_d - mu_kd)^2 / S_kd + log S_kd)`.
    fn log_densities(&self, rows: &Matrix<f32>) -> Matrix<f64> {
        let mut out = Matrix::zeros(rows.rows(), self.means.rows());
        for (class, variances) in self.variances.iter_rows().enumerate() {
            let normaliser: f64 = variances.iter().map(|value| value.ln()).sum();
            let inverse: Vec<f64> = variances.iter().map(|value| 1.0 / value).collect();
            for (row, values) in rows.iter_rows().enumerate() {
                let differences = values.iter().zip(self.means.row(class)).zip(&inverse);
                let distance: f64 =
                    differences.map(|((x, m), inverse)| f64::from(x - m).powi(2) * inverse).sum();
                out.row_mut(row)[class] = -0.5 * (distance + normaliser);
            }
        }
        out
    }
}

/// Variance of each coordinate around each class's mean, weighted; zeros for a class without weight.
fn weighted_variances(rows: &Matrix<f32>, means: &Matrix<f32>, weights: &Matrix<f64>) -> Matrix<f64> {
    let mut out = Matrix::zeros(means.rows(), means.columns());
    for (values, weights) in rows.iter_rows().zip(weights.iter_rows()) {
        for (class, &weight) in weights.iter().enumerate() {
            let to = out.row_mut(class).iter_mut().zip(values.iter().zip(means.row(class)));
            to.for_each(|(to, (x, m))| *to += weight * f64::from(x - m).powi(2));
        }
    }
    for (class, total) in column_sums(weights).into_iter().enumerate() {
        let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
        out.row_mut(class).iter_mut().for_each(|value| *value *= scale);
    }
    out
}

/// S0: the same over all classes together, kept away from zero.
fn common_variance(rows: &Matrix<f32>, anchors: &Matrix<f32>, first: &Matrix<f64>) -> Vec<f64> {
    let by_class = weighted_variances(rows, anchors, first);
    let mut out = vec![0.0; rows.columns()];
    let total = rows.rows().max(1) as f64;
    for (size, variances) in column_sums(first).into_iter().zip(by_class.iter_rows()) {
        out.iter_mut().zip(variances).for_each(|(to, value)| *to += size / total * value);
    }
    let mean = out.iter().sum::<f64>() / out.len().max(1) as f64;
    let floor = LEAST_VARIANCE.1.max(LEAST_VARIANCE.0 * mean);
    out.iter_mut().for_each(|value| *value = value.max(floor));
    out
}

fn repeated(row: &[f64], times: usize) -> Matrix<f64> {
    Matrix::from_vec(times, row.len(), row.repeat(times))
}

/// `W + W'` as a list of edges per row; W has the cosines of the most similar rows, negative ones left out.
fn symmetric_neighbours(cosines: &Matrix<f64>, neighbours: usize) -> Vec<Vec<(usize, f64)>> {
    let mut edges = vec![Vec::new(); cosines.rows()];
    for row in 0..cosines.rows() {
        for other in nearest(cosines.row(row), row, neighbours) {
            let weight = cosines.row(row)[other].max(0.0);
            edges[row].push((other, weight));
            edges[other].push((row, weight));
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{PerClass, clouds, mean_accuracy};

    #[test]
    fn log_densities_are_those_of_a_diagonal_gaussian() {
        let gaussians = Gaussians {
            means: Matrix::from_vec(1, 2, vec![1.0, -1.0]),
            variances: Matrix::from_vec(1, 2, vec![0.25, 4.0]),
        };
        let got = gaussians.log_densities(&Matrix::from_vec(1, 2, vec![2.0, 1.0])).row(0)[0];
        // -(1 / 0.25 + 4 / 4 + log(0.25) + log(4)) / 2.
        assert!((got + 2.5).abs() < 1e-6, "{got}");
    }

    #[test]
    fn a_class_without_rows_stays_at_its_anchor() {
        let params = StataParams::usual();
        let rows = Matrix::from_vec(2, 2, vec![1.0f32, 0.0, 0.8, 0.6]);
        let learnt = Matrix::from_vec(2, 2, vec![1.0, 0.0, 1.0, 0.0]);
        let anchors = Matrix::from_vec(2, 2, vec![0.6, 0.8, 0.0, -1.0]);
        let common = [0.1, 0.2];
        let fitted =
            params.anchored(&rows, &FeatureRows::new(&rows), &learnt, &anchors, &common, &[1.0, 1.0]);
        assert_eq!(fitted.means.row(1), anchors.row(1));
        assert_eq!(fitted.variances.row(1), &common);
        // b = 2 / 3 for the other; the unit mean is (3, 1) / sqrt(10).
        let (x, y) = (2.0 * 3.0 / 10f32.sqrt() + 0.6, 2.0 / 10f32.sqrt() + 0.8);
        let norm = (x * x + y * y).sqrt();
        assert!((fitted.means.row(0)[0] - x / norm).abs() < 1e-6);
        let variance = (f64::from(1.0 - x / norm).powi(2) + f64::from(0.8 - x / norm).powi(2)) / 2.0;
        let wanted = (2.0 * variance + 0.1 + f64::from(0.6 - x / norm).powi(2)) / 3.0;
        assert!((fitted.variances.row(0)[0] - wanted).abs() < 1e-6);
    }

    #[test]
    fn it_labels_about_as_well_as_the_nearest_mean_and_better_where_clusters_help() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        let method = build("stata", None, &[]).expect("valid");
        assert!(mean_accuracy(&*method, None) > nearest);
        let known = clouds(3, 20, PerClass { shots: 1, queries: 2, pool: Some(5) }, 0.3, 1);
        assert_eq!(method.solve(&known.task).expect("solvable").unlabeled.rows(), 15);
    }
}
