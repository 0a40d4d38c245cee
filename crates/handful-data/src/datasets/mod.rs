//! Image datasets of the few-shot literature, with their canonical splits, from the files people have.
//!
//! Nothing is downloaded: the usual places are gone or ask for accounts. Class lists that are facts are in the
//! code; long file lists are read from the split files that come with a dataset. Archives are read in memory and
//! never unpacked to disk, so no path inside one can reach anything.

mod archives;
mod cifar;
mod cub;
#[cfg(feature = "images")]
mod decode;
#[cfg(feature = "images")]
mod encode;
mod files;
mod folder;
mod image_names;
mod image_source;
mod kind;
mod lists;
mod mini;
mod omniglot;
mod pictures;
mod shards;
mod tiered;
mod walker;

use std::{borrow::Cow, path::Path, sync::Arc};

pub use cifar::cifar_fs_part;
pub use files::open_images;
pub use image_source::Image;
use image_source::ImageSource;
pub use kind::{DatasetKind, Part};
pub use pictures::Pictures;
pub use walker::LeftOut;

use crate::{error::DataError, table::ClassIndex};

/// The images of a dataset, or of one of its parts, with their classes.
///
/// Opening reads names and labels; pixels are decoded one image at a time, by [`ImageDataset::load`], which any
/// number of threads may call.
#[derive(Debug)]
pub struct ImageDataset {
    kind: DatasetKind,
    classes: Arc<ClassIndex>,
    ids: Vec<String>,
    source: ImageSource,
    left_out: LeftOut,
}

/// Opens a dataset, or one part of it.
///
/// The kind is told by what the folder or archive holds, unless it is given; FC100 must be given, because its files
/// are those of CIFAR-FS.
pub fn open_dataset(
    path: &Path,
    kind: Option<DatasetKind>,
    part: Option<Part>,
) -> Result<ImageDataset, DataError> {
    let kind = match kind {
        Some(kind) => kind,
        None => DatasetKind::detect(path)?,
    };
    let listing = match kind {
        DatasetKind::CifarFs | DatasetKind::Fc100 => cifar::open(path, kind, part)?,
        DatasetKind::MiniImageNet => mini::open(path, part)?,
        DatasetKind::TieredImageNet => tiered::open(path, part)?,
        DatasetKind::Cub => cub::open(path, part)?,
        DatasetKind::Omniglot => omniglot::open(path, part)?,
        DatasetKind::Folder => folder::open(path, part)?,
        DatasetKind::Lists => lists::open(path, part)?,
        DatasetKind::ParquetImages | DatasetKind::WebDataset => return shards::open(path, kind, part),
    };
    listing.into_dataset(path, kind)
}

/// What the reader of a dataset finds.
struct Listing {
    labels: Vec<String>,
    /// The order of the classes, where it is not that of their names.
    class_order: Option<Vec<String>>,
    ids: Vec<String>,
    source: ImageSource,
}

impl Listing {
    fn into_dataset(self, path: &Path, kind: DatasetKind) -> Result<ImageDataset, DataError> {
        if self.labels.is_empty() {
            return Err(DataError::content(path, "it holds no images"));
        }
        let labels: Vec<Option<String>> = self.labels.into_iter().map(Some).collect();
        let classes = match &self.class_order {
            Some(order) => ClassIndex::from_names_in_order(&labels, order),
            None => ClassIndex::from_names(&labels),
        };
        let (classes, left_out) = (Arc::new(classes), LeftOut::default());
        Ok(ImageDataset { kind, classes, ids: self.ids, source: self.source, left_out })
    }
}

impl ImageDataset {
    /// What kind of dataset it is.
    pub fn kind(&self) -> DatasetKind {
        self.kind
    }

    /// The number of images.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no image; an opened dataset has at least one.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The classes: their names, and which image is of which.
    pub fn classes(&self) -> &Arc<ClassIndex> {
        &self.classes
    }

    /// The id of an image: its path in the dataset, or its record.
    pub fn id(&self, image: usize) -> &str {
        self.ids.get(image).map_or("", String::as_str)
    }

    /// What lies among the images and is none that can be decoded; empty but for [`open_images`] of a folder.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// The file of an image, where it has one of its own.
    pub fn file(&self, image: usize) -> Option<&Path> {
        match &self.source {
            ImageSource::Files(files) => files.get(image).map(|file| file.as_path()),
            _ => None,
        }
    }

    /// The bytes of an image's file, for [`ImageDataset::decode`]; `None` where the dataset stores bare pixels.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn encoded(&self, image: usize) -> Result<Option<Cow<'_, [u8]>>, DataError> {
        self.source.encoded(image, self.id(image))
    }

    /// Decodes the bytes of an image's file.
    ///
    /// # Errors
    /// Bytes that are no image, or only the first part of one.
    pub fn decode(&self, image: usize, bytes: &[u8]) -> Result<Image, DataError> {
        self.source.decode(image, self.id(image), bytes)
    }

    /// Decodes one image.
    ///
    /// # Errors
    /// An image that cannot be read or decoded.
    pub fn load(&self, image: usize) -> Result<Image, DataError> {
        self.source.load(image, self.id(image))
    }

    /// Decodes one image and encodes it as JPEG of a quality from 1 to 100; its longest side becomes at most `longest`.
    ///
    /// # Errors
    /// An image that cannot be read, decoded or encoded.
    pub fn jpeg(&self, image: usize, longest: Option<u32>, quality: u8) -> Result<Vec<u8>, DataError> {
        let name = Path::new(self.id(image));
        #[cfg(feature = "images")]
        return encode::jpeg(self.load(image)?, longest, quality)
            .map_err(|reason| DataError::content(name, reason));
        #[cfg(not(feature = "images"))]
        {
            let _ = (longest, quality);
            Err(DataError::NotBuilt { path: name.to_owned(), format: "images" })
        }
    }
}

/// Parts of a dataset must not share classes; the error names one that they share.
fn check_disjoint(path: &Path, parts: &[(Part, &[String])]) -> Result<(), DataError> {
    for (place, (part, names)) in parts.iter().enumerate() {
        for (other, other_names) in &parts[..place] {
            if let Some(shared) = names.iter().find(|name| other_names.contains(name)) {
                let reason =
                    format!("class `{shared}` is in both the {} and the {} part", other.name(), part.name());
                return Err(DataError::content(path, reason));
            }
        }
    }
    Ok(())
}
