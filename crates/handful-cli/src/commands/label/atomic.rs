//! Files that appear whole or not at all.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// Writes to a temporary file beside the target, and gives it the target's name when everything is on disk. On any
/// failure the temporary file goes and what had the name before stays.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), CliError> {
    write_through(path, fill, |partial| File::create(partial))
}

fn write_through<W: Write>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    create: impl FnOnce(&Path) -> std::io::Result<W>,
) -> Result<(), CliError> {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    let partial = PathBuf::from(name);
    let written = create(&partial).and_then(|file| {
        let mut out = BufWriter::with_capacity(256 << 10, file);
        fill(&mut out)?;
        out.flush()
    });
    let result = written.and_then(|()| std::fs::rename(&partial, path));
    result.map_err(|error| {
        // The half-written file is of no use to anybody; that it could not be removed is not the news.
        let _ = std::fs::remove_file(&partial);
        CliError::Failed(format!("{}: cannot write it: {error}; nothing was changed", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that is full after some bytes.
    struct FullDisk(File, usize);

    impl Write for FullDisk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.1 == 0 {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            let count = bytes.len().min(self.1);
            self.1 -= count;
            self.0.write(&bytes[..count])
        }

        fn flush(&mut self) -> std::io::Result<()> {
            self.0.flush()
        }
    }

    #[test]
    fn a_full_disk_leaves_the_earlier_file_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("labelled.csv");
        std::fs::write(&path, "before").expect("written");
        let fill = |out: &mut dyn Write| out.write_all(&[b'x'; 1000]);
        let full = |partial: &Path| File::create(partial).map(|file| FullDisk(file, 100));
        let error = write_through(&path, fill, full).expect_err("the disk is full");
        assert_eq!(error.exit_code(), 1);
        assert!(error.to_string().contains("labelled.csv: cannot write it"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("still there"), "before");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
        write(&path, fill).expect("there is room");
        assert_eq!(std::fs::metadata(&path).expect("written").len(), 1000);
    }
}
