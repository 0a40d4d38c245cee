//! Conv-4: four times convolution of 64 filters, batch normalisation, ReLU and 2 x 2 max-pooling. The features are
//! what is left of the image, flattened: 64 x 5 x 5 = 1,600 at 84 px, 256 at 32 px, 64 at 28 px or less.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::Blend;
use crate::dual::{self, Dual};
use crate::layers::{BatchNorm, Conv};
use crate::ops;

/// Filters of every layer.
pub const WIDTH: usize = 64;
const LAYERS: usize = 4;

#[derive(Module, Debug)]
struct Layer {
    conv: Conv,
    bn: BatchNorm,
}

/// The Conv-4 network.
#[derive(Module, Debug)]
pub struct Conv4 {
    layers: Vec<Layer>,
}

impl Conv4 {
    /// The network with filters of each layer.
    pub fn new(width: usize, device: &Device) -> Self {
        let layer = |at: usize| Layer {
            conv: Conv::new(if at == 0 { 3 } else { width }, width, 3, 1, device).with_bias(),
            bn: BatchNorm::new(width, device).relu(),
        };
        Self { layers: (0..LAYERS).map(layer).collect() }
    }

    /// The last maps of images, mixed on the way; features are these maps as they are.
    pub fn maps(&self, images: Tensor<4>, blend: Option<Blend>) -> Tensor<4> {
        let pooled = |x, (at, layer): (usize, &Layer)| {
            ops::max_pool(layer.conv.normalised(Blend::at(blend, at, x), &layer.bn))
        };
        self.layers.iter().enumerate().fold(images, pooled)
    }

    /// The last maps, and how they change along a direction.
    pub(crate) fn dual_maps(&self, along: &Self, images: Tensor<4>) -> Dual<4> {
        self.layers.iter().zip(&along.layers).fold(Dual::fixed(images), |x, (layer, along)| {
            dual::unit((&layer.conv, &along.conv), (&layer.bn, &along.bn), x).max_pool()
        })
    }
}
