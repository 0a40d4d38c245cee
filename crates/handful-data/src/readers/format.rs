//! The formats, and how a file name tells them apart.

use std::path::Path;

use crate::error::DataError;

const READABLE: &str = ".npy, .npz, .safetensors, .parquet, .arrow, .feather, .csv, .tsv, .plk, .pkl, .pickle, .pt, .pth, .h5, .hdf5";

/// A format in which feature tables are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TableFormat {
    /// One NumPy array.
    Npy,
    /// A NumPy archive.
    Npz,
    /// Safetensors.
    Safetensors,
    /// Parquet.
    Parquet,
    /// Arrow files and streams, Feather version 2.
    Arrow,
    /// Comma-separated text.
    Csv,
    /// Tab-separated text.
    Tsv,
    /// Python pickles and torch files.
    Pickle,
    /// HDF5 as CloserLook and S2M2 write it.
    Hdf5,
}

impl TableFormat {
    /// The format that a file's extension names.
    pub fn of_path(path: &Path) -> Result<Self, DataError> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        Ok(match extension.to_ascii_lowercase().as_str() {
            "npy" => Self::Npy,
            "npz" => Self::Npz,
            "safetensors" => Self::Safetensors,
            "parquet" | "pq" => Self::Parquet,
            "arrow" | "feather" | "ipc" => Self::Arrow,
            "csv" => Self::Csv,
            "tsv" | "tab" => Self::Tsv,
            "h5" | "hdf5" => Self::Hdf5,
            "plk" | "pkl" | "pickle" | "pt" | "pth" => Self::Pickle,
            _ => return Err(DataError::UnknownFormat { path: path.to_owned(), expected: READABLE }),
        })
    }
}
