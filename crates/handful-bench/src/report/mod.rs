//! Reports, made from results alone.

use std::path::Path;

use crate::reproduce::cell::Skipped;
use crate::reproduce::results::{Record, StoreError};

/// A report.
pub struct Report;

impl Report {
    /// From results.
    pub fn from_results(_records: &[Record], _skipped: &[Skipped]) -> Self {
        Self
    }

    /// Writes it.
    pub fn write(&self, _folder: &Path) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Checks a folder.
pub fn check_folder(_folder: &Path, _force: bool) -> Result<(), StoreError> {
    Ok(())
}

/// Text.
pub mod text {
    /// Renders.
    pub fn render(_report: &super::Report) -> String {
        String::new()
    }
}
