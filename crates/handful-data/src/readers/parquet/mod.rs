//! Parquet, by the Arrow project's own library.
//!
//! Two layouts: easyfsl's, with one list column of numbers (`embedding`) and `class_name`; and one column per
//! dimension. The library reads every encoding and codec there is, but it believes the sizes that a file declares:
//! `guard` walks through the headers of all pages first, so that it never sees one that lies.

mod guard;
mod thrift;

use std::path::Path;

use arrow_schema::Field;
use bytes::Bytes;
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder},
    },
    errors::ParquetError,
    file::metadata::{PageIndexPolicy, ParquetMetaData},
};

use super::{
    OpenOptions,
    archive::unpacked_limit,
    columns::{Plan, TableColumns},
    raw_table::RawTable,
};
use crate::error::DataError;

const FORMAT: &str = "Parquet";

/// The key under which the order of the classes is stored, where it is not the order of their names.
pub(crate) const CLASS_NAMES_KEY: &str = "handful.class_names";

/// Bytes that a batch of text may expand to.
const BATCH_BYTES: usize = 32 << 20;
/// Rows of a batch, unless they could be too large.
const BATCH_ROWS: usize = 1024;

/// Reads a table from the bytes of a file.
pub(crate) fn read(path: &Path, bytes: Vec<u8>, options: &OpenOptions) -> Result<RawTable, DataError> {
    let file = ParquetBytes::open(path, bytes)?;
    let fields: Vec<&Field> = file.metadata.schema().fields().iter().map(AsRef::as_ref).collect();
    let plan = Plan::of(path, &fields, options)?;
    let mut table = TableColumns::new(path, plan, file.limit);
    let mut left = file.limit;
    let (features, names) = (table.plan().features.clone(), table.plan().names_and_labels());
    // Names and features are read apart: a batch of names may have to be short, see `rows_at_once`.
    for columns in [features, names] {
        file.read(&columns, &mut left, |batch| table.push(&columns, batch))?;
    }
    let declared = file.metadata.metadata().file_metadata().num_rows();
    if i64::try_from(table.rows()) != Ok(declared) {
        let reason = format!("its footer says {declared} rows, but its columns have {}", table.rows());
        return Err(DataError::malformed(path, FORMAT, reason));
    }
    let mut raw = table.into_table(FORMAT);
    if let Some(text) = class_names(file.metadata.metadata()) {
        raw.class_names = serde_json::from_str(text).map(Some).map_err(|error| {
            DataError::content(path, format!("its list of class names is not JSON: {error}"))
        })?;
    }
    Ok(raw)
}

fn class_names(metadata: &ParquetMetaData) -> Option<&str> {
    let entries = metadata.file_metadata().key_value_metadata()?;
    entries.iter().find(|entry| entry.key == CLASS_NAMES_KEY)?.value.as_deref()
}

/// A file whose footer was read.
pub(crate) struct ParquetBytes<'p> {
    path: &'p Path,
    bytes: Bytes,
    pub metadata: ArrowReaderMetadata,
    /// The memory that a file of this size may take.
    pub limit: u64,
}

impl<'p> ParquetBytes<'p> {
    pub(crate) fn open(path: &'p Path, bytes: Vec<u8>) -> Result<Self, DataError> {
        let limit = unpacked_limit(bytes.len() as u64);
        let bytes = Bytes::from(bytes);
        // The page index and the Arrow schema are only hints: without them there is less to be wrong.
        let options = ArrowReaderOptions::new()
            .with_skip_arrow_metadata(true)
            .with_page_index_policy(PageIndexPolicy::Skip);
        let metadata = ArrowReaderMetadata::load(&bytes, options).map_err(|error| malformed(path, &error))?;
        Ok(Self { path, bytes, metadata, limit })
    }

    /// Reads some columns of all rows, a batch at a time; what they unpack to is taken off `left`.
    pub(crate) fn read(
        &self,
        columns: &[usize],
        left: &mut u64,
        mut visit: impl FnMut(&arrow_array::RecordBatch) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        if columns.is_empty() {
            return Ok(());
        }
        let metadata = self.metadata.metadata();
        let schema = metadata.file_metadata().schema_descr();
        let mask = ProjectionMask::roots(schema, columns.iter().copied());
        let mut largest = 1;
        for group in metadata.row_groups() {
            for (leaf, chunk) in
                group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf))
            {
                let repeated = guard::check_chunk(&self.bytes, chunk, left).map_err(|reason| {
                    let name = schema.column(leaf).path().string();
                    DataError::malformed(self.path, FORMAT, format!("column `{name}`: {reason}"))
                })?;
                largest = largest.max(repeated);
            }
        }
        let reader =
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone())
                .with_projection(mask)
                .with_batch_size((BATCH_BYTES / largest).clamp(1, BATCH_ROWS))
                .build()
                .map_err(|error| malformed(self.path, &error))?;
        for batch in reader {
            visit(&batch.map_err(|error| DataError::malformed(self.path, FORMAT, error.to_string()))?)?;
        }
        Ok(())
    }
}

fn malformed(path: &Path, error: &ParquetError) -> DataError {
    DataError::malformed(path, FORMAT, error.to_string())
}
