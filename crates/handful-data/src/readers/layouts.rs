//! What research code puts into its pickles, recognised by shape rather than by who wrote it.
//!
//! | written by | contents |
//! |---|---|
//! | S2M2, PT-MAP, EASE, iLPC | `{label: [feature, …]}` |
//! | easyfsl | `{class name: array [n, d]}` |
//! | SimpleShot, LaplacianShot | `[base mean, fc mean, {label: [feature]}, {label: [fc]}]` |
//! | TAFSSL | `(train mean, {label: [feature]})` |
//! | TIM and most torch files | `{"concat_features": [n, d], "concat_labels": [n]}` and the like |
//! | anybody | `(features, labels)`, or one array |
//!
//! Rows come in the order of the file.

use std::path::Path;

use handful::Matrix;

use super::{
    pickle::{Pickle, Value},
    raw_table::{KnownNames, Labels, RawTable},
    torch,
};
use crate::error::DataError;

/// Reads a table from a pickle or a torch file.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<RawTable, DataError> {
    let (pickle, format) = if torch::is_torch(bytes) {
        (torch::read(path, bytes, 0)?, "torch file")
    } else {
        (Pickle::read(path, bytes)?, "Python pickle")
    };
    // An honest file holds each number at least once, in two bytes or more; a list may repeat the same array
    // without taking space.
    let limit = (bytes.len() as u64).saturating_mul(4).saturating_add(1 << 20);
    Rows { path, format, limit, columns: None, count: 0, values: Vec::new() }.read(pickle.root())
}

/// Collects rows of equal length.
struct Rows<'s> {
    path: &'s Path,
    format: &'static str,
    limit: u64,
    columns: Option<usize>,
    count: usize,
    values: Vec<f32>,
}

impl Rows<'_> {
    fn read(mut self, root: Value<'_, '_>) -> Result<RawTable, DataError> {
        if let Some(entries) = root.entries() {
            let names: Vec<String> = entries.filter_map(|(key, _)| key.text().map(str::to_owned)).collect();
            return match KnownNames::find(self.path, &names) {
                Ok(known) => self.named(root, &known),
                Err(_) => self.by_class(root),
            };
        }
        let items: Vec<Value<'_, '_>> = root.items().map(|items| items.take(5).collect()).unwrap_or_default();
        match items[..] {
            // SimpleShot and LaplacianShot: the second dictionary is of the classifier's outputs, not of features.
            [_, _, features, _] if features.entries().is_some() => self.by_class(features),
            [_, features] if features.entries().is_some() => self.by_class(features),
            [features, labels] if features.array().is_some_and(|array| array.shape().len() == 2) => {
                self.add(features, 0)?;
                let labels = self.labels(labels)?;
                self.finish(labels)
            }
            _ => {
                self.add(root, 0)?;
                self.finish(Labels::Absent)
            }
        }
    }

    /// A dictionary of named arrays.
    fn named(&mut self, root: Value<'_, '_>, known: &KnownNames) -> Result<RawTable, DataError> {
        if let Some(features) = root.get(&known.features) {
            self.add(features, 0)?;
        }
        let labels = known.labels.as_deref().and_then(|name| root.get(name));
        let labels = labels.map_or(Ok(Labels::Absent), |labels| self.labels(labels))?;
        let mut table = self.finish(labels)?;
        let texts = |name: &Option<String>| {
            let items = root.get(name.as_deref()?)?.items()?;
            items
                .map(|item| item.text().map(str::to_owned).or(item.integer().map(|id| id.to_string())))
                .collect()
        };
        table.ids = texts(&known.ids);
        table.class_names = texts(&known.class_names);
        Ok(table)
    }

    /// A dictionary from classes to their features.
    fn by_class(&mut self, root: Value<'_, '_>) -> Result<RawTable, DataError> {
        let (mut integers, mut names) = (Vec::new(), Vec::new());
        for (key, features) in root.entries().into_iter().flatten() {
            let before = self.count;
            self.add(features, 0)?;
            let added = self.count - before;
            match (key.integer(), key.text()) {
                (Some(label), _) => integers.resize(integers.len() + added, label),
                (None, Some(name)) => names.resize(names.len() + added, Some(name.to_owned())),
                _ => return Err(self.unusable(&format!("a class is named by {}", key.kind()))),
            }
        }
        let labels = match (integers.is_empty(), names.is_empty()) {
            (_, true) => Labels::Integers(integers),
            (true, false) => Labels::Names(names),
            (false, false) => return Err(self.unusable("some classes are named by text and some by numbers")),
        };
        self.finish(labels)
    }

    /// Adds an array of one or two dimensions, a list of such, or a list of numbers.
    fn add(&mut self, value: Value<'_, '_>, depth: usize) -> Result<(), DataError> {
        if let Some(array) = value.array() {
            return match *array.shape() {
                [columns] => self.take(columns, &array.to_row(self.path, self.count)?),
                [rows, columns] => {
                    self.reserve(rows, columns)?;
                    let features = array.to_features(self.path, "an array")?;
                    features.iter_rows().try_for_each(|row| self.take(columns, row))
                }
                ref shape => {
                    Err(self
                        .unusable(&format!("an array has shape {shape:?}, but features are [rows, columns]")))
                }
            };
        }
        let items = value
            .items()
            .ok_or_else(|| self.unusable(&format!("features are needed where it holds {}", value.kind())))?;
        if let Some(first) = value.items().and_then(|mut items| items.next())
            && first.number().is_some()
        {
            let numbers: Option<Vec<f32>> =
                items.map(|item| item.number().map(|number| number as f32)).collect();
            let numbers = numbers.ok_or_else(|| self.unusable("a list mixes numbers with other things"))?;
            return self.take(numbers.len(), &numbers);
        }
        // Rows of a class of a table: deeper nesting holds no features, and a list may contain itself.
        if depth == 2 {
            return Err(self.unusable("its lists are nested too deeply to be features"));
        }
        items.into_iter().try_for_each(|item| self.add(item, depth + 1))
    }

    fn take(&mut self, columns: usize, row: &[f32]) -> Result<(), DataError> {
        let expected = *self.columns.get_or_insert(columns);
        if columns != expected {
            let reason = format!("{columns} features, but the rows before have {expected}");
            return Err(DataError::row(self.path, self.count, reason));
        }
        self.reserve(1, columns)?;
        self.values.extend_from_slice(row);
        self.count += 1;
        Ok(())
    }

    fn reserve(&self, rows: usize, columns: usize) -> Result<(), DataError> {
        // A row without columns still counts, so that a list of nothing cannot go on for ever.
        let bytes = (rows as u64).saturating_mul((columns as u64).saturating_mul(4).max(4));
        if (4 * self.values.len() as u64 + 4 * self.count as u64).saturating_add(bytes) > self.limit {
            let what = "the size of its features".to_owned();
            return Err(DataError::Limit { path: self.path.to_owned(), what, limit: self.limit });
        }
        Ok(())
    }

    fn labels(&self, value: Value<'_, '_>) -> Result<Labels, DataError> {
        if let Some(array) = value.array() {
            return super::npz::labels_of_array(self.path, "labels", array);
        }
        let items = value
            .items()
            .ok_or_else(|| self.unusable(&format!("labels are needed where it holds {}", value.kind())))?;
        let items: Vec<Value<'_, '_>> = items.collect();
        if let Some(integers) = items.iter().map(Value::integer).collect::<Option<Vec<i64>>>() {
            return Ok(Labels::Integers(integers));
        }
        let names: Option<Vec<Option<String>>> =
            items.iter().map(|item| item.text().map(|text| Some(text.to_owned()))).collect();
        names.map(Labels::Names).ok_or_else(|| self.unusable("its labels are neither whole numbers nor text"))
    }

    fn finish(&mut self, labels: Labels) -> Result<RawTable, DataError> {
        let columns = self.columns.unwrap_or(0);
        let features = Matrix::from_vec(self.count, columns, std::mem::take(&mut self.values));
        Ok(RawTable { labels, ..RawTable::new(self.format, features) })
    }

    fn unusable(&self, reason: &str) -> DataError {
        DataError::content(self.path, reason)
    }
}
