//! Parquet in easyfsl's layout: a list column `embedding`, and `class_name` and `id` where the table has them.
//!
//! Plain encoding without compression, which every reader knows; features hardly shrink.

use std::{
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use arrow_array::{ArrayRef, Float32Array, ListArray, RecordBatch, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::{
    arrow::{ArrowWriter, arrow_writer::ArrowWriterOptions},
    basic::Compression,
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::{EnabledStatistics, WriterProperties},
    },
};

use crate::{atomic::write_file, error::DataError, readers::CLASS_NAMES_KEY, table::FeatureTable};

/// Bytes of features in one group of rows: what a reader holds at once.
const GROUP_BYTES: usize = 32 << 20;

/// Writes the file.
pub(super) fn write(path: &Path, table: &FeatureTable) -> Result<(), DataError> {
    let item = Arc::new(Field::new("element", DataType::Float32, false));
    let id = table.ids().map(|_| Field::new("id", DataType::Utf8, false));
    let class = (table.class_count() > 0).then(|| Field::new("class_name", DataType::Utf8, true));
    let embedding = Field::new("embedding", DataType::List(Arc::clone(&item)), false);
    let schema = Schema::new(id.into_iter().chain([embedding]).chain(class).collect::<Vec<_>>());
    let order = (table.class_count() > 0 && !table.classes().is_in_name_order())
        .then(|| serde_json::json!(table.class_names()).to_string());
    write_batches(path, schema, order, table.rows(), (GROUP_BYTES / (4 * table.dim())).max(1), |rows| {
        let rows: Vec<usize> = rows.collect();
        let values = Float32Array::from(table.gather(&rows).as_slice().to_vec());
        let lengths = OffsetBuffer::from_lengths(std::iter::repeat_n(table.dim(), rows.len()));
        let mut columns: Vec<ArrayRef> = Vec::new();
        if table.ids().is_some() {
            columns.push(Arc::new(StringArray::from_iter_values(rows.iter().map(|&row| table.id(row)))));
        }
        columns.push(Arc::new(ListArray::try_new(Arc::clone(&item), lengths, Arc::new(values), None)?));
        if table.class_count() > 0 {
            let class =
                |row: &usize| table.class_of_row(*row).map(|class| table.class_names()[class].as_str());
            columns.push(Arc::new(rows.iter().map(class).collect::<StringArray>()));
        }
        Ok(columns)
    })
}

/// Writes rows in groups of `at_once`, whose columns `columns` gives.
pub(super) fn write_batches(
    path: &Path,
    schema: Schema,
    class_names: Option<String>,
    rows: usize,
    at_once: usize,
    columns: impl Fn(std::ops::Range<usize>) -> Result<Vec<ArrayRef>, ArrowError>,
) -> Result<(), DataError> {
    let entry = class_names.map(|names| vec![KeyValue::new(CLASS_NAMES_KEY.to_owned(), names)]);
    let properties = WriterProperties::builder()
        .set_created_by("handful".to_owned())
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_key_value_metadata(entry)
        .build();
    // The schema of Arrow, which would say the same again, is left out.
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let schema = Arc::new(schema);
    write_file(path, |out| {
        let out: &mut (dyn Write + Send) = out;
        let write = || -> Result<(), ParquetError> {
            let mut writer = ArrowWriter::try_new_with_options(out, Arc::clone(&schema), options)?;
            for first in (0..rows).step_by(at_once) {
                let columns = columns(first..rows.min(first + at_once))?;
                writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
                writer.flush()?;
            }
            writer.close().map(drop)
        };
        write().map_err(|error| DataError::write(path, io_error(error)))
    })
}

/// The operating system's own error, where there is one inside.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner),
        },
        other => io::Error::other(other),
    }
}
