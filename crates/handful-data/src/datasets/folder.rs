//! Any folder with a folder of images for each class; parts are folders `train`, `val`, `test` (or `base`,
//! `validation`, `novel`) around them.

use std::path::{Path, PathBuf};

use super::{
    Listing, Part, check_disjoint,
    image_names::{READABLE_KINDS, is_image},
    image_source::ImageSource,
    walker::{entries, id_in},
};
use crate::error::DataError;

pub(super) fn open(path: &Path, part: Option<Part>) -> Result<Listing, DataError> {
    let parts: Vec<(Part, PathBuf)> = Part::ALL
        .into_iter()
        .filter_map(|part| folder_of_part(path, part).map(|folder| (part, folder)))
        .collect();
    let Some(part) = part else {
        if parts.is_empty() {
            return listing_of(path, path);
        }
        let all = parts.iter().map(|(_, folder)| listing_of(path, folder)).collect::<Result<Vec<_>, _>>()?;
        return Ok(join(all));
    };
    let names = (parts.iter())
        .map(|(part, folder)| Ok((*part, class_folders(folder)?.into_iter().map(|(name, _)| name).collect())))
        .collect::<Result<Vec<(Part, Vec<String>)>, DataError>>()?;
    check_disjoint(path, &names.iter().map(|(part, names)| (*part, names.as_slice())).collect::<Vec<_>>())?;
    match parts.iter().find(|(found, _)| *found == part) {
        Some((_, folder)) => listing_of(path, folder),
        None => {
            let reason =
                format!("it has no folder `{}` or `{}` for that part", part.name(), part.file_word());
            Err(DataError::content(path, reason))
        }
    }
}

fn folder_of_part(path: &Path, part: Part) -> Option<PathBuf> {
    [part.file_word(), part.name()].iter().map(|word| path.join(word)).find(|folder| folder.is_dir())
}

/// All images of the class folders in `folder`; ids are paths seen from `root`.
pub(super) fn listing_of(root: &Path, folder: &Path) -> Result<Listing, DataError> {
    let (mut labels, mut ids, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for (name, class) in class_folders(folder)? {
        for file in entries(&class)?.into_iter().filter(|file| file.is_file() && is_image(file)) {
            labels.push(name.clone());
            ids.push(id_in(root, &file));
            files.push(file);
        }
    }
    if files.is_empty() {
        let reason = format!("it holds no folders of images ({READABLE_KINDS}), one for each class");
        return Err(DataError::content(folder, reason));
    }
    Ok(Listing { labels, class_order: None, ids, source: ImageSource::Files(files) })
}

/// The folders in a folder, by name.
pub(super) fn class_folders(folder: &Path) -> Result<Vec<(String, PathBuf)>, DataError> {
    let folders = entries(folder)?.into_iter().filter(|entry| entry.is_dir());
    Ok(folders
        .map(|path| (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), path))
        .collect())
}

fn join(listings: Vec<Listing>) -> Listing {
    let (mut labels, mut ids, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for listing in listings {
        labels.extend(listing.labels);
        ids.extend(listing.ids);
        if let ImageSource::Files(paths) = listing.source {
            files.extend(paths);
        }
    }
    Listing { labels, class_order: None, ids, source: ImageSource::Files(files) }
}
