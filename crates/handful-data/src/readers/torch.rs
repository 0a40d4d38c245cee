//! Torch files: a pickle, and beside it the bytes of its tensors.
//!
//! Since torch 1.6 the file is a zip archive (`data.pkl`, and one member for each storage); before, it was a
//! sequence of pickles followed by the storages. The old form lives on inside plain pickles of tensors, where each
//! storage is a whole file of that form.

use std::{borrow::Cow, collections::BTreeMap, io::Cursor, path::Path};

use zip::{CompressionMethod, ZipArchive};

use super::pickle::{Pickle, Storage, StorageSource};
use crate::{arrays::ElementType, error::DataError};

const FORMAT: &str = "torch";
/// The first pickle of the old form is this number: protocol 2, a long of ten bytes.
const LEGACY_MAGIC: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

/// Whether the bytes are a torch file of either form.
pub(crate) fn is_torch(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(LEGACY_MAGIC)
}

/// Reads a torch file.
pub(crate) fn read<'a>(path: &Path, bytes: &'a [u8], nesting: usize) -> Result<Pickle<'a>, DataError> {
    if bytes.starts_with(LEGACY_MAGIC) {
        read_legacy(path, bytes, nesting)
    } else {
        read_zip(path, bytes, nesting)
    }
}

/// Reads a torch file that holds one storage and nothing else.
pub(crate) fn read_storage<'a>(
    path: &Path,
    bytes: &'a [u8],
    nesting: usize,
) -> Result<Storage<'a>, DataError> {
    let storage = read(path, bytes, nesting)?.into_storage();
    storage.ok_or_else(|| DataError::malformed(path, FORMAT, "a nested file holds no storage"))
}

fn read_zip<'a>(path: &Path, bytes: &'a [u8], nesting: usize) -> Result<Pickle<'a>, DataError> {
    let zip = ZipArchive::new(Cursor::new(bytes))
        .map_err(|error| DataError::malformed(path, FORMAT, format!("it is not a zip archive ({error})")))?;
    let root = (zip.file_names().flatten())
        .find_map(|name| name.strip_suffix("data.pkl").map(str::to_owned))
        .ok_or_else(|| {
            DataError::content(path, "it is a zip archive, but holds no `data.pkl` as torch files do")
        })?;
    let mut members = StoredMembers { path, bytes, zip, root };
    if members.get("byteorder").is_ok_and(|order| order.starts_with(b"big")) {
        return Err(DataError::content(
            path,
            "its tensors are big-endian; save it on a little-endian machine",
        ));
    }
    let pickle = members.get("data.pkl")?;
    Pickle::read_with(path, pickle, Some(&mut members), nesting)
}

/// The members of an archive, which torch stores without compression, as slices of the file.
struct StoredMembers<'a, 's> {
    path: &'s Path,
    bytes: &'a [u8],
    zip: ZipArchive<Cursor<&'a [u8]>>,
    root: String,
}

impl<'a> StoredMembers<'a, '_> {
    fn get(&mut self, name: &str) -> Result<&'a [u8], DataError> {
        let name = format!("{}{name}", self.root);
        let malformed = |reason: String| DataError::malformed(self.path, FORMAT, reason);
        let member = self.zip.by_name(&name).map_err(|error| malformed(format!("`{name}`: {error}")))?;
        if member.compression() != CompressionMethod::Stored {
            return Err(malformed(format!("`{name}` is compressed, which torch never does")));
        }
        let start = member.data_start().and_then(|start| usize::try_from(start).ok());
        let end =
            start.zip(usize::try_from(member.size()).ok()).and_then(|(start, size)| start.checked_add(size));
        (start.zip(end))
            .and_then(|(start, end)| self.bytes.get(start..end))
            .ok_or_else(|| malformed(format!("`{name}` reaches beyond the end of the file")))
    }
}

impl<'a> StorageSource<'a> for StoredMembers<'a, '_> {
    fn storage(&mut self, key: &str, _: ElementType) -> Result<Option<Cow<'a, [u8]>>, DataError> {
        self.get(&format!("data/{key}")).map(|bytes| Some(Cow::Borrowed(bytes)))
    }
}

fn read_legacy<'a>(path: &Path, bytes: &'a [u8], nesting: usize) -> Result<Pickle<'a>, DataError> {
    let mut rest = &bytes[LEGACY_MAGIC.len()..];
    // The protocol number and a description of the machine.
    for _ in 0..2 {
        let skipped = Pickle::read_with(path, rest, None, nesting)?;
        if skipped.root().get("little_endian").and_then(|value| value.integer()) == Some(0) {
            return Err(DataError::content(
                path,
                "its tensors are big-endian; save it on a little-endian machine",
            ));
        }
        rest = &rest[skipped.length..];
    }
    // The storages come after the object that refers to them: a first reading only learns what they are.
    let mut elements = Elements::default();
    let length = Pickle::read_with(path, rest, Some(&mut elements), nesting)?.length;
    let keys = Pickle::read_with(path, &rest[length..], None, nesting)?;
    let mut data = &rest[length + keys.length..];
    let mut storages = LegacyStorages { path, by_key: BTreeMap::new() };
    for key in keys.root().items().into_iter().flatten() {
        let cut = || DataError::malformed(path, FORMAT, "it ends within its tensors");
        let key = key.text().ok_or_else(|| DataError::malformed(path, FORMAT, "a storage has no key"))?;
        let (count, after) = data.split_first_chunk().ok_or_else(cut)?;
        let count = usize::try_from(u64::from_le_bytes(*count)).map_err(|_| cut())?;
        let size = elements.by_key.get(key).map_or(1, |element| element.size);
        let length = count.checked_mul(size).ok_or_else(cut)?;
        let (storage, after) = after.split_at_checked(length).ok_or_else(cut)?;
        storages.by_key.insert(key.to_owned(), storage);
        data = after;
    }
    Pickle::read_with(path, rest, Some(&mut storages), nesting)
}

/// Notes the element type of each storage and gives no bytes.
#[derive(Default)]
struct Elements {
    by_key: BTreeMap<String, ElementType>,
}

impl<'a> StorageSource<'a> for Elements {
    fn storage(&mut self, key: &str, element: ElementType) -> Result<Option<Cow<'a, [u8]>>, DataError> {
        self.by_key.insert(key.to_owned(), element);
        Ok(None)
    }
}

struct LegacyStorages<'a, 's> {
    path: &'s Path,
    by_key: BTreeMap<String, &'a [u8]>,
}

impl<'a> StorageSource<'a> for LegacyStorages<'a, '_> {
    fn storage(&mut self, key: &str, _: ElementType) -> Result<Option<Cow<'a, [u8]>>, DataError> {
        let bytes = self.by_key.get(key).copied();
        let missing = || DataError::malformed(self.path, FORMAT, format!("the storage `{key}` is missing"));
        bytes.map(|bytes| Some(Cow::Borrowed(bytes))).ok_or_else(missing)
    }
}
