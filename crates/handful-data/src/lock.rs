//! One run at a time in a folder that a run keeps its state in.

use std::{
    fs::{File, OpenOptions},
    path::Path,
};

use crate::{atomic::WriteError, error::DataError};

/// The file whose lock is taken. It stays when the run ends: removing it would let two runs hold two files of one name.
const NAME: &str = ".handful.lock";

/// A folder that is ours until this is dropped, or the program ends in whatever way.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Makes the folder where it is missing, and takes its lock.
    ///
    /// # Errors
    /// [`DataError::Content`] where another run has the lock, [`DataError::Write`] where the folder cannot be written to.
    pub fn take(folder: &Path) -> Result<Self, DataError> {
        let failed = |error| DataError::Write(WriteError::new(folder, error));
        std::fs::create_dir_all(folder).map_err(failed)?;
        let mut options = OpenOptions::new();
        let file =
            options.create(true).truncate(false).write(true).open(folder.join(NAME)).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(std::fs::TryLockError::WouldBlock) => Err(DataError::content(
                folder,
                "another run is writing there; wait for it or name another folder",
            )),
            // A file system without locks, as some network drives are, is no reason to refuse the work.
            Err(std::fs::TryLockError::Error(_)) => Ok(Self { _file: file }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_owner_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("run");
        let first = FolderLock::take(&folder).unwrap();
        let error = FolderLock::take(&folder).unwrap_err().to_string();
        assert!(error.contains("another run is writing there"), "{error}");
        drop(first);
        FolderLock::take(&folder).unwrap();
    }
}
