//! One file per format. Each reader turns bytes into a [`FeatureTable`] or says what is wrong with them.
//!
//! Readers share two rules. No length field is believed before the bytes behind it were seen, so a corrupt file
//! cannot make the program allocate more than a small multiple of its size. And nothing in a file is ever run.

mod archive;
mod labels;
mod npy;
mod npz;

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::{error::DataError, table::FeatureTable};

const READABLE: &str = ".npz";

/// Reads a feature table; the format is told by the extension of the file.
///
/// ```no_run
/// let table = handful_data::read_table("features.npz".as_ref())?;
/// println!("{} rows, {} classes", table.rows(), table.class_count());
/// # Ok::<(), handful_data::DataError>(())
/// ```
pub fn read_table(path: &Path) -> Result<FeatureTable, DataError> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "npz" => {
            let bytes = std::fs::read(path).map_err(|error| DataError::io(path, error))?;
            let digest = hex_digest(&bytes);
            npz::read(path, &bytes, digest)
        }
        _ => Err(DataError::UnknownFormat { path: path.to_owned(), expected: READABLE }),
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn hex_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
