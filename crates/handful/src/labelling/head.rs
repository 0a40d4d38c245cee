//! The softmax head of the labelling job, fitted to labelled rows by L-BFGS:
//!
//! ```text
//! min_{W, b}  1/2 |W|^2 + C sum_i w_i CE(softmax(W z_i + b), y_i)
//! ```
//!
//! with weight 1 for a given label and less for a pseudo-label. Nothing in it knows the sizes of the classes.

use rayon::prelude::*;

use crate::matrix::Matrix;
use crate::methods::common::lbfgs::LbfgsStop;
use crate::methods::common::logistic_fit::fit_weighted;
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
