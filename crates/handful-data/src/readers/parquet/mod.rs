//! Parquet, as far as feature tables use it.
//!
//! Two layouts: easyfsl's, with one list column of numbers (`embedding`) and `class_name`; and one column per
//! dimension. The general-purpose library would bring an in-memory format, a query engine's worth of types and
//! most of a minute of build time, and it believes size fields; tables need four types and two encodings, so these
//! are read here, within a budget.

mod encoding;
mod metadata;
mod pages;
mod thrift;

use std::path::Path;

use encoding::Values;
use handful::Matrix;
pub(crate) use metadata::CLASS_NAMES_KEY;
use metadata::{Footer, Leaf, Physical};
use pages::{Budget, Column, read_chunk};

use super::{
    archive::unpacked_limit,
    columns::{ColumnValues, TableColumns},
    raw_table::RawTable,
};
use crate::error::DataError;

const FORMAT: &str = "Parquet";

/// Reads a table from the bytes of a file.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<RawTable, DataError> {
    let footer = Footer::parse(path, bytes)?;
    let mut budget = Budget { left: unpacked_limit(bytes.len() as u64) };
    let mut columns = TableColumns::new(path, FORMAT);
    for (number, leaf) in footer.leaves.iter().enumerate() {
        if leaf.physical == Physical::Other || leaf.name.starts_with("__index_level_") {
            continue;
        }
        let malformed =
            |reason: &str| DataError::malformed(path, FORMAT, format!("column `{}`: {reason}", leaf.name));
        if leaf.most_repeated > 1 || leaf.most_defined > 200 {
            return Err(malformed("a list of lists holds no features"));
        }
        let mut column = Column {
            values: Values::empty(leaf.physical),
            defined: Vec::new(),
            repeated: Vec::new(),
            entries: 0,
        };
        for group in &footer.groups {
            read_chunk(bytes, leaf, &group[number], &mut budget, &mut column).map_err(malformed)?;
        }
        let values = if leaf.most_repeated == 0 { flat(leaf, column) } else { lists(path, leaf, column)? };
        columns.add(&leaf.name, values)?;
    }
    if let Some(rows) = columns.rows()
        && rows as u64 != footer.rows
    {
        let reason = format!("its footer says {} rows, but its columns have {rows}", footer.rows);
        return Err(DataError::malformed(path, FORMAT, reason));
    }
    let mut table = columns.into_table()?;
    if let Some(text) = footer.class_names {
        table.class_names = serde_json::from_str(&text).map(Some).map_err(|error| {
            DataError::content(path, format!("its list of class names is not JSON: {error}"))
        })?;
    }
    Ok(table)
}

/// A column of one value a row.
fn flat(leaf: &Leaf, column: Column) -> ColumnValues {
    // Without levels every entry is present.
    let is_present =
        |entry: usize| column.defined.get(entry).is_none_or(|&level| u32::from(level) == leaf.most_defined);
    fn spread<T, U>(
        entries: usize,
        values: Vec<T>,
        is_present: impl Fn(usize) -> bool,
        wrap: impl Fn(Option<T>) -> U,
    ) -> Vec<U> {
        let mut values = values.into_iter();
        (0..entries).map(|entry| wrap(if is_present(entry) { values.next() } else { None })).collect()
    }
    match column.values {
        Values::Integers(values) => {
            ColumnValues::Integers(spread(column.entries, values, is_present, |value| value))
        }
        // An absent number becomes NaN and is reported as such, with its row.
        Values::Floats(values) => ColumnValues::Floats(spread(column.entries, values, is_present, |value| {
            value.unwrap_or(f32::NAN)
        })),
        Values::Texts(values) => {
            ColumnValues::Texts(spread(column.entries, values, is_present, |value| value))
        }
    }
}

/// A column of a list a row, all of the same length.
fn lists(path: &Path, leaf: &Leaf, column: Column) -> Result<ColumnValues, DataError> {
    let name = &leaf.name;
    let Values::Floats(values) = column.values else {
        return Err(DataError::content(
            path,
            format!("column `{name}` is a list, but not of floating-point numbers"),
        ));
    };
    let mut lengths = Vec::new();
    for entry in 0..column.entries {
        let level = column.defined.get(entry).map_or(leaf.most_defined, |&level| u32::from(level));
        if column.repeated.get(entry) == Some(&0) {
            lengths.push(0usize);
        }
        let row = lengths.len().saturating_sub(1);
        let Some(length) = lengths.last_mut() else {
            return Err(DataError::malformed(path, FORMAT, format!("column `{name}` begins within a list")));
        };
        if level == leaf.most_defined {
            *length += 1;
        } else if level >= leaf.list_defined {
            return Err(DataError::row(path, row, format!("a number of `{name}` is missing")));
        }
    }
    let columns = lengths.first().copied().unwrap_or(0);
    if let Some(row) = lengths.iter().position(|&length| length != columns) {
        let reason = format!("`{name}` has {} numbers, but the rows before have {columns}", lengths[row]);
        return Err(DataError::row(path, row, reason));
    }
    if values.len() != lengths.len() * columns {
        return Err(DataError::malformed(
            path,
            FORMAT,
            format!("column `{name}` holds fewer numbers than it says"),
        ));
    }
    Ok(ColumnValues::Lists(Matrix::from_vec(lengths.len(), columns, values)))
}
