//! Bayesian k-means: labels by cluster, each cluster centred for itself.

use crate::fit::classifier::{prototypes, softmax_rows};
use crate::linalg::Matrix;
use crate::methods::common::answer::normalise_rows;
use crate::methods::common::feature_rows::{FeatureRows, unit_rows};
use crate::solution::argmax;

/// Lloyd's iterations; a few dozen rows settle in far fewer.
const MAX_ITERATIONS: usize = 100;

/// Everything but the rows to label.
pub(super) struct Clusters {
    ways: usize,
    labels: Vec<usize>,
    centres: Matrix<f32>,
    /// P(k|s) of the labelled rows.
    support_shares: Matrix<f64>,
    /// Labelled rows minus the mean of their cluster, one matrix per cluster.
    centred_support: Vec<Matrix<f32>>,
    /// Mean of the unlabelled rows of each cluster.
    pool_means: Matrix<f32>,
    /// Temperature of soft assignments; none assigns a row to the nearest cluster.
    soft: Option<f64>,
}

impl Clusters {
    pub fn new(
        support: &Matrix<f32>,
        labels: &[usize],
        ways: usize,
        pool: &Matrix<f32>,
        soft: Option<f64>,
    ) -> Self {
        let centres = k_means(&support.stack(pool), prototypes(support, labels, ways));
        let support_shares = shares(support, &centres);
        let support_means = FeatureRows::new(support).weighted_means(&support_shares);
        let centred_support = (0..ways).map(|k| minus(support, support_means.row(k))).collect();
        let pool_means = if pool.rows() > 0 {
            FeatureRows::new(pool).weighted_means(&assignments(pool, &centres, soft))
        } else {
            // Without unlabelled rows the labelled ones' means are the best guess.
            support_means
        };
        Self { ways, labels: labels.to_vec(), centres, support_shares, centred_support, pool_means, soft }
    }

    /// P(c|q) of some rows.
    pub fn label(&self, rows: &Matrix<f32>) -> Matrix<f64> {
        let mut out = Matrix::zeros(rows.rows(), self.ways);
        let weights = assignments(rows, &self.centres, self.soft);
        for (k, support) in self.centred_support.iter().enumerate() {
            let distances = FeatureRows::new(&minus(rows, self.pool_means.row(k))).squared_distances(support);
            let mut within = Matrix::zeros(rows.rows(), self.ways);
            for row in 0..rows.rows() {
                for (s, distance) in distances.row(row).iter().enumerate() {
                    let share = self.support_shares.row(s)[k];
                    within.row_mut(row)[self.labels[s]] += (-distance).exp() * share;
                }
            }
            normalise_rows(&mut within);
            for row in 0..rows.rows() {
                let weight = weights.row(row)[k];
                out.row_mut(row).iter_mut().zip(within.row(row)).for_each(|(p, w)| *p += weight * w);
            }
        }
        out
    }
}

/// Lloyd's algorithm from given centres, which it returns at unit length; a cluster that empties stays where it was.
fn k_means(rows: &Matrix<f32>, mut centres: Matrix<f32>) -> Matrix<f32> {
    let features = FeatureRows::new(rows);
    let mut last = Vec::new();
    for _ in 0..MAX_ITERATIONS {
        let nearest: Vec<usize> = negative_distances(&features, &centres).iter_rows().map(argmax).collect();
        if nearest == last {
            break;
        }
        let means = prototypes(rows, &nearest, centres.rows());
        for k in (0..centres.rows()).filter(|k| nearest.contains(k)) {
            centres.row_mut(k).copy_from_slice(means.row(k));
        }
        last = nearest;
    }
    unit_rows(&mut centres);
    centres
}

fn negative_distances(rows: &FeatureRows, centres: &Matrix<f32>) -> Matrix<f64> {
    let mut scores = rows.squared_distances(centres);
    scores.as_mut_slice().iter_mut().for_each(|value| *value = -*value);
    scores
}

/// P(k|row) ~ exp(-|row - centre_k|^2).
fn shares(rows: &Matrix<f32>, centres: &Matrix<f32>) -> Matrix<f64> {
    let mut scores = negative_distances(&FeatureRows::new(rows), centres);
    softmax_rows(&mut scores);
    scores
}

/// Clusters of unlabelled rows: the softmax of P / temperature, or the nearest.
fn assignments(rows: &Matrix<f32>, centres: &Matrix<f32>, soft: Option<f64>) -> Matrix<f64> {
    let mut shares = shares(rows, centres);
    match soft {
        Some(temperature) => {
            shares.as_mut_slice().iter_mut().for_each(|value| *value /= temperature);
            softmax_rows(&mut shares);
        }
        None => {
            for row in 0..shares.rows() {
                let nearest = argmax(shares.row(row));
                shares.row_mut(row).fill(0.0);
                shares.row_mut(row)[nearest] = 1.0;
            }
        }
    }
    shares
}

fn minus(rows: &Matrix<f32>, mean: &[f32]) -> Matrix<f32> {
    let mut out = rows.clone();
    for row in 0..out.rows() {
        out.row_mut(row).iter_mut().zip(mean).for_each(|(value, mean)| *value -= mean);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_means_finds_the_groups_and_keeps_an_empty_cluster() {
        let rows = Matrix::from_vec(4, 2, vec![2.0, 0.0, 4.0, 0.0, 0.0, 1.0, 0.0, 3.0]);
        let start = Matrix::from_vec(3, 2, vec![1.0, 0.1, 0.1, 1.0, -50.0, -50.0]);
        let centres = k_means(&rows, start);
        assert_eq!((centres.row(0), centres.row(1)), (&[1.0, 0.0][..], &[0.0, 1.0][..]));
        assert!(centres.row(2)[0] < 0.0);
    }

    #[test]
    fn labels_follow_the_formula_with_two_clusters() {
        let support = Matrix::from_vec(2, 2, vec![1.0, 0.0, 0.0, 1.0]);
        let pool = Matrix::from_vec(2, 2, vec![0.8, 0.6, -0.6, 0.8]);
        let model = Clusters::new(&support, &[0, 1], 2, &pool, None);
        // Each pool row is alone in its cluster, so its centred form is zero and P(c|q,k) ~ exp(-|s_k|^2) P(k|s).
        let labels = model.label(&pool);
        let share = |s: usize| model.support_shares.row(s)[0];
        let norm = |s: usize| -> f64 {
            model.centred_support[0].row(s).iter().map(|&value| f64::from(value).powi(2)).sum()
        };
        let weight = |s: usize| (-norm(s)).exp() * share(s);
        let wanted = weight(0) / (weight(0) + weight(1));
        assert!((labels.row(0)[0] - wanted).abs() < 1e-5);
    }
}
