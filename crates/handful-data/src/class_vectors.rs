//! Vectors of whole classes: what somebody knows of a class besides examples, in the space of the features.
//!
//! Text prototypes of a network that reads both images and words, or means of old data. The file is a feature table with
//! one row for each class that has one; a class is named by the row's label, or by its id where the table has no labels.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::DataError;
use crate::readers::read_table;
use crate::table::FeatureTable;

/// At most one vector for each class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassVectors {
    path: PathBuf,
    vectors: BTreeMap<String, Vec<f32>>,
}

impl ClassVectors {
    /// Reads the vectors of classes from any format of feature tables.
    ///
    /// # Errors
    /// A file that cannot be read, numbers that are not finite, a row without a class where others have one, a class with
    /// two vectors.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let table = read_table(path)?;
        table.check_finite()?;
        Self::of_table(&table)
    }

    /// The vectors of a table.
    ///
    /// # Errors
    /// A row without a class where others have one, a class with two vectors.
    pub fn of_table(table: &FeatureTable) -> Result<Self, DataError> {
        let path = table.path();
        let mut vectors: BTreeMap<String, Vec<f32>> = BTreeMap::new();
        for row in 0..table.rows() {
            let name = match table.class_of_row(row) {
                Some(class) => table.class_names()[class].clone(),
                None if table.class_count() == 0 => table.id(row),
                None => {
                    return Err(DataError::row(
                        path,
                        row,
                        "it has no label, so nothing says of which class it is",
                    ));
                }
            };
            let vector = table.gather(&[row]).row(0).to_vec();
            if vectors.insert(name.clone(), vector).is_some() {
                let reason = format!("class `{name}` has a vector already; give one vector for each class");
                return Err(DataError::row(path, row, reason));
            }
        }
        Ok(Self { path: path.to_owned(), vectors })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The classes that have a vector, sorted by name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.vectors.keys().map(String::as_str)
    }

    /// The vector of each of these classes, where it has one, in the space of features with so many columns.
    ///
    /// # Errors
    /// Vectors of another length than the features', or of none of these classes.
    pub fn of_classes(&self, names: &[String], columns: usize) -> Result<Vec<Option<&[f32]>>, DataError> {
        if let Some((name, vector)) = self.vectors.iter().find(|(_, vector)| vector.len() != columns) {
            let reason = format!(
                "the vector of class `{name}` has {} numbers, but the features have {columns}; both must come from the \
                 same network",
                vector.len()
            );
            return Err(DataError::content(&self.path, reason));
        }
        let found: Vec<Option<&[f32]>> =
            names.iter().map(|name| self.vectors.get(name).map(Vec::as_slice)).collect();
        if found.iter().all(Option::is_none) {
            let some = |names: &mut dyn Iterator<Item = &str>| {
                names.take(5).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            };
            let reason = format!(
                "it has vectors of {}, but none of the classes {}",
                some(&mut self.names()),
                some(&mut names.iter().map(String::as_str))
            );
            return Err(DataError::content(&self.path, reason));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ClassVectors, DataError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vectors.csv");
        std::fs::write(&path, text).expect("written");
        ClassVectors::read(&path)
    }

    #[test]
    fn classes_are_named_by_labels_or_by_ids() {
        let names = ["cat".to_owned(), "dog".to_owned(), "cow".to_owned()];
        for text in ["label,a,b\ndog,1,2\ncat,3,4\n", "id,a,b\ndog,1,2\ncat,3,4\n"] {
            let vectors = read(text).expect("vectors");
            let found = vectors.of_classes(&names, 2).expect("of some");
            assert_eq!(found, [Some(&[3.0, 4.0][..]), Some(&[1.0, 2.0][..]), None]);
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let refusal = |text: &str, columns: usize| {
            let names = ["cat".to_owned()];
            match read(text) {
                Ok(vectors) => vectors.of_classes(&names, columns).expect_err("a refusal").to_string(),
                Err(error) => error.to_string(),
            }
        };
        assert!(
            refusal("label,a,b\ncat,1,2\ncat,3,4\n", 2).contains("row 1: class `cat` has a vector already")
        );
        let short = refusal("label,a,b\ncat,1,2\n", 3);
        assert!(
            short.contains("vectors.csv: the vector of class `cat` has 2 numbers, but the features have 3")
        );
        assert!(
            refusal("label,a,b\ndog,1,2\n", 2).contains("vectors of `dog`, but none of the classes `cat`")
        );
        assert!(refusal("label,a,b\ncat,1,2\n,3,4\n", 2).contains("row 1: it has no label"));
        assert!(refusal("label,a,b\ncat,1,nan\n", 2).contains("not a finite"));
    }
}
