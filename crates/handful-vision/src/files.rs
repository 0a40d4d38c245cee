//! Files that are either old or new, never half of each.

use std::path::Path;

use handful_data::DataError;

use crate::error::VisionError;

pub(crate) fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> VisionError + '_ {
    move |source| VisionError::Io { path: path.to_owned(), source }
}

/// Writes a file that appears whole or not at all.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), VisionError> {
    handful_data::atomic::write(path, |out| out.write_all(bytes))
        .map_err(|error| DataError::from(error).into())
}
