//! What stands in for the Parquet writer in a build without it.

use std::path::Path;

use crate::error::DataError;

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// UTF-8 text.
    Texts(Vec<String>),
    /// 32-bit floats.
    Numbers(Vec<f32>),
}

/// Refuses: this build writes no Parquet.
///
/// # Errors
/// Always [`DataError::NotBuilt`].
pub fn write_columns(path: &Path, _: &[(&str, Cells)]) -> Result<(), DataError> {
    Err(DataError::not_built(path, "Parquet"))
}
