//! One file per format that is written. Every one can be read back to exactly the same table: features bit for
//! bit, ids, class names and their order.
//!
//! Features are streamed, so that a table larger than memory can be converted, and a file appears under its name
//! only when it is complete.

#[cfg(feature = "tables")]
mod columns;
mod delimited;
mod npy;
mod npz;
#[cfg(feature = "tables")]
mod parquet;
mod safetensors;
#[cfg(not(feature = "tables"))]
mod without_tables;

use std::{io::Write, path::Path};

use crate::{
    atomic::write,
    error::DataError,
    readers::{Separator, TableFormat, sibling},
    table::FeatureTable,
};

#[cfg(feature = "tables")]
pub use columns::{Cells, write_columns};
#[cfg(not(feature = "tables"))]
pub use without_tables::{Cells, write_columns};

const WRITABLE: &str = ".npy, .npz, .safetensors, .parquet, .csv, .tsv";

/// Writes a table; the format is told by the extension of the file.
///
/// Formats without room for everything put the rest beside the file: `.npy` its labels and ids (`x.labels.npy`,
/// `x.ids.npy`), text tables the order of the classes where it is not the order of their names
/// (`x.classes.json`).
pub fn write_table(path: &Path, table: &FeatureTable) -> Result<(), DataError> {
    let unknown = || DataError::UnknownFormat { path: path.to_owned(), expected: WRITABLE };
    let format = TableFormat::of_path(path).map_err(|_| unknown())?;
    if let (Ok(input), Ok(output)) = (table.path().canonicalize(), path.canonicalize())
        && input == output
    {
        return Err(DataError::content(path, "it is the file being read; write to another"));
    }
    match format {
        TableFormat::Npy => npy::write(path, table),
        TableFormat::Npz => npz::write(path, table),
        TableFormat::Safetensors => safetensors::write(path, table),
        #[cfg(feature = "tables")]
        TableFormat::Parquet => parquet::write(path, table),
        #[cfg(not(feature = "tables"))]
        TableFormat::Parquet => Err(DataError::not_built(path, "Parquet")),
        TableFormat::Csv => delimited::write(path, table, Separator::Comma),
        TableFormat::Tsv => delimited::write(path, table, Separator::Tab),
        _ => Err(unknown()),
    }
}

/// Writes an `.npz` with features rounded to two and a half decimal digits, compressed: for tables that are shipped,
/// not worked on.
pub fn write_half_npz(path: &Path, table: &FeatureTable) -> Result<(), DataError> {
    npz::write_half(path, table)
}

/// Streams all features as little-endian 32-bit floats.
fn write_features(path: &Path, table: &FeatureTable, out: &mut dyn Write) -> Result<(), DataError> {
    let mut bytes = Vec::new();
    table.for_each_block(|_, values| {
        // A table in memory comes as one block, which need not be copied whole.
        for values in values.chunks(64 << 10) {
            bytes.clear();
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            out.write_all(&bytes).map_err(|error| DataError::write(path, error))?;
        }
        Ok(())
    })
}

/// The class number of each row, -1 for a row without one.
fn labels(table: &FeatureTable) -> impl Iterator<Item = i64> + '_ {
    (0..table.rows()).map(|row| table.class_of_row(row).map_or(-1, |class| class as i64))
}

/// Writes the order of the classes beside a file whose labels are names, where the names alone do not give it.
fn write_class_order(path: &Path, table: &FeatureTable) -> Result<(), DataError> {
    let beside = sibling(path, "classes.json");
    if table.classes().is_in_name_order() {
        // A list left by an earlier table of this name would be read with this one.
        return match std::fs::remove_file(&beside) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(DataError::write(&beside, error))
            }
            _ => Ok(()),
        };
    }
    write(&beside, |out| Ok(serde_json::to_writer(out, table.class_names())?))?;
    Ok(())
}
