//! `nohub`: embeddings without hubs (Trosten et al. 2023), then prototypes by transport.
//!
//! ```text
//! p_j|i ~ exp(b_i cos_ij), b_i such that its entropy is log(perplexity);     P = (p + p') / sum
//! min over unit z   -w kappa sum_ij P_ij z_i.z_j  +  (1 - w) log sum_ij exp(kappa z_i.z_j)        by Adam
//! ```
//!
//! The first term keeps what was near near, the second spreads the rows over the sphere, where no row is a neighbour of
//! many. With labels (noHub-S, `default`), pairs of labelled rows of one class have cosine 1 in P and no part in the second
//! term, pairs of different classes have cosine -1 in P and their kappa z_i.z_j counts `repulsion` times.
//!
//! uitml/noHub (`src/embeddings/no_hub`): kappa 0.5, Adam at 0.1 with rows put back to unit length after each step; noHub
//! (`unsupervised`) perplexity 45, w 0.2, 50 steps; noHub-S perplexity 40, w 0.3, 150 steps, repulsion 5. The authors start from
//! 400 principal coordinates of base-class or task features, here the task's. The head is the iteration of `pt-map`,
//! without knowledge of class sizes unless told (`balanced`); the authors use six others.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError, check_range};
use crate::fit::adam::{Parameters, StepScale};
use crate::graph::dense::{check_size, cosines};
use crate::linalg::Matrix;
use crate::linalg::subspace::{Subspace, multiply};
use crate::methods::common::answer::answer;
use crate::methods::common::feature_rows::FeatureRows;
use crate::methods::common::reduce::{all_rows, with_rows};
use crate::methods::common::transport_map::TransportMap;
use crate::methods::common::{check_count, check_positive, comparator};
use crate::methods::pt_map::PtMapParams;
use crate::methods::single_fit::unlabelled_rows;
use crate::methods::{MethodParams, Setting};
use crate::scalar::Scalar;
use crate::self_training::UnlabeledRows;
use crate::self_training::class_sizes::ClassSizes;
use crate::simd::AdamStep;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `nohub`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NohubParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Which unlabelled rows of a semi-supervised task the prototypes learn from; all are embedded.
    pub unlabelled: UnlabeledRows,
    /// Whether labels change the embedding (noHub-S).
    pub use_labels: bool,
    /// Neighbours a row is meant to have, softly counted.
    pub perplexity: f64,
    /// kappa.
    pub kappa: f64,
    /// w.
    pub similarity_weight: f64,
    /// What kappa is multiplied by between labelled rows of different classes.
    pub repulsion: f64,
    /// Steps of Adam.
    pub steps: usize,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// Most dimensions of the embedding.
    pub dimensions: usize,
    /// The iteration of PT-MAP on the embeddings.
    #[serde(flatten)]
    pub map: TransportMap,
}

comparator!(NohubParams, "nohub", Setting::UsesUnlabeled,
    knows_class_sizes: |params| params.map.class_sizes.known(), presets: {
    "default" => Self::supervised(ClassSizes::Unknown),
    "balanced" => Self::supervised(ClassSizes::Equal),
    "unsupervised" => Self {
        use_labels: false,
        perplexity: 45.0,
        similarity_weight: 0.2,
        steps: 50,
        ..Self::supervised(ClassSizes::Unknown)
    },
});

/// What an entry of P is at least.
const LEAST_SIMILARITY: f64 = 1e-12;

impl NohubParams {
    fn supervised(class_sizes: ClassSizes) -> Self {
        Self {
            transform: Transform::new(vec![Step::Power, Step::L2, Step::CentreAll, Step::L2]),
            unlabelled: UnlabeledRows::Both,
            use_labels: true,
            perplexity: 40.0,
            kappa: 0.5,
            similarity_weight: 0.3,
            repulsion: 5.0,
            steps: 150,
            learning_rate: 0.1,
            dimensions: 400,
            map: TransportMap { class_sizes, ..PtMapParams::authors().map },
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_range("perplexity", self.perplexity, self.perplexity > 1.0, "a number above 1")?;
        check_positive("kappa", self.kappa)?;
        let weight = self.similarity_weight;
        check_range("similarity_weight", weight, (0.0..=1.0).contains(&weight), "a number from 0 to 1")?;
        check_range("repulsion", self.repulsion, self.repulsion >= 0.0, "a number from 0 up")?;
        check_positive("learning_rate", self.learning_rate)?;
        check_count("dimensions", self.dimensions)?;
        self.map.check()
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.applied(task)?;
        let rows = all_rows(&task);
        check_size(Self::NAME, rows.rows())?;
        let gram = FeatureRows::new(&rows).gram();
        let labels = if self.use_labels { task.support_labels() } else { &[] };
        let start = Subspace::new(&gram, self.dimensions).coordinates(&gram);
        let embedded = self.embed(start, &self.similarities(cosines(&gram), labels), labels);
        let task = with_rows(&task, &embedded.cast());
        let rows = unlabelled_rows(&task, self.unlabelled);
        let mapped = self.map.run(&task, rows.as_ref(), |plan| plan);
        Ok(answer(&task, self.unlabelled, &mapped.plan, |rows| self.map.label(rows, &mapped.centres)))
    }

    /// P; the rows with these labels come first.
    fn similarities(&self, mut cosines: Matrix<f64>, labels: &[usize]) -> Matrix<f64> {
        let size = cosines.rows();
        for (i, own) in labels.iter().enumerate() {
            for (j, other) in labels.iter().enumerate() {
                cosines.row_mut(i)[j] = if own == other { 1.0 } else { -1.0 };
            }
        }
        let wanted = self.perplexity.min((size.max(2) - 1) as f64).ln();
        let mut one_way = Matrix::<f64>::zeros(size, size);
        for row in 0..size {
            let shares = shares_of_entropy(cosines.row(row), row, wanted);
            one_way.row_mut(row).copy_from_slice(&shares);
        }
        let total: f64 = 2.0 * one_way.as_slice().iter().sum::<f64>();
        let mut both = Matrix::zeros(size, size);
        for i in 0..size {
            for j in 0..size {
                let sum = one_way.row(i)[j] + one_way.row(j)[i];
                both.row_mut(i)[j] = (sum / total.max(f64::MIN_POSITIVE)).max(LEAST_SIMILARITY);
            }
        }
        both
    }

    /// Moves the rows of `start`, put to unit length, down the loss.
    fn embed(&self, start: Matrix<f64>, similarities: &Matrix<f64>, labels: &[usize]) -> Matrix<f64> {
        let mut current = start;
        unit(&mut current);
        let mut moving = Parameters::<f64>::zeros(current.rows(), current.columns());
        moving.start(&current);
        for step in 0..self.steps {
            let gradient = self.gradient(&current, similarities, labels);
            for (row, values) in gradient.iter_rows().enumerate() {
                moving.gradient.row_mut(row)[..values.len()].copy_from_slice(values);
            }
            moving.step(f64::kernels(), AdamStep::usual(step, self.learning_rate), StepScale::Coordinate);
            for row in 0..current.rows() {
                let columns = current.columns();
                current.row_mut(row).copy_from_slice(&moving.values.row(row)[..columns]);
            }
            unit(&mut current);
            for (row, values) in current.iter_rows().enumerate() {
                moving.values.row_mut(row)[..values.len()].copy_from_slice(values);
            }
        }
        current
    }

    /// `2 (-w kappa P + (1 - w) kappa s o softmax(kappa s o Z Z')) Z`, s the factors of labelled pairs.
    fn gradient(&self, rows: &Matrix<f64>, similarities: &Matrix<f64>, labels: &[usize]) -> Matrix<f64> {
        let size = rows.rows();
        let mut weights = crate::linalg::dense::inner_products(rows, rows);
        let largest = self.kappa * self.repulsion.max(1.0);
        let mut total = 0.0;
        for i in 0..size {
            for j in 0..size {
                let value = match self.factor(i, j, labels) {
                    Some(factor) => (self.kappa * factor * weights.row(i)[j] - largest).exp(),
                    None => 0.0,
                };
                total += value;
                weights.row_mut(i)[j] = value;
            }
        }
        let spread = 2.0 * (1.0 - self.similarity_weight) * self.kappa / total.max(f64::MIN_POSITIVE);
        let keep = 2.0 * self.similarity_weight * self.kappa;
        for i in 0..size {
            for j in 0..size {
                let factor = self.factor(i, j, labels).unwrap_or(0.0);
                let value = weights.row(i)[j];
                weights.row_mut(i)[j] = spread * factor * value - keep * similarities.row(i)[j];
            }
        }
        multiply(&weights, rows)
    }

    /// What multiplies kappa for a pair of rows; none for a pair that has no part in the second term.
    fn factor(&self, i: usize, j: usize, labels: &[usize]) -> Option<f64> {
        match (labels.get(i), labels.get(j)) {
            (Some(own), Some(other)) if own == other => None,
            (Some(_), Some(_)) => Some(self.repulsion),
            _ => Some(1.0),
        }
    }
}

/// `softmax(b cosines)` without the row itself, b by bisection such that its entropy is `wanted`.
fn shares_of_entropy(cosines: &[f64], own: usize, wanted: f64) -> Vec<f64> {
    let shares = |b: f64| -> (Vec<f64>, f64) {
        let others = || cosines.iter().enumerate().filter(|(other, _)| *other != own);
        let largest = others().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
        let mut out = vec![0.0; cosines.len()];
        others().for_each(|(other, value)| out[other] = (b * (value - largest)).exp());
        let total: f64 = out.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        out.iter_mut().for_each(|value| *value /= total);
        let entropy = out.iter().filter(|share| **share > 0.0).map(|share| -share * share.ln()).sum();
        (out, entropy)
    };
    // Entropy falls with b; twice doubling past the answer, then halving the interval.
    let (mut low, mut high) = (0.0, 1.0);
    while shares(high).1 > wanted && high < 1e6 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if shares(middle).1 > wanted { low = middle } else { high = middle }
    }
    shares(0.5 * (low + high)).0
}

fn unit(rows: &mut Matrix<f64>) {
    for row in 0..rows.rows() {
        let row = rows.row_mut(row);
        let norm = row.iter().map(|value| value * value).sum::<f64>().sqrt();
        if norm > 0.0 {
            row.iter_mut().for_each(|value| *value /= norm);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::mean_accuracy;

    #[test]
    fn shares_have_the_wanted_entropy_and_leave_the_row_out() {
        let cosines = [1.0, 0.8, 0.3, -0.2, 0.1, 0.5];
        let shares = shares_of_entropy(&cosines, 0, 3f64.ln());
        let entropy: f64 = shares.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
        assert!(shares[0] == 0.0 && (entropy - 3f64.ln()).abs() < 1e-6, "{entropy}");
    }

    #[test]
    fn gradient_is_that_of_finite_differences() {
        let params = NohubParams { perplexity: 4.0, ..NohubParams::supervised(ClassSizes::Unknown) };
        let value = |at: usize| ((at * 7919 % 101) as f64 / 50.0 - 1.0).sin();
        let mut rows = Matrix::from_vec(7, 3, (0..21).map(value).collect());
        let labels = [0, 0, 1];
        let gram = crate::linalg::dense::inner_products(&rows, &rows);
        let similarities = params.similarities(cosines(&gram), &labels);
        let loss = |z: &Matrix<f64>| {
            let (mut keep, mut total) = (0.0, 0.0);
            for i in 0..7 {
                for j in 0..7 {
                    let dot: f64 = z.row(i).iter().zip(z.row(j)).map(|(a, b)| a * b).sum();
                    keep += similarities.row(i)[j] * dot;
                    if i >= 3 || j >= 3 {
                        total += (params.kappa * dot).exp();
                    } else if labels[i] != labels[j] {
                        total += (params.kappa * params.repulsion * dot).exp();
                    }
                }
            }
            -params.similarity_weight * params.kappa * keep + (1.0 - params.similarity_weight) * total.ln()
        };
        let gradient = params.gradient(&rows, &similarities, &labels);
        for at in 0..21 {
            let kept = rows.as_slice()[at];
            let mut moved = |by: f64| {
                rows.as_mut_slice()[at] = kept + by;
                loss(&rows)
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            moved(0.0);
            assert!((gradient.as_slice()[at] - slope).abs() < 1e-7, "{at}: {slope}");
        }
    }

    #[test]
    fn it_beats_the_nearest_mean() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        let method = build("nohub", None, &[]).expect("valid");
        assert!(mean_accuracy(&*method, None) > nearest + 0.03);
    }
}
