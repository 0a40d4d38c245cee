//! mini-ImageNet, in the forms it is passed around: Ravi's csv lists with a folder of images, and two pickles.
//!
//! | files | contents |
//! |---|---|
//! | `{train,val,test}.csv` + `images/` | `filename,label` lines (see `lists`) |
//! | `mini-imagenet-cache-{train,val,test}.pkl` | `{image_data: u8 [n, 84, 84, 3], class_dict: {wnid: [row]}}` |
//! | `miniImageNet_category_split_{train_phase_train,val,test}.pickle` | `{data: u8 [n, 84, 84, 3], labels: [int]}` |

use std::path::{Path, PathBuf};

use super::{Listing, Part, image_source::ImageSource, lists};
use crate::{
    arrays::RawArray,
    error::DataError,
    readers::pickle::{Pickle, Value},
};

const FORMAT: &str = "mini-ImageNet pickle";

fn pickle_of(folder: &Path, part: Part) -> Option<PathBuf> {
    let cache = format!("mini-imagenet-cache-{}.pkl", part.file_word());
    let category = match part {
        Part::Base => "miniImageNet_category_split_train_phase_train.pickle",
        Part::Validation => "miniImageNet_category_split_val.pickle",
        Part::Novel => "miniImageNet_category_split_test.pickle",
    };
    [cache.as_str(), category].iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// Whether the folder or file is mini-ImageNet.
pub(super) fn is_here(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_pickle =
        name.starts_with("mini-imagenet-cache-") || name.starts_with("miniImageNet_category_split_");
    (path.is_file() && is_pickle) || Part::ALL.iter().any(|&part| pickle_of(path, part).is_some())
}

pub(super) fn open(path: &Path, part: Option<Part>) -> Result<Listing, DataError> {
    if path.is_file() {
        return read(path);
    }
    let parts = part.map_or(Part::ALL.to_vec(), |part| vec![part]);
    let files: Vec<PathBuf> = parts.iter().filter_map(|&part| pickle_of(path, part)).collect();
    match (files.as_slice(), part) {
        ([], _) => lists::open(path, part),
        ([file], _) => read(file),
        _ => Err(DataError::content(path, "open one part of it: base, validation or novel")),
    }
}

fn read(path: &Path) -> Result<Listing, DataError> {
    let bytes = std::fs::read(path).map_err(|error| DataError::io(path, error))?;
    let pickle = Pickle::read(path, &bytes)?;
    let root = pickle.root();
    let malformed = |reason: &str| DataError::malformed(path, FORMAT, reason);
    let images = root.get("image_data").or(root.get("data")).and_then(|images| images.array());
    let images = images.ok_or_else(|| malformed("it has neither `image_data` nor `data`"))?;
    let (count, height, width) =
        dimensions(images).ok_or_else(|| malformed("its images are not u8 [n, height, width, 3]"))?;
    let labels = match (root.get("class_dict"), root.get("labels")) {
        (Some(classes), _) => labels_of_classes(classes, count).map_err(malformed)?,
        (None, Some(labels)) => {
            labels_of_list(labels).ok_or_else(|| malformed("its labels are not whole numbers"))?
        }
        (None, None) => return Err(malformed("it has neither `class_dict` nor `labels`")),
    };
    if labels.len() != count {
        return Err(DataError::LengthMismatch {
            path: path.to_owned(),
            features: count,
            what: "labels",
            other: labels.len(),
        });
    }
    Ok(Listing {
        labels,
        class_order: None,
        ids: (0..count).map(|image| image.to_string()).collect(),
        source: ImageSource::Array {
            pixels: images.bytes().to_vec(),
            height,
            width,
            images: (0..count).collect(),
        },
    })
}

fn dimensions(images: &RawArray<'_>) -> Option<(usize, usize, usize)> {
    match *images.shape() {
        [count, height, width, 3] if images.element().size == 1 => Some((count, height, width)),
        _ => None,
    }
}

fn labels_of_classes(classes: Value<'_, '_>, count: usize) -> Result<Vec<String>, &'static str> {
    let mut labels = vec![None; count];
    for (name, rows) in classes.entries().ok_or("its `class_dict` is not a dictionary")? {
        let name = name.text().ok_or("a class of its `class_dict` is not named by text")?;
        for row in rows.items().ok_or("a class of its `class_dict` is not a list of rows")? {
            let row = row.integer().and_then(|row| usize::try_from(row).ok());
            let slot = row
                .and_then(|row| labels.get_mut(row))
                .ok_or("its `class_dict` names a row beyond its images")?;
            if slot.replace(name.to_owned()).is_some() {
                return Err("its `class_dict` gives a row to two classes");
            }
        }
    }
    labels
        .into_iter()
        .collect::<Option<Vec<String>>>()
        .ok_or("its `class_dict` leaves an image without a class")
}

fn labels_of_list(labels: Value<'_, '_>) -> Option<Vec<String>> {
    match labels.array() {
        Some(array) => {
            (0..array.len()).map(|at| array.integer_at(at).map(|label| label.to_string())).collect()
        }
        None => labels.items()?.map(|label| label.integer().map(|label| label.to_string())).collect(),
    }
}
