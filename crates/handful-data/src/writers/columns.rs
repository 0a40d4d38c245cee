//! Named columns of text and numbers as Parquet: what is written about rows, without their features.
//!
//! Plain encoding without compression, all columns required, groups of a bounded number of rows.

use std::{io::Write, path::Path};

use super::parquet::{Thrift, group, leaf, position, push_text};
use crate::{atomic::write_file, error::DataError};

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

    /// Parquet's physical type: byte array or float.
    fn physical(&self) -> i64 {
        match self {
            Self::Texts(_) => 6,
            Self::Numbers(_) => 4,
        }
    }

    fn page(&self, rows: std::ops::Range<usize>) -> Vec<u8> {
        let mut page = Vec::new();
        match self {
            Self::Texts(values) => values[rows].iter().for_each(|value| push_text(&mut page, value)),
            Self::Numbers(values) => page.extend(values[rows].iter().flat_map(|value| value.to_le_bytes())),
        }
        page
    }
}

/// Writes columns of equal length as a Parquet file, which appears under its name when it is complete.
pub fn write_columns(path: &Path, columns: &[(&str, Cells)]) -> Result<(), DataError> {
    let rows = columns.first().map_or(0, |(_, cells)| cells.len());
    if let Some((_, cells)) = columns.iter().find(|(_, cells)| cells.len() != rows) {
        let path = path.to_owned();
        return Err(DataError::LengthMismatch { path, features: rows, what: "cells", other: cells.len() });
    }
    write_file(path, |out| {
        let io = |error| DataError::write(path, error);
        out.write_all(b"PAR1").map_err(io)?;
        let mut groups = Vec::new();
        for first in (0..rows).step_by(GROUP_ROWS) {
            let range = first..rows.min(first + GROUP_ROWS);
            let mut chunks = Vec::new();
            let mut total = 0;
            for (name, cells) in columns {
                let page = cells.page(range.clone());
                let mut header = Thrift::default();
                header.integer(1, 0).integer(2, page.len() as i64).integer(3, page.len() as i64);
                header.structure(5, |header| {
                    header.integer(1, range.len() as i64).integer(2, 0).integer(3, 3).integer(4, 3);
                });
                let header = header.finish();
                let start = position(path, out)? as i64;
                out.write_all(&header).map_err(io)?;
                out.write_all(&page).map_err(io)?;
                let bytes = (header.len() + page.len()) as i64;
                total += bytes;
                let mut entry = Thrift::default();
                entry.long(2, start);
                entry.structure(3, |meta| {
                    meta.integer(1, cells.physical());
                    meta.integers(2, &[0, 3]);
                    meta.texts(3, &[name]);
                    meta.integer(4, 0).long(5, range.len() as i64).long(6, bytes);
                    meta.long(7, bytes).long(9, start);
                });
                chunks.push(entry.finish());
            }
            let mut entry = Thrift::default();
            entry.structures(1, &chunks).long(2, total).long(3, range.len() as i64);
            groups.push(entry.finish());
        }
        let mut schema = vec![group("schema", None, columns.len())];
        schema.extend(
            columns
                .iter()
                .map(|(name, cells)| leaf(name, 0, cells.physical(), matches!(cells, Cells::Texts(_)))),
        );
        let mut footer = Thrift::default();
        footer.integer(1, 1).structures(2, &schema).long(3, rows as i64);
        footer.structures(4, &groups).text(6, "handful");
        let footer = footer.finish();
        out.write_all(&footer).map_err(io)?;
        out.write_all(&(footer.len() as u32).to_le_bytes()).map_err(io)?;
        out.write_all(b"PAR1").map_err(io)
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
