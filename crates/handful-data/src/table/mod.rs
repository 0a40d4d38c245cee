//! The feature table: rows of numbers, an id for each row, and a class for the rows that have one.
//!
//! It is the one noun that every reader ends in and everything else begins with. It never changes after it was
//! read, so it can be shared between threads freely.

mod classes;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub use classes::ClassIndex;
use handful::matrix::Matrix;

use crate::error::DataError;

/// Rows of features with ids and classes, as read from a file or made in code.
#[derive(Clone, Debug)]
pub struct FeatureTable {
    path: PathBuf,
    sha256: String,
    features: Arc<Matrix<f32>>,
    ids: Option<Arc<Vec<String>>>,
    classes: Arc<ClassIndex>,
}

/// What a reader hands over to become a [`FeatureTable`]; checked there once for every format.
pub(crate) struct TableParts {
    pub path: PathBuf,
    pub sha256: String,
    pub features: Matrix<f32>,
    pub ids: Option<Vec<String>>,
    pub classes: ClassIndex,
}

impl FeatureTable {
    /// Checks the parts against each other: at least one row and column, finite features, equal lengths, ids that
    /// are all different.
    pub(crate) fn from_parts(parts: TableParts) -> Result<Self, DataError> {
        let TableParts { path, sha256, features, ids, classes } = parts;
        let (rows, columns) = (features.rows(), features.columns());
        if rows == 0 || columns == 0 {
            return Err(DataError::EmptyTable { path, rows, columns });
        }
        if classes.rows() != rows {
            return Err(DataError::LengthMismatch {
                path,
                features: rows,
                what: "labels",
                other: classes.rows(),
            });
        }
        if let Some(ids) = &ids {
            if ids.len() != rows {
                return Err(DataError::LengthMismatch {
                    path,
                    features: rows,
                    what: "ids",
                    other: ids.len(),
                });
            }
            check_ids_differ(&path, ids)?;
        }
        if let Some((row, column, value)) = features.first_non_finite() {
            return Err(DataError::NonFinite { path, row, column, value });
        }
        Ok(Self {
            path,
            sha256,
            features: Arc::new(features),
            ids: ids.map(Arc::new),
            classes: Arc::new(classes),
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.features.rows()
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.features.columns()
    }

    /// The file that the table was read from, or a name in angle brackets for a table made in code.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// SHA-256 of the file's bytes (of the features' bytes for a table made in code), in hexadecimal.
    pub fn sha256(&self) -> String {
        self.sha256.clone()
    }

    /// Number of classes.
    pub fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// The names of the classes, by class number.
    pub fn class_names(&self) -> &[String] {
        self.classes.names()
    }

    /// The class of a row, if it has one.
    pub fn class_of_row(&self, row: usize) -> Option<usize> {
        self.classes.class_of_row(row)
    }

    /// The rows of each class, by class number.
    pub fn rows_of_class(&self) -> &[Vec<usize>] {
        self.classes.rows_of_class()
    }

    /// The classes, shared.
    pub fn classes(&self) -> &Arc<ClassIndex> {
        &self.classes
    }

    /// The id of a row: the file's, or the row number where the file has none.
    pub fn id(&self, row: usize) -> String {
        self.ids.as_ref().and_then(|ids| ids.get(row).cloned()).unwrap_or_else(|| row.to_string())
    }

    /// Whether the file itself names its rows.
    pub fn has_ids(&self) -> bool {
        self.ids.is_some()
    }

    /// A matrix of the given rows, in the given order.
    ///
    /// # Panics
    /// If a row is beyond the table; task lists and samplers only give rows that are within.
    pub fn gather(&self, rows: &[usize]) -> Matrix<f32> {
        self.features.gather(rows)
    }
}

fn check_ids_differ(path: &Path, ids: &[String]) -> Result<(), DataError> {
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by_key(|&row| (&ids[row], row));
    match order.windows(2).find(|pair| ids[pair[0]] == ids[pair[1]]) {
        Some(pair) => Err(DataError::row(
            path,
            pair[1],
            format!("the id `{}` was already used by row {}", ids[pair[1]], pair[0]),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(features: Matrix<f32>) -> TableParts {
        let classes = ClassIndex::unlabeled(features.rows());
        TableParts { path: "<test>".into(), sha256: String::new(), features, ids: None, classes }
    }

    #[test]
    fn duplicate_id_names_both_rows() {
        let mut parts = parts(Matrix::zeros(3, 1));
        parts.ids = Some(vec!["b".into(), "a".into(), "b".into()]);
        let error = FeatureTable::from_parts(parts).unwrap_err();
        assert_eq!(error.to_string(), "<test>: row 2: the id `b` was already used by row 0");
    }

    #[test]
    fn non_finite_feature_is_located() {
        let error = FeatureTable::from_parts(parts(Matrix::from_vec(2, 2, vec![0.0, 1.0, f32::NAN, 2.0])));
        assert!(matches!(error, Err(DataError::NonFinite { row: 1, column: 0, .. })));
    }

    #[test]
    fn empty_and_mismatched_tables_are_refused() {
        assert!(matches!(
            FeatureTable::from_parts(parts(Matrix::zeros(0, 4))),
            Err(DataError::EmptyTable { rows: 0, columns: 4, .. })
        ));
        let mut mismatched = parts(Matrix::zeros(3, 1));
        mismatched.classes = ClassIndex::unlabeled(2);
        assert!(matches!(
            FeatureTable::from_parts(mismatched),
            Err(DataError::LengthMismatch { features: 3, other: 2, what: "labels", .. })
        ));
    }

    #[test]
    fn rows_without_ids_are_named_by_number() {
        let table = FeatureTable::from_parts(parts(Matrix::zeros(3, 1))).unwrap();
        assert_eq!(table.id(2), "2");
    }
}
