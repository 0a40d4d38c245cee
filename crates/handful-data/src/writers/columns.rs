//! Named columns of text and numbers as Parquet: what is written about rows, without their features.

use std::{path::Path, sync::Arc};

use arrow_array::{ArrayRef, Float32Array, StringArray};
use arrow_schema::{DataType, Field, Schema};

use super::parquet::write_batches;
use crate::error::DataError;

/// Rows in one group.
const GROUP_ROWS: usize = 100_000;

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// UTF-8 text.
    Texts(Vec<String>),
    /// 32-bit floats.
    Numbers(Vec<f32>),
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Self::Texts(values) => values.len(),
            Self::Numbers(values) => values.len(),
        }
    }

    fn kind(&self) -> DataType {
        match self {
            Self::Texts(_) => DataType::Utf8,
            Self::Numbers(_) => DataType::Float32,
        }
    }

    fn array(&self, rows: std::ops::Range<usize>) -> ArrayRef {
        match self {
            Self::Texts(values) => Arc::new(StringArray::from_iter_values(&values[rows])),
            Self::Numbers(values) => Arc::new(Float32Array::from(values[rows].to_vec())),
        }
    }
}

/// Writes columns of equal length as a Parquet file, which appears under its name when it is complete.
///
/// # Errors
/// [`DataError::LengthMismatch`] for columns of different lengths, [`DataError::Write`] where the file cannot be
/// written.
pub fn write_columns(path: &Path, columns: &[(&str, Cells)]) -> Result<(), DataError> {
    let rows = columns.first().map_or(0, |(_, cells)| cells.len());
    if let Some((_, cells)) = columns.iter().find(|(_, cells)| cells.len() != rows) {
        let path = path.to_owned();
        return Err(DataError::LengthMismatch { path, features: rows, what: "cells", other: cells.len() });
    }
    let fields: Vec<Field> =
        columns.iter().map(|(name, cells)| Field::new(*name, cells.kind(), false)).collect();
    write_batches(path, Schema::new(fields), None, rows, GROUP_ROWS, |rows| {
        Ok(columns.iter().map(|(_, cells)| cells.array(rows.clone())).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reader_finds_every_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("columns.parquet");
        let texts = |values: &[&str]| Cells::Texts(values.iter().map(|value| (*value).to_owned()).collect());
        // The reader takes wide tables: text columns `id` and `label`, and every number as a feature.
        let columns = [
            ("id", texts(&["a", "b", "c"])),
            ("label", texts(&["x", "y", "x"])),
            ("f0", Cells::Numbers(vec![1.0, 2.5, -3.0])),
        ];
        write_columns(&path, &columns).unwrap();
        let table = crate::read_table(&path).unwrap();
        assert_eq!((table.rows(), table.dim(), table.id(1).as_str()), (3, 1, "b"));
        assert_eq!(table.class_names(), ["x", "y"]);
        assert_eq!(table.gather(&[0, 1, 2]).as_slice(), [1.0, 2.5, -3.0]);
        let uneven = [("a", Cells::Numbers(vec![1.0])), ("b", Cells::Numbers(vec![]))];
        assert!(write_columns(&path, &uneven).is_err());
    }
}
