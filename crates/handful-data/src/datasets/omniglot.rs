//! Omniglot: 964 background and 659 evaluation characters, 20 drawings each, as zips or unpacked.
//!
//! A class is `alphabet/character`. The background set is the base part and the evaluation set the novel part; the
//! dataset itself has no validation part.

use std::path::{Path, PathBuf};

use super::{
    Listing, Part, archives::read_zip, folder::class_folders, image_names::is_image,
    image_source::ImageSource, walker::entries,
};
use crate::error::DataError;

const SETS: [(&str, Part); 2] = [("images_background", Part::Base), ("images_evaluation", Part::Novel)];

/// Whether the folder or archive is Omniglot.
pub(super) fn is_here(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    SETS.iter()
        .any(|(set, _)| name.starts_with(set) || zip_of(path, set).is_some() || path.join(set).is_dir())
}

fn zip_of(path: &Path, set: &str) -> Option<PathBuf> {
    Some(path.join(format!("{set}.zip"))).filter(|zip| zip.is_file())
}

pub(super) fn open(path: &Path, part: Option<Part>) -> Result<Listing, DataError> {
    if part == Some(Part::Validation) {
        return Err(DataError::content(
            path,
            "Omniglot has no validation part; its parts are base and novel",
        ));
    }
    let mut drawings = Vec::new();
    for (set, set_part) in SETS {
        if part.is_some_and(|part| part != set_part) {
            continue;
        }
        let own_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_file() && (own_name.starts_with(set) || part.is_none()) {
            drawings.extend(from_zip(path)?);
            break;
        } else if let Some(zip) = zip_of(path, set) {
            drawings.extend(from_zip(&zip)?);
        } else {
            let folder = if own_name == set { path.to_owned() } else { path.join(set) };
            if folder.is_dir() {
                drawings.extend(from_folder(&folder)?);
            } else if part.is_some() {
                return Err(DataError::content(
                    path,
                    format!("it holds neither `{set}.zip` nor a folder `{set}`"),
                ));
            }
        }
    }
    drawings.sort_by(|a, b| a.id.cmp(&b.id));
    let labels = drawings.iter().map(|drawing| drawing.class.clone()).collect();
    let ids = drawings.iter().map(|drawing| drawing.id.clone()).collect();
    let files = drawings.into_iter().map(|drawing| drawing.bytes).collect();
    Ok(Listing {
        labels,
        class_order: None,
        ids,
        source: ImageSource::Encoded { archive: path.to_owned(), files },
    })
}

struct Drawing {
    class: String,
    id: String,
    bytes: Vec<u8>,
}

fn from_zip(path: &Path) -> Result<Vec<Drawing>, DataError> {
    let members = read_zip(path, |name| is_image(Path::new(name)))?;
    (members.into_iter())
        .map(|member| {
            let parts: Vec<&str> = member.name.split('/').collect();
            let &[.., alphabet, character, _] = parts.as_slice() else {
                return Err(DataError::content(
                    path,
                    format!("`{}` is not alphabet/character/drawing", member.name),
                ));
            };
            Ok(Drawing {
                class: format!("{alphabet}/{character}"),
                id: member.name.clone(),
                bytes: member.bytes,
            })
        })
        .collect()
}

fn from_folder(folder: &Path) -> Result<Vec<Drawing>, DataError> {
    let set = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut drawings = Vec::new();
    for (alphabet, path) in class_folders(folder)? {
        for (character, path) in class_folders(&path)? {
            for file in entries(&path)?.into_iter().filter(|file| file.is_file() && is_image(file)) {
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let bytes = std::fs::read(&file).map_err(|error| DataError::io(&file, error))?;
                let class = format!("{alphabet}/{character}");
                drawings.push(Drawing { id: format!("{set}/{class}/{name}"), class, bytes });
            }
        }
    }
    Ok(drawings)
}
