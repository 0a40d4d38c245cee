//! Files of trained heads: safetensors with the tensors of a system, and what it was trained on in their metadata.

use std::path::Path;

use handful::methods::trained::{Head, HeadFacts};

use crate::error::DataError;
use crate::readers::safetensors::matrices;

/// The key of our facts in a file's metadata.
const FACTS: &str = "handful";

/// Reads a head.
///
/// # Errors
/// [`DataError`] for a file that cannot be read or holds no head.
pub fn read_head(path: &Path) -> Result<Head, DataError> {
    let bytes = std::fs::read(path).map_err(|source| DataError::io(path, source))?;
    parse_head(path, &bytes)
}

/// Reads the bytes of a head; `path` is for messages.
///
/// # Errors
/// [`DataError`] for bytes that hold no head.
pub fn parse_head(path: &Path, bytes: &[u8]) -> Result<Head, DataError> {
    let (tensors, metadata) = matrices(path, bytes)?;
    let no_head = |reason: String| DataError::content(path, format!("it is no trained head: {reason}"));
    let text = metadata.get(FACTS).ok_or_else(|| no_head("it does not say what it was trained on".into()))?;
    let facts: HeadFacts = serde_json::from_str(text).map_err(|error| no_head(error.to_string()))?;
    Head::new(facts, &tensors).map_err(|error| no_head(error.to_string()))
}
