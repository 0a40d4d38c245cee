//! Where the tests find data that is not part of the repository.

use std::path::PathBuf;

/// A file of the shared data folder (`HANDFUL_DATA`, or `../shared/data` seen from the repository's root), or
/// `None` after saying that the test was skipped.
pub fn shared_data(file: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os("HANDFUL_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
    };
    let path = folder.join(file);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not there (set HANDFUL_DATA to the data folder)", path.display());
    None
}
