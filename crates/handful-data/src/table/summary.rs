//! What a person wants to see of a table before trusting it: counts, norms, and everything suspicious.

use std::collections::HashMap;

use super::FeatureTable;
use crate::error::DataError;

/// One class of a summary.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassSummary {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: usize,
}

/// Facts about a table that take one walk through all its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableSummary {
    /// The classes with their numbers of rows.
    pub classes: Vec<ClassSummary>,
    /// Rows without a class.
    pub unlabeled_rows: usize,
    /// Features that are not finite.
    pub non_finite: usize,
    /// Row and column of the first feature that is not finite.
    pub first_non_finite: Option<(usize, usize)>,
    /// Features below zero: none in what a ReLU network gives.
    pub negative: usize,
    /// Smallest Euclidean norm of a row.
    pub least_norm: f64,
    /// Mean Euclidean norm of the rows.
    pub mean_norm: f64,
    /// Largest Euclidean norm of a row.
    pub greatest_norm: f64,
    /// Rows that are all zero.
    pub zero_rows: usize,
    /// Rows whose features equal those of an earlier row.
    pub duplicate_rows: usize,
    /// A pair of equal rows, the earlier first.
    pub first_duplicate: Option<(usize, usize)>,
}

impl FeatureTable {
    /// Walks through all rows once. Needs some 20 bytes of memory a row besides the block being read.
    pub fn summarize(&self) -> Result<TableSummary, DataError> {
        let mut summary = TableSummary {
            classes: (self.class_names().iter().zip(self.rows_of_class()))
                .map(|(name, rows)| ClassSummary { name: name.clone(), rows: rows.len() })
                .collect(),
            least_norm: f64::INFINITY,
            ..TableSummary::default()
        };
        summary.unlabeled_rows = self.rows() - summary.classes.iter().map(|class| class.rows).sum::<usize>();
        let mut norms = 0.0;
        let mut first_zero_row = None;
        let mut row_of_fingerprint: HashMap<u64, usize> = HashMap::new();
        self.for_each_block(|first_row, values| {
            for (row, features) in (first_row..).zip(values.chunks_exact(self.dim())) {
                let facts = RowFacts::of(features);
                summary.negative += facts.negative;
                let norm = facts.norm(features);
                norms += norm;
                summary.least_norm = summary.least_norm.min(norm);
                summary.greatest_norm = summary.greatest_norm.max(norm);
                if !norm.is_finite() {
                    let is_bad = |value: &f32| !value.is_finite();
                    summary.non_finite += features.iter().filter(|value| is_bad(value)).count();
                    let column = features.iter().position(is_bad).unwrap_or_default();
                    summary.first_non_finite.get_or_insert((row, column));
                }
                let twin = if norm == 0.0 {
                    summary.zero_rows += 1;
                    Some(*first_zero_row.get_or_insert(row)).filter(|&earlier| earlier != row)
                } else {
                    let earlier = *row_of_fingerprint.entry(facts.fingerprint).or_insert(row);
                    // The fingerprint only proposes: rows count as equal when their features are.
                    Some(earlier)
                        .filter(|&earlier| earlier != row && self.gather(&[earlier]).row(0) == features)
                };
                if let Some(earlier) = twin {
                    summary.duplicate_rows += 1;
                    summary.first_duplicate.get_or_insert((earlier, row));
                }
            }
            Ok(())
        })?;
        summary.mean_norm = norms / self.rows() as f64;
        Ok(summary)
    }
}

/// What one pass over a row finds.
struct RowFacts {
    negative: usize,
    squares: f32,
    fingerprint: u64,
}

/// Independent sums let the compiler use vector instructions; one running sum would be read at a tenth of the speed.
const LANES: usize = 16;

impl RowFacts {
    fn of(features: &[f32]) -> Self {
        let mut negative = [0u32; LANES];
        let mut squares = [0.0f32; LANES];
        let mut mixed = [0x9e37_79b9u32; LANES];
        let (whole, rest) = features.as_chunks::<LANES>();
        for chunk in whole {
            for (lane, &value) in chunk.iter().enumerate() {
                negative[lane] += u32::from(value < 0.0);
                squares[lane] += value * value;
                // Adding zero gives both spellings of zero the same bits.
                mixed[lane] = mixed[lane].rotate_left(5) ^ (value + 0.0).to_bits();
            }
        }
        for (lane, &value) in rest.iter().enumerate() {
            negative[lane] += u32::from(value < 0.0);
            squares[lane] += value * value;
            mixed[lane] = mixed[lane].rotate_left(5) ^ (value + 0.0).to_bits();
        }
        Self {
            negative: negative.iter().map(|&lane| lane as usize).sum(),
            squares: squares.iter().sum(),
            fingerprint: mixed.iter().fold(features.len() as u64, |all, &lane| {
                (all.rotate_left(23) ^ u64::from(lane)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            }),
        }
    }

    /// The Euclidean norm. Squares of 32 bits run out for very small and very large features: then it is computed
    /// again in 64, so that only a row of zeros has norm zero and only a row with a NaN or infinity has no norm.
    fn norm(&self, features: &[f32]) -> f64 {
        if self.squares.is_normal() {
            return f64::from(self.squares).sqrt();
        }
        // All bits but the signs: tables of sparse features have many rows of zeros.
        if features.iter().fold(0, |bits, value| bits | value.to_bits() << 1) == 0 {
            return 0.0;
        }
        features.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use handful::Matrix;

    use super::*;
    use crate::table::{ClassIndex, FeatureStore, TableParts};

    #[test]
    fn suspicious_rows_are_counted_and_located() {
        let values = vec![3.0, 4.0, 0.0, -0.0, f32::NAN, 1.0, 0.0, 0.0, 3.0, 4.0];
        let table = FeatureTable::from_parts(TableParts {
            path: "<test>".into(),
            format: "test",
            sha256: None,
            features: FeatureStore::Memory(Arc::new(Matrix::from_vec(5, 2, values))),
            ids: None,
            classes: ClassIndex::from_names(&[Some("a"), Some("a"), None, Some("b"), None]),
            notes: Vec::new(),
        });
        let summary = table.unwrap().summarize().unwrap();
        assert_eq!((summary.non_finite, summary.first_non_finite), (1, Some((2, 0))));
        assert_eq!((summary.zero_rows, summary.duplicate_rows), (2, 2));
        assert_eq!(summary.first_duplicate, Some((1, 3)));
        assert_eq!((summary.least_norm, summary.greatest_norm), (0.0, 5.0));
        assert_eq!((summary.unlabeled_rows, summary.classes[0].rows), (2, 2));
    }

    #[test]
    fn norms_of_very_small_and_large_features() {
        let norm = |features: &[f32]| RowFacts::of(features).norm(features);
        assert!((norm(&[3e-30, 4e-30]) / 5e-30 - 1.0).abs() < 1e-6);
        assert!((norm(&[3e30, 4e30]) / 5e30 - 1.0).abs() < 1e-6);
        assert!(norm(&[1.0, f32::INFINITY]).is_infinite() && norm(&[f32::NAN]).is_nan());
        assert_eq!(norm(&[0.0; 40]), 0.0);
    }
}
