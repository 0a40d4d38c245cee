//! Files of trained heads: safetensors with the tensors of a system, and what it was trained on in their metadata.

use std::path::{Path, PathBuf};

use handful::methods::trained::{Head, HeadFacts};

use crate::error::DataError;
use crate::readers::safetensors::matrices;
use crate::shipped;

/// Where the head of a system comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum HeadSource {
    /// A file.
    File(PathBuf),
    /// The program itself.
    Shipped {
        /// For this many labelled rows per class.
        shots: usize,
    },
}

impl HeadSource {
    /// Reads the head of a system.
    ///
    /// # Errors
    /// [`DataError`] for a file that cannot be read, or holds no head of that system.
    pub fn read(&self, system: &str) -> Result<Head, DataError> {
        match self {
            Self::File(path) => {
                let head = read_head(path)?;
                if head.facts().system == system {
                    return Ok(head);
                }
                let found = &head.facts().system;
                Err(DataError::content(path, format!("it is a head of {found}, not of {system}")))
            }
            Self::Shipped { shots } => shipped::head(system, *shots),
        }
    }
}

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
