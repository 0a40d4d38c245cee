//! One file per format. Each reader turns bytes into a [`FeatureTable`] or says what is wrong with them.
//!
//! Readers share two rules. No length field is believed before the bytes behind it were seen, so a corrupt file
//! cannot make the program allocate more than a small multiple of its size. And nothing in a file is ever run.

mod archive;
#[cfg(feature = "tables")]
mod arrow;
#[cfg(feature = "tables")]
mod cells;
#[cfg(feature = "tables")]
mod columns;
mod delimited;
mod format;
mod hdf5;
mod header;
#[cfg(feature = "tables")]
mod image_column;
mod labels;
mod layouts;
mod npy;
mod npy_table;
mod npz;
#[cfg(feature = "tables")]
pub(crate) mod parquet;
pub(crate) mod pickle;
mod raw_table;
mod records;
pub(crate) mod safetensors;
mod torch;
#[cfg(feature = "tables")]
pub(crate) mod unwound;

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

pub(crate) use archive::{Unpacked, read_zip_member, unpacked_limit};
pub use format::TableFormat;
#[cfg(feature = "tables")]
pub(crate) use image_column::{has_images, read_images};
pub(crate) use labels::sibling;
#[cfg(feature = "tables")]
pub(crate) use parquet::CLASS_NAMES_KEY;
pub(crate) use raw_table::EMBEDDER;
use raw_table::{Labels, RawTable};
pub(crate) use records::{Records, Separator};
use sha2::{Digest, Sha256};

use crate::{
    error::DataError,
    labels::read_labels,
    table::{ClassIndex, FeatureTable},
};

/// How a table is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// A `labels.csv` (`id,label`) whose classes replace those of the file.
    pub labels: Option<PathBuf>,
    /// Whether the first line of a text table names its columns; told from the first two lines without this.
    pub header: Option<bool>,
    /// The column that names the rows, by its name or by its number from 1, in tables whose columns have names.
    pub id_column: Option<String>,
}

impl OpenOptions {
    /// Refuses what a format has no use for, which would otherwise go unnoticed.
    fn check(&self, path: &Path, format: TableFormat) -> Result<(), DataError> {
        let is_text = matches!(format, TableFormat::Csv | TableFormat::Tsv);
        let has_columns = is_text || matches!(format, TableFormat::Parquet | TableFormat::Arrow);
        if self.header.is_some() && !is_text {
            return Err(DataError::content(
                path,
                "only text tables have lines, of which the first may be a header",
            ));
        }
        if self.id_column.is_some() && !has_columns {
            return Err(DataError::content(
                path,
                "its columns have no names, so none of them can name the rows",
            ));
        }
        Ok(())
    }
}

/// Reads a feature table and checks every feature; the format is told by the extension of the file.
///
/// ```no_run
/// let table = handful_data::read_table("features.npz".as_ref())?;
/// println!("{} rows, {} classes", table.rows(), table.class_count());
/// # Ok::<(), handful_data::DataError>(())
/// ```
pub fn read_table(path: &Path) -> Result<FeatureTable, DataError> {
    let table = open_table(path, &OpenOptions::default())?;
    table.check_finite()?;
    Ok(table)
}

/// Opens a feature table without reading the features of formats that can be mapped (`.npy`, `.safetensors`), so
/// that a table of any size opens at once. [`FeatureTable::check_finite`] does the part that was left out.
pub fn open_table(path: &Path, options: &OpenOptions) -> Result<FeatureTable, DataError> {
    let format = TableFormat::of_path(path).map_err(|unknown| {
        std::fs::metadata(path).map_or_else(|error| DataError::io(path, error), |_| unknown)
    })?;
    options.check(path, format)?;
    refuse_pipes(path)?;
    let (mut raw, sha256) = match format {
        TableFormat::Npy => (npy_table::open(path)?, None),
        TableFormat::Safetensors => (safetensors::open(path)?, None),
        _ => {
            let bytes = std::fs::read(path).map_err(|error| DataError::io(path, error))?;
            let digest = hex_digest(&bytes);
            (parse_raw(format, path, bytes.into(), options)?, Some(digest))
        }
    };
    if format == TableFormat::Npy {
        npy_table::attach_siblings(path, &mut raw)?;
    }
    if raw.class_names.is_none() && raw.labels != Labels::Absent {
        raw.class_names = labels::sibling_class_names(path)?;
    }
    let table = raw.into_table(path, sha256)?;
    match &options.labels {
        Some(labels) => relabel(table, labels),
        None => Ok(table),
    }
}

/// A pipe that nobody writes to would be waited for without end; no table is read from one, as most formats begin at the end.
fn refuse_pipes(path: &Path) -> Result<(), DataError> {
    let kind = std::fs::metadata(path).map_err(|error| DataError::io(path, error))?.file_type();
    if kind.is_file() || kind.is_dir() {
        return Ok(());
    }
    Err(DataError::io(path, std::io::Error::other("a pipe or device is no table; give a file")))
}

/// Reads a feature table from bytes that are already in memory; `path` is only used in messages, and no other file
/// is looked at.
pub fn parse_table(format: TableFormat, path: &Path, bytes: &[u8]) -> Result<FeatureTable, DataError> {
    let table = parse_raw(format, path, bytes.into(), &OpenOptions::default())?
        .into_table(path, Some(hex_digest(bytes)))?;
    table.check_finite()?;
    Ok(table)
}

fn parse_raw(
    format: TableFormat,
    path: &Path,
    bytes: Cow<'_, [u8]>,
    options: &OpenOptions,
) -> Result<RawTable, DataError> {
    let owned = bytes;
    let bytes: &[u8] = &owned;
    match format {
        TableFormat::Npy => npy_table::read(path, bytes),
        TableFormat::Npz => npz::read(path, bytes),
        TableFormat::Safetensors => safetensors::read(path, bytes),
        TableFormat::Csv => delimited::read(path, bytes, Separator::of_first_line(bytes), options),
        TableFormat::Tsv => delimited::read(path, bytes, Separator::Tab, options),
        #[cfg(feature = "tables")]
        TableFormat::Parquet => {
            unwound::decode(path, "Parquet", || parquet::read(path, owned.into_owned(), options))
        }
        #[cfg(feature = "tables")]
        TableFormat::Arrow => {
            unwound::decode(path, "Arrow", || arrow::read(path, owned.into_owned(), options))
        }
        #[cfg(not(feature = "tables"))]
        TableFormat::Parquet => Err(DataError::not_built(path, "Parquet")),
        #[cfg(not(feature = "tables"))]
        TableFormat::Arrow => Err(DataError::not_built(path, "Arrow")),
        TableFormat::Pickle => layouts::read(path, bytes),
        TableFormat::Hdf5 => hdf5::read(path, bytes),
    }
}

fn relabel(table: FeatureTable, labels: &Path) -> Result<FeatureTable, DataError> {
    let mut names: Vec<Option<String>> = vec![None; table.rows()];
    for (row, label) in read_labels(labels, &table)? {
        names[row] = Some(label);
    }
    table.with_classes(ClassIndex::from_names(&names))
}

/// SHA-256 of bytes in hexadecimal: a name for their content.
pub fn content_digest(bytes: &[u8]) -> String {
    hex_digest(bytes)
}

/// SHA-256 in hexadecimal.
pub(crate) fn hex_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
