//! Unpacking archives without believing their length fields.

use std::{
    io::{self, Read, Seek},
    path::Path,
};

use zip::ZipArchive;

use crate::error::DataError;

/// Small archives of very regular numbers are honest: this much always passes...
const ALWAYS_ALLOWED: u64 = 4 << 20;
/// ...and this many times the archive (deflate itself ends at about 1,032)...
const LARGEST_EXPANSION: u64 = 200;
/// ...up to here...
const LARGEST_REGULAR: u64 = 256 << 20;
/// ...beyond which real data, which do not repeat themselves, unpack to less than this many times the archive.
const USUAL_EXPANSION: u64 = 12;

/// The most bytes that a compressed file of `file_bytes` bytes may unpack to before it counts as a bomb.
pub(crate) fn unpacked_limit(file_bytes: u64) -> u64 {
    let regular = file_bytes.saturating_mul(LARGEST_EXPANSION).min(LARGEST_REGULAR);
    regular.max(file_bytes.saturating_mul(USUAL_EXPANSION)).max(ALWAYS_ALLOWED)
}

/// A stream that ends with an error once more than its limit came out of it, read or passed over.
pub(crate) struct Unpacked<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Unpacked<R> {
    pub(crate) fn new(inner: R, limit: u64) -> Self {
        Self { inner, left: limit }
    }

    /// Whether an error is that of the limit.
    pub(crate) fn is_over(error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::FileTooLarge
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "beyond the limit"))?;
        Ok(count)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_grows_with_the_file_and_slower_once_it_is_large() {
        assert_eq!(unpacked_limit(10), 4 << 20);
        assert_eq!(unpacked_limit(1 << 20), 200 << 20);
        assert_eq!(unpacked_limit(2 << 20), 256 << 20);
        assert_eq!(unpacked_limit(28 << 20), 336 << 20);
        assert_eq!(unpacked_limit(1 << 30), 12 << 30);
    }

    #[test]
    fn a_stream_ends_at_its_limit() {
        let read = |limit: u64| io::copy(&mut Unpacked::new(&[0; 100][..], limit), &mut io::sink());
        assert_eq!(read(100).unwrap(), 100);
        assert!(Unpacked::<&[u8]>::is_over(&read(99).unwrap_err()));
    }
}
