//! Image files without classes: those given, and those found in folders given, however deep.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    DatasetKind, ImageDataset,
    folder::entries,
    image_source::{ImageSource, is_image},
};
use crate::{error::DataError, table::ClassIndex};

/// Folders inside folders beyond this are a loop of links.
const DEEPEST: usize = 64;

/// Opens files and folders of images as a dataset without classes, in the order given; the images of a folder are
/// sorted by name. Ids are the paths as given. A file named here is an image whatever its extension.
pub fn open_images(paths: &[PathBuf]) -> Result<ImageDataset, DataError> {
    let mut files = Vec::new();
    for path in paths {
        let facts = std::fs::metadata(path).map_err(|error| DataError::io(path, error))?;
        if facts.is_dir() {
            let before = files.len();
            collect(path, &mut files, 0)?;
            if files.len() == before {
                return Err(DataError::content(path, "it holds no images (png, jpg, bmp, webp)"));
            }
        } else {
            files.push(path.clone());
        }
    }
    if files.is_empty() {
        return Err(DataError::setting("the list of images", "empty".to_owned(), "at least one is needed"));
    }
    let ids = files.iter().map(|file| file.to_string_lossy().replace('\\', "/")).collect();
    let classes = Arc::new(ClassIndex::unlabeled(files.len()));
    Ok(ImageDataset { kind: DatasetKind::Folder, classes, ids, source: ImageSource::Files(files) })
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>, depth: usize) -> Result<(), DataError> {
    if depth > DEEPEST {
        return Err(DataError::content(folder, format!("it lies more than {DEEPEST} folders deep")));
    }
    for entry in entries(folder)? {
        if entry.is_dir() {
            collect(&entry, files, depth + 1)?;
        } else if is_image(&entry) {
            files.push(entry);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_a_tree_come_sorted_and_other_files_do_not_come() {
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(root.path().join("b/c")).expect("folders");
        for name in ["b/c/2.png", "b/1.JPG", "a.png", "notes.txt"] {
            std::fs::write(root.path().join(name), b"x").expect("a file");
        }
        let images = open_images(&[root.path().to_owned()]).expect("images");
        let ids: Vec<&str> = (0..images.len()).map(|image| images.id(image)).collect();
        let names: Vec<&str> = ids.iter().filter_map(|id| id.rsplit('/').next()).collect();
        assert_eq!(names, ["a.png", "1.JPG", "2.png"]);
        assert!(images.classes().is_empty());
        let empty = tempfile::tempdir().expect("a folder");
        assert!(open_images(&[empty.path().to_owned()]).is_err());
    }
}
