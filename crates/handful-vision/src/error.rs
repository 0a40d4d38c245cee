//! Everything that can go wrong with images, weights and trainings.

use std::path::PathBuf;

use handful_data::DataError;

use crate::networks::Architecture;
use crate::pretrained::PretrainedError;
use crate::text::TextError;

/// Why a network could not be built, trained or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VisionError {
    /// A dataset or image could not be read.
    #[error(transparent)]
    Data(#[from] DataError),

    /// Texts could not be read or turned into features.
    #[error(transparent)]
    Text(#[from] TextError),

    /// A network of a package registry could not be had.
    #[error(transparent)]
    Pretrained(#[from] PretrainedError),

    /// The operating system could not read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// Not one image could be read.
    #[error("none of the {count} images can be read; the first: {first}")]
    NoImage {
        /// How many there are.
        count: usize,
        /// Why the first cannot be read.
        first: DataError,
    },

    /// No architecture has this name.
    #[error("backbone `{name}` is not known; it must be one of {}", known_backbones())]
    UnknownBackbone {
        /// What was asked for.
        name: String,
    },

    /// No device has this name, or the program was built without it.
    #[error("device `{name}` {reason}")]
    Device {
        /// What was asked for.
        name: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A setting is out of range.
    #[error("{setting} is {value}, but {requirement}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: String,
        /// What is required of it.
        requirement: String,
    },

    /// The file is not a file of weights.
    #[error("{}: it cannot be read as weights: {reason}", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// A tensor of the network is not in the file.
    #[error("{}: the tensor `{tensor}` of {backbone} is missing ({missing} of {expected} are)", path.display())]
    MissingTensor {
        /// The file.
        path: PathBuf,
        /// The network.
        backbone: Architecture,
        /// The first missing tensor.
        tensor: String,
        /// How many are missing.
        missing: usize,
        /// How many the network has.
        expected: usize,
    },

    /// A tensor of the file has another shape than the network's.
    #[error("{}: the tensor `{tensor}` is {found:?}, but {backbone} needs {expected:?}", path.display())]
    MisshapenTensor {
        /// The file.
        path: PathBuf,
        /// The network.
        backbone: Architecture,
        /// The tensor.
        tensor: String,
        /// The file's shape.
        found: Vec<usize>,
        /// The network's shape.
        expected: Vec<usize>,
    },

    /// The loss is no number any more.
    #[error(
        "the loss became {loss} in epoch {epoch}, step {step}; a smaller learning rate than {rate} may help"
    )]
    Diverged {
        /// The loss.
        loss: f32,
        /// The epoch, from 1.
        epoch: usize,
        /// The step in the epoch, from 1.
        step: usize,
        /// The learning rate.
        rate: f64,
    },
}

fn known_backbones() -> String {
    Architecture::NAMES.map(|(name, _)| name).join(", ")
}
