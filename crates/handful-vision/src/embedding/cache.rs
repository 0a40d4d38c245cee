//! Features that were computed before, kept by the content of image and network.
//!
//! One folder for each network (and everything else that decides what an image becomes), one file for each batch that
//! was computed: the SHA-256 of its images, then their features. A file appears whole, under the digest of what it
//! holds, so that any number of programs may work on one cache, and a program that is stopped loses one batch at most.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::VisionError;
use crate::files::{io_error, replace};
use crate::weights::sha256;

const MAGIC: &[u8; 8] = b"handful1";
const HEADER: usize = 16;
const KEY: usize = 32;

/// The SHA-256 of an image file or a text.
pub type ContentKey = [u8; KEY];

/// The key of an image file or a text.
pub fn content_key(bytes: &[u8]) -> ContentKey {
    Sha256::digest(bytes).into()
}

/// The features of one network in a cache, as they were when it was opened.
#[derive(Debug)]
pub struct FeatureCache {
    folder: PathBuf,
    columns: usize,
    files: Vec<PathBuf>,
    /// Which file has an image, and in which row.
    rows: HashMap<ContentKey, (usize, usize)>,
}

impl FeatureCache {
    /// Opens the part of a cache that belongs to a network, and makes sure that more can be written there.
    ///
    /// # Errors
    /// A folder that cannot be made, read or written to.
    pub fn open(cache: &Path, fingerprint: &str, columns: usize) -> Result<Self, VisionError> {
        let folder = cache.join(fingerprint);
        std::fs::create_dir_all(&folder).map_err(io_error(&folder))?;
        let probe = folder.join(format!("probe-{}", std::process::id()));
        std::fs::write(&probe, b"").map_err(io_error(&folder))?;
        std::fs::remove_file(&probe).map_err(io_error(&folder))?;
        let mut opened = Self { folder, columns, files: Vec::new(), rows: HashMap::new() };
        let entries = std::fs::read_dir(&opened.folder).map_err(io_error(&opened.folder))?;
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "features"));
        files.sort();
        for file in files {
            // A file of another kind, or one that somebody is deleting, only means that its features are computed again.
            if let Some(keys) = read_keys(&file, columns) {
                let number = opened.files.len();
                opened.files.push(file);
                opened.rows.extend(keys.into_iter().enumerate().map(|(row, key)| (key, (number, row))));
            }
        }
        Ok(opened)
    }

    /// The number of images whose features are kept.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no features are kept yet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The features of an image, where they are kept and finite.
    pub fn get(&self, key: &ContentKey) -> Option<Vec<f32>> {
        let &(file, row) = self.rows.get(key)?;
        let mut file = File::open(self.files.get(file)?).ok()?;
        let count = read_header(&mut file, self.columns)?;
        let bytes_of_row = 4 * self.columns;
        file.seek(SeekFrom::Start((HEADER + KEY * count + bytes_of_row * row) as u64)).ok()?;
        let mut bytes = vec![0; bytes_of_row];
        file.read_exact(&mut bytes).ok()?;
        let values: Vec<f32> =
            bytes.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        values.iter().all(|value| value.is_finite()).then_some(values)
    }

    /// Keeps features of images for later runs, as one file.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn put(&self, rows: &[(ContentKey, Vec<f32>)]) -> Result<(), VisionError> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(HEADER + rows.len() * (KEY + 4 * self.columns));
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&(self.columns as u32).to_le_bytes());
        bytes.extend_from_slice(&(rows.len() as u32).to_le_bytes());
        rows.iter().for_each(|(key, _)| bytes.extend_from_slice(key));
        for (_, values) in rows {
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        }
        let file = self.folder.join(format!("{}.features", &sha256(&bytes)[..32]));
        replace(&file, &bytes)
    }
}

/// The number of rows that a file says it has.
fn read_header(file: &mut File, columns: usize) -> Option<usize> {
    let mut header = [0; HEADER];
    file.read_exact(&mut header).ok()?;
    let number = |at: usize| header[at..at + 4].try_into().map(u32::from_le_bytes).ok();
    (header.starts_with(MAGIC) && number(8)? as usize == columns).then_some(number(12)? as usize)
}

/// The keys of a file, if it is whole.
fn read_keys(path: &Path, columns: usize) -> Option<Vec<ContentKey>> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let count = read_header(&mut file, columns)?;
    let expected = (count as u64).checked_mul((KEY + 4 * columns) as u64)?.checked_add(HEADER as u64)?;
    if length != expected {
        return None;
    }
    let mut bytes = vec![0; KEY * count];
    file.read_exact(&mut bytes).ok()?;
    Some(bytes.as_chunks::<KEY>().0.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_come_back_from_another_run_and_broken_files_count_as_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = |network: &str, columns: usize| {
            FeatureCache::open(folder.path(), network, columns).expect("a cache")
        };
        let (cat, dog) = (content_key(b"cat"), content_key(b"dog"));
        let cache = open("network", 2);
        assert!(cache.is_empty());
        cache.put(&[(cat, vec![1.0, 2.0]), (dog, vec![3.0, -4.5])]).expect("written");
        let again = open("network", 2);
        assert_eq!((again.len(), again.get(&cat)), (2, Some(vec![1.0, 2.0])));
        assert_eq!(again.get(&dog), Some(vec![3.0, -4.5]));
        assert_eq!(again.get(&content_key(b"bird")), None);
        assert!(open("other", 2).is_empty());
        assert!(open("network", 3).is_empty());
        let file = std::fs::read_dir(folder.path().join("network")).expect("a folder").next();
        let file = file.expect("one file").expect("readable").path();
        let whole = std::fs::read(&file).expect("a file");
        std::fs::write(&file, &whole[..whole.len() - 1]).expect("written");
        assert!(open("network", 2).is_empty());
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_noticed_when_it_is_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        std::fs::write(&file, b"x").expect("written");
        let error = FeatureCache::open(&file, "network", 2).expect_err("it is a file");
        assert!(error.to_string().contains("file"), "{error}");
    }
}
