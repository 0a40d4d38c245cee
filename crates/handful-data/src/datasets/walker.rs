//! How images are found below a folder: the one walk behind `embed`, `label` and every folder of class folders.
//!
//! Hidden files and folders are left alone. Links are followed, but every real folder is entered once, and a link to a
//! folder around the one that is walked is not followed at all: both would be loops. Pipes, sockets and devices are
//! never opened, since reading one may take for ever.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    path::{Path, PathBuf},
};

use super::image_names::{is_hidden, is_image, unreadable_kind};
use crate::error::DataError;

/// What a folder holds besides images that can be decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Images of kinds that cannot be decoded, such as `heic`, and how many of each.
    pub images: BTreeMap<String, usize>,
    /// Files that are no images by their names.
    pub others: usize,
    /// Pipes, sockets, devices and links that lead nowhere.
    pub special: usize,
}

impl LeftOut {
    /// How many images cannot be decoded.
    pub fn image_count(&self) -> usize {
        self.images.values().sum()
    }

    pub(super) fn join(&mut self, other: Self) {
        for (kind, count) in other.images {
            *self.images.entry(kind).or_default() += count;
        }
        self.others += other.others;
        self.special += other.special;
    }
}

/// The images below a folder.
#[derive(Debug)]
pub(super) struct Found {
    /// The files, in the order of their paths.
    pub files: Vec<PathBuf>,
    pub left_out: LeftOut,
}

/// Finds all images below a folder, however deep.
pub(super) fn walk(root: &Path) -> Result<Found, DataError> {
    let real = |path: &Path| std::fs::canonicalize(path).map_err(|error| DataError::io(path, error));
    let real_root = real(root)?;
    let mut found = Found { files: Vec::new(), left_out: LeftOut::default() };
    let mut entered = HashSet::from([real_root.clone()]);
    // Links wait until all real folders are entered, so that an image is found under its own name.
    let (mut folders, mut links) = (vec![root.to_owned()], VecDeque::new());
    while let Some(folder) = folders.pop() {
        for entry in entries(&folder)? {
            // A link that leads nowhere, or a file that has just been deleted.
            let Ok(facts) = std::fs::metadata(&entry) else {
                found.left_out.special += 1;
                continue;
            };
            if facts.is_dir() {
                let target = real(&entry)?;
                let is_loop = real_root.starts_with(&target);
                if entry.is_symlink() {
                    if !is_loop {
                        links.push_back(entry);
                    }
                } else if entered.insert(target) {
                    folders.push(entry);
                }
            } else if !facts.is_file() {
                found.left_out.special += 1;
            } else if is_image(&entry) {
                found.files.push(entry);
            } else if let Some(kind) = unreadable_kind(&entry) {
                *found.left_out.images.entry(kind).or_default() += 1;
            } else {
                found.left_out.others += 1;
            }
        }
        if folders.is_empty() {
            // The next link to a folder that nobody has entered.
            while let Some(link) = links.pop_front() {
                if entered.insert(real(&link)?) {
                    folders.push(link);
                    break;
                }
            }
        }
    }
    found.files.sort();
    Ok(found)
}

/// What a folder holds, hidden entries aside, sorted by name: the order of the operating system is no order.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let io = |error| DataError::io(folder, error);
    let mut entries = (std::fs::read_dir(folder).map_err(io)?)
        .map(|entry| entry.map(|entry| entry.path()).map_err(io))
        .collect::<Result<Vec<_>, _>>()?;
    entries.retain(|entry| !is_hidden(entry));
    entries.sort();
    Ok(entries)
}

/// A file's path seen from a folder, with slashes on every system: the id of an image.
pub(super) fn id_in(folder: &Path, file: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).to_string_lossy().replace('\\', "/")
}
