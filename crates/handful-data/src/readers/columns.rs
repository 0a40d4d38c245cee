//! Named columns put together into a table: what Parquet and Arrow files have in common.

use std::path::Path;

use handful::Matrix;

use super::raw_table::{KnownNames, Labels, RawTable};
use crate::error::DataError;

/// The values of a column, one a row; `None` and NaN where a value is absent.
#[derive(Clone, Debug)]
pub(crate) enum ColumnValues {
    Integers(Vec<Option<i64>>),
    Floats(Vec<f32>),
    Texts(Vec<Option<String>>),
    /// A list of numbers a row.
    Lists(Matrix<f32>),
}

impl ColumnValues {
    fn rows(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Floats(values) => values.len(),
            Self::Texts(values) => values.len(),
            Self::Lists(lists) => lists.rows(),
        }
    }
}

/// The columns of a table, sorted by what they hold.
pub(crate) struct TableColumns<'s> {
    path: &'s Path,
    format: &'static str,
    rows: Option<usize>,
    lists: Option<(String, Matrix<f32>)>,
    wide: Vec<(String, Vec<f32>)>,
    labels: Labels,
    ids: Option<Vec<String>>,
}

impl<'s> TableColumns<'s> {
    pub(crate) fn new(path: &'s Path, format: &'static str) -> Self {
        Self { path, format, rows: None, lists: None, wide: Vec::new(), labels: Labels::Absent, ids: None }
    }

    pub(crate) fn rows(&self) -> Option<usize> {
        self.rows
    }

    /// Adds a column; what it is for is told by its name and type.
    pub(crate) fn add(&mut self, name: &str, values: ColumnValues) -> Result<(), DataError> {
        let rows = *self.rows.get_or_insert(values.rows());
        if values.rows() != rows {
            let reason =
                format!("column `{name}` has {} rows, but the columns before have {rows}", values.rows());
            return Err(DataError::content(self.path, reason));
        }
        if KnownNames::is_label(name)
            && self.labels == Labels::Absent
            && !matches!(values, ColumnValues::Lists(_))
        {
            self.labels = match values {
                ColumnValues::Integers(labels) => {
                    Labels::Integers(labels.into_iter().map(|label| label.unwrap_or(-1)).collect())
                }
                ColumnValues::Texts(names) => Labels::Names(names),
                ColumnValues::Floats(_) | ColumnValues::Lists(_) => {
                    let reason =
                        format!("column `{name}` holds fractions, but labels are whole numbers or text");
                    return Err(DataError::content(self.path, reason));
                }
            };
            return Ok(());
        }
        if KnownNames::is_id(name) && self.ids.is_none() {
            let ids: Option<Vec<String>> = match values {
                ColumnValues::Integers(ids) => {
                    ids.into_iter().map(|id| id.map(|id| id.to_string())).collect()
                }
                ColumnValues::Texts(ids) => ids.into_iter().collect(),
                ColumnValues::Floats(_) | ColumnValues::Lists(_) => None,
            };
            let wrong = || {
                DataError::content(
                    self.path,
                    format!("column `{name}` should name every row by text or number"),
                )
            };
            self.ids = Some(ids.ok_or_else(wrong)?);
            return Ok(());
        }
        match values {
            ColumnValues::Lists(lists) => match &self.lists {
                Some((first, _)) if KnownNames::is_feature(first) || !KnownNames::is_feature(name) => {
                    let reason =
                        format!("the columns `{first}` and `{name}` both hold lists of numbers; keep one");
                    return Err(DataError::content(self.path, reason));
                }
                _ => self.lists = Some((name.to_owned(), lists)),
            },
            ColumnValues::Floats(values) => self.wide.push((name.to_owned(), values)),
            ColumnValues::Integers(values) => {
                let values =
                    values.into_iter().map(|value| value.map_or(f32::NAN, |value| value as f32)).collect();
                self.wide.push((name.to_owned(), values));
            }
            ColumnValues::Texts(_) => {
                let reason = format!("column `{name}` holds text; only `label` and `id` columns may");
                return Err(DataError::content(self.path, reason));
            }
        }
        Ok(())
    }

    /// The table: of the list column where there is one, else of the number columns in their order.
    pub(crate) fn into_table(self) -> Result<RawTable, DataError> {
        let features = match self.lists {
            Some((_, lists)) => lists,
            None => {
                if self.wide.is_empty() {
                    let reason = "it has neither a column of lists (`embedding`) nor columns of numbers";
                    return Err(DataError::content(self.path, reason));
                }
                let rows = self.rows.unwrap_or(0);
                let mut features = Matrix::zeros(rows, self.wide.len());
                for (column, (_, values)) in self.wide.iter().enumerate() {
                    for (row, &value) in values.iter().enumerate() {
                        features.row_mut(row)[column] = value;
                    }
                }
                features
            }
        };
        Ok(RawTable { labels: self.labels, ids: self.ids, ..RawTable::new(self.format, features) })
    }
}
