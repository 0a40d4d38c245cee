//! A network ready for use: what kind, how images are prepared for it, and its weights.
//!
//! Weights of a known architecture are computed by burn, with our own kernels on a CPU; an ONNX file is computed by
//! rten.

use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};
use handful::embedder::Embedder;
use handful::parts::PartKind;
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
    /// What is kept beside the features: the places of the last map, or the features of image and mirror image.
    pub parts: Option<PartKind>,
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
    parts: Option<PartKind>,
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
        let sha256 = weights::sha256(&bytes);
        Self { engine, preparation, crops: wanted.crops()?, mirrored: wanted.mirrored, parts: None, sha256 }
            .keeping(wanted.parts)
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
        let sha256 = file.sha256;
        Self { engine, preparation, crops: wanted.crops()?, mirrored: wanted.mirrored, parts: None, sha256 }
            .keeping(wanted.parts)
    }

    /// The same, with what is kept beside the features.
    fn keeping(self, parts: Option<PartKind>) -> Result<Self, VisionError> {
        let refuse = |requirement: &str| {
            let (setting, value) = ("what is kept", parts.map_or("", PartKind::name).to_owned());
            Err(VisionError::Setting { setting, value, requirement: requirement.to_owned() })
        };
        let is_onnx = matches!(self.engine, Engine::Onnx { .. });
        match parts {
            Some(_) if self.crops > 1 => refuse("it is of the whole image; leave out --crops"),
            Some(PartKind::Maps) if self.mirrored => {
                refuse("maps are of the image alone; leave out --mirror")
            }
            Some(PartKind::Maps) if is_onnx => {
                refuse("an ONNX file gives its features only; take a network of ours")
            }
            // Features beside both views are their mean.
            Some(PartKind::Views) => Ok(Self { mirrored: true, parts, ..self }),
            parts => Ok(Self { parts, ..self }),
        }
    }

    /// A network that is still in training. It has no file: nothing must be kept under its digest.
    pub(crate) fn of_parts(header: BackboneHeader, arrays: &Arrays, device: &Device) -> Self {
        let BackboneHeader { backbone: architecture, preparation } = header;
        let (network, _) = tensors::apply(architecture.build(device), arrays);
        let engine = Engine::Burn { network, architecture, device: device.clone() };
        Self { engine, preparation, crops: 1, mirrored: false, parts: None, sha256: String::new() }
    }

    /// What the network is, in a few words: its architecture, or the layer of an ONNX file, and how it looks at images.
    pub fn description(&self) -> String {
        let mut text = match &self.engine {
            Engine::Burn { architecture, .. } => architecture.to_string(),
            Engine::Onnx { network, .. } => format!("layer {} of ONNX", network.layer()),
        };
        text.push_str(&format!(" at {} px", self.preparation.size));
        if self.parts == Some(PartKind::Maps) {
            text.push_str(", with maps");
        }
        if self.crops > 1 {
            text.push_str(&format!(", {} crops", self.crops));
        }
        if self.mirrored {
            text.push_str(", mirrored too");
        }
        text
    }

    /// What features of it carry; a network that is still in training has no weights to name.
    pub fn embedder(&self) -> Option<Embedder> {
        (!self.sha256.is_empty()).then(|| Embedder::new(self.description(), &self.sha256))
    }

    /// A digest of everything that decides what an image becomes.
    pub fn fingerprint(&self) -> String {
        let layer = match &self.engine {
            Engine::Burn { architecture, .. } => architecture.to_string(),
            Engine::Onnx { network, .. } => network.layer().to_owned(),
        };
        let Self { preparation, crops, mirrored, sha256, .. } = self;
        let mut facts = format!("{PREPARATION_VERSION} {sha256} {layer} {preparation:?} {crops} {mirrored}");
        if let Some(parts) = self.parts {
            facts.push(' ');
            facts.push_str(parts.name());
        }
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

    /// The numbers of an image: its features, and what is kept beside them.
    pub fn columns(&self) -> usize {
        self.features() + self.parts().map_or(0, |(_, count, width)| count * width)
    }

    /// What is kept beside the features, how many vectors of it an image has, and of how many numbers.
    pub fn parts(&self) -> Option<(PartKind, usize, usize)> {
        match (self.parts?, &self.engine) {
            (PartKind::Maps, Engine::Burn { architecture, .. }) => {
                let [places, channels] = architecture.map_shape(self.preparation.size);
                Some((PartKind::Maps, places, channels))
            }
            (kind, _) => Some((kind, 2, self.features())),
        }
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

    /// The features of images, row by row, each the mean over its views; behind those of an image what is kept beside them.
    ///
    /// # Errors
    /// A network that cannot be computed.
    pub fn embed_views(&self, images: &[Vec<Vec<f32>>]) -> Result<Vec<f32>, VisionError> {
        let together = (PIXELS_TOGETHER / self.preparation.size.pow(2)).clamp(1, 64);
        let views: Vec<&[f32]> = images.iter().flatten().map(Vec::as_slice).collect();
        let mut rows = Vec::with_capacity(views.len() * self.columns());
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

    /// The features of prepared images, row by row, each followed by what is kept beside it.
    ///
    /// # Errors
    /// A network that cannot be computed.
    pub fn embed(&self, images: &[impl AsRef<[f32]>]) -> Result<Vec<f32>, VisionError> {
        let images: Vec<&[f32]> = images.iter().map(AsRef::as_ref).collect();
        if let (Some(PartKind::Maps), Engine::Burn { network, device, .. }) = (self.parts, &self.engine) {
            return Ok(with_maps(network, self.pixels(&images, device)));
        }
        let own = self.forward(&images)?;
        if !self.mirrored {
            return Ok(own);
        }
        let size = self.preparation.size;
        let mirrors: Vec<Vec<f32>> = images.iter().map(|planes| mirror(planes, size)).collect();
        let mirrors: Vec<&[f32]> = mirrors.iter().map(Vec::as_slice).collect();
        let other = self.forward(&mirrors)?;
        let means: Vec<f32> = own.iter().zip(&other).map(|(own, other)| 0.5 * (own + other)).collect();
        if self.parts.is_none() {
            return Ok(means);
        }
        let rows =
            |values: &'_ [f32]| values.chunks_exact(self.features()).map(<[f32]>::to_vec).collect::<Vec<_>>();
        let rows = rows(&means).into_iter().zip(rows(&own)).zip(rows(&other));
        Ok(rows.flat_map(|((mean, own), other)| [mean, own, other].concat()).collect())
    }

    fn pixels(&self, images: &[&[f32]], device: &Device) -> Tensor<4> {
        let size = self.preparation.size;
        Tensor::from_data(TensorData::new(images.concat(), [images.len(), 3, size, size]), device)
    }

    fn forward(&self, images: &[&[f32]]) -> Result<Vec<f32>, VisionError> {
        match &self.engine {
            Engine::Burn { network, device, .. } => {
                Ok(values_of(&network.forward(self.pixels(images, device))))
            }
            Engine::Onnx { network, path } => network.embed(path, images),
        }
    }
}

/// The features of images, each followed by its map, the channels of a place side by side.
fn with_maps(network: &Network, images: Tensor<4>) -> Vec<f32> {
    let maps = network.maps(images, None);
    let [count, channels, rows, columns] = maps.dims();
    let features = values_of(&network.features_of(maps.clone()));
    let places = values_of(&maps.reshape([count, channels, rows * columns]).swap_dims(1, 2));
    let width = (features.len() / count.max(1)).max(1);
    let beside = places.chunks_exact((channels * rows * columns).max(1));
    features.chunks_exact(width).zip(beside).flat_map(|(own, maps)| [own, maps].concat()).collect()
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
mod tests;
