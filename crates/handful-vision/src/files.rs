//! Files that are either old or new, never half of each.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::VisionError;

pub(crate) fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> VisionError + '_ {
    move |source| VisionError::Io { path: path.to_owned(), source }
}

/// Writes a file beside its target, waits until it is on the disk, and renames it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), VisionError> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    // A name that nobody else writes to, neither another thread nor another process.
    name.push(format!(".{}-{number}.partial", std::process::id()));
    let partial = PathBuf::from(name);
    let write = || {
        let mut file = File::create(&partial)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&partial, path)?;
        // The rename itself is only on the disk when the folder is.
        match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        io_error(path)(error)
    })
}
