//! Images in a Parquet file, as Hugging Face stores them: a column `struct<bytes, path>` beside labels.
//!
//! Classes are whole numbers, whose names are in the metadata of the file, or text.

use std::path::Path;

use arrow_array::{Array, cast::AsArray};
use arrow_schema::{DataType, Field};
use serde_json::Value;

use super::{
    cells::{Cell, Cells, is_text},
    columns::is_image,
    parquet::ParquetBytes,
    raw_table::KnownNames,
    unwound::decode,
};
use crate::error::DataError;

/// The images of a file, a row each.
#[derive(Debug, Default)]
pub(crate) struct ImageColumn {
    /// The bytes of each image's file.
    pub files: Vec<Vec<u8>>,
    /// What the file calls an image.
    pub names: Vec<Option<String>>,
    pub labels: Vec<Option<String>>,
}

/// Whether a Parquet file has a column of images.
pub(crate) fn has_images(path: &Path) -> bool {
    let Ok(bytes) = std::fs::read(path) else { return false };
    decode(path, "Parquet", || {
        let file = ParquetBytes::open(path, bytes)?;
        Ok(file.metadata.schema().fields().iter().any(|field| is_image(field)))
    })
    .unwrap_or(false)
}

/// Reads the images of a file.
pub(crate) fn read_images(path: &Path) -> Result<ImageColumn, DataError> {
    let bytes = std::fs::read(path).map_err(|error| DataError::io(path, error))?;
    decode(path, "Parquet", || read(path, bytes))
}

fn read(path: &Path, bytes: Vec<u8>) -> Result<ImageColumn, DataError> {
    let file = ParquetBytes::open(path, bytes)?;
    let fields: Vec<&Field> = file.metadata.schema().fields().iter().map(AsRef::as_ref).collect();
    let image = fields
        .iter()
        .position(|field| is_image(field))
        .ok_or_else(|| DataError::content(path, "it has no column of images (`struct<bytes, path>`)"))?;
    let is_label = |field: &&Field| {
        KnownNames::is_label(field.name()) || matches!(field.name().as_str(), "fine_label" | "cls")
    };
    let readable = |kind: &DataType| is_text(kind) || kind.is_integer();
    let label = fields.iter().position(|field| is_label(field) && readable(field.data_type()));
    let class_names = label.and_then(|label| class_names(&file, fields[label].name()));
    let mut found = ImageColumn::default();
    let mut left = file.limit;
    file.read(&[image], &mut left, |batch| {
        let images = batch.column(0).as_struct();
        let parts = images.column_by_name("bytes").zip(Some(images.column_by_name("path")));
        let (bytes, names) = parts.ok_or_else(|| DataError::content(path, "its images have no bytes"))?;
        for row in 0..images.len() {
            let file = binary(bytes, row).filter(|_| !images.is_null(row)).ok_or_else(|| {
                let reason = "it holds no image, at most the name of one; store the images in the file";
                DataError::row(path, found.files.len(), reason)
            })?;
            found.files.push(file.to_vec());
            found.names.push(names.and_then(|names| text(&Cells::of(names), row)));
        }
        Ok(())
    })?;
    let Some(label) = label else {
        found.labels = vec![None; found.files.len()];
        return Ok(found);
    };
    file.read(&[label], &mut left, |batch| {
        let cells = Cells::of(batch.column(0));
        for row in 0..batch.num_rows() {
            let name = text(&cells, row);
            let number = name.as_ref().and_then(|name| name.parse::<usize>().ok());
            // Hugging Face writes -1 where nobody knows the class.
            let known = name.filter(|name| name != "-1");
            let by_number = number.and_then(|number| class_names.as_ref()?.get(number).cloned());
            found.labels.push(by_number.or(known));
        }
        Ok(())
    })?;
    if found.labels.len() != found.files.len() {
        let (features, other) = (found.files.len(), found.labels.len());
        return Err(DataError::LengthMismatch { path: path.to_owned(), features, what: "labels", other });
    }
    Ok(found)
}

fn binary(array: &dyn Array, row: usize) -> Option<&[u8]> {
    if array.is_null(row) {
        return None;
    }
    match array.data_type() {
        DataType::Binary => Some(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Some(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => Some(array.as_binary_view().value(row)),
        _ => None,
    }
}

fn text(cells: &Cells<'_>, row: usize) -> Option<String> {
    match cells.get(row)? {
        Cell::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Cell::Integer(number) => Some(number.to_string()),
        Cell::Absent => None,
    }
}

/// The names of a `ClassLabel`, which the library `datasets` keeps in the metadata.
fn class_names(file: &ParquetBytes<'_>, label: &str) -> Option<Vec<String>> {
    let entries = file.metadata.metadata().file_metadata().key_value_metadata()?;
    let text = entries.iter().find(|entry| entry.key == "huggingface")?.value.as_deref()?;
    let document: Value = serde_json::from_str(text).ok()?;
    serde_json::from_value(document["info"]["features"][label]["names"].clone()).ok()
}
