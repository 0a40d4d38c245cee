//! Prototype rectification (BD-CSPN, Liu et al. 2020), which LaplacianShot also starts with.
//!
//! ```text
//! e     = mean(support) - mean(unlabelled),      z_u <- z_u + e
//! mu_c <- average of w_ic z_i over the rows i of class c: labelled ones, and unlabelled ones nearest to mu_c by cosine
//! w_ic  = softmax_c(s cos(z_i, mu_c))      or      exp(s cos(z_i, mu_c))
//! ```

use serde::{Deserialize, Serialize};

use crate::error::ParamError;
use crate::fit::classifier::softmax_rows;
use crate::linalg::Matrix;
use crate::methods::common::check_positive;
use crate::methods::common::feature_rows::{FeatureRows, column_sums, to_matrix};
use crate::simd::PaddedRows;
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
    ///
    /// # Errors
    /// [`ParamError::OutOfRange`] names the first value that is wrong.
    pub fn check(&self) -> Result<(), ParamError> {
        check_positive("scale", self.scale)
    }

    /// New prototypes.
    pub(crate) fn rectify(
        &self,
        rows: &ShiftedRows,
        labels: &[usize],
        prototypes: &Matrix<f32>,
    ) -> Matrix<f32> {
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
                let share = (1.0 / total) as f32;
                row.iter_mut().for_each(|value| *value *= share);
            } else {
                // No row is nearest to it: it stays where it was.
                row.copy_from_slice(prototypes.row(class));
            }
        }
        rectified
    }
}

/// Labelled rows, then unlabelled ones that count as moved by one common shift. The shift is never added to the rows: it
/// enters products and sums, which are a thousand times smaller.
pub(crate) struct ShiftedRows<'a> {
    labelled: FeatureRows<'a>,
    unlabelled: FeatureRows<'a>,
    /// One row, or none for rows that stay where they were given.
    shift: Matrix<f32>,
}

impl<'a> ShiftedRows<'a> {
    /// Shifts the unlabelled rows so that their mean becomes that of the prototypes.
    pub fn new(support: &'a Matrix<f32>, unlabelled: &'a Matrix<f32>, prototypes: &Matrix<f32>) -> Self {
        let (labelled, unlabelled) = (FeatureRows::new(support), FeatureRows::new(unlabelled));
        let mut shift = Matrix::from_vec(1, prototypes.columns(), prototypes.mean_row());
        let count = unlabelled.count();
        if count > 0 {
            let share = 1.0 / count as f32;
            shift.as_mut_slice().iter_mut().zip(unlabelled.sum()).for_each(|(to, sum)| *to -= share * sum);
        }
        Self { labelled, unlabelled, shift }
    }

    /// The rows with the shift as far as it is wanted: all of it or, for the rows as given, nothing.
    pub fn without_shift(mut self) -> Self {
        self.shift = Matrix::zeros(0, self.shift.columns());
        self
    }

    /// Products with vectors and the squared norms of the rows and of the vectors, shift included.
    fn products(&self, vectors: &Matrix<f32>) -> (Matrix<f64>, Vec<f64>, Vec<f64>) {
        let extended = vectors.stack(&self.shift);
        let all = self.labelled.products(&extended).stack(&self.unlabelled.products(&extended));
        let along = FeatureRows::new(&extended).products(&extended);
        let ways = vectors.rows();
        let mut products = Matrix::zeros(all.rows(), ways);
        let mut norms = [self.labelled.squared_norms(), self.unlabelled.squared_norms()].concat();
        for (row, norm) in norms.iter_mut().enumerate() {
            products.row_mut(row).copy_from_slice(&all.row(row)[..ways]);
            if row >= self.labelled.count() && self.shift.rows() > 0 {
                products.row_mut(row).iter_mut().zip(along.row(ways)).for_each(|(to, by)| *to += by);
                *norm += 2.0 * all.row(row)[ways] + along.row(ways)[ways];
            }
        }
        (products, norms, (0..ways).map(|class| along.row(class)[class]).collect())
    }

    /// Cosines of all rows with vectors.
    pub fn cosines(&self, vectors: &Matrix<f32>) -> Matrix<f64> {
        let (mut products, norms, lengths) = self.products(vectors);
        for (row, own) in norms.iter().enumerate() {
            for (value, norm) in products.row_mut(row).iter_mut().zip(&lengths) {
                let lengths = (own * norm).max(0.0).sqrt();
                *value = if lengths > 0.0 { *value / lengths } else { 0.0 };
            }
        }
        products
    }

    /// Squared distances of all rows from vectors.
    pub fn squared_distances(&self, vectors: &Matrix<f32>) -> Matrix<f64> {
        let (mut products, norms, lengths) = self.products(vectors);
        for (row, own) in norms.iter().enumerate() {
            for (value, norm) in products.row_mut(row).iter_mut().zip(&lengths) {
                *value = (own + norm - 2.0 * *value).max(0.0);
            }
        }
        products
    }

    fn weighted_sums(&self, weights: &Matrix<f64>) -> Matrix<f32> {
        let classes = weights.columns();
        let mut sums = PaddedRows::zeros(classes, self.shift.columns());
        let (labelled, unlabelled) = weights.as_slice().split_at(self.labelled.count() * classes);
        self.labelled.add_weighted_sums(labelled, &mut sums);
        if self.unlabelled.count() > 0 {
            self.unlabelled.add_weighted_sums(unlabelled, &mut sums);
        }
        let mut sums = to_matrix(&sums);
        for class in 0..classes {
            let weight: f64 = unlabelled.iter().skip(class).step_by(classes).sum();
            let moved = sums.row_mut(class).iter_mut().zip(self.shift.as_slice());
            moved.for_each(|(to, by)| *to += weight as f32 * by);
        }
        sums
    }

    /// The part of a result that belongs to the unlabelled rows.
    pub fn unlabelled(&self, all: &Matrix<f64>) -> Matrix<f64> {
        let from = self.labelled.count() * all.columns();
        Matrix::from_vec(self.unlabelled.count(), all.columns(), all.as_slice()[from..].to_vec())
    }

    /// Inner products of the unlabelled rows with each other, before the shift, which changes no distance.
    pub fn unlabelled_gram(&self) -> Matrix<f64> {
        self.unlabelled.gram()
    }
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

    /// Rows whose mean already is the prototypes', so that nothing is shifted.
    fn unmoved<'a>(support: &'a Matrix<f32>, unlabelled: &'a Matrix<f32>) -> ShiftedRows<'a> {
        ShiftedRows::new(support, unlabelled, support).without_shift()
    }

    #[test]
    fn the_implicit_shift_is_that_of_moved_rows() {
        let support = Matrix::from_vec(2, 2, vec![1.0, 0.0, 0.0, 1.0]);
        let unlabelled = Matrix::from_vec(2, 2, vec![0.0, 0.0, 4.0, 2.0]);
        let rows = ShiftedRows::new(&support, &unlabelled, &support);
        // The mean (2, 1) becomes (.5, .5): the rows count as (-1.5, -.5) and (2.5, 1.5).
        let moved = support.stack(&Matrix::from_vec(2, 2, vec![-1.5, -0.5, 2.5, 1.5]));
        let moved = FeatureRows::new(&moved);
        let vectors = Matrix::from_vec(2, 2, vec![3.0, 1.0, -1.0, 2.0]);
        let close = |a: &Matrix<f64>, b: &Matrix<f64>| {
            a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| (a - b).abs() < 1e-5)
        };
        assert!(close(&rows.cosines(&vectors), &moved.cosines(&vectors)));
        assert!(close(&rows.squared_distances(&vectors), &moved.squared_distances(&vectors)));
        let weights = Matrix::from_vec(4, 1, vec![0.5, 1.0, 2.0, 3.0]);
        assert!(close(&rows.weighted_sums(&weights).cast(), &moved.weighted_sums(&weights).cast()));
        assert_eq!(rows.unlabelled_gram().as_slice(), &[0.0, 0.0, 0.0, 20.0]);
    }

    #[test]
    fn prototypes_are_weighted_averages_worked_by_hand() {
        let support = Matrix::from_vec(2, 2, vec![1.0, 0.0, 0.0, 1.0]);
        let unlabelled = Matrix::from_vec(1, 2, vec![3.0, 4.0]);
        let rows = unmoved(&support, &unlabelled);
        // Cosines of the unlabelled row are 0.6 and 0.8; of a support row 1 and 0.
        let own = 1.0 / (1.0 + f64::exp(-2.0));
        let other = 1.0 / (1.0 + f64::exp(-0.4));
        let prototype = RULE.rectify(&rows, &[0, 1], &support);
        assert_eq!(prototype.row(0), &[1.0, 0.0]);
        let wanted = [3.0 * other / (own + other), (own + 4.0 * other) / (own + other)];
        for (got, wanted) in prototype.row(1).iter().zip(wanted) {
            assert!((f64::from(*got) - wanted).abs() < 1e-5);
        }
        let shrunk = Rectification { averaging: Averaging::Count, ..RULE };
        let prototype = shrunk.rectify(&rows, &[0, 1], &support);
        assert!((f64::from(prototype.row(1)[1]) - (own + 4.0 * other) / 2.0).abs() < 1e-5);
    }

    #[test]
    fn a_class_nobody_is_near_to_keeps_its_prototype() {
        let support = Matrix::from_vec(2, 2, vec![1.0, 0.0, 1.0, 0.0]);
        let prototypes = Matrix::from_vec(2, 2, vec![1.0, 0.0, 0.0, 1.0]);
        let nearest = Rectification { support_rows: SupportRows::Nearest, ..RULE };
        let none = Matrix::zeros(0, 0);
        let rectified = nearest.rectify(&unmoved(&support, &none), &[0, 1], &prototypes);
        assert_eq!(rectified.row(1), &[0.0, 1.0]);
    }
}
