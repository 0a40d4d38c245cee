//! CIFAR-FS and FC100: CIFAR-100 with its training and test images merged, split by class.
//!
//! Read from the official archives (binary or python version, `.tar.gz`, `.tar.xz` or unpacked). Images keep the
//! order of the files, training before test.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    DatasetKind, Listing, Part,
    archives::{is_tar, read_tar},
    image_source::ImageSource,
};
use crate::{error::DataError, readers::pickle::Pickle};

const FORMAT: &str = "CIFAR-100";
/// Coarse label, fine label, 3 planes of 32 x 32.
const RECORD: usize = 2 + PIXELS;
const PIXELS: usize = 3 * 32 * 32;

/// CIFAR-FS: Bertinetto et al., "Meta-learning with differentiable closed-form solvers".
const CIFAR_FS_VALIDATION: &[&str] = &[
    "beaver",
    "otter",
    "flatfish",
    "shark",
    "lamp",
    "television",
    "beetle",
    "butterfly",
    "sea",
    "camel",
    "cattle",
    "crab",
    "crocodile",
    "maple_tree",
    "motorcycle",
    "tractor",
];
const CIFAR_FS_NOVEL: &[&str] = &[
    "whale",
    "poppy",
    "rose",
    "sweet_pepper",
    "telephone",
    "bed",
    "table",
    "wardrobe",
    "leopard",
    "plain",
    "chimpanzee",
    "fox",
    "snail",
    "worm",
    "baby",
    "man",
    "woman",
    "bicycle",
    "pickup_truck",
    "rocket",
];
const CIFAR_FS_BASE: &[&str] = &[
    "dolphin",
    "seal",
    "aquarium_fish",
    "ray",
    "trout",
    "orchid",
    "sunflower",
    "tulip",
    "bottle",
    "bowl",
    "can",
    "cup",
    "plate",
    "apple",
    "mushroom",
    "orange",
    "pear",
    "clock",
    "keyboard",
    "chair",
    "couch",
    "bee",
    "caterpillar",
    "cockroach",
    "bear",
    "lion",
    "tiger",
    "wolf",
    "bridge",
    "castle",
    "house",
    "road",
    "skyscraper",
    "cloud",
    "forest",
    "mountain",
    "elephant",
    "kangaroo",
    "porcupine",
    "possum",
    "raccoon",
    "skunk",
    "lobster",
    "spider",
    "boy",
    "girl",
    "dinosaur",
    "lizard",
    "snake",
    "turtle",
    "hamster",
    "mouse",
    "rabbit",
    "shrew",
    "squirrel",
    "oak_tree",
    "palm_tree",
    "pine_tree",
    "willow_tree",
    "bus",
    "train",
    "lawn_mower",
    "streetcar",
    "tank",
];
/// FC100: the superclasses (coarse labels) of Oreshkin et al., "TADAM", appendix; the others are base.
const FC100_VALIDATION: [u8; 4] = [8, 11, 13, 16];
const FC100_NOVEL: [u8; 4] = [0, 7, 12, 14];

/// Whether the folder or archive is CIFAR-100.
pub(super) fn is_here(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    (is_tar(path) && name.starts_with("cifar-100")) || folder_of(path).is_some()
}

/// The folder with the files: this one or the one that the archive unpacks to.
fn folder_of(path: &Path) -> Option<PathBuf> {
    ["", "cifar-100-binary", "cifar-100-python"].iter().map(|inner| path.join(inner)).find(|folder| {
        folder.join("train.bin").is_file()
            || (folder.join("meta").is_file() && folder.join("train").is_file())
    })
}

pub(super) fn open(path: &Path, kind: DatasetKind, part: Option<Part>) -> Result<Listing, DataError> {
    let contents = Contents::read(path)?;
    let names = contents.names;
    if names.len() != 100 {
        let reason = format!("it names {} classes instead of 100", names.len());
        return Err(DataError::malformed(path, FORMAT, reason));
    }
    let mut listing = Listing {
        labels: Vec::new(),
        class_order: None,
        ids: Vec::new(),
        source: ImageSource::Planes { buffers: Vec::new(), starts: Vec::new() },
    };
    let mut starts = Vec::new();
    let mut buffers = Vec::new();
    for (number, (file, records)) in contents.files.into_iter().enumerate() {
        for (record, &(coarse, fine, start)) in records.places.iter().enumerate() {
            let name = names.get(usize::from(fine)).ok_or_else(|| {
                DataError::row(
                    path,
                    record,
                    format!("record {record} of `{file}` has label {fine}; there are 100"),
                )
            })?;
            if part.is_none_or(|part| part_of(kind, coarse, name) == Some(part)) {
                listing.labels.push(name.clone());
                listing.ids.push(format!("{file}/{record}"));
                starts.push((number, start));
            }
        }
        buffers.push(records.bytes);
    }
    listing.source = ImageSource::Planes { buffers, starts };
    Ok(listing)
}

fn part_of(kind: DatasetKind, coarse: u8, name: &str) -> Option<Part> {
    match kind {
        DatasetKind::Fc100 if FC100_VALIDATION.contains(&coarse) => Some(Part::Validation),
        DatasetKind::Fc100 if FC100_NOVEL.contains(&coarse) => Some(Part::Novel),
        DatasetKind::Fc100 => Some(Part::Base),
        _ => cifar_fs_part(name),
    }
}

/// The part of CIFAR-FS that a class of CIFAR-100 belongs to, by its name.
pub fn cifar_fs_part(name: &str) -> Option<Part> {
    let parts =
        [(CIFAR_FS_BASE, Part::Base), (CIFAR_FS_VALIDATION, Part::Validation), (CIFAR_FS_NOVEL, Part::Novel)];
    parts.into_iter().find_map(|(names, part)| names.contains(&name).then_some(part))
}

/// The records of one file: coarse label, fine label and where the pixels begin.
struct Records {
    bytes: Arc<[u8]>,
    places: Vec<(u8, u8, usize)>,
}

struct Contents {
    names: Vec<String>,
    files: Vec<(&'static str, Records)>,
}

impl Contents {
    fn read(path: &Path) -> Result<Self, DataError> {
        let mut files = Files::open(path)?;
        if let Some(names) = files.take("fine_label_names.txt") {
            let names = String::from_utf8_lossy(&names).split_whitespace().map(str::to_owned).collect();
            let train = binary_records(path, "train.bin", files.require("train.bin")?)?;
            let test = binary_records(path, "test.bin", files.require("test.bin")?)?;
            return Ok(Self { names, files: vec![("train", train), ("test", test)] });
        }
        let meta = files.require("meta")?;
        let meta = Pickle::read(path, &meta)?;
        let names = meta.root().get("fine_label_names").and_then(|names| names.items());
        let names = names.map(|names| names.filter_map(|name| name.text().map(str::to_owned)).collect());
        let names =
            names.ok_or_else(|| DataError::malformed(path, FORMAT, "`meta` has no fine_label_names"))?;
        let train = python_records(path, "train", &files.require("train")?)?;
        let test = python_records(path, "test", &files.require("test")?)?;
        Ok(Self { names, files: vec![("train", train), ("test", test)] })
    }
}

fn binary_records(path: &Path, file: &str, bytes: Vec<u8>) -> Result<Records, DataError> {
    if bytes.is_empty() || !bytes.len().is_multiple_of(RECORD) {
        let reason = format!("`{file}` has {} bytes, which is not a multiple of {RECORD}", bytes.len());
        return Err(DataError::malformed(path, FORMAT, reason));
    }
    let places = (bytes.chunks_exact(RECORD).enumerate())
        .map(|(record, bytes)| (bytes[0], bytes[1], record * RECORD + 2))
        .collect();
    Ok(Records { bytes: bytes.into(), places })
}

fn python_records(path: &Path, file: &str, bytes: &[u8]) -> Result<Records, DataError> {
    let malformed = |reason: &str| DataError::malformed(path, FORMAT, format!("`{file}`: {reason}"));
    let pickle = Pickle::read(path, bytes)?;
    let root = pickle.root();
    let labels = |name: &str| -> Option<Vec<u8>> {
        root.get(name)?
            .items()?
            .map(|label| label.integer().and_then(|label| u8::try_from(label).ok()))
            .collect()
    };
    let (coarse, fine) = (labels("coarse_labels"), labels("fine_labels"));
    let (coarse, fine) =
        coarse.zip(fine).ok_or_else(|| malformed("it has no coarse_labels and fine_labels"))?;
    let data = root.get("data").and_then(|data| data.array());
    let data = data.filter(|data| data.element().size == 1 && data.shape() == [fine.len(), PIXELS]);
    let data = data.ok_or_else(|| malformed("its data is not one row of 3072 bytes for each label"))?;
    if coarse.len() != fine.len() {
        return Err(malformed("it has more labels of one kind than of the other"));
    }
    let places = (coarse.into_iter().zip(fine).enumerate())
        .map(|(record, (coarse, fine))| (coarse, fine, record * PIXELS))
        .collect();
    Ok(Records { bytes: data.bytes().into(), places })
}

/// The files of an archive or folder, by their last name.
struct Files<'a> {
    path: &'a Path,
    folder: Option<PathBuf>,
    members: Vec<(String, Vec<u8>)>,
}

const NEEDED: [&str; 6] = ["train.bin", "test.bin", "fine_label_names.txt", "train", "test", "meta"];

impl<'a> Files<'a> {
    fn open(path: &'a Path) -> Result<Self, DataError> {
        if path.is_dir() {
            let folder = folder_of(path);
            let folder = folder.ok_or_else(|| {
                DataError::content(path, "it holds no CIFAR-100 (train.bin or train, and meta)")
            })?;
            return Ok(Self { path, folder: Some(folder), members: Vec::new() });
        }
        let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let members = read_tar(path, |name| NEEDED.contains(&last(name).as_str()))?;
        let members = members.into_iter().map(|member| (last(&member.name), member.bytes)).collect();
        Ok(Self { path, folder: None, members })
    }

    fn take(&mut self, name: &str) -> Option<Vec<u8>> {
        match &self.folder {
            Some(folder) => std::fs::read(folder.join(name)).ok(),
            None => {
                let at = self.members.iter().position(|(member, _)| member == name)?;
                Some(self.members.swap_remove(at).1)
            }
        }
    }

    fn require(&mut self, name: &str) -> Result<Vec<u8>, DataError> {
        self.take(name).ok_or_else(|| DataError::content(self.path, format!("it holds no `{name}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cifar_fs_parts_are_disjoint_and_complete() {
        let mut all: Vec<&str> = [CIFAR_FS_BASE, CIFAR_FS_VALIDATION, CIFAR_FS_NOVEL].concat();
        assert_eq!((CIFAR_FS_BASE.len(), CIFAR_FS_VALIDATION.len(), CIFAR_FS_NOVEL.len()), (64, 16, 20));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 100);
    }
}
