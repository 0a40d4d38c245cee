//! Members of tar and zip archives, read into memory.

use std::{
    fs::File,
    io::{BufReader, Cursor, Read},
    path::{Component, Path},
};

use tar::Archive;
use zip::ZipArchive;

use crate::{
    error::DataError,
    readers::{Unpacked, read_zip_member, unpacked_limit},
};

/// Archives are padded with zeros to a whole number of blocks; no program pads further.
const LONGEST_PADDING: u64 = 16 << 20;

/// One file of an archive.
pub(super) struct Member {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Whether a name is that of a tar archive, compressed or not.
pub(super) fn is_tar(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
    [".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz"].iter().any(|ending| name.ends_with(ending))
}

/// Reads the files of a tar archive whose names are `wanted`.
pub(super) fn read_tar(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Member>, DataError> {
    let file = File::open(path).map_err(|error| DataError::io(path, error))?;
    let file_bytes = file.metadata().map_err(|error| DataError::io(path, error))?.len();
    let limit = unpacked_limit(file_bytes);
    let file = BufReader::with_capacity(256 << 10, file);
    let name = path.to_string_lossy().to_ascii_lowercase();
    let unpacked: Box<dyn Read> = if name.ends_with("gz") {
        Box::new(flate2::read::MultiGzDecoder::new(file))
    } else if name.ends_with("xz") {
        Box::new(lzma_rust2::XzReader::new(file, true))
    } else {
        Box::new(file)
    };
    let malformed = |error: std::io::Error| {
        if Unpacked::<File>::is_over(&error) {
            return DataError::Limit { path: path.to_owned(), what: "the unpacked size".to_owned(), limit };
        }
        DataError::malformed(path, "tar archive", error.to_string())
    };
    let mut members = Vec::new();
    // Members that are not wanted are unpacked too, to get past them.
    let mut archive = Archive::new(Unpacked::new(unpacked, limit));
    for entry in archive.entries().map_err(malformed)? {
        let mut entry = entry.map_err(malformed)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        check_name(path, &name)?;
        if !wanted(&name) {
            continue;
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(malformed)?;
        members.push(Member { name, bytes });
    }
    // The archive ends before its compressed stream does: only the end of that has the checksum.
    let rest = std::io::copy(&mut archive.into_inner().take(LONGEST_PADDING), &mut std::io::sink());
    if rest.map_err(malformed)? == LONGEST_PADDING {
        return Err(DataError::malformed(path, "tar archive", "it goes on after its end"));
    }
    Ok(members)
}

/// Reads the files of a zip archive whose names are `wanted`.
pub(super) fn read_zip(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Member>, DataError> {
    const FORMAT: &str = "zip archive";
    let bytes = std::fs::read(path).map_err(|error| DataError::io(path, error))?;
    let malformed = |error: zip::result::ZipError| DataError::malformed(path, FORMAT, error.to_string());
    let mut archive = ZipArchive::new(Cursor::new(&bytes)).map_err(malformed)?;
    let file_bytes = bytes.len() as u64;
    let limit = unpacked_limit(file_bytes);
    let mut members = Vec::new();
    let mut total = 0;
    for index in 0..archive.len() {
        let name = {
            let member = archive.by_index_raw(index).map_err(malformed)?;
            if member.is_dir() {
                continue;
            }
            member.name().map_err(malformed)?.into_owned()
        };
        check_name(path, &name)?;
        if wanted(&name) {
            let bytes = read_zip_member(path, FORMAT, &mut archive, index, file_bytes)?;
            total += bytes.len() as u64;
            if total > limit {
                return Err(DataError::Limit {
                    path: path.to_owned(),
                    what: "the unpacked size".to_owned(),
                    limit,
                });
            }
            members.push(Member { name, bytes });
        }
    }
    Ok(members)
}

/// An honest archive only names files below itself. Nothing is unpacked to disk here, but an archive that tries is
/// not the dataset it seems to be.
fn check_name(path: &Path, name: &str) -> Result<(), DataError> {
    let harmless = |component| matches!(component, Component::Normal(_) | Component::CurDir);
    if Path::new(name).components().all(harmless) {
        return Ok(());
    }
    Err(DataError::content(path, format!("the member `{name}` points outside the archive; it is refused")))
}
