//! NumPy archives, stored without compression: features hardly shrink, and storing is as fast as the disk.

use std::{
    fs::File,
    io::{self, BufWriter, Seek, SeekFrom, Write},
    path::Path,
};

use handful::embedder::Embedder;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{labels, npy};
use crate::{atomic::write_file, error::DataError, readers::EMBEDDER, table::FeatureTable};

/// Writes `features`, and where the table has them `labels`, `class_names`, `ids`, `maps` or `views`, and `network`.
pub(super) fn write(path: &Path, table: &FeatureTable) -> Result<(), DataError> {
    write_as(path, table, CompressionMethod::Stored, false)
}

/// The same with 16-bit features, compressed.
pub(super) fn write_half(path: &Path, table: &FeatureTable) -> Result<(), DataError> {
    write_as(path, table, CompressionMethod::Deflated, true)
}

fn write_as(
    path: &Path,
    table: &FeatureTable,
    method: CompressionMethod,
    half: bool,
) -> Result<(), DataError> {
    write_file(path, |out| {
        let broken = |error: zip::result::ZipError| DataError::write(path, error.into());
        // Members of more than 4 GB need a larger header, which every reader of today knows.
        let options = SimpleFileOptions::default().compression_method(method).large_file(true);
        let mut out = Muted { out, error: None };
        let mut archive = ZipWriter::new(&mut out);
        archive.start_file("features.npy", options).map_err(broken)?;
        let features = if half { npy::half_features } else { npy::features };
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
        if let Some(parts) = table.parts() {
            archive.start_file(format!("{}.npy", parts.kind().name()), options).map_err(broken)?;
            npy::parts(path, parts, half, &mut archive)?;
        }
        if let Some(Embedder { network, weights }) = table.embedder() {
            archive.start_file(format!("{EMBEDDER}.npy"), options).map_err(broken)?;
            npy::texts(path, &[network, weights], &mut archive)?;
        }
        archive.finish().map_err(broken)?;
        out.error.map_or(Ok(()), |error| Err(DataError::write(path, error)))
    })
}

/// Keeps the first error for the end and swallows what comes after it: an archive that is dropped half-written would
/// print a message of its own.
struct Muted<'w> {
    out: &'w mut BufWriter<File>,
    error: Option<io::Error>,
}

impl Muted<'_> {
    fn attempt<T>(
        &mut self,
        instead: T,
        act: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.error.is_none() {
            match act(self.out) {
                Ok(value) => return Ok(value),
                Err(error) => self.error = Some(error),
            }
        }
        Ok(instead)
    }
}

impl Write for Muted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), Write::flush)
    }
}

impl Seek for Muted<'_> {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.attempt(0, |out| out.seek(place))
    }
}
