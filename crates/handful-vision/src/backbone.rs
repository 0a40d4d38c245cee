//! A network ready for use: what kind, how images are prepared for it, and its weights.

use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::error::VisionError;
use crate::foreign;
use crate::images::Preparation;
use crate::networks::{Architecture, Network};
use crate::tensors::{self, Arrays, Misfit, values_of};
use crate::training::settings::Settings;
use crate::weights::{self, WeightFile};

/// What a file of our weights says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackboneHeader {
    /// The network.
    pub backbone: Architecture,
    /// What images go through.
    pub preparation: Preparation,
}

impl BackboneHeader {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self { backbone: settings.backbone, preparation: settings.preparation }
    }
}

/// What the file itself may not say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// The network; needed for files of other programs.
    pub backbone: Option<Architecture>,
    /// Side of the images it sees, if not the one it was trained with.
    pub size: Option<usize>,
}

/// A network with weights.
#[derive(Debug)]
pub struct Backbone {
    network: Network,
    header: BackboneHeader,
    sha256: String,
    device: Device,
}

/// Under this name our checkpoints keep the network beside its classifier.
const IN_CHECKPOINT: &str = "network.";

impl Backbone {
    /// Reads weights: our files say what they are; for those of other programs the network must be named.
    pub fn open(path: &Path, wanted: Wanted, device: &Device) -> Result<Self, VisionError> {
        Self::from_file(path, foreign::read(path)?, wanted, device)
    }

    /// The network that comes with the program: `compact`, trained on the 64 base classes of CIFAR-FS.
    pub fn shipped(wanted: Wanted, device: &Device) -> Result<Self, VisionError> {
        const BYTES: &[u8] = include_bytes!("../assets/compact-cifar-fs.safetensors");
        let path = PathBuf::from("<compact-cifar-fs>");
        Self::from_file(&path, weights::parse(&path, BYTES)?, wanted, device)
    }

    fn from_file(
        path: &Path,
        file: WeightFile,
        wanted: Wanted,
        device: &Device,
    ) -> Result<Self, VisionError> {
        let broken = |reason: String| VisionError::Weights { path: path.to_owned(), reason };
        let header = match (&file.header, wanted.backbone) {
            (Some(header), asked) => {
                let header: BackboneHeader = serde_json::from_str(header)
                    .map_err(|error| broken(format!("its header is broken ({error})")))?;
                if asked.is_some_and(|asked| asked != header.backbone) {
                    return Err(broken(format!("they are of the backbone {}", header.backbone)));
                }
                header
            }
            (None, Some(backbone)) => BackboneHeader { backbone, preparation: backbone.preparation() },
            (None, None) => {
                return Err(broken(
                    "the file does not say of which network; name it with --backbone".to_owned(),
                ));
            }
        };
        let mut header = header;
        if let Some(size) = wanted.size {
            header.preparation.size = size;
        }
        let smallest = header.backbone.smallest_image();
        if header.preparation.size < smallest || header.preparation.size > 1024 {
            return Err(VisionError::Setting {
                setting: "image size",
                value: header.preparation.size.to_string(),
                requirement: format!("{} needs {smallest} to 1024", header.backbone),
            });
        }
        let arrays = without_prefix(file.arrays, IN_CHECKPOINT);
        let (network, misfits) = tensors::apply(header.backbone.build(device), &arrays);
        report(path, header.backbone, &network, misfits)?;
        Ok(Self { network, header, sha256: file.sha256, device: device.clone() })
    }

    /// The network's kind.
    pub fn architecture(&self) -> Architecture {
        self.header.backbone
    }

    /// What images go through.
    pub fn preparation(&self) -> &Preparation {
        &self.header.preparation
    }

    /// SHA-256 of the file of weights, in hexadecimal.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.header.backbone.features(self.header.preparation.size)
    }

    /// The features of prepared images, row by row.
    pub fn embed(&self, images: &[Vec<f32>]) -> Vec<f32> {
        let size = self.header.preparation.size;
        let pixels = TensorData::new(images.concat(), [images.len(), 3, size, size]);
        values_of(&self.network.forward(Tensor::from_data(pixels, &self.device)))
    }
}

fn without_prefix(arrays: Arrays, prefix: &str) -> Arrays {
    if !arrays.keys().any(|name| name.starts_with(prefix)) {
        return arrays;
    }
    arrays
        .into_iter()
        .filter_map(|(name, array)| Some((name.strip_prefix(prefix)?.to_owned(), array)))
        .collect()
}

/// The first misfit as an error.
fn report(
    path: &Path,
    backbone: Architecture,
    network: &Network,
    misfits: Vec<Misfit>,
) -> Result<(), VisionError> {
    let missing = misfits.iter().filter(|misfit| matches!(misfit, Misfit::Missing(_))).count();
    match misfits.into_iter().next() {
        None => Ok(()),
        Some(Misfit::Missing(tensor)) => Err(VisionError::MissingTensor {
            path: path.to_owned(),
            backbone,
            tensor,
            missing,
            expected: tensors::collect(network).len(),
        }),
        Some(Misfit::Misshapen { name, found, expected }) => Err(VisionError::MisshapenTensor {
            path: path.to_owned(),
            backbone,
            tensor: name,
            found,
            expected,
        }),
    }
}
