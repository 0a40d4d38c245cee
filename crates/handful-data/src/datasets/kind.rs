//! Which datasets there are, and how a folder or archive shows which one it is.

use std::{fmt, path::Path, str::FromStr};

use super::{cifar, cub, lists, mini, omniglot, shards, tiered};
use crate::error::DataError;

/// A part of a dataset; the parts share no class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Classes to pretrain on (also called train).
    Base,
    /// Classes to tune on (also called val).
    Validation,
    /// Classes to report on (also called test).
    Novel,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 3] = [Self::Base, Self::Validation, Self::Novel];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Validation => "validation",
            Self::Novel => "novel",
        }
    }

    /// The word that split files use for it.
    pub(super) fn file_word(self) -> &'static str {
        match self {
            Self::Base => "train",
            Self::Validation => "val",
            Self::Novel => "test",
        }
    }
}

impl FromStr for Part {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        match text {
            "base" | "train" => Ok(Self::Base),
            "validation" | "val" => Ok(Self::Validation),
            "novel" | "test" => Ok(Self::Novel),
            _ => Err(DataError::setting("part", text.to_owned(), "it must be base, validation or novel")),
        }
    }
}

/// A dataset whose files and splits are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DatasetKind {
    /// CIFAR-100 with the split of Bertinetto et al.: 64/16/20 classes of 600 images.
    CifarFs,
    /// CIFAR-100 with the split of Oreshkin et al. by superclass: 60/20/20 classes.
    Fc100,
    /// mini-ImageNet with the split of Ravi and Larochelle.
    MiniImageNet,
    /// tiered-ImageNet.
    TieredImageNet,
    /// CUB-200-2011 with the split of CloserLook.
    Cub,
    /// Omniglot.
    Omniglot,
    /// A folder with a folder of images for each class.
    Folder,
    /// Image lists: json of CloserLook or easyfsl, or csv.
    Lists,
    /// Parquet files with a column of images, as Hugging Face has them.
    ParquetImages,
    /// Tar files of samples, as WebDataset has them.
    WebDataset,
}

impl DatasetKind {
    /// All kinds, by the names of the command line.
    pub const NAMES: [(&'static str, Self); 10] = [
        ("cifar-fs", Self::CifarFs),
        ("fc100", Self::Fc100),
        ("mini-imagenet", Self::MiniImageNet),
        ("tiered-imagenet", Self::TieredImageNet),
        ("cub", Self::Cub),
        ("omniglot", Self::Omniglot),
        ("folder", Self::Folder),
        ("lists", Self::Lists),
        ("parquet-images", Self::ParquetImages),
        ("webdataset", Self::WebDataset),
    ];

    /// Tells the kind from the files.
    pub fn detect(path: &Path) -> Result<Self, DataError> {
        if !path.exists() {
            return Err(DataError::io(path, std::io::ErrorKind::NotFound.into()));
        }
        if cifar::is_here(path) {
            Ok(Self::CifarFs)
        } else if mini::is_here(path) {
            Ok(Self::MiniImageNet)
        } else if tiered::is_here(path) {
            Ok(Self::TieredImageNet)
        } else if cub::is_here(path) {
            Ok(Self::Cub)
        } else if omniglot::is_here(path) {
            Ok(Self::Omniglot)
        } else if lists::is_here(path) {
            Ok(Self::Lists)
        } else if shards::is_parquet_here(path) {
            Ok(Self::ParquetImages)
        } else if shards::is_tar_here(path) {
            Ok(Self::WebDataset)
        } else if path.is_dir() {
            Ok(Self::Folder)
        } else {
            let reason = "it is not a dataset that is known; give a folder of class folders, or one of CIFAR-100, \
                          mini-ImageNet, tiered-ImageNet, CUB-200-2011, Omniglot, an image list (json, csv), or shards of images (.parquet, .tar)";
            Err(DataError::content(path, reason))
        }
    }
}

impl fmt::Display for DatasetKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, kind)| kind == self).map_or("dataset", |(name, _)| name);
        out.write_str(name)
    }
}

impl FromStr for DatasetKind {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        let known = Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, kind)| *kind);
        known.ok_or_else(|| {
            let names: Vec<&str> = Self::NAMES.iter().map(|(name, _)| *name).collect();
            DataError::setting("dataset", text.to_owned(), format!("it must be one of {}", names.join(", ")))
        })
    }
}
