//! tiered-ImageNet: the pickles of PNG files that everybody passes around, or class folders.
//!
//! `{train,val,test}_images_png.pkl` is a list of PNG files as byte arrays, and `{train,val,test}_labels.pkl` a
//! dictionary whose `label_specific` gives the class of each, with names in `label_specific_str` where the file has
//! them. Unpacked images are class folders inside `train`, `val` and `test`.

use std::path::{Path, PathBuf};

use super::{Listing, Part, folder, image_source::ImageSource};
use crate::{error::DataError, readers::pickle::Pickle};

const FORMAT: &str = "tiered-ImageNet pickle";

fn files_of(folder: &Path, part: Part) -> Option<(PathBuf, PathBuf)> {
    let word = part.file_word();
    let files = (folder.join(format!("{word}_images_png.pkl")), folder.join(format!("{word}_labels.pkl")));
    (files.0.is_file() && files.1.is_file()).then_some(files)
}

/// Whether the folder is tiered-ImageNet in pickles; class folders look like any others.
pub(super) fn is_here(path: &Path) -> bool {
    Part::ALL.iter().any(|&part| files_of(path, part).is_some())
}

pub(super) fn open(path: &Path, part: Option<Part>) -> Result<Listing, DataError> {
    let parts = part.map_or(Part::ALL.to_vec(), |part| vec![part]);
    let files: Vec<(PathBuf, PathBuf)> = parts.iter().filter_map(|&part| files_of(path, part)).collect();
    match files.as_slice() {
        [] => folder::open(path, part),
        [(images, labels)] => read(images, labels),
        _ => Err(DataError::content(path, "open one part of it: base, validation or novel")),
    }
}

fn read(images_path: &Path, labels_path: &Path) -> Result<Listing, DataError> {
    let labels = read_labels(labels_path)?;
    let bytes = std::fs::read(images_path).map_err(|error| DataError::io(images_path, error))?;
    let pickle = Pickle::read(images_path, &bytes)?;
    let images = pickle.root().items();
    let images =
        images.ok_or_else(|| DataError::malformed(images_path, FORMAT, "it is not a list of images"))?;
    let files = (images.enumerate())
        .map(|(row, image)| {
            let bytes = image.bytes().or(image.array().map(|array| array.bytes()));
            bytes
                .map(<[u8]>::to_vec)
                .ok_or_else(|| DataError::row(images_path, row, "it is not the bytes of an image"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    if files.len() != labels.len() {
        let (features, other) = (files.len(), labels.len());
        return Err(DataError::LengthMismatch {
            path: labels_path.to_owned(),
            features,
            what: "labels",
            other,
        });
    }
    let ids = (0..files.len()).map(|image| image.to_string()).collect();
    let source = ImageSource::Encoded { archive: images_path.to_owned(), files };
    Ok(Listing { labels, class_order: None, ids, source })
}

fn read_labels(path: &Path) -> Result<Vec<String>, DataError> {
    let malformed = |reason: &str| DataError::malformed(path, FORMAT, reason);
    let bytes = std::fs::read(path).map_err(|error| DataError::io(path, error))?;
    let pickle = Pickle::read(path, &bytes)?;
    let root = pickle.root();
    let labels = root
        .get("label_specific")
        .or(root.get("labels"))
        .ok_or_else(|| malformed("it has no `label_specific`"))?;
    let labels: Option<Vec<i64>> = match labels.array() {
        Some(array) => (0..array.len()).map(|at| array.integer_at(at)).collect(),
        None => labels.items().and_then(|items| items.map(|item| item.integer()).collect()),
    };
    let labels = labels.ok_or_else(|| malformed("its labels are not whole numbers"))?;
    let names: Vec<&str> = root
        .get("label_specific_str")
        .and_then(|names| names.items())
        .into_iter()
        .flatten()
        .filter_map(|name| name.text())
        .collect();
    let name_of = |label: i64| {
        usize::try_from(label).ok().and_then(|label| names.get(label)).map(|name| (*name).to_owned())
    };
    Ok(labels.into_iter().map(|label| name_of(label).unwrap_or_else(|| label.to_string())).collect())
}
