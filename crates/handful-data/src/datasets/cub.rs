//! CUB-200-2011: 200 birds in the official layout, split by CloserLook's rule on the sorted folder names: every
//! second class is base, the others are validation and novel in turn.
//!
//! Whole images, not the bounding boxes that some papers crop to.

use std::path::{Path, PathBuf};

use super::{
    Listing, Part,
    archives::{is_tar, read_tar},
    folder::{class_folders, listing_of},
    image_names::is_image,
    image_source::ImageSource,
};
use crate::error::DataError;

/// Whether the folder or archive is CUB-200-2011.
pub(super) fn is_here(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    (is_tar(path) && name.starts_with("CUB_200_2011")) || images_of(path).is_some()
}

/// The folder of class folders, which the first class tells.
fn images_of(path: &Path) -> Option<PathBuf> {
    ["images", "CUB_200_2011/images"]
        .iter()
        .map(|inner| path.join(inner))
        .find(|folder| folder.join("001.Black_footed_Albatross").is_dir())
}

fn part_of(class: usize) -> Part {
    match class % 4 {
        0 | 2 => Part::Base,
        1 => Part::Validation,
        _ => Part::Novel,
    }
}

pub(super) fn open(path: &Path, part: Option<Part>) -> Result<Listing, DataError> {
    let listing = if path.is_dir() {
        let folder = images_of(path).unwrap_or_else(|| path.to_owned());
        class_folders(&folder)?;
        listing_of(&folder, &folder)?
    } else {
        from_archive(path)?
    };
    let mut names = listing.labels.clone();
    names.sort();
    names.dedup();
    if names.len() != 200 {
        return Err(DataError::content(path, format!("it has {} classes instead of 200", names.len())));
    }
    let is_wanted = |label: &String| {
        let class = names.binary_search(label).unwrap_or_default();
        part.is_none_or(|part| part_of(class) == part)
    };
    let wanted: Vec<usize> =
        (0..listing.labels.len()).filter(|&image| is_wanted(&listing.labels[image])).collect();
    Ok(select(listing, &wanted))
}

fn from_archive(path: &Path) -> Result<Listing, DataError> {
    let mut members = read_tar(path, |name| is_image(Path::new(name)) && name.contains("/images/"))?;
    members.sort_by(|a, b| a.name.cmp(&b.name));
    let (mut labels, mut ids, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for member in members {
        let mut parts = member.name.rsplit('/');
        let (file, class) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        labels.push(class.to_owned());
        ids.push(format!("{class}/{file}"));
        files.push(member.bytes);
    }
    Ok(Listing {
        labels,
        class_order: None,
        ids,
        source: ImageSource::Encoded { archive: path.to_owned(), files },
    })
}

/// The wanted images of a listing.
fn select(listing: Listing, wanted: &[usize]) -> Listing {
    let pick = |all: Vec<String>| wanted.iter().map(|&image| all[image].clone()).collect();
    let source = match listing.source {
        ImageSource::Files(files) => {
            ImageSource::Files(wanted.iter().map(|&image| files[image].clone()).collect())
        }
        ImageSource::Encoded { archive, mut files } => {
            let files = wanted.iter().map(|&image| std::mem::take(&mut files[image])).collect();
            ImageSource::Encoded { archive, files }
        }
        other => other,
    };
    Listing { labels: pick(listing.labels), class_order: None, ids: pick(listing.ids), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_gives_100_50_50() {
        let count = |part| (0..200).filter(|&class| part_of(class) == part).count();
        assert_eq!((count(Part::Base), count(Part::Validation), count(Part::Novel)), (100, 50, 50));
        assert_eq!(
            [part_of(0), part_of(1), part_of(2), part_of(3)],
            [Part::Base, Part::Validation, Part::Base, Part::Novel]
        );
    }
}
