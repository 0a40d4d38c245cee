//! What a reader finds in a file, before it becomes a [`FeatureTable`].
//!
//! Formats differ in where they keep labels, names and ids. Readers only report what is there; putting it together,
//! with the files beside the table where the format has no room of its own, is done here once.

use std::path::Path;

use handful::Matrix;
use handful::embedder::Embedder;

use super::labels::{check_names_differ, classes_of_integers};
use crate::{
    error::DataError,
    labels::alike,
    table::{ClassIndex, FeatureStore, FeatureTable, RowParts, TableParts},
};

/// Under this name we store which network computed the features: what it is, and the digest of its weights.
pub(crate) const EMBEDDER: &str = "network";

/// The two texts under that name; others of the name are somebody else's and say nothing to us.
pub(crate) fn embedder_of_texts(texts: &[String]) -> Option<Embedder> {
    match texts {
        [network, weights] => Some(Embedder { network: network.clone(), weights: weights.clone() }),
        _ => None,
    }
}

/// Names under which people store features, most telling first.
const FEATURE_NAMES: &[&str] = &[
    "features",
    "embeddings",
    "embedding",
    "concat_features",
    "all_feats",
    "feats",
    "X",
    "x",
    "data",
    "arr_0",
];
/// Names under which people store labels.
const LABEL_NAMES: &[&str] =
    &["labels", "label", "concat_labels", "all_labels", "targets", "target", "class_name", "y", "arr_1"];
/// Names under which people store the ids of rows.
const ID_NAMES: &[&str] = &["ids", "id", "records", "image_names", "paths"];

/// The labels of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Labels {
    /// The file has none.
    Absent,
    /// Whole numbers; -1 for no class.
    Integers(Vec<i64>),
    /// Names; `None` for no class.
    Names(Vec<Option<String>>),
}

/// The contents of a file, as far as they are about features.
#[derive(Clone, Debug)]
pub(crate) struct RawTable {
    pub format: &'static str,
    pub features: FeatureStore,
    pub labels: Labels,
    /// Names by integer label, or the order of the classes where labels are names.
    pub class_names: Option<Vec<String>>,
    pub ids: Option<Vec<String>>,
    /// What was decided or left out, for people to check.
    pub notes: Vec<String>,
    /// What the rows are made of.
    pub parts: Option<RowParts>,
    /// The network that computed the features.
    pub embedder: Option<Embedder>,
}

impl RawTable {
    pub(crate) fn new(format: &'static str, features: Matrix<f32>) -> Self {
        Self {
            format,
            features: FeatureStore::Memory(features.into()),
            labels: Labels::Absent,
            class_names: None,
            ids: None,
            notes: Vec::new(),
            parts: None,
            embedder: None,
        }
    }

    /// Puts the parts together.
    pub(crate) fn into_table(self, path: &Path, sha256: Option<String>) -> Result<FeatureTable, DataError> {
        let (rows, columns) = (self.features.rows(), self.features.columns());
        // Before anything is made for each row: rows without columns take no bytes, so a file may claim any number.
        if rows == 0 || columns == 0 {
            return Err(DataError::EmptyTable { path: path.to_owned(), rows, columns });
        }
        if let Some(names) = &self.class_names {
            check_names_differ(path, names)?;
        }
        let classes = match self.labels {
            Labels::Absent => ClassIndex::unlabeled(self.features.rows()),
            Labels::Integers(labels) => classes_of_integers(path, &labels, self.class_names.as_deref())?,
            Labels::Names(names) => {
                let names: Vec<Option<&str>> = names
                    .iter()
                    .map(|name| name.as_deref().map(str::trim).filter(|name| !name.is_empty()))
                    .collect();
                match self.class_names {
                    Some(order) => ClassIndex::from_names_in_order(&names, &order),
                    None => ClassIndex::from_names(&names),
                }
            }
        };
        let mut notes = self.notes;
        notes.extend(alike(classes.names()));
        let table = FeatureTable::from_parts(TableParts {
            path: path.to_owned(),
            format: self.format,
            sha256,
            features: self.features,
            ids: self.ids,
            classes,
            notes,
        })?
        .with_embedder(self.embedder);
        match self.parts {
            Some(parts) => table.with_parts(parts),
            None => Ok(table),
        }
    }
}

/// Which of the names in a file hold what.
#[derive(Debug, PartialEq)]
pub(crate) struct KnownNames {
    pub features: String,
    pub labels: Option<String>,
    pub ids: Option<String>,
    pub class_names: Option<String>,
}

impl KnownNames {
    /// Picks the known names; the error lists what there is and what was looked for.
    pub(crate) fn find(path: &Path, present: &[String]) -> Result<Self, DataError> {
        let pick = |known: &[&str]| {
            known.iter().find(|name| present.iter().any(|one| one == *name)).map(|name| (*name).to_owned())
        };
        let features = pick(FEATURE_NAMES).ok_or_else(|| {
            let found: Vec<String> = present.iter().take(8).map(|name| format!("`{name}`")).collect();
            let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
            DataError::content(
                path,
                format!(
                    "it holds no array named `features` (or one of {}); it holds {found}",
                    FEATURE_NAMES[1..].join(", ")
                ),
            )
        })?;
        Ok(Self {
            features,
            labels: pick(LABEL_NAMES),
            ids: pick(ID_NAMES),
            class_names: pick(&["class_names"]),
        })
    }

    /// Whether `name` says that a column or key holds labels.
    pub(crate) fn is_label(name: &str) -> bool {
        LABEL_NAMES.contains(&name) || name == "class"
    }

    /// Whether `name` says that a column or key holds ids.
    pub(crate) fn is_id(name: &str) -> bool {
        ID_NAMES.contains(&name) || matches!(name, "image" | "path" | "filename" | "file" | "image_name")
    }

    /// Whether `name` says that a column or key holds features.
    #[cfg(feature = "tables")]
    pub(crate) fn is_feature(name: &str) -> bool {
        FEATURE_NAMES.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_known_name_wins_and_a_stranger_is_listed() {
        let present = ["arr_0".to_owned(), "features".to_owned(), "y".to_owned()];
        let names = KnownNames::find(Path::new("f"), &present).unwrap();
        assert_eq!((names.features.as_str(), names.labels.as_deref()), ("features", Some("y")));
        let error = KnownNames::find(Path::new("f"), &["strange".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("it holds `strange`"), "{error}");
    }
}
