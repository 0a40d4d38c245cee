//! Lists of images: the json of CloserLook and S2M2, the json of easyfsl, and csv.
//!
//! | file | contents |
//! |---|---|
//! | `{base,val,novel}.json` | `{"label_names": […], "image_names": [path…], "image_labels": [int…]}` |
//! | easyfsl | `{"class_names": […], "class_roots": [folder…]}` |
//! | `{train,val,test}.csv` | `filename,label` with that header, images in `images/` beside the list |
//!
//! Paths are seen from the list's folder unless they are absolute. In a folder of several lists no class may be in
//! two.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{
    Listing, Part, check_disjoint,
    image_names::is_image,
    image_source::ImageSource,
    walker::{entries, id_in},
};
use crate::error::DataError;

fn list_of(folder: &Path, part: Part) -> Option<PathBuf> {
    let words: &[&str] = match part {
        Part::Base => &["base", "train"],
        Part::Validation => &["val", "validation"],
        Part::Novel => &["novel", "test"],
    };
    words
        .iter()
        .flat_map(|word| [format!("{word}.json"), format!("{word}.csv")])
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
}

/// Whether the path is a list or a folder of lists.
pub(super) fn is_here(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    (path.is_file() && matches!(extension, "json" | "csv")) || list_of(path, Part::Novel).is_some()
}

pub(super) fn open(path: &Path, part: Option<Part>) -> Result<Listing, DataError> {
    if path.is_file() {
        return read(path);
    }
    let lists = (Part::ALL.into_iter())
        .filter_map(|part| list_of(path, part).map(|list| (part, list)))
        .map(|(part, list)| Ok((part, read(&list)?)))
        .collect::<Result<Vec<(Part, Listing)>, DataError>>()?;
    let names: Vec<(Part, Vec<String>)> = (lists.iter())
        .map(|(part, listing)| {
            let mut names = listing.labels.clone();
            names.sort();
            names.dedup();
            (*part, names)
        })
        .collect();
    check_disjoint(path, &names.iter().map(|(part, names)| (*part, names.as_slice())).collect::<Vec<_>>())?;
    let Some(part) = part else {
        return Err(DataError::content(path, "open one part of it: base, validation or novel"));
    };
    let found = lists.into_iter().find(|(found, _)| *found == part).map(|(_, listing)| listing);
    found.ok_or_else(|| DataError::content(path, format!("it has no list for the {} part", part.name())))
}

#[derive(Deserialize)]
#[serde(untagged)]
enum JsonList {
    CloserLook { label_names: Vec<String>, image_names: Vec<String>, image_labels: Vec<usize> },
    EasySet { class_names: Vec<String>, class_roots: Vec<String> },
}

fn read(path: &Path) -> Result<Listing, DataError> {
    if path.extension().is_some_and(|extension| extension == "csv") {
        return read_csv(path);
    }
    let text = std::fs::read(path).map_err(|error| DataError::io(path, error))?;
    let list: JsonList = serde_json::from_slice(&text).map_err(|error| {
        let reason = format!("it has neither label_names, image_names and image_labels nor class_names and class_roots ({error})");
        DataError::malformed(path, "image list", reason)
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    match list {
        JsonList::CloserLook { label_names, image_names, image_labels } => {
            if image_names.len() != image_labels.len() {
                let (features, other) = (image_names.len(), image_labels.len());
                return Err(DataError::LengthMismatch {
                    path: path.to_owned(),
                    features,
                    what: "image_labels",
                    other,
                });
            }
            let labels = (image_labels.iter().enumerate())
                .map(|(row, &label)| {
                    let name = label_names.get(label).cloned();
                    name.ok_or_else(|| {
                        DataError::row(
                            path,
                            row,
                            format!("label {label} is beyond the {} label_names", label_names.len()),
                        )
                    })
                })
                .collect::<Result<_, _>>()?;
            let files = image_names.iter().map(|name| folder.join(name)).collect();
            Ok(Listing {
                labels,
                class_order: Some(label_names),
                ids: image_names,
                source: ImageSource::Files(files),
            })
        }
        JsonList::EasySet { class_names, class_roots } => {
            if class_names.len() != class_roots.len() {
                let (features, other) = (class_names.len(), class_roots.len());
                return Err(DataError::LengthMismatch {
                    path: path.to_owned(),
                    features,
                    what: "class_roots",
                    other,
                });
            }
            let (mut labels, mut ids, mut files) = (Vec::new(), Vec::new(), Vec::new());
            for (name, root) in class_names.iter().zip(&class_roots) {
                for file in
                    entries(&folder.join(root))?.into_iter().filter(|file| file.is_file() && is_image(file))
                {
                    labels.push(name.clone());
                    ids.push(id_in(folder, &file));
                    files.push(file);
                }
            }
            Ok(Listing { labels, class_order: Some(class_names), ids, source: ImageSource::Files(files) })
        }
    }
}

fn read_csv(path: &Path) -> Result<Listing, DataError> {
    let malformed = |error: csv::Error| DataError::malformed(path, "image list", error.to_string());
    let mut reader = csv::Reader::from_path(path).map_err(malformed)?;
    let header: Vec<String> =
        reader.headers().map_err(malformed)?.iter().map(|name| name.trim().to_owned()).collect();
    // easyfsl's lists of mini-ImageNet have the columns the other way round.
    let (file_at, label_at) = match header.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["filename", "label"] => (0, 1),
        ["class_name", "image_name"] => (1, 0),
        _ => {
            let reason = format!("the header must be `filename,label`, but is `{}`", header.join(","));
            return Err(DataError::line(path, 1, reason));
        }
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let images =
        Some(folder.join("images")).filter(|images| images.is_dir()).unwrap_or_else(|| folder.to_owned());
    let (mut labels, mut ids, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(malformed)?;
        let (file, label) = (record[file_at].trim(), record[label_at].trim());
        labels.push(label.to_owned());
        ids.push(file.to_owned());
        files.push(images.join(file));
    }
    Ok(Listing { labels, class_order: None, ids, source: ImageSource::Files(files) })
}
