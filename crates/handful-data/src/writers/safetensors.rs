//! Safetensors: tensors `features` and `labels`, names and ids as JSON lists in the metadata.

use std::{io::Write, path::Path};

use handful::embedder::Embedder;
use serde_json::json;

use super::{labels, write_features};
use crate::{atomic::write_file, error::DataError, readers::EMBEDDER, table::FeatureTable};

/// Writes the file.
pub(super) fn write(path: &Path, table: &FeatureTable) -> Result<(), DataError> {
    let (rows, columns) = (table.rows(), table.dim());
    let features_end = 4 * rows * columns;
    let mut header = serde_json::Map::new();
    let mut metadata = serde_json::Map::new();
    header.insert(
        "features".into(),
        json!({"dtype": "F32", "shape": [rows, columns], "data_offsets": [0, features_end]}),
    );
    if table.class_count() > 0 {
        let offsets = [features_end, features_end + 8 * rows];
        header.insert("labels".into(), json!({"dtype": "I64", "shape": [rows], "data_offsets": offsets}));
        metadata.insert("class_names".into(), json!(json!(table.class_names()).to_string()));
    }
    if let Some(ids) = table.ids() {
        metadata.insert("ids".into(), json!(json!(ids).to_string()));
    }
    if let Some(Embedder { network, weights }) = table.embedder() {
        metadata.insert(EMBEDDER.into(), json!(json!([network, weights]).to_string()));
    }
    if !metadata.is_empty() {
        header.insert("__metadata__".into(), metadata.into());
    }
    let mut text = serde_json::Value::from(header).to_string();
    // The tensors begin at a multiple of 8 bytes, as the format asks.
    text.extend(std::iter::repeat_n(' ', (8 - text.len() % 8) % 8));
    write_file(path, |out| {
        let io = |error| DataError::write(path, error);
        out.write_all(&(text.len() as u64).to_le_bytes()).map_err(io)?;
        out.write_all(text.as_bytes()).map_err(io)?;
        write_features(path, table, out)?;
        if table.class_count() > 0 {
            for label in labels(table) {
                out.write_all(&label.to_le_bytes()).map_err(io)?;
            }
        }
        Ok(())
    })
}
