//! Datasets in shards: Parquet files of Hugging Face, and WebDataset's tar files.
//!
//! One file or a folder of them. Images are read into memory as they are stored, and decoded one at a time like all
//! others.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use super::{
    DatasetKind, ImageDataset, LeftOut, Part,
    archives::{is_tar, read_tar},
    image_names::is_image,
    image_source::ImageSource,
    walker::entries,
};
use crate::{error::DataError, table::ClassIndex};

/// Whether a path is one or more Parquet files with images.
#[cfg(feature = "tables")]
pub(super) fn is_parquet_here(path: &Path) -> bool {
    shards(path, is_parquet).first().is_some_and(|shard| crate::readers::has_images(shard))
}

/// Whether a path is one or more Parquet files with images, which a build without tables cannot tell.
#[cfg(not(feature = "tables"))]
pub(super) fn is_parquet_here(_path: &Path) -> bool {
    false
}

/// Whether a path is one or more tar files with images.
pub(super) fn is_tar_here(path: &Path) -> bool {
    let is_image_name = |name: &str| is_image(Path::new(name));
    shards(path, is_tar)
        .first()
        .is_some_and(|shard| read_tar(shard, is_image_name).is_ok_and(|members| !members.is_empty()))
}

/// A file itself, or the files of a kind in a folder that holds no images of its own.
fn shards(path: &Path, is_kind: fn(&Path) -> bool) -> Vec<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned()).filter(|path| is_kind(path)).into_iter().collect();
    }
    let found = entries(path).unwrap_or_default();
    if found.iter().any(|entry| is_image(entry) || entry.is_dir()) {
        return Vec::new();
    }
    found.into_iter().filter(|entry| is_kind(entry) && entry.is_file()).collect()
}

#[cfg(feature = "tables")]
fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}

/// The images of all shards.
#[derive(Default)]
struct Images {
    files: Vec<Vec<u8>>,
    ids: Vec<String>,
    labels: Vec<Option<String>>,
}

/// Opens the shards of a dataset.
pub(super) fn open(path: &Path, kind: DatasetKind, part: Option<Part>) -> Result<ImageDataset, DataError> {
    if let Some(part) = part {
        let reason =
            format!("shards have no {} part: their parts share classes; leave the part out", part.name());
        return Err(DataError::content(path, reason));
    }
    let mut images = Images::default();
    match kind {
        DatasetKind::WebDataset => {
            for shard in shards(path, is_tar) {
                images.add_tar(&shard)?;
            }
        }
        #[cfg(feature = "tables")]
        _ => {
            for shard in shards(path, is_parquet) {
                images.add_parquet(&shard)?;
            }
        }
        #[cfg(not(feature = "tables"))]
        _ => return Err(DataError::not_built(path, "Parquet")),
    }
    if images.files.is_empty() {
        return Err(DataError::content(path, "it holds no images"));
    }
    images.make_ids_differ();
    let classes = Arc::new(ClassIndex::from_names(&images.labels));
    let source = ImageSource::Encoded { archive: path.to_owned(), files: images.files };
    Ok(ImageDataset { kind, classes, ids: images.ids, source, left_out: LeftOut::default() })
}

impl Images {
    #[cfg(feature = "tables")]
    fn add_parquet(&mut self, shard: &Path) -> Result<(), DataError> {
        let found = crate::readers::read_images(shard)?;
        let stem = shard.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let names = found.names.into_iter().enumerate();
        self.ids.extend(names.map(|(row, name)| name.unwrap_or_else(|| format!("{stem}/{row}"))));
        self.files.extend(found.files);
        self.labels.extend(found.labels);
        Ok(())
    }

    /// Members of one sample have its name and an extension each: `0001.jpg`, `0001.cls`.
    fn add_tar(&mut self, shard: &Path) -> Result<(), DataError> {
        let is_label = |name: &str| [".cls", ".json", ".txt"].iter().any(|ending| name.ends_with(ending));
        let members = read_tar(shard, |name| is_image(Path::new(name)) || is_label(name))?;
        let mut labels: BTreeMap<String, String> = BTreeMap::new();
        for member in members.iter().filter(|member| is_label(&member.name)) {
            if let Some(label) = label(&member.name, &member.bytes) {
                let (key, ending) = sample(&member.name);
                // A class of its own counts for more than one among other facts.
                if ending == "cls" || !labels.contains_key(key) {
                    labels.insert(key.to_owned(), label);
                }
            }
        }
        for member in members.into_iter().filter(|member| is_image(Path::new(&member.name))) {
            self.labels.push(labels.get(sample(&member.name).0).cloned());
            self.ids.push(member.name);
            self.files.push(member.bytes);
        }
        Ok(())
    }

    /// Two shards may call their images the same; ids may not repeat.
    fn make_ids_differ(&mut self) {
        let mut taken: HashSet<&String> = HashSet::new();
        if !self.ids.iter().all(|id| taken.insert(id)) {
            for (row, id) in self.ids.iter_mut().enumerate() {
                *id = format!("{row}/{id}");
            }
        }
    }
}

/// The name of a sample ends at the first dot of the file's name.
fn sample(name: &str) -> (&str, &str) {
    let start = name.rfind('/').map_or(0, |slash| slash + 1);
    match name[start..].find('.') {
        Some(dot) => (&name[..start + dot], &name[start + dot + 1..]),
        None => (name, ""),
    }
}

/// The class in a member: a `.cls` is nothing else, a `.json` has it under a known name, a `.txt` is a caption.
fn label(name: &str, bytes: &[u8]) -> Option<String> {
    let text = match sample(name).1 {
        "cls" => String::from_utf8_lossy(bytes).into_owned(),
        "json" => {
            let facts: Value = serde_json::from_slice(bytes).ok()?;
            let found = ["label", "class", "class_name", "cls"].iter().find_map(|key| facts.get(*key))?;
            found.as_str().map_or_else(|| found.to_string(), str::to_owned)
        }
        _ => return None,
    };
    Some(text.trim().to_owned()).filter(|text| !text.is_empty() && text != "null")
}
