//! Unpacking members of zip archives without believing their length fields.

use std::{
    io::{Read, Seek},
    path::Path,
};

use zip::ZipArchive;

use crate::error::DataError;

/// A member may unpack to this many times the bytes of its archive (deflate itself ends at about 1,032)...
const LARGEST_EXPANSION: u64 = 200;
/// ...or to this many bytes, whichever is more: small archives of very regular numbers are honest.
const ALWAYS_ALLOWED: u64 = 4 << 20;

/// The most bytes that a compressed file of `file_bytes` bytes may unpack to before it counts as a bomb.
pub(crate) fn unpacked_limit(file_bytes: u64) -> u64 {
    file_bytes.saturating_mul(LARGEST_EXPANSION).max(ALWAYS_ALLOWED)
}

/// Unpacks one member. The buffer grows with the bytes that really come out, never with the declared size alone.
pub(crate) fn read_zip_member<R: Read + Seek>(
    path: &Path,
    format: &'static str,
    archive: &mut ZipArchive<R>,
    index: usize,
    file_bytes: u64,
) -> Result<Vec<u8>, DataError> {
    let member =
        archive.by_index(index).map_err(|error| DataError::malformed(path, format, error.to_string()))?;
    let name = member.name().map_or_else(|_| format!("member {index}"), |name| name.into_owned());
    let declared = member.size();
    let limit = unpacked_limit(file_bytes);
    if declared > limit {
        return Err(DataError::Limit {
            path: path.to_owned(),
            what: format!("the unpacked size of `{name}`"),
            limit,
        });
    }
    let mut bytes = Vec::with_capacity(declared.min(file_bytes.saturating_mul(2)) as usize);
    member.take(limit + 1).read_to_end(&mut bytes).map_err(|error| {
        DataError::malformed(path, format, format!("`{name}` cannot be unpacked: {error}"))
    })?;
    if bytes.len() as u64 > limit {
        return Err(DataError::Limit {
            path: path.to_owned(),
            what: format!("the unpacked size of `{name}`"),
            limit,
        });
    }
    Ok(bytes)
}
