//! Arrow files and streams (Feather version 2), as far as feature tables use them.
//!
//! The same two layouts as Parquet's: a list column of numbers, or one column per dimension. The file is read as
//! the stream of messages that it is, so that both forms take the same way.

mod batch;
mod flatbuffer;
mod schema;

use std::{collections::BTreeMap, path::Path};

use batch::{Batch, Trouble, Values};
use flatbuffer::Table;
use handful::Matrix;
use schema::{Field, Type};

use super::{
    archive::unpacked_limit,
    columns::{ColumnValues, TableColumns},
    raw_table::RawTable,
};
use crate::error::DataError;

const FORMAT: &str = "Arrow";
const MAGIC: &[u8] = b"ARROW1\0\0";

/// Reads a table from the bytes of a file or stream.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<RawTable, DataError> {
    let stream = bytes.strip_prefix(MAGIC).unwrap_or(bytes);
    let contents = Contents::read(stream, unpacked_limit(bytes.len() as u64));
    let contents = contents.map_err(|reason| DataError::malformed(path, FORMAT, reason))?;
    let mut columns = TableColumns::new(path, FORMAT);
    for (field, values) in contents.fields.iter().zip(contents.columns) {
        if field.name.starts_with("__index_level_") {
            continue;
        }
        let values = match values {
            Some(Values::Integers(values)) => ColumnValues::Integers(values),
            Some(Values::Floats(values)) => ColumnValues::Floats(values),
            Some(Values::Texts(values)) => ColumnValues::Texts(values),
            Some(Values::Lists(lengths, values)) => lists(path, &field.name, &lengths, values)?,
            Some(Values::Ignored(_)) | None => continue,
        };
        columns.add(&field.name, values)?;
    }
    columns.into_table()
}

fn lists(path: &Path, name: &str, lengths: &[usize], values: Vec<f32>) -> Result<ColumnValues, DataError> {
    let columns = lengths.first().copied().unwrap_or(0);
    if let Some(row) = lengths.iter().position(|&length| length != columns) {
        let reason = format!("`{name}` has {} numbers, but the rows before have {columns}", lengths[row]);
        return Err(DataError::row(path, row, reason));
    }
    Ok(ColumnValues::Lists(Matrix::from_vec(lengths.len(), columns, values)))
}

#[derive(Default)]
struct Contents {
    fields: Vec<Field>,
    columns: Vec<Option<Values>>,
}

impl Contents {
    fn read(mut stream: &[u8], mut budget: u64) -> Result<Self, Trouble> {
        let mut contents = Self::default();
        let mut dictionaries: BTreeMap<i64, Vec<Option<String>>> = BTreeMap::new();
        let mut has_schema = false;
        while let Some((message, body, rest)) = next_message(stream)? {
            stream = rest;
            let header = message.table(2).ok_or("a message has no header")?;
            match message.u8(1) {
                1 => {
                    if has_schema {
                        return Err("it has two schemas");
                    }
                    if header.i16(0) != 0 {
                        return Err("it is big-endian; write it on a little-endian machine");
                    }
                    has_schema = true;
                    let fields = header.tables(1).ok_or("its schema has no columns")?;
                    contents.fields =
                        fields.into_iter().map(|field| Field::read(field, 0)).collect::<Result<_, _>>()?;
                    contents.columns = vec![None; contents.fields.len()];
                }
                2 => {
                    let id = header.i64(0);
                    let batch = header.table(1).ok_or("a dictionary is empty")?;
                    let field = contents.fields.iter().find(|field| {
                        field.dictionary.as_ref().is_some_and(|dictionary| dictionary.id == id)
                    });
                    let kind =
                        field.map(|field| field.kind.clone()).ok_or("a dictionary belongs to no column")?;
                    if !matches!(kind, Type::Text { .. }) {
                        return Err("a dictionary holds something other than text");
                    }
                    let entries = Field { name: String::new(), kind, dictionary: None };
                    let values = Batch::new(batch, body, &BTreeMap::new(), &mut budget).column(&entries)?;
                    let Values::Texts(texts) = values else {
                        return Err("a dictionary holds something other than text");
                    };
                    if header.u8(2) != 0 {
                        dictionaries.entry(id).or_default().extend(texts);
                    } else {
                        dictionaries.insert(id, texts);
                    }
                }
                3 => {
                    let mut batch = Batch::new(header, body, &dictionaries, &mut budget);
                    for (field, column) in contents.fields.iter().zip(&mut contents.columns) {
                        let values = batch.column(field)?;
                        join(column, values)?;
                    }
                }
                _ => {}
            }
        }
        if has_schema { Ok(contents) } else { Err("it has no schema") }
    }
}

/// A message: what it says, its data, and what follows.
type Message<'a> = (Table<'a>, &'a [u8], &'a [u8]);

fn next_message(stream: &[u8]) -> Result<Option<Message<'_>>, Trouble> {
    const CUT: Trouble = "it ends within a message";
    let Some((mark, mut rest)) = stream.split_first_chunk::<4>() else { return Ok(None) };
    let mut length = i32::from_le_bytes(*mark);
    // Since version 0.15 the length comes after a mark of four bytes.
    if length == -1 {
        let (after_mark, after) = rest.split_first_chunk().ok_or(CUT)?;
        length = i32::from_le_bytes(*after_mark);
        rest = after;
    }
    if length == 0 {
        return Ok(None);
    }
    let (header, rest) = rest.split_at_checked(usize::try_from(length).map_err(|_| CUT)?).ok_or(CUT)?;
    let message = Table::root(header).ok_or("a message is broken")?;
    let (body, rest) = rest.split_at_checked(usize::try_from(message.i64(3)).map_err(|_| CUT)?).ok_or(CUT)?;
    Ok(Some((message, body, rest)))
}

/// Appends the values of the next batch to a column.
fn join(column: &mut Option<Values>, more: Values) -> Result<(), Trouble> {
    match (column, more) {
        (empty @ None, more) => *empty = Some(more),
        (Some(Values::Integers(values)), Values::Integers(more)) => values.extend(more),
        (Some(Values::Floats(values)), Values::Floats(more)) => values.extend(more),
        (Some(Values::Texts(values)), Values::Texts(more)) => values.extend(more),
        (Some(Values::Lists(lengths, values)), Values::Lists(more_lengths, more)) => {
            lengths.extend(more_lengths);
            values.extend(more);
        }
        (Some(Values::Ignored(rows)), Values::Ignored(more)) => *rows = rows.saturating_add(more),
        _ => return Err("a column changes its type between batches"),
    }
    Ok(())
}
