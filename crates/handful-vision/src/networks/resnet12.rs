//! ResNet-12: four residual blocks of three convolutions, each block followed by 2 x 2 max-pooling, then a global
//! average. Widths 64-128-256-512 (ICI) or 64-160-320-640 (MetaOptNet, FEAT, easyfsl).
//!
//! Activations are leaky ReLU of slope 0.1. Dropout and DropBlock of the originals only act in training and are left
//! out. Names are those of FEAT and MetaOptNet: `layer1.0.conv1.weight`.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::Blend;
use crate::layers::{BatchNorm, Conv};
use crate::ops::{self, Activation};

/// The widths of ICI.
pub const NARROW: [usize; 4] = [64, 128, 256, 512];
/// The widths of MetaOptNet, FEAT and easyfsl.
pub const WIDE: [usize; 4] = [64, 160, 320, 640];
const ACTIVATION: Activation = Activation::leaky(0.1);

#[derive(Module, Debug)]
struct Block {
    conv1: Conv,
    bn1: BatchNorm,
    conv2: Conv,
    bn2: BatchNorm,
    conv3: Conv,
    bn3: BatchNorm,
    downsample: (Conv, BatchNorm),
}

impl Block {
    fn new(channels: usize, filters: usize, device: &Device) -> Self {
        let norm = || BatchNorm::new(filters, device);
        Self {
            conv1: Conv::new(channels, filters, 3, 1, device),
            bn1: norm().then(ACTIVATION),
            conv2: Conv::new(filters, filters, 3, 1, device),
            bn2: norm().then(ACTIVATION),
            conv3: Conv::new(filters, filters, 3, 1, device),
            bn3: norm(),
            downsample: (Conv::new(channels, filters, 1, 1, device), norm()),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let shortcut = self.downsample.0.normalised(x.clone(), &self.downsample.1);
        let x = self.conv1.normalised(x, &self.bn1);
        let x = self.conv2.normalised(x, &self.bn2);
        let x = self.conv3.normalised(x, &self.bn3);
        ops::max_pool(ops::residual(x, shortcut, ACTIVATION))
    }
}

/// A ResNet-12.
#[derive(Module, Debug)]
pub struct ResNet12 {
    layer1: Vec<Block>,
    layer2: Vec<Block>,
    layer3: Vec<Block>,
    layer4: Vec<Block>,
}

impl ResNet12 {
    /// The network with the filters of each block.
    pub fn new([first, second, third, fourth]: [usize; 4], device: &Device) -> Self {
        let layer = |channels, filters| vec![Block::new(channels, filters, device)];
        Self {
            layer1: layer(3, first),
            layer2: layer(first, second),
            layer3: layer(second, third),
            layer4: layer(third, fourth),
        }
    }

    /// The last maps of images, mixed on the way.
    pub fn maps(&self, images: Tensor<4>, blend: Option<Blend>) -> Tensor<4> {
        let blocks = [&self.layer1, &self.layer2, &self.layer3, &self.layer4].into_iter().flatten();
        let through = |x, (at, block): (usize, &Block)| block.forward(Blend::at(blend, at, x));
        blocks.enumerate().fold(images, through)
    }
}
