//! The NumPy archive: a zip of array files, stored or deflated.
//!
//! Looked for: `features` (float, `[n, d]`), optional `labels` (whole numbers or text, `[n]`), optional `ids` or
//! `records` (`[n]`), optional `class_names` (text, by label), optional `maps` or `views` (float, `[n, vectors, d]`), which
//! `embed --maps` and `embed --views` keep, optional `network` (two texts: what computed the features, and the digest of its
//! weights).

use std::{io::Cursor, path::Path};

use handful::parts::PartKind;
use zip::ZipArchive;

use super::{
    archive::read_zip_member,
    npy,
    raw_table::{EMBEDDER, KnownNames, Labels, RawTable, embedder_of_texts},
};
use crate::{arrays::RawArray, error::DataError, table::RowParts};

const FORMAT: &str = "npz";

/// Reads a table from the bytes of an archive.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<RawTable, DataError> {
    let mut archive = Archive::open(path, bytes)?;
    let names = KnownNames::find(path, &archive.names())?;
    let features = archive.with_array(&names.features, |array| array.to_features(path, &names.features))?;
    let mut table = RawTable::new("NumPy archive (npz)", features);
    if let Some(name) = &names.labels {
        table.labels = archive.with_array(name, |array| labels_of_array(path, name, array))?;
    }
    if let Some(name) = &names.ids {
        table.ids = Some(archive.with_array(name, |array| texts_of_array(path, name, array))?);
    }
    if let Some(name) = &names.class_names {
        table.class_names = Some(archive.with_array(name, |array| array.to_texts(path, name))?);
    }
    for kind in [PartKind::Maps, PartKind::Views] {
        if archive.names().iter().any(|name| name == kind.name()) {
            table.parts = Some(archive.with_array(kind.name(), |array| parts_of_array(path, kind, array))?);
            break;
        }
    }
    if archive.names().iter().any(|name| name == EMBEDDER) {
        // Somebody else's array of that name may hold anything.
        let texts = archive.with_array(EMBEDDER, |array| array.to_texts(path, EMBEDDER));
        table.embedder = texts.ok().and_then(|texts| embedder_of_texts(&texts));
    }
    Ok(table)
}

/// What rows are made of, from a float array of three dimensions.
fn parts_of_array(path: &Path, kind: PartKind, array: &RawArray<'_>) -> Result<RowParts, DataError> {
    let name = kind.name();
    let parts = match *array.shape() {
        [_, count, width] if width > 0 => RowParts::new(kind, count, array.to_rows(path, name)?),
        _ => None,
    };
    let reason =
        || format!("`{name}` has shape {:?}, but {name} are [rows, vectors, numbers]", array.shape());
    let parts = parts.ok_or_else(|| DataError::content(path, reason()))?;
    match parts.vectors().first_non_finite() {
        Some((row, column, value)) => Err(DataError::NonFinite { path: path.to_owned(), row, column, value }),
        None => Ok(parts),
    }
}

/// Labels from an array of whole numbers or of text.
pub(crate) fn labels_of_array(path: &Path, name: &str, array: &RawArray<'_>) -> Result<Labels, DataError> {
    if array.element().is_text() {
        // An empty name is how fixed-width text says "no class".
        let names = array.to_texts(path, name)?;
        Ok(Labels::Names(names.into_iter().map(|name| (!name.is_empty()).then_some(name)).collect()))
    } else {
        array.to_integers(path, name).map(Labels::Integers)
    }
}

/// Text from an array of text or of whole numbers.
pub(crate) fn texts_of_array(
    path: &Path,
    name: &str,
    array: &RawArray<'_>,
) -> Result<Vec<String>, DataError> {
    if array.element().is_text() {
        array.to_texts(path, name)
    } else {
        Ok(array.to_integers(path, name)?.iter().map(i64::to_string).collect())
    }
}

/// The arrays of an archive, by name.
struct Archive<'a> {
    path: &'a Path,
    zip: ZipArchive<Cursor<&'a [u8]>>,
    file_bytes: u64,
}

impl<'a> Archive<'a> {
    fn open(path: &'a Path, bytes: &'a [u8]) -> Result<Self, DataError> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| {
            DataError::malformed(path, FORMAT, format!("it is not a zip archive ({error})"))
        })?;
        Ok(Self { path, zip, file_bytes: bytes.len() as u64 })
    }

    fn names(&self) -> Vec<String> {
        self.zip
            .file_names()
            .flatten()
            .filter_map(|name| name.strip_suffix(".npy").map(str::to_owned))
            .collect()
    }

    fn with_array<T>(
        &mut self,
        name: &str,
        convert: impl FnOnce(&RawArray<'_>) -> Result<T, DataError>,
    ) -> Result<T, DataError> {
        let index = self.zip.index_for_name(&format!("{name}.npy"));
        let index =
            index.ok_or_else(|| DataError::content(self.path, format!("it holds no array `{name}`")))?;
        let bytes = read_zip_member(self.path, FORMAT, &mut self.zip, index, self.file_bytes)?;
        convert(&npy::parse_array(self.path, &bytes)?)
    }
}
