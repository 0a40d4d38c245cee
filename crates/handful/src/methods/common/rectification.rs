//! Prototype rectification (BD-CSPN, Liu et al. 2020), which LaplacianShot also starts with.
//!
//! ```text
//! e     = mean(support) - mean(unlabelled),      z_u <- z_u + e
//! mu_c <- average of w_ic z_i over the rows i of class c: labelled ones, and unlabelled ones nearest to mu_c by cosine
//! w_ic  = softmax_c(s cos(z_i, mu_c))      or      exp(s cos(z_i, mu_c))
//! ```

use serde::{Deserialize, Serialize};

use crate::classifier::softmax_rows;
use crate::error::ParamError;
use crate::matrix::Matrix;
use crate::methods::common::check_positive;
use crate::methods::common::feature_rows::{FeatureRows, column_sums};
use crate::solution::argmax;

/// How much a row counts for its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// Its probability.
    Softmax,
    /// The exponential of its scaled cosine.
    Exponential,
}

/// Which class a labelled row counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SupportRows {
    /// The one it was given.
    Given,
    /// The one of the nearest prototype.
    Nearest,
}

/// What weighted rows are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Averaging {
    /// The sum of their weights.
    Weights,
    /// Their number, which shrinks the prototype; harmless for cosines, not for distances.
    Count,
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rectification {
    /// s, what cosines are multiplied by.
    pub scale: f64,
    /// How much a row counts.
    pub weighting: Weighting,
    /// Which class a labelled row counts for.
    pub support_rows: SupportRows,
    /// What weighted rows are divided by.
    pub averaging: Averaging,
}

impl Rectification {
    /// Checks every value's range.
    pub fn check(&self) -> Result<(), ParamError> {
        check_positive("scale", self.scale)
    }

    /// New prototypes from labelled rows and unlabelled rows that are already shifted.
    pub(crate) fn rectify(
        &self,
        support: &Matrix<f32>,
        labels: &[usize],
        shifted: &Matrix<f32>,
        prototypes: &Matrix<f32>,
    ) -> Matrix<f32> {
        let rows = FeatureRows::new(&support.stack(shifted));
        let mut weights = rows.cosines(prototypes);
        weights.as_mut_slice().iter_mut().for_each(|cosine| *cosine *= self.scale);
        match self.weighting {
            Weighting::Softmax => softmax_rows(&mut weights),
            Weighting::Exponential => {
                weights.as_mut_slice().iter_mut().for_each(|value| *value = value.exp());
            }
        }
        let mut counts = vec![0.0; prototypes.rows()];
        for row in 0..weights.rows() {
            let nearest = argmax(weights.row(row));
            let class = match (labels.get(row), self.support_rows) {
                (Some(&given), SupportRows::Given) => given,
                _ => nearest,
            };
            counts[class] += 1.0;
            let own = weights.row(row)[class];
            weights.row_mut(row).fill(0.0);
            weights.row_mut(row)[class] = own;
        }
        let totals = match self.averaging {
            Averaging::Weights => column_sums(&weights),
            Averaging::Count => counts,
        };
        let mut rectified = rows.weighted_sums(&weights);
        for (class, total) in totals.into_iter().enumerate() {
            let row = rectified.row_mut(class);
            if total > 0.0 {
                row.iter_mut().for_each(|value| *value /= total as f32);
            } else {
                // No row is nearest to it: it stays where it was.
                row.copy_from_slice(prototypes.row(class));
            }
        }
        rectified
    }
}

/// Moves rows so that their mean becomes that of the prototypes; nothing to move where there are none.
pub(crate) fn shift_to(rows: &Matrix<f32>, prototypes: &Matrix<f32>) -> Matrix<f32> {
    let mut shifted = rows.clone();
    let shift: Vec<f32> =
        prototypes.mean_row().iter().zip(rows.mean_row()).map(|(to, from)| to - from).collect();
    for row in 0..shifted.rows() {
        shifted.row_mut(row).iter_mut().zip(&shift).for_each(|(value, by)| *value += by);
    }
    shifted
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rectification = Rectification {
        scale: 2.0,
        weighting: Weighting::Softmax,
        support_rows: SupportRows::Given,
        averaging: Averaging::Weights,
    };

    #[test]
    fn shifted_rows_have_the_prototypes_mean() {
        let rows = Matrix::from_vec(2, 2, vec![0.0, 0.0, 4.0, 2.0]);
        let shifted = shift_to(&rows, &Matrix::from_vec(2, 2, vec![1.0, 0.0, 0.0, 1.0]));
        assert_eq!(shifted.as_slice(), &[-1.5, -0.5, 2.5, 1.5]);
        assert_eq!(shift_to(&Matrix::zeros(0, 0), &rows).rows(), 0);
    }

    #[test]
    fn prototypes_are_weighted_averages_worked_by_hand() {
        let support = Matrix::from_vec(2, 2, vec![1.0, 0.0, 0.0, 1.0]);
        let unlabelled = Matrix::from_vec(1, 2, vec![3.0, 4.0]);
        // Cosines of the unlabelled row are 0.6 and 0.8; of a support row 1 and 0.
        let own = 1.0 / (1.0 + f64::exp(-2.0));
        let other = 1.0 / (1.0 + f64::exp(-0.4));
        let prototype = RULE.rectify(&support, &[0, 1], &unlabelled, &support);
        assert_eq!(prototype.row(0), &[1.0, 0.0]);
        let wanted = [3.0 * other / (own + other), (own + 4.0 * other) / (own + other)];
        for (got, wanted) in prototype.row(1).iter().zip(wanted) {
            assert!((f64::from(*got) - wanted).abs() < 1e-5);
        }
        let shrunk = Rectification { averaging: Averaging::Count, ..RULE };
        let prototype = shrunk.rectify(&support, &[0, 1], &unlabelled, &support);
        assert!((f64::from(prototype.row(1)[1]) - (own + 4.0 * other) / 2.0).abs() < 1e-5);
    }

    #[test]
    fn a_class_nobody_is_near_to_keeps_its_prototype() {
        let support = Matrix::from_vec(2, 2, vec![1.0, 0.0, 1.0, 0.0]);
        let prototypes = Matrix::from_vec(2, 2, vec![1.0, 0.0, 0.0, 1.0]);
        let nearest = Rectification { support_rows: SupportRows::Nearest, ..RULE };
        let rectified = nearest.rectify(&support, &[0, 1], &Matrix::zeros(0, 0), &prototypes);
        assert_eq!(rectified.row(1), &[0.0, 1.0]);
    }
}
