//! The linear layer whose training losses tell clean labels from wrong ones.

use crate::fit::classifier::{prototypes, softmax_rows};
use crate::linalg::Matrix;
use crate::methods::common::feature_rows::{FeatureRows, unit_rows};
use crate::scalar::Scalar;
use crate::simd::{PaddedRows, padded};

const MOMENTUM: f32 = 0.9;
const WEIGHT_DECAY: f32 = 5e-4;

/// Class weights without bias.
pub(super) struct Layer {
    weights: PaddedRows<f32>,
}

impl Layer {
    /// Starts at the unit-length class means.
    pub fn imprinted(rows: &Matrix<f32>, classes: &[usize], ways: usize) -> Self {
        let mut means = prototypes(rows, classes, ways);
        unit_rows(&mut means);
        Self { weights: PaddedRows::from_matrix(&means) }
    }

    /// Full-batch gradient descent with momentum on the mean cross-entropy; returns each row's loss averaged over the steps.
    pub fn fit(&mut self, rows: &Matrix<f32>, classes: &[usize], steps: usize, rate: f64) -> Vec<f64> {
        let kernels = f32::kernels();
        let (ways, count) = (self.weights.rows(), rows.rows());
        let rows = PaddedRows::from_matrix(rows);
        let by_class = || PaddedRows::<f32>::zeros(ways, count);
        let (mut logits, mut residuals) = (by_class(), by_class());
        let mut log_normalizer = vec![0.0; logits.stride()];
        let bias = vec![0.0; padded(ways)];
        let mut gradient = PaddedRows::zeros(ways, rows.columns());
        let mut momentum = PaddedRows::<f32>::zeros(ways, rows.columns());
        let mut losses = vec![0.0; count];
        let share = 1.0 / count as f32;
        for step in 0..steps {
            kernels.scores(&rows, &self.weights, &bias, &mut logits);
            kernels.softmax(&logits, &mut residuals, &mut log_normalizer);
            for (row, &class) in classes.iter().enumerate() {
                losses[row] += f64::from(log_normalizer[row] - logits.row(class)[row]);
                residuals.row_mut(class)[row] -= 1.0;
            }
            kernels.weight_gradient(&rows, &residuals, &mut gradient);
            // PyTorch's buffer starts as the first gradient.
            let kept = if step == 0 { 0.0 } else { MOMENTUM };
            let moments = momentum.as_mut_slice().iter_mut().zip(gradient.as_slice());
            for (weight, (buffer, gradient)) in self.weights.as_mut_slice().iter_mut().zip(moments) {
                *buffer = kept * *buffer + share * gradient + WEIGHT_DECAY * *weight;
                *weight -= rate as f32 * *buffer;
            }
        }
        losses.iter_mut().for_each(|loss| *loss /= steps as f64);
        losses
    }

    /// Probability of each class.
    pub fn probabilities(&self, rows: &Matrix<f32>) -> Matrix<f64> {
        let mut weights = Matrix::zeros(self.weights.rows(), self.weights.columns());
        for class in 0..weights.rows() {
            let columns = weights.columns();
            weights.row_mut(class).copy_from_slice(&self.weights.row(class)[..columns]);
        }
        let mut logits = FeatureRows::new(rows).products(&weights);
        softmax_rows(&mut logits);
        logits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::common::test_tasks::{PerClass, clouds};

    /// The same steps in plain double precision.
    fn slow(
        rows: &Matrix<f32>,
        classes: &[usize],
        ways: usize,
        steps: usize,
        rate: f64,
    ) -> (Vec<f64>, Vec<Vec<f64>>) {
        let mut means: Matrix<f64> = prototypes(rows, classes, ways).cast();
        for class in 0..ways {
            let norm = means.row(class).iter().map(|v| v * v).sum::<f64>().sqrt();
            means.row_mut(class).iter_mut().for_each(|v| *v /= norm);
        }
        let mut weights: Vec<Vec<f64>> = means.iter_rows().map(<[f64]>::to_vec).collect();
        let mut buffers = vec![vec![0.0; rows.columns()]; ways];
        let mut losses = vec![0.0; rows.rows()];
        for step in 0..steps {
            let mut gradients: Vec<Vec<f64>> =
                weights.iter().map(|w| w.iter().map(|w| 5e-4 * w).collect()).collect();
            for (row, z) in rows.iter_rows().enumerate() {
                let logit = |w: &Vec<f64>| z.iter().zip(w).map(|(z, w)| f64::from(*z) * w).sum::<f64>();
                let exps: Vec<f64> = weights.iter().map(|w| logit(w).exp()).collect();
                let total: f64 = exps.iter().sum();
                losses[row] -= (exps[classes[row]] / total).ln() / steps as f64;
                for class in 0..ways {
                    let target = f64::from(u8::from(class == classes[row]));
                    let residual = (exps[class] / total - target) / rows.rows() as f64;
                    gradients[class].iter_mut().zip(z).for_each(|(g, z)| *g += residual * f64::from(*z));
                }
            }
            for class in 0..ways {
                for at in 0..rows.columns() {
                    let kept = if step == 0 { 0.0 } else { 0.9 };
                    buffers[class][at] = kept * buffers[class][at] + gradients[class][at];
                    weights[class][at] -= rate * buffers[class][at];
                }
            }
        }
        (losses, weights)
    }

    #[test]
    fn steps_and_losses_are_those_of_the_slow_form() {
        let known = clouds(3, 10, PerClass { shots: 4, queries: 1, pool: None }, 0.5, 1);
        let mut rows = known.task.support().clone();
        unit_rows(&mut rows);
        let mut classes = known.task.support_labels().to_vec();
        classes[5] = (classes[5] + 1) % 3;
        let mut layer = Layer::imprinted(&rows, &classes, 3);
        let losses = layer.fit(&rows, &classes, 60, 0.1);
        let (wanted, weights) = slow(&rows, &classes, 3, 60, 0.1);
        for (got, wanted) in losses.iter().zip(&wanted) {
            assert!((got - wanted).abs() < 1e-4, "{got} {wanted}");
        }
        for (class, wanted) in weights.iter().enumerate() {
            for (got, wanted) in layer.weights.row(class).iter().zip(wanted) {
                assert!((f64::from(*got) - wanted).abs() < 1e-4);
            }
        }
        // The wrong label is the costliest.
        assert!((0..12).all(|row| row == 5 || losses[row] < losses[5]));
    }
}
