//! The NumPy archive: a zip of array files, stored or deflated.
//!
//! Looked for: `features` (float, `[n, d]`), optional `labels` (whole numbers or text, `[n]`), optional `ids` or
//! `records` (`[n]`), optional `class_names` (text, by label). Without `class_names`, names come from the
//! `.classes.json` beside the file, and else a class is called by its number.

use std::{io::Cursor, path::Path};

use zip::ZipArchive;

use super::{
    archive::read_zip_member,
    labels::{check_names_differ, classes_of_integers, sibling_class_names},
    npy,
};
use crate::{
    arrays::RawArray,
    error::DataError,
    table::{ClassIndex, FeatureTable, TableParts},
};

const FORMAT: &str = "npz";

/// Reads a table from the bytes of an archive.
pub(crate) fn read(path: &Path, bytes: &[u8], sha256: String) -> Result<FeatureTable, DataError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))
        .map_err(|error| DataError::malformed(path, FORMAT, format!("it is not a zip archive ({error})")))?;
    let mut members = Members { path, archive: &mut archive, file_bytes: bytes.len() as u64 };

    let features = members.array("features")?.ok_or_else(|| {
        DataError::content(path, format!("it holds no array `features` (it holds {})", members.names()))
    })?;
    let features = features.array(path)?.to_features(path, "features")?;
    let classes = match members.array("labels")? {
        Some(member) => classes_of(path, &member.array(path)?, &mut members)?,
        None => ClassIndex::unlabeled(features.rows()),
    };
    let ids = match members.array("ids")? {
        Some(member) => Some(texts_or_integers(path, "ids", &member.array(path)?)?),
        None => match members.array("records")? {
            Some(member) => Some(texts_or_integers(path, "records", &member.array(path)?)?),
            None => None,
        },
    };
    FeatureTable::from_parts(TableParts { path: path.to_owned(), sha256, features, ids, classes })
}

fn classes_of(
    path: &Path,
    labels: &RawArray<'_>,
    members: &mut Members<'_, '_>,
) -> Result<ClassIndex, DataError> {
    if labels.element().is_text() {
        let names = labels.to_texts(path, "labels")?;
        // An empty name is how fixed-width text says "no class".
        let names: Vec<Option<&str>> =
            names.iter().map(|name| (!name.is_empty()).then_some(&**name)).collect();
        return Ok(ClassIndex::from_names(&names));
    }
    let labels = labels.to_integers(path, "labels")?;
    let names = match members.array("class_names")? {
        Some(member) => {
            let names = member.array(path)?.to_texts(path, "class_names")?;
            check_names_differ(path, &names)?;
            Some(names)
        }
        None => sibling_class_names(path)?,
    };
    classes_of_integers(path, &labels, names.as_deref())
}

fn texts_or_integers(path: &Path, name: &str, array: &RawArray<'_>) -> Result<Vec<String>, DataError> {
    if array.element().is_text() {
        array.to_texts(path, name)
    } else {
        Ok(array.to_integers(path, name)?.iter().map(i64::to_string).collect())
    }
}

/// The arrays of an archive, by name.
struct Members<'a, 'b> {
    path: &'a Path,
    archive: &'a mut ZipArchive<Cursor<&'b [u8]>>,
    file_bytes: u64,
}

/// One unpacked array file.
struct Member(Vec<u8>);

impl Member {
    fn array(&self, path: &Path) -> Result<RawArray<'_>, DataError> {
        npy::parse_array(path, &self.0)
    }
}

impl Members<'_, '_> {
    fn array(&mut self, name: &str) -> Result<Option<Member>, DataError> {
        let file = format!("{name}.npy");
        match self.archive.index_for_name(&file) {
            Some(index) => read_zip_member(self.path, FORMAT, self.archive, index, self.file_bytes)
                .map(|bytes| Some(Member(bytes))),
            None => Ok(None),
        }
    }

    fn names(&self) -> String {
        let names: Vec<String> = (self.archive.file_names().take(8).flatten())
            .map(|name| name.trim_end_matches(".npy").to_owned())
            .collect();
        if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
    }
}
