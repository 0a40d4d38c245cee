//! A single NumPy array as a table: the features, with labels and ids in files beside it.
//!
//! The array is mapped, not read, so that a table of any size opens at once. A column-major array is the
//! exception: gathering a row of it would touch every page, so it is turned into memory.

use std::path::Path;

use super::{
    labels::sibling,
    npy::{parse_array, parse_header},
    npz::{labels_of_array, texts_of_array},
    raw_table::{Labels, RawTable},
};
use crate::{
    arrays::Order,
    error::DataError,
    table::{FeatureStore, MappedFeatures, map_file},
};

const FORMAT: &str = "NumPy array (npy)";

/// Opens an array file as a mapped table.
pub(crate) fn open(path: &Path) -> Result<RawTable, DataError> {
    let map = map_file(path)?;
    let header = parse_header(path, &map)?;
    let array = parse_array(path, &map)?;
    if header.order == Order::ColumnMajor || header.shape.len() != 2 || !header.element.is_float() {
        return Ok(RawTable::new(FORMAT, array.to_features(path, "the array")?));
    }
    let (rows, columns) = (header.shape[0], header.shape[1]);
    let mapped = MappedFeatures::new(map, header.data_start, header.element, rows, columns)
        .ok_or_else(|| DataError::malformed(path, "npy", "it ends before its last row"))?;
    Ok(RawTable {
        format: FORMAT,
        features: FeatureStore::File(mapped),
        labels: Labels::Absent,
        class_names: None,
        ids: None,
        notes: Vec::new(),
        parts: None,
        embedder: None,
    })
}

/// Reads an array file from memory.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<RawTable, DataError> {
    Ok(RawTable::new(FORMAT, parse_array(path, bytes)?.to_features(path, "the array")?))
}

/// Labels and ids from the files beside an array: `x.labels.npy` or `x.labels.txt` (one a line), and `x.ids.npy`
/// or `x.ids.txt`.
pub(crate) fn attach_siblings(path: &Path, table: &mut RawTable) -> Result<(), DataError> {
    if table.labels == Labels::Absent {
        if let Some(bytes) = read_if_present(&sibling(path, "labels.npy"))? {
            let labels_path = sibling(path, "labels.npy");
            table.labels = labels_of_array(&labels_path, "the array", &parse_array(&labels_path, &bytes)?)?;
        } else if let Some(lines) = read_lines(&sibling(path, "labels.txt"))? {
            table.labels =
                Labels::Names(lines.into_iter().map(|line| (!line.is_empty()).then_some(line)).collect());
        }
    }
    if table.ids.is_none() {
        if let Some(bytes) = read_if_present(&sibling(path, "ids.npy"))? {
            let ids_path = sibling(path, "ids.npy");
            table.ids = Some(texts_of_array(&ids_path, "the array", &parse_array(&ids_path, &bytes)?)?);
        } else {
            table.ids = read_lines(&sibling(path, "ids.txt"))?;
        }
    }
    Ok(())
}

fn read_if_present(path: &Path) -> Result<Option<Vec<u8>>, DataError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DataError::io(path, error)),
    }
}

fn read_lines(path: &Path) -> Result<Option<Vec<String>>, DataError> {
    let Some(bytes) = read_if_present(path)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|_| DataError::malformed(path, "text", "it is not UTF-8"))?;
    Ok(Some(text.lines().map(|line| line.trim().to_owned()).collect()))
}
