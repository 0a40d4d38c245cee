//! A network ready for use: what kind, how images are prepared for it, and its weights.
//!
//! Weights of a known architecture are computed by burn, with our own kernels on a CPU; an ONNX file is computed by
//! rten.

use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};
use handful_data::datasets::Image;
use serde::{Deserialize, Serialize};

use crate::error::VisionError;
use crate::files::io_error;
use crate::foreign;
use crate::images::{Pixels, Preparation};
use crate::networks::{Architecture, Network};
use crate::onnx::{LARGEST_SIZE, OnnxNetwork};
use crate::pretrained::{Pretrained, PretrainedError, find};
use crate::tensors::{self, Arrays, Misfit, values_of};
use crate::training::settings::Settings;
use crate::views::{MOST_CROPS, further_windows};
use crate::weights::{self, WeightFile};

/// What a file of our weights says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The network; needed for files of other programs, but for ONNX.
    pub backbone: Option<Architecture>,
    /// Side of the images it sees, if not the one it was trained with.
    pub size: Option<usize>,
    /// What the bytes of an image become, if not what the network is known to expect.
    pub pixels: Option<Pixels>,
    /// The layer of an ONNX file to take the features from, if not the last pooled one.
    pub layer: Option<String>,
    /// How many windows of an image are looked at, if not one; features are their mean.
    pub crops: Option<usize>,
    /// Whether features are the mean of those of an image and of its mirror image.
    pub mirrored: bool,
}

impl Wanted {
    fn crops(&self) -> Result<usize, VisionError> {
        let crops = self.crops.unwrap_or(1);
        if (1..=MOST_CROPS).contains(&crops) {
            return Ok(crops);
        }
        Err(VisionError::Setting {
            setting: "crops",
            value: crops.to_string(),
            requirement: format!("it must be 1 to {MOST_CROPS}"),
        })
    }
}

/// What computes the features.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
enum Engine {
    Burn { network: Network, architecture: Architecture, device: Device },
    Onnx { network: OnnxNetwork, path: PathBuf },
}

/// A network with weights.
#[derive(Debug)]
pub struct Backbone {
    engine: Engine,
    preparation: Preparation,
    crops: usize,
    mirrored: bool,
    sha256: String,
}

/// Pixels that go through the network together: few enough that what one layer hands to the next stays small.
const PIXELS_TOGETHER: usize = 64 * 84 * 84;

/// Changes whenever images are decoded or prepared in another way than before, so that no old features are taken for
/// new ones.
const PREPARATION_VERSION: u32 = 2;

/// Under this name our checkpoints keep the network beside its classifier.
const IN_CHECKPOINT: &str = "network.";
/// Under this name they keep the average of its weights.
pub(crate) const AVERAGED: &str = "average.";

impl Backbone {
    /// Reads weights: our files say what they are; for those of other programs the network must be named.
    pub fn open(path: &Path, wanted: Wanted, device: &Device) -> Result<Self, VisionError> {
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("onnx")) {
            return Self::from_onnx(path, wanted);
        }
        Self::from_file(path, foreign::read(path)?, wanted, device)
    }

    fn from_onnx(path: &Path, wanted: Wanted) -> Result<Self, VisionError> {
        if let Some(backbone) = wanted.backbone {
            return Err(VisionError::Setting {
                setting: "backbone",
                value: backbone.to_string(),
                requirement: "an ONNX file says itself what network it is".to_owned(),
            });
        }
        let bytes = std::fs::read(path).map_err(io_error(path))?;
        let network = OnnxNetwork::open(path, &bytes, wanted.layer.as_deref(), wanted.size)?;
        let preparation = Preparation { keep_aspect: true, ..Preparation::imagenet(network.size()) }
            .with_pixels(wanted.pixels.unwrap_or(Pixels::Imagenet));
        let engine = Engine::Onnx { network, path: path.to_owned() };
        let (crops, mirrored) = (wanted.crops()?, wanted.mirrored);
        Ok(Self { engine, preparation, crops, mirrored, sha256: weights::sha256(&bytes) })
    }

    /// The network that comes with the program: `compact`, trained on the 64 base classes of CIFAR-FS.
    pub fn shipped(wanted: Wanted, device: &Device) -> Result<Self, VisionError> {
        const BYTES: &[u8] = include_bytes!("../assets/compact-cifar-fs.safetensors");
        let path = PathBuf::from("<compact-cifar-fs>");
        Self::from_file(&path, weights::parse(&path, BYTES)?, wanted, device)
    }

    /// A network of a package registry that is on this machine.
    ///
    /// # Errors
    /// A network that is not there, or whose file has other contents than it should.
    pub fn pretrained(
        network: &'static Pretrained,
        wanted: Wanted,
        device: &Device,
    ) -> Result<Self, VisionError> {
        let missing = PretrainedError::Missing { name: network.name };
        let path = find(network).and_then(|present| present.files.into_iter().next()).ok_or(missing)?;
        let wanted = Wanted { backbone: wanted.backbone.or(network.architecture), ..wanted };
        let opened = Self::open(&path, wanted, device)?;
        match network.files.first() {
            Some(file) if file.sha256 != opened.sha256 => {
                let (found, expected) = (opened.sha256, file.sha256);
                Err(PretrainedError::Checksum { path, found, expected }.into())
            }
            _ => Ok(opened),
        }
    }

    fn from_file(
        path: &Path,
        file: WeightFile,
        wanted: Wanted,
        device: &Device,
    ) -> Result<Self, VisionError> {
        let broken = |reason: String| VisionError::Weights { path: path.to_owned(), reason };
        if wanted.layer.is_some() {
            return Err(broken("a layer can be chosen of an ONNX file only".to_owned()));
        }
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
        let BackboneHeader { backbone: architecture, mut preparation } = header;
        if let Some(size) = wanted.size {
            preparation.size = size;
        }
        if let Some(pixels) = wanted.pixels {
            preparation = preparation.with_pixels(pixels);
        }
        let smallest = architecture.smallest_image();
        if !(smallest..=LARGEST_SIZE).contains(&preparation.size) {
            return Err(VisionError::Setting {
                setting: "image size",
                value: preparation.size.to_string(),
                requirement: format!("{architecture} needs {smallest} to {LARGEST_SIZE}"),
            });
        }
        let arrays = network_arrays(file.arrays);
        let (network, misfits) = tensors::apply(architecture.build(device), &arrays);
        report(path, architecture, &network, misfits)?;
        let engine = Engine::Burn { network, architecture, device: device.clone() };
        let (crops, mirrored) = (wanted.crops()?, wanted.mirrored);
        Ok(Self { engine, preparation, crops, mirrored, sha256: file.sha256 })
    }

    /// A network that is still in training. It has no file: nothing must be kept under its digest.
    pub(crate) fn of_parts(header: BackboneHeader, arrays: &Arrays, device: &Device) -> Self {
        let BackboneHeader { backbone: architecture, preparation } = header;
        let (network, _) = tensors::apply(architecture.build(device), arrays);
        let engine = Engine::Burn { network, architecture, device: device.clone() };
        Self { engine, preparation, crops: 1, mirrored: false, sha256: String::new() }
    }

    /// What the network is, in a few words: its architecture, or the layer of an ONNX file, and how it looks at images.
    pub fn description(&self) -> String {
        let mut text = match &self.engine {
            Engine::Burn { architecture, .. } => architecture.to_string(),
            Engine::Onnx { network, .. } => format!("layer {} of ONNX", network.layer()),
        };
        text.push_str(&format!(" at {} px", self.preparation.size));
        if self.crops > 1 {
            text.push_str(&format!(", {} crops", self.crops));
        }
        if self.mirrored {
            text.push_str(", mirrored too");
        }
        text
    }

    /// A digest of everything that decides what an image becomes.
    pub fn fingerprint(&self) -> String {
        let layer = match &self.engine {
            Engine::Burn { architecture, .. } => architecture.to_string(),
            Engine::Onnx { network, .. } => network.layer().to_owned(),
        };
        let Self { preparation, crops, mirrored, sha256, .. } = self;
        let facts = format!("{PREPARATION_VERSION} {sha256} {layer} {preparation:?} {crops} {mirrored}");
        weights::sha256(facts.as_bytes())
    }

    /// The weights by name; an ONNX file has none that a training could begin with.
    pub fn arrays(&self) -> Option<Arrays> {
        let Engine::Burn { network, .. } = &self.engine else { return None };
        Some(tensors::collect(network).into_iter().map(|named| (named.name, named.array)).collect())
    }

    /// What images go through.
    pub fn preparation(&self) -> &Preparation {
        &self.preparation
    }

    /// SHA-256 of the file of weights, in hexadecimal.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        match &self.engine {
            Engine::Burn { architecture, .. } => architecture.features(self.preparation.size),
            Engine::Onnx { network, .. } => network.features(),
        }
    }

    /// What the network is shown of an image: one or several prepared windows.
    pub fn views(&self, image: &Image) -> Vec<Vec<f32>> {
        let further = further_windows(image, self.crops);
        std::iter::once(image).chain(&further).map(|window| self.preparation.apply(window)).collect()
    }

    /// The features of images, row by row, each the mean over its views.
    ///
    /// # Errors
    /// A network that cannot be computed.
    pub fn embed_views(&self, images: &[Vec<Vec<f32>>]) -> Result<Vec<f32>, VisionError> {
        let together = (PIXELS_TOGETHER / self.preparation.size.pow(2)).clamp(1, 64);
        let views: Vec<&[f32]> = images.iter().flatten().map(Vec::as_slice).collect();
        let mut rows = Vec::with_capacity(views.len() * self.features());
        for views in views.chunks(together) {
            rows.extend(self.embed(views)?);
        }
        if self.crops == 1 {
            return Ok(rows);
        }
        let share = 1.0 / self.crops as f32;
        let means = rows.chunks(self.crops * self.features()).flat_map(|rows| {
            let mut mean = vec![0.0; self.features()];
            for row in rows.chunks_exact(self.features()) {
                mean.iter_mut().zip(row).for_each(|(mean, value)| *mean += share * value);
            }
            mean
        });
        Ok(means.collect())
    }

    /// The features of prepared images, row by row.
    ///
    /// # Errors
    /// A network that cannot be computed.
    pub fn embed(&self, images: &[impl AsRef<[f32]>]) -> Result<Vec<f32>, VisionError> {
        let images: Vec<&[f32]> = images.iter().map(AsRef::as_ref).collect();
        let mut features = self.forward(&images)?;
        if self.mirrored {
            let size = self.preparation.size;
            let mirrors: Vec<Vec<f32>> = images.iter().map(|planes| mirror(planes, size)).collect();
            let mirrors: Vec<&[f32]> = mirrors.iter().map(Vec::as_slice).collect();
            for (own, other) in features.iter_mut().zip(self.forward(&mirrors)?) {
                *own = 0.5 * (*own + other);
            }
        }
        Ok(features)
    }

    fn forward(&self, images: &[&[f32]]) -> Result<Vec<f32>, VisionError> {
        match &self.engine {
            Engine::Burn { network, device, .. } => {
                let size = self.preparation.size;
                let pixels = TensorData::new(images.concat(), [images.len(), 3, size, size]);
                Ok(values_of(&network.forward(Tensor::from_data(pixels, device))))
            }
            Engine::Onnx { network, path } => network.embed(path, images),
        }
    }
}

/// Planes of square images with left and right exchanged.
fn mirror(planes: &[f32], size: usize) -> Vec<f32> {
    planes.chunks(size).flat_map(|line| line.iter().rev().copied()).collect()
}

/// The arrays of the network alone, averaged if there is an average, where a checkpoint of a training holds more.
pub fn network_arrays(arrays: Arrays) -> Arrays {
    let has = |prefix: &&str| arrays.keys().any(|name| name.starts_with(*prefix));
    let Some(prefix) = [AVERAGED, IN_CHECKPOINT].into_iter().find(has) else { return arrays };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::device;

    #[test]
    fn mirrored_features_are_the_mean_of_both_and_those_of_the_mirror_image() {
        let cpu = device("cpu").expect("always there");
        let plain = Backbone::shipped(Wanted::default(), &cpu).expect("whole");
        let both = Backbone::shipped(Wanted { mirrored: true, ..Wanted::default() }, &cpu).expect("whole");
        let size = plain.preparation().size;
        let image: Vec<f32> =
            (0..3 * size * size).map(|at| ((at * 7919) % 101) as f32 / 50.0 - 1.0).collect();
        let mirrored = mirror(&image, size);
        assert_eq!(mirror(&mirrored, size), image);
        let of = |backbone: &Backbone, planes: &Vec<f32>| {
            backbone.embed(std::slice::from_ref(planes)).expect("fits")
        };
        let (own, other) = (of(&plain, &image), of(&plain, &mirrored));
        assert_ne!(own, other);
        let mean: Vec<f32> = own.iter().zip(&other).map(|(a, b)| 0.5 * (a + b)).collect();
        assert_eq!(of(&both, &image), mean);
        assert_eq!(of(&both, &mirrored), mean);
    }
}
