//! NumPy archives, stored without compression: features hardly shrink, and storing is as fast as the disk.

use std::{io::Write, path::Path};

use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{create, labels, npy};
use crate::{error::DataError, table::FeatureTable};

/// Writes `features`, and where the table has them `labels`, `class_names` and `ids`.
pub(super) fn write(path: &Path, table: &FeatureTable) -> Result<(), DataError> {
    write_as(path, table, CompressionMethod::Stored, npy::features)
}

/// The same with 16-bit features, compressed.
pub(super) fn write_half(path: &Path, table: &FeatureTable) -> Result<(), DataError> {
    write_as(path, table, CompressionMethod::Deflated, npy::half_features)
}

fn write_as(
    path: &Path,
    table: &FeatureTable,
    method: CompressionMethod,
    features: impl Fn(&Path, &FeatureTable, &mut dyn Write) -> Result<(), DataError>,
) -> Result<(), DataError> {
    create(path, |out| {
        let broken = |error: zip::result::ZipError| DataError::io(path, error.into());
        // Members of more than 4 GB need a larger header, which every reader of today knows.
        let options = SimpleFileOptions::default().compression_method(method).large_file(true);
        let mut archive = ZipWriter::new(out);
        archive.start_file("features.npy", options).map_err(broken)?;
        features(path, table, &mut archive)?;
        if table.class_count() > 0 {
            archive.start_file("labels.npy", options).map_err(broken)?;
            npy::integers(path, table.rows(), labels(table), &mut archive)?;
            archive.start_file("class_names.npy", options).map_err(broken)?;
            npy::texts(path, table.class_names(), &mut archive)?;
        }
        if let Some(ids) = table.ids() {
            archive.start_file("ids.npy", options).map_err(broken)?;
            npy::texts(path, ids, &mut archive)?;
        }
        archive.finish().map_err(broken)?;
        Ok(())
    })
}
