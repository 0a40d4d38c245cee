//! The feature table: rows of numbers, an id for each row, and a class for the rows that have one.
//!
//! It is the one noun that every reader ends in and everything else begins with. It never changes after it was
//! read, so it can be shared between threads freely.

mod classes;
mod parts;
mod store;
mod summary;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

pub use classes::ClassIndex;
use handful::Matrix;
use handful::embedder::Embedder;
pub use parts::RowParts;
pub(crate) use store::{FeatureStore, MappedFeatures, map_file};
pub use summary::{ClassSummary, TableSummary};

use crate::{error::DataError, readers::hex_digest};

/// Rows of features with ids and classes, as read from a file or made in code.
#[derive(Clone, Debug)]
pub struct FeatureTable {
    path: PathBuf,
    format: &'static str,
    sha256: OnceLock<String>,
    features: FeatureStore,
    ids: Option<Arc<Vec<String>>>,
    classes: Arc<ClassIndex>,
    notes: Vec<String>,
    parts: Option<RowParts>,
    embedder: Option<Embedder>,
}

/// What a reader hands over to become a [`FeatureTable`]; checked there once for every format.
pub(crate) struct TableParts {
    pub path: PathBuf,
    /// What kind of file it was, for people.
    pub format: &'static str,
    /// `None` for a mapped file, whose digest is only computed when somebody asks.
    pub sha256: Option<String>,
    pub features: FeatureStore,
    pub ids: Option<Vec<String>>,
    pub classes: ClassIndex,
    /// What was decided or left out while reading.
    pub notes: Vec<String>,
}

impl FeatureTable {
    /// Checks the parts against each other: at least one row and column, equal lengths, ids that are all different.
    pub(crate) fn from_parts(parts: TableParts) -> Result<Self, DataError> {
        let TableParts { path, format, sha256, features, ids, classes, notes } = parts;
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
        Ok(Self {
            path,
            format,
            sha256: sha256.map_or_else(OnceLock::new, OnceLock::from),
            features,
            ids: ids.map(Arc::new),
            classes: Arc::new(classes),
            notes,
            parts: None,
            embedder: None,
        })
    }

    /// A table made in code. `name` says where it comes from, in place of a file; ids must all be different.
    pub fn from_memory(
        name: &str,
        features: Matrix<f32>,
        ids: Option<Vec<String>>,
        classes: ClassIndex,
    ) -> Result<Self, DataError> {
        Self::from_parts(TableParts {
            path: PathBuf::from(format!("<{name}>")),
            format: "table in memory",
            sha256: None,
            features: FeatureStore::Memory(features.into()),
            ids,
            classes,
            notes: Vec::new(),
        })
    }

    /// A table of features made in code, such as those of images; `name` is used in messages.
    pub fn from_features(name: &Path, features: Matrix<f32>, ids: Vec<String>) -> Result<Self, DataError> {
        let classes = ClassIndex::unlabeled(features.rows());
        let features = FeatureStore::Memory(Arc::new(features));
        let (path, format) = (name.to_owned(), "made in code");
        let (ids, notes) = (Some(ids), Vec::new());
        Self::from_parts(TableParts { path, format, sha256: None, features, ids, classes, notes })
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

    /// What kind of file the table was read from, in words.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// What the reader decided or left out, one sentence each, for people to check: which column names the rows, that
    /// the first line was taken for a header, columns that are no features.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What the rows are made of, where that was kept.
    pub fn parts(&self) -> Option<&RowParts> {
        self.parts.as_ref()
    }

    /// The same table with what its rows are made of.
    ///
    /// # Errors
    /// [`DataError::LengthMismatch`] for vectors of another number of rows.
    pub fn with_parts(self, parts: RowParts) -> Result<Self, DataError> {
        let (features, other) = (self.rows(), parts.vectors().rows());
        if other != features {
            let what = parts.kind().name();
            return Err(DataError::LengthMismatch { path: self.path, features, what, other });
        }
        Ok(Self { parts: Some(parts), ..self })
    }

    /// The network that computed the features, where the file says so.
    pub fn embedder(&self) -> Option<&Embedder> {
        self.embedder.as_ref()
    }

    /// The same table with the network that computed it.
    #[must_use]
    pub fn with_embedder(self, embedder: Option<Embedder>) -> Self {
        Self { embedder, ..self }
    }

    /// SHA-256 of the file's bytes (of the features' bytes for a table made in code), in hexadecimal.
    pub fn sha256(&self) -> String {
        let digest = || match &self.features {
            FeatureStore::File(mapped) => hex_digest(mapped.file_bytes()),
            FeatureStore::Memory(matrix) => digest_of_features(matrix),
        };
        self.sha256.get_or_init(digest).clone()
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

    /// The ids, where the file itself names its rows.
    pub fn ids(&self) -> Option<&[String]> {
        self.ids.as_ref().map(|ids| ids.as_slice())
    }

    /// A matrix of the given rows, in the given order.
    ///
    /// # Panics
    /// If a row is beyond the table; task lists and samplers only give rows that are within.
    pub fn gather(&self, rows: &[usize]) -> Matrix<f32> {
        self.features.gather(rows)
    }

    /// Hands over all rows in order without holding more than a block of them in memory: the number of the
    /// block's first row, and its values row by row.
    pub fn for_each_block(
        &self,
        visit: impl FnMut(usize, &[f32]) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        self.features.for_each_block(&self.path, visit)
    }

    /// Returns the mean of all rows, summed in double precision.
    ///
    /// # Errors
    /// [`DataError`] where the file under the table can no longer be read.
    pub fn mean_row(&self) -> Result<Vec<f32>, DataError> {
        let mut sums = vec![0.0f64; self.dim()];
        self.for_each_block(|_, values| {
            for row in values.chunks_exact(sums.len().max(1)) {
                sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
            }
            Ok(())
        })?;
        Ok(sums.iter().map(|sum| (sum / self.rows().max(1) as f64) as f32).collect())
    }

    /// Reads every feature once and reports the first that is not a finite number.
    pub fn check_finite(&self) -> Result<(), DataError> {
        let columns = self.dim();
        self.for_each_block(|first_row, values| {
            // Without an early exit the loop runs at the speed of memory; the position is looked up only on failure.
            if values.iter().fold(true, |finite, value| finite & value.is_finite()) {
                return Ok(());
            }
            let at = values.iter().position(|value| !value.is_finite()).unwrap_or_default();
            Err(DataError::NonFinite {
                path: self.path.clone(),
                row: first_row + at / columns,
                column: at % columns,
                value: f64::from(values[at]),
            })
        })
    }

    /// A table of the given rows, in the given order. Rows keep their ids, classes their names and order; classes
    /// without a row are left out.
    ///
    /// # Panics
    /// If a row is beyond the table.
    pub fn select(&self, rows: &[usize]) -> Result<Self, DataError> {
        let class_names = self.class_names();
        let labels: Vec<Option<&str>> =
            rows.iter().map(|&row| self.class_of_row(row).map(|class| class_names[class].as_str())).collect();
        let table = Self::from_parts(TableParts {
            path: self.path.clone(),
            format: self.format,
            sha256: None,
            features: FeatureStore::Memory(Arc::new(self.gather(rows))),
            ids: Some(rows.iter().map(|&row| self.id(row)).collect()),
            classes: ClassIndex::from_names_in_order(&labels, class_names),
            notes: self.notes.clone(),
        })?;
        let parts = self.parts.as_ref().map(|parts| parts.select(rows));
        Ok(Self { parts, embedder: self.embedder.clone(), ..table })
    }

    /// The same table with other classes.
    pub(crate) fn with_classes(self, classes: ClassIndex) -> Result<Self, DataError> {
        if classes.rows() != self.rows() {
            let (features, other) = (self.rows(), classes.rows());
            return Err(DataError::LengthMismatch { path: self.path, features, what: "labels", other });
        }
        Ok(Self { classes: Arc::new(classes), ..self })
    }
}

/// SHA-256 of features in memory, for tables that never were a file.
pub(crate) fn digest_of_features(features: &Matrix<f32>) -> String {
    let bytes: Vec<u8> = features.as_slice().iter().flat_map(|value| value.to_le_bytes()).collect();
    hex_digest(&bytes)
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
        let features = FeatureStore::Memory(Arc::new(features));
        let notes = Vec::new();
        TableParts {
            path: "<test>".into(),
            format: "test",
            sha256: None,
            features,
            ids: None,
            classes,
            notes,
        }
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
        let table = FeatureTable::from_parts(parts(Matrix::from_vec(2, 2, vec![0.0, 1.0, f32::NAN, 2.0])));
        let error = table.unwrap().check_finite();
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
    fn selected_rows_keep_their_ids_and_classes() {
        let mut whole = parts(Matrix::from_vec(3, 1, vec![0.0, 1.0, 2.0]));
        whole.classes = ClassIndex::from_names(&[Some("b"), Some("a"), Some("c")]);
        let table = FeatureTable::from_parts(whole).unwrap().select(&[2, 0]).unwrap();
        assert_eq!((table.id(0), table.id(1)), ("2".to_owned(), "0".to_owned()));
        assert_eq!(table.class_names(), ["b", "c"]);
        assert_eq!((table.class_of_row(0), table.gather(&[0]).row(0)), (Some(1), &[2.0][..]));
    }

    #[test]
    fn rows_without_ids_are_named_by_number() {
        let table = FeatureTable::from_parts(parts(Matrix::zeros(3, 1))).unwrap();
        assert_eq!(table.id(2), "2");
    }
}
