//! The architectures, one file each, and the one type that holds any of them.

pub mod compact;
pub mod conv4;
pub mod efficientnet_lite0;
pub mod resnet12;
pub mod resnet18;
pub mod wide_resnet;

use std::fmt;
use std::str::FromStr;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use self::compact::Compact;
use self::conv4::Conv4;
use self::efficientnet_lite0::EfficientNetLite0;
use self::resnet12::ResNet12;
use self::resnet18::ResNet18;
use self::wide_resnet::{S2m2WideResNet, TimWideResNet};
use crate::dual::Dual;
use crate::error::VisionError;
use crate::images::Preparation;
use crate::ops;

/// An architecture by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// Ours, for CPUs.
    Compact,
    /// Conv-4.
    Conv4,
    /// ResNet-12 with the widths of MetaOptNet and FEAT.
    ResNet12,
    /// ResNet-12 with the widths of ICI.
    ResNet12Narrow,
    /// ResNet-18 with the stem of TIM and SimpleShot.
    ResNet18,
    /// WRN-28-10 in the form of TIM and SimpleShot.
    Wrn28Tim,
    /// WRN-28-10 in the form of S2M2.
    Wrn28S2m2,
    /// EfficientNet-Lite0.
    EfficientNetLite0,
}

impl Architecture {
    /// All architectures, by the names of the command line.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("compact", Self::Compact),
        ("conv4", Self::Conv4),
        ("resnet12", Self::ResNet12),
        ("resnet12-narrow", Self::ResNet12Narrow),
        ("resnet18", Self::ResNet18),
        ("wrn28-10-tim", Self::Wrn28Tim),
        ("wrn28-10-s2m2", Self::Wrn28S2m2),
        ("efficientnet-lite0", Self::EfficientNetLite0),
    ];

    /// The number of features of an image of `size` pixels square.
    pub fn features(self, size: usize) -> usize {
        match self {
            Self::Compact => compact::WIDTHS[3],
            Self::Conv4 => conv4::WIDTH * (size / 16).pow(2),
            Self::ResNet12 => resnet12::WIDE[3],
            Self::ResNet12Narrow => resnet12::NARROW[3],
            Self::ResNet18 => resnet18::WIDTHS[3],
            Self::Wrn28Tim | Self::Wrn28S2m2 => wide_resnet::WIDTHS[3],
            Self::EfficientNetLite0 => efficientnet_lite0::FEATURES,
        }
    }

    /// Places of the last map of an image of `size` pixels square, and its channels.
    pub fn map_shape(self, size: usize) -> [usize; 2] {
        let side = match self {
            // Pooling drops an odd row; strides keep it.
            Self::Compact => size / 8,
            Self::Conv4 | Self::ResNet12 | Self::ResNet12Narrow => size / 16,
            Self::ResNet18 => size.div_ceil(8),
            Self::Wrn28Tim | Self::Wrn28S2m2 => size.div_ceil(4),
            Self::EfficientNetLite0 => size.div_ceil(32),
        };
        let channels = if self == Self::Conv4 { conv4::WIDTH } else { self.features(size) };
        [side * side, channels]
    }

    /// The smallest image that leaves at least one pixel at the end.
    pub fn smallest_image(self) -> usize {
        match self {
            Self::Compact | Self::ResNet18 => 8,
            Self::Conv4 | Self::ResNet12 | Self::ResNet12Narrow => 16,
            Self::Wrn28Tim | Self::Wrn28S2m2 => 4,
            Self::EfficientNetLite0 => 32,
        }
    }

    /// What images go through where published weights do not say: 84 px, 80 for S2M2, 224 for EfficientNet-Lite0, 32
    /// for ours.
    pub fn preparation(self) -> Preparation {
        match self {
            Self::Compact => Preparation::imagenet(32),
            Self::Wrn28S2m2 => Preparation { enlarge: true, ..Preparation::imagenet(80) },
            Self::EfficientNetLite0 => Preparation::efficientnet_lite(224),
            _ => Preparation { enlarge: true, ..Preparation::imagenet(84) },
        }
    }

    /// The places at which a batch can be mixed, the images first (see [`Blend`]).
    pub fn depths(self) -> usize {
        match self {
            Self::Compact | Self::Conv4 | Self::ResNet12 | Self::ResNet12Narrow => 4,
            Self::ResNet18 | Self::Wrn28Tim | Self::Wrn28S2m2 | Self::EfficientNetLite0 => 1,
        }
    }

    /// Whether second derivatives are to be had.
    pub fn has_second_order(self) -> bool {
        matches!(self, Self::Compact | Self::Conv4)
    }

    /// A network whose weights are still to be drawn or read.
    pub fn build(self, device: &Device) -> Network {
        match self {
            Self::Compact => Network::Compact(Compact::new(compact::WIDTHS, device)),
            Self::Conv4 => Network::Conv4(Conv4::new(conv4::WIDTH, device)),
            Self::ResNet12 => Network::ResNet12(ResNet12::new(resnet12::WIDE, device)),
            Self::ResNet12Narrow => Network::ResNet12(ResNet12::new(resnet12::NARROW, device)),
            Self::ResNet18 => Network::ResNet18(ResNet18::new(resnet18::WIDTHS, device)),
            Self::Wrn28Tim => Network::Wrn28Tim(TimWideResNet::new(wide_resnet::WIDTHS, device)),
            Self::Wrn28S2m2 => Network::Wrn28S2m2(S2m2WideResNet::new(wide_resnet::WIDTHS, device)),
            Self::EfficientNetLite0 => Network::EfficientNetLite0(EfficientNetLite0::new(device)),
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(
            Self::NAMES.iter().find(|(_, known)| known == self).map_or("backbone", |(name, _)| name),
        )
    }
}

impl FromStr for Architecture {
    type Err = VisionError;

    fn from_str(text: &str) -> Result<Self, VisionError> {
        let known = Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, known)| *known);
        known.ok_or_else(|| VisionError::UnknownBackbone { name: text.to_owned() })
    }
}

/// A mixture of every image of a batch with another, at one place of the network: manifold mixup.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blend {
    /// How many stages the batch has gone through before: 0 mixes the images themselves.
    pub depth: usize,
    /// The share of the image itself; the one as far from the other end of the batch gets the rest.
    pub share: f32,
}

impl Blend {
    /// Mixes what has come to this depth, if that is the one.
    fn at(blend: Option<Self>, depth: usize, x: Tensor<4>) -> Tensor<4> {
        match blend {
            Some(blend) if blend.depth == depth => ops::blend(x, blend.share),
            _ => x,
        }
    }
}

/// Any of the networks.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Network {
    /// Ours, for CPUs.
    Compact(Compact),
    /// Conv-4.
    Conv4(Conv4),
    /// ResNet-12 of any widths.
    ResNet12(ResNet12),
    /// ResNet-18.
    ResNet18(ResNet18),
    /// WRN-28-10 of TIM.
    Wrn28Tim(TimWideResNet),
    /// WRN-28-10 of S2M2.
    Wrn28S2m2(S2m2WideResNet),
    /// EfficientNet-Lite0.
    EfficientNetLite0(EfficientNetLite0),
}

impl Network {
    /// The features `[images, features]` of normalised images `[images, 3, rows, columns]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        self.forward_blended(images, None)
    }

    /// The features of a batch that is mixed on the way; deeper than [`Architecture::depths`] nothing is.
    pub fn forward_blended(&self, images: Tensor<4>, blend: Option<Blend>) -> Tensor<2> {
        self.features_of(self.maps(images, blend))
    }

    /// The last maps `[images, channels, rows, columns]` of a batch that is mixed on the way.
    pub fn maps(&self, images: Tensor<4>, blend: Option<Blend>) -> Tensor<4> {
        match self {
            Self::Compact(network) => network.maps(images, blend),
            Self::Conv4(network) => network.maps(images, blend),
            Self::ResNet12(network) => network.maps(images, blend),
            Self::ResNet18(network) => network.maps(Blend::at(blend, 0, images)),
            Self::Wrn28Tim(network) => network.maps(Blend::at(blend, 0, images)),
            Self::Wrn28S2m2(network) => network.maps(Blend::at(blend, 0, images)),
            Self::EfficientNetLite0(network) => network.maps(Blend::at(blend, 0, images)),
        }
    }

    /// The features of images, and how they change along a direction; none of networks that are not written so.
    pub(crate) fn dual(&self, along: &Self, images: Tensor<4>) -> Option<Dual<2>> {
        let maps = match (self, along) {
            (Self::Compact(network), Self::Compact(along)) => network.dual_maps(along, images),
            (Self::Conv4(network), Self::Conv4(along)) => network.dual_maps(along, images),
            _ => return None,
        };
        Some(maps.linear(|maps| self.features_of(maps)))
    }

    /// What maps become: their mean, or all of them in Conv-4.
    pub fn features_of(&self, maps: Tensor<4>) -> Tensor<2> {
        match self {
            Self::Conv4(_) => maps.flatten(1, 3),
            _ => ops::global_average(maps),
        }
    }
}

#[cfg(test)]
mod tests;
