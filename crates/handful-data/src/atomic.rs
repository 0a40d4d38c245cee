//! Files that appear whole or not at all.
//!
//! Everything that this project writes goes through here: into a temporary file of a name nobody else uses, in the
//! folder of the destination, on to the disk, and only then under the name asked for. Whatever stops a run on the way
//! (a full disk, a kill, a power cut, a second run with the same output) leaves the earlier file as it was.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions, Permissions},
    hash::{BuildHasher, RandomState},
    io::{self, BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

const BUFFER_BYTES: usize = 256 << 10;

/// Why a file was not written. Whatever had its name before is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// There can be no file of that name: its folder does not exist, or it is a folder itself.
    #[error("{}: cannot write it: {}", path.display(), reason(source))]
    Destination {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The destination is right, but writing failed: the disk is full, read-only or broken.
    #[error("{}: cannot write it: {}; nothing was changed", path.display(), reason(source))]
    Device {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// What the operating system said, in the words of somebody who named a file.
fn reason(source: &io::Error) -> String {
    match source.kind() {
        ErrorKind::NotFound => "there is no such folder".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::StorageFull => "the disk is full".to_owned(),
        _ => source.to_string(),
    }
}

impl WriteError {
    /// The error of writing `path`, sorted by what the operating system said.
    pub fn new(path: &Path, source: io::Error) -> Self {
        let (path, source) = (path.to_owned(), unwrapped(source));
        match source.kind() {
            ErrorKind::NotFound
            | ErrorKind::IsADirectory
            | ErrorKind::NotADirectory
            | ErrorKind::InvalidFilename
            | ErrorKind::InvalidInput => Self::Destination { path, source },
            _ => Self::Device { path, source },
        }
    }

    /// The file that was to be written.
    pub fn path(&self) -> &Path {
        match self {
            Self::Destination { path, .. } | Self::Device { path, .. } => path,
        }
    }
}

/// The operating system's own error, where the writer of CSV put it into one of its own.
fn unwrapped(error: io::Error) -> io::Error {
    match error.downcast::<csv::Error>().map(csv::Error::into_kind) {
        Ok(csv::ErrorKind::Io(inner)) => inner,
        Ok(other) => io::Error::other(format!("{other:?}")),
        Err(error) => error,
    }
}

/// Writes a file through a buffer.
///
/// ```no_run
/// handful_data::atomic::write("labels.csv".as_ref(), |out| out.write_all(b"id,label\n"))?;
/// # Ok::<(), handful_data::atomic::WriteError>(())
/// ```
///
/// # Errors
/// [`WriteError`] where the file, or the folder's record of it, could not be brought to the disk.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), WriteError> {
    write_file(path, |out| fill(out).map_err(|error| WriteError::new(path, error)))
}

/// Writes a file through a buffer that can seek, as archives need it, by a function with errors of its own.
///
/// # Errors
/// Those of `fill`, and [`WriteError`] as [`write()`] gives it.
pub fn write_file<E: From<WriteError>>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |error| E::from(WriteError::new(path, error));
    let destination = Destination::of(path).map_err(failed)?;
    let (target, permissions) = match destination {
        Destination::Stream => {
            let mut out = buffered(OpenOptions::new().write(true).open(path).map_err(failed)?);
            fill(&mut out)?;
            return out.flush().map_err(failed);
        }
        Destination::File { target, permissions } => (target, permissions),
    };
    let folder = folder_of(&target);
    let (temporary, file) = Temporary::create(folder).map_err(failed)?;
    let mut out = buffered(file);
    fill(&mut out)?;
    let finish = || -> io::Result<()> {
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        drop(file);
        temporary.rename(&target)?;
        sync_folder(folder)
    };
    finish().map_err(failed)
}

/// Finds out before the work, not after it, that there can be no file of that name.
///
/// # Errors
/// [`WriteError::Destination`] where its folder does not exist or it is a folder itself.
pub fn check_destination(path: &Path) -> Result<(), WriteError> {
    let checked = Destination::of(path).and_then(|destination| match destination {
        Destination::File { target, .. } => std::fs::metadata(folder_of(&target))
            .and_then(|facts| if facts.is_dir() { Ok(()) } else { Err(ErrorKind::NotADirectory.into()) }),
        Destination::Stream => Ok(()),
    });
    checked.map_err(|error| WriteError::new(path, error))
}

fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn buffered(file: File) -> BufWriter<File> {
    BufWriter::with_capacity(BUFFER_BYTES, file)
}

/// What the name of an output stands for.
enum Destination {
    /// A file, old or new; links are followed, so that they stay links.
    File { target: PathBuf, permissions: Option<Permissions> },
    /// A terminal, a pipe or `/dev/null`: there is nothing to keep, and nothing to rename over.
    Stream,
}

impl Destination {
    fn of(path: &Path) -> io::Result<Self> {
        if path.file_name().is_none() {
            return Err(ErrorKind::IsADirectory.into());
        }
        match std::fs::metadata(path) {
            Ok(facts) if facts.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(facts) if facts.is_file() => {
                let permissions = Some(facts.permissions());
                Ok(Self::File { target: path.canonicalize()?, permissions })
            }
            Ok(_) => Ok(Self::Stream),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(Self::File { target: path.to_owned(), permissions: None })
            }
            Err(error) => Err(error),
        }
    }
}

/// A file under a name that no other process or thread uses, removed unless it was renamed.
struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    fn create(folder: &Path) -> io::Result<(Self, File)> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNTER.fetch_add(1, Ordering::Relaxed);
            // Process ids repeat on other machines that share the folder, so there is chance in the name too.
            let chance = RandomState::new().hash_one(count) as u32;
            let name = OsString::from(format!(".{}-{count}-{chance:08x}.partial", std::process::id()));
            let path = folder.join(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((Self { path, renamed: false }, file)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn rename(mut self, target: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, target)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // The half-written file is of no use to anybody; that it could not be removed is not the news.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A new name is only on the disk when the folder is.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some network file systems know no such thing for folders.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        result => result,
    }
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_full_disk_leaves_the_earlier_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labelled.csv");
        std::fs::write(&path, "before").unwrap();
        let error = write(&path, |out| {
            out.write_all(&[b'x'; 1000])?;
            Err(ErrorKind::StorageFull.into())
        })
        .unwrap_err();
        assert!(matches!(error, WriteError::Device { .. }));
        assert!(
            error
                .to_string()
                .ends_with("labelled.csv: cannot write it: the disk is full; nothing was changed")
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(names(folder.path()), ["labelled.csv"]);
        write(&path, |out| out.write_all(&[b'x'; 1000])).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 1000);
        assert_eq!(names(folder.path()), ["labelled.csv"]);
    }

    #[test]
    fn a_panic_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let result = std::panic::catch_unwind(|| write(&path, |_| panic!("a bug")));
        assert!(result.is_err() && names(folder.path()).is_empty());
    }

    #[test]
    fn writers_of_one_name_do_not_mix() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shared.bin");
        std::thread::scope(|scope| {
            for writer in 0..8u8 {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..20 {
                        write(path, |out| (0..64).try_for_each(|_| out.write_all(&[writer; 4096]))).unwrap();
                        let bytes = std::fs::read(path).unwrap();
                        assert_eq!(bytes.len(), 64 * 4096);
                        assert!(bytes.iter().all(|byte| *byte == bytes[0]));
                    }
                });
            }
        });
        assert_eq!(names(folder.path()), ["shared.bin"]);
    }

    #[test]
    fn a_wrong_destination_is_not_a_broken_disk() {
        let folder = tempfile::tempdir().unwrap();
        for (path, words) in [
            (folder.path().join("absent/out.csv"), "there is no such folder"),
            (folder.path().to_owned(), "it is a folder"),
        ] {
            assert!(check_destination(&path).is_err());
            let error = write(&path, |_| Ok(())).unwrap_err();
            assert!(
                matches!(error, WriteError::Destination { .. }) && error.to_string().contains(words),
                "{error}"
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_permissions_and_devices_stay_what_they_are() {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        write(&link, |out| out.write_all(b"new")).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        write(Path::new("/dev/null"), |out| out.write_all(b"new")).unwrap();
        assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }
}
