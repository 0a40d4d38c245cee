//! The softmax linear classifier and its start from class prototypes.

use crate::linalg::Matrix;
use crate::scalar::Scalar;
use crate::simd::PaddedRows;

/// `logits = W z + b`, one row of weights per class.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearClassifier<T> {
    /// Weights, one row per class.
    pub weights: Matrix<T>,
    /// Bias per class.
    pub bias: Vec<T>,
}

impl<T: Scalar> LinearClassifier<T> {
    /// Starts as the paper does, divided by a temperature: `W = 2 mu / T`, `b = -|mu|^2 / T`, so that the logits are
    /// `(|z|^2 - |z - mu|^2) / T`: nearest prototype. The paper has T = 1, its authors' code 64 (1-shot) and 32.
    pub fn from_prototypes(prototypes: &Matrix<T>, temperature: T) -> Self {
        let mut weights = prototypes.clone();
        let two = T::from_f64(2.0);
        let bias = prototypes
            .iter_rows()
            .map(|row| -row.iter().map(|&value| value * value).sum::<T>() / temperature)
            .collect();
        weights.as_mut_slice().iter_mut().for_each(|value| *value = *value * two / temperature);
        Self { weights, bias }
    }

    /// Logits of each row (rows x classes).
    pub fn logits(&self, rows: &Matrix<T>) -> Matrix<T> {
        let ways = self.weights.rows();
        let mut logits = Matrix::zeros(rows.rows(), ways);
        if rows.rows() == 0 {
            return logits;
        }
        let mut by_class = PaddedRows::zeros(ways, rows.rows());
        let (rows, weights) = (PaddedRows::from_matrix(rows), PaddedRows::from_matrix(&self.weights));
        T::kernels().scores(&rows, &weights, &self.bias, &mut by_class);
        for row in 0..rows.rows() {
            for (class, logit) in logits.row_mut(row).iter_mut().enumerate() {
                *logit = by_class.row(class)[row];
            }
        }
        logits
    }

    /// Returns the probability of each class for each row.
    pub fn probabilities(&self, rows: &Matrix<T>) -> Matrix<T> {
        let mut probabilities = self.logits(rows);
        softmax_rows(&mut probabilities);
        probabilities
    }
}

/// Computes the mean of each class's rows. Every class must have one.
pub fn prototypes<T: Scalar>(rows: &Matrix<T>, labels: &[usize], ways: usize) -> Matrix<T> {
    weighted_prototypes(rows, labels.iter().map(|&label| (label, 1.0)), ways)
}

/// The weighted mean of each class's rows, each row given as its class and weight.
pub(crate) fn weighted_prototypes<T: Scalar>(
    rows: &Matrix<T>,
    labels: impl Iterator<Item = (usize, f64)>,
    ways: usize,
) -> Matrix<T> {
    let columns = rows.columns();
    let mut sums = vec![0.0f64; ways * columns];
    let mut totals = vec![0.0f64; ways];
    for (row, (label, weight)) in rows.iter_rows().zip(labels) {
        totals[label] += weight;
        for (sum, value) in sums[label * columns..(label + 1) * columns].iter_mut().zip(row) {
            *sum += weight * value.to_f64();
        }
    }
    for (class, &total) in totals.iter().enumerate() {
        let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
        sums[class * columns..(class + 1) * columns].iter_mut().for_each(|sum| *sum *= scale);
    }
    Matrix::from_vec(ways, columns, sums.into_iter().map(T::from_f64).collect())
}

/// Replaces each row by its softmax.
pub fn softmax_rows<T: Scalar>(logits: &mut Matrix<T>) {
    for row in 0..logits.rows() {
        let row = logits.row_mut(row);
        let largest = row.iter().copied().fold(row[0], |a, b| if b > a { b } else { a });
        row.iter_mut().for_each(|value| *value = (*value - largest).exp());
        let total: T = row.iter().copied().sum();
        row.iter_mut().for_each(|value| *value /= total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_scores_are_negative_squared_distances_up_to_a_constant() {
        let prototypes = Matrix::from_vec(2, 3, vec![1.0, 2.0, 0.5, -1.0, 0.0, 3.0]);
        let rows = Matrix::from_vec(2, 3, vec![0.3, 0.1, -2.0, 4.0, 1.0, 1.0]);
        let logits = LinearClassifier::from_prototypes(&prototypes, 8.0).logits(&rows);
        for row in 0..2 {
            let distance = |class: usize| -> f64 {
                rows.row(row)
                    .iter()
                    .zip(prototypes.row(class))
                    .map(|(z, mu): (&f64, &f64)| (z - mu).powi(2))
                    .sum()
            };
            let difference = logits.row(row)[0] - logits.row(row)[1];
            assert!((difference - (distance(1) - distance(0)) / 8.0).abs() < 1e-12);
        }
    }

    #[test]
    fn prototypes_are_class_means_for_unequal_shots() {
        let rows = Matrix::from_vec(3, 2, vec![1.0f32, 2.0, 3.0, 4.0, 10.0, 20.0]);
        let means = prototypes(&rows, &[0, 0, 1], 2);
        assert_eq!(means.as_slice(), &[2.0, 3.0, 10.0, 20.0]);
    }
}
