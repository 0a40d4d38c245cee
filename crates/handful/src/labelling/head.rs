//! The softmax head of the labelling job, fitted to labelled rows by L-BFGS:
//!
//! ```text
//! min_{W, b}  1/2 |W|^2 + C sum_i w_i CE(softmax(W z_i + b), y_i)
//! ```
//!
//! with weight 1 for a given label and less for a pseudo-label. Nothing in it knows the sizes of the classes.

use rayon::prelude::*;

use crate::fit::lbfgs::LbfgsStop;
use crate::fit::logistic::fit_weighted;
use crate::linalg::Matrix;
use crate::scalar::Scalar;
use crate::simd::{PaddedRows, padded};

/// Loose: the labels decide, not the last digit of the optimum.
const STOP: LbfgsStop = LbfgsStop { tolerance: 1e-3, max_iterations: 60 };
/// Rows scored at a time by one thread.
const BLOCK: usize = 256;

/// A labelled row of the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Example {
    pub row: usize,
    pub class: usize,
    pub weight: f64,
}

impl Example {
    /// The given labels, a class with n of N labels and C classes weighted by `(N / (C n))^balance` for each: people label
    /// what they come across, so how many labels a class has says little about its size.
    pub fn given(labels: &[(usize, usize)], ways: usize, balance: f64) -> Vec<Self> {
        let mut counts = vec![0.0; ways];
        labels.iter().for_each(|&(_, class)| counts[class] += 1.0);
        let even = labels.len() as f64 / ways as f64;
        let weight = |class: usize| (even / counts[class]).powf(balance);
        labels.iter().map(|&(row, class)| Self { row, class, weight: weight(class) }).collect()
    }
}

/// Weights and biases, one row per class.
pub(crate) struct SoftmaxHead {
    /// Both as they were fitted, the bias behind the weights.
    fitted: Matrix<f64>,
    weights: PaddedRows<f32>,
    bias: Vec<f32>,
}

impl SoftmaxHead {
    /// Fits to examples among `rows`, starting from an earlier head if there is one: it ends near the same place, sooner.
    pub fn fit(rows: &Matrix<f32>, examples: &[Example], ways: usize, c: f64, from: Option<&Self>) -> Self {
        let dim = rows.columns();
        let numbers: Vec<usize> = examples.iter().map(|example| example.row).collect();
        let z: Matrix<f64> = rows.gather(&numbers).cast();
        let weighted: Vec<(usize, f64)> =
            examples.iter().map(|example| (example.class, c * example.weight)).collect();
        let fitted = fit_weighted(&z, &weighted, ways, STOP, from.map(|head| &head.fitted));
        let mut weights = PaddedRows::zeros(ways, dim);
        let mut bias = vec![0.0; padded(ways)];
        for (class, from) in fitted.iter_rows().enumerate() {
            weights.row_mut(class).iter_mut().zip(&from[..dim]).for_each(|(to, from)| *to = *from as f32);
            bias[class] = from[dim] as f32;
        }
        Self { fitted, weights, bias }
    }

    /// Probability of each class for every row.
    pub fn probabilities(&self, rows: &Matrix<f32>) -> Matrix<f32> {
        let (columns, ways) = (rows.columns(), self.weights.rows());
        let mut out = Matrix::zeros(rows.rows(), ways);
        let blocks = rows.as_slice().par_chunks(BLOCK * columns);
        out.as_mut_slice().par_chunks_mut(BLOCK * ways).zip(blocks).for_each(|(out, rows)| {
            let rows = PaddedRows::from_rows(columns, rows.len() / columns, rows.chunks_exact(columns));
            let mut logits = PaddedRows::zeros(ways, rows.rows());
            let mut predictions = PaddedRows::zeros(ways, rows.rows());
            let mut log_normalizer = vec![0.0; logits.stride()];
            f32::kernels().scores(&rows, &self.weights, &self.bias, &mut logits);
            f32::kernels().softmax(&logits, &mut predictions, &mut log_normalizer);
            for (at, out) in out.chunks_exact_mut(ways).enumerate() {
                out.iter_mut().enumerate().for_each(|(class, out)| *out = predictions.row(class)[at]);
            }
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_a_class_with_many_weigh_less_and_all_the_same_when_classes_have_as_many() {
        let labels = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1), (5, 1)];
        let weights =
            |balance| Example::given(&labels, 2, balance).iter().map(|e| e.weight).collect::<Vec<_>>();
        assert_eq!(weights(0.0), [1.0; 6]);
        assert_eq!(weights(1.0), [0.75, 0.75, 0.75, 0.75, 1.5, 1.5]);
        let half = weights(0.5);
        assert!((half[0] - 0.75f64.sqrt()).abs() < 1e-12 && (half[5] - 1.5f64.sqrt()).abs() < 1e-12);
        let even = Example::given(&[(0, 0), (1, 1), (2, 2)], 3, 0.5);
        assert!(even.iter().all(|example| example.weight == 1.0));
    }
}
