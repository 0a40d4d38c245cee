//! Image files, and the images below folders, however deep.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    DatasetKind, ImageDataset, Part,
    image_names::READABLE_KINDS,
    image_source::ImageSource,
    walker::{LeftOut, id_in, walk},
};
use crate::{error::DataError, table::ClassIndex};

/// Opens files and folders of images, in the order given.
///
/// The images of one folder come in the order of their paths and have their paths seen from that folder as ids. If all
/// of them lie in folders of their classes (`CLASS/image` or `train/CLASS/image`), they have these classes. Several
/// paths keep the paths as given in their ids. A file named here is an image whatever its extension.
///
/// # Errors
/// A path that cannot be read or is neither file nor folder, and a folder without images.
pub fn open_images(paths: &[PathBuf]) -> Result<ImageDataset, DataError> {
    let mut files = Vec::new();
    let mut left_out = LeftOut::default();
    for path in paths {
        let facts = std::fs::metadata(path).map_err(|error| DataError::io(path, error))?;
        if facts.is_dir() {
            let found = walk(path)?;
            if found.files.is_empty() {
                return Err(DataError::content(path, nothing_found(&found.left_out)));
            }
            files.extend(found.files);
            left_out.join(found.left_out);
        } else if facts.is_file() {
            files.push(path.clone());
        } else {
            return Err(DataError::content(path, "it is neither a file nor a folder"));
        }
    }
    if files.is_empty() {
        return Err(DataError::setting("the list of images", "empty".to_owned(), "at least one is needed"));
    }
    let folder = match paths {
        [path] if path.is_dir() => path.as_path(),
        _ => Path::new(""),
    };
    let ids: Vec<String> = files.iter().map(|file| id_in(folder, file)).collect();
    let labels: Option<Vec<Option<String>>> =
        ids.iter().map(|id| Some(Some(class_of(id)?.to_owned()))).collect();
    let classes = match labels {
        Some(labels) if !folder.as_os_str().is_empty() => ClassIndex::from_names(&labels),
        _ => ClassIndex::unlabeled(files.len()),
    };
    let (classes, source) = (Arc::new(classes), ImageSource::Files(files));
    Ok(ImageDataset { kind: DatasetKind::Folder, classes, ids, source, left_out })
}

fn nothing_found(left_out: &LeftOut) -> String {
    match left_out.images.keys().next() {
        None => format!("it holds no images ({READABLE_KINDS})"),
        Some(kind) => format!(
            "it holds no images that can be read ({READABLE_KINDS}), but {} others (.{kind}); convert them to JPEG",
            left_out.image_count()
        ),
    }
}

/// The class of an image in a folder of class folders, or of parts with class folders.
fn class_of(id: &str) -> Option<&str> {
    match id.split('/').collect::<Vec<_>>()[..] {
        [class, _] => Some(class),
        [part, class, _] if part.parse::<Part>().is_ok() => Some(class),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(names: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for name in names {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().expect("inside")).expect("folders");
            std::fs::write(path, b"x").expect("a file");
        }
        root
    }

    fn ids(images: &ImageDataset) -> Vec<&str> {
        (0..images.len()).map(|image| images.id(image)).collect()
    }

    #[test]
    fn images_of_a_tree_come_sorted_and_what_is_left_out_is_counted() {
        let root = tree(&[
            "b/c/2.png",
            "b/1.JPG",
            "a.png",
            "a/z.gif",
            "notes.txt",
            "1.HEIC",
            "b/2.heic",
            "3.dng",
            ".previews/a.png",
            "b/._1.jpg",
        ]);
        let images = open_images(&[root.path().to_owned()]).expect("images");
        assert_eq!(ids(&images), ["a/z.gif", "a.png", "b/1.JPG", "b/c/2.png"]);
        assert!(images.classes().is_empty());
        let expected =
            LeftOut { images: [("dng".to_owned(), 1), ("heic".to_owned(), 2)].into(), others: 1, special: 0 };
        assert_eq!(images.left_out(), &expected);
    }

    #[test]
    fn a_folder_without_readable_images_says_which_others_it_has() {
        let refusal = |names: &[&str]| {
            open_images(&[tree(names).path().to_owned()]).expect_err("nothing to read").to_string()
        };
        assert!(refusal(&["notes.txt"]).contains("holds no images (png, jpg"));
        assert!(refusal(&["1.heic", "2.heic"]).contains("2 others (.heic); convert them to JPEG"));
    }

    #[test]
    fn class_folders_give_classes_only_where_every_image_is_in_one() {
        let classes = |names: &[&str]| {
            let images = open_images(&[tree(names).path().to_owned()]).expect("images");
            images.classes().names().to_vec()
        };
        assert_eq!(classes(&["dog/1.png", "cat/1.png"]), ["cat", "dog"]);
        assert_eq!(classes(&["train/dog/1.png", "val/cat/1.png"]), ["cat", "dog"]);
        assert!(classes(&["dog/1.png", "cat/1.png", "loose.png"]).is_empty());
        assert!(classes(&["support/dog/1.png", "support/cat/1.png", "loose.png"]).is_empty());
    }

    #[test]
    fn several_paths_keep_their_names() {
        let root = tree(&["a/1.png", "b/1.png"]);
        let paths = [root.path().join("a"), root.path().join("b/1.png")];
        let images = open_images(&paths).expect("images");
        assert!(ids(&images)[0].ends_with("/a/1.png"), "{:?}", ids(&images));
        assert_eq!(Path::new(ids(&images)[1]), paths[1]);
    }

    #[cfg(unix)]
    #[test]
    fn loops_of_links_and_pipes_do_not_hang() {
        use std::os::unix::{fs::symlink, net::UnixListener};
        let root = tree(&["a/1.png", "b/2.png"]);
        let outside = tree(&["3.png"]);
        let at = |name: &str| root.path().join(name);
        symlink(root.path(), at("a/up")).expect("a link");
        symlink("/", at("a/everything")).expect("a link");
        symlink(at("b"), at("a/b")).expect("a link");
        symlink(at("a"), at("b/a")).expect("a link");
        symlink(outside.path(), at("outside")).expect("a link");
        symlink(at("a/1.png"), at("link.png")).expect("a link");
        symlink(at("nowhere.png"), at("broken.png")).expect("a link");
        let _socket = UnixListener::bind(at("socket.png")).expect("a socket");
        let pipe = std::process::Command::new("mkfifo").arg(at("pipe.png")).status().expect("mkfifo runs");
        assert!(pipe.success());
        let images = open_images(&[root.path().to_owned()]).expect("images");
        assert_eq!(ids(&images), ["a/1.png", "b/2.png", "link.png", "outside/3.png"]);
        assert_eq!(images.left_out().special, 3);
        let error = open_images(&[at("pipe.png")]).expect_err("a pipe");
        assert!(error.to_string().contains("neither a file nor a folder"), "{error}");
    }
}
