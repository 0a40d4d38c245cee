//! ResNet-18 as TIM and SimpleShot have it: a 3 x 3 stem of stride 1 without max-pooling, four layers of two basic
//! blocks, widths 64-128-256-512, strides 1-2-2-2, global average. Names are torchvision's: `layer1.0.conv1.weight`.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use crate::layers::{BatchNorm, Conv};
use crate::ops::{self, Activation};

/// The filters of each layer.
pub const WIDTHS: [usize; 4] = [64, 128, 256, 512];

#[derive(Module, Debug)]
struct Block {
    conv1: Conv,
    bn1: BatchNorm,
    conv2: Conv,
    bn2: BatchNorm,
    downsample: Option<(Conv, BatchNorm)>,
}

impl Block {
    fn new(channels: usize, filters: usize, stride: usize, device: &Device) -> Self {
        let changes = stride != 1 || channels != filters;
        Self {
            conv1: Conv::new(channels, filters, 3, stride, device),
            bn1: BatchNorm::new(filters, device).relu(),
            conv2: Conv::new(filters, filters, 3, 1, device),
            bn2: BatchNorm::new(filters, device),
            downsample: changes
                .then(|| (Conv::new(channels, filters, 1, stride, device), BatchNorm::new(filters, device))),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let shortcut = match &self.downsample {
            Some((conv, norm)) => conv.normalised(x.clone(), norm),
            None => x.clone(),
        };
        let x = self.conv1.normalised(x, &self.bn1);
        ops::residual(self.conv2.normalised(x, &self.bn2), shortcut, Activation::RELU)
    }
}

/// A ResNet-18.
#[derive(Module, Debug)]
pub struct ResNet18 {
    conv1: Conv,
    bn1: BatchNorm,
    layer1: Vec<Block>,
    layer2: Vec<Block>,
    layer3: Vec<Block>,
    layer4: Vec<Block>,
}

impl ResNet18 {
    /// The network with the filters of each layer.
    pub fn new([first, second, third, fourth]: [usize; 4], device: &Device) -> Self {
        let layer = |channels, filters, stride| {
            vec![Block::new(channels, filters, stride, device), Block::new(filters, filters, 1, device)]
        };
        Self {
            conv1: Conv::new(3, first, 3, 1, device),
            bn1: BatchNorm::new(first, device).relu(),
            layer1: layer(first, first, 1),
            layer2: layer(first, second, 2),
            layer3: layer(second, third, 2),
            layer4: layer(third, fourth, 2),
        }
    }

    /// The last maps of images.
    pub fn maps(&self, images: Tensor<4>) -> Tensor<4> {
        let x = self.conv1.normalised(images, &self.bn1);
        let blocks = [&self.layer1, &self.layer2, &self.layer3, &self.layer4].into_iter().flatten();
        blocks.fold(x, |x, block| block.forward(x))
    }
}
