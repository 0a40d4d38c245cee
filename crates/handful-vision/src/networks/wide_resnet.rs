//! WRN-28-10: 28 layers, ten times as wide, 640 features; in the two forms whose weights are published. They do not
//! share checkpoints:
//!
//! | | TIM, SimpleShot | S2M2, PT-MAP, iLPC, EASE |
//! |---|---|---|
//! | convolutions | with bias | without |
//! | stride | on the second convolution | on the first |
//! | shortcut | of the raw input | of the activated input |
//! | momentum of the last normalisation | 0.9 | 0.1 |
//!
//! Names are those of each source: `layer1.0.conv1.weight` and `block1.layer.0.conv1.weight`.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use crate::layers::{BatchNorm, Conv};
use crate::ops::{self, Activation};

/// Filters of the stem and of each stage.
pub const WIDTHS: [usize; 4] = [16, 160, 320, 640];
/// Blocks of each stage: (28 - 4) / 6.
const BLOCKS: usize = 4;

/// Stage by stage: channels, filters and stride of its first block.
fn stages(widths: [usize; 4]) -> [(usize, usize, usize); 3] {
    [(widths[0], widths[1], 1), (widths[1], widths[2], 2), (widths[2], widths[3], 2)]
}

#[derive(Module, Debug)]
struct TimBlock {
    bn1: BatchNorm,
    conv1: Conv,
    bn2: BatchNorm,
    conv2: Conv,
    shortcut: Option<Vec<Conv>>,
}

impl TimBlock {
    fn new(channels: usize, filters: usize, stride: usize, device: &Device) -> Self {
        let changes = stride != 1 || channels != filters;
        Self {
            bn1: BatchNorm::new(channels, device).relu(),
            conv1: Conv::new(channels, filters, 3, 1, device).with_bias(),
            bn2: BatchNorm::new(filters, device).relu(),
            conv2: Conv::new(filters, filters, 3, stride, device).with_bias(),
            shortcut: changes.then(|| vec![Conv::new(channels, filters, 1, stride, device).with_bias()]),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let shortcut = match self.shortcut.as_deref() {
            Some([conv, ..]) => conv.forward(x.clone()),
            _ => x.clone(),
        };
        let x = self.conv1.forward(self.bn1.forward(x));
        ops::residual(self.conv2.forward(self.bn2.forward(x)), shortcut, Activation::NONE)
    }
}

/// The form of TIM and SimpleShot.
#[derive(Module, Debug)]
pub struct TimWideResNet {
    conv1: Conv,
    layer1: Vec<TimBlock>,
    layer2: Vec<TimBlock>,
    layer3: Vec<TimBlock>,
    bn1: BatchNorm,
}

impl TimWideResNet {
    /// The network with the filters of its stem and stages.
    pub fn new(widths: [usize; 4], device: &Device) -> Self {
        let [layer1, layer2, layer3] = stages(widths).map(|(channels, filters, stride)| {
            (0..BLOCKS)
                .map(|at| match at {
                    0 => TimBlock::new(channels, filters, stride, device),
                    _ => TimBlock::new(filters, filters, 1, device),
                })
                .collect()
        });
        let bn1 = BatchNorm::new(widths[3], device).relu().with_momentum(0.9);
        Self { conv1: Conv::new(3, widths[0], 3, 1, device).with_bias(), layer1, layer2, layer3, bn1 }
    }

    /// The last maps of images.
    pub fn maps(&self, images: Tensor<4>) -> Tensor<4> {
        let blocks = [&self.layer1, &self.layer2, &self.layer3].into_iter().flatten();
        let x = blocks.fold(self.conv1.forward(images), |x, block| block.forward(x));
        self.bn1.forward(x)
    }
}

#[derive(Module, Debug)]
struct S2m2Block {
    bn1: BatchNorm,
    conv1: Conv,
    bn2: BatchNorm,
    conv2: Conv,
    conv_shortcut: Option<Conv>,
}

impl S2m2Block {
    fn new(channels: usize, filters: usize, stride: usize, device: &Device) -> Self {
        Self {
            bn1: BatchNorm::new(channels, device).relu(),
            conv1: Conv::new(channels, filters, 3, stride, device),
            bn2: BatchNorm::new(filters, device).relu(),
            conv2: Conv::new(filters, filters, 3, 1, device),
            conv_shortcut: (channels != filters).then(|| Conv::new(channels, filters, 1, stride, device)),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let active = self.bn1.forward(x.clone());
        let shortcut = match &self.conv_shortcut {
            Some(conv) => conv.forward(active.clone()),
            None => x,
        };
        let x = self.conv2.forward(self.conv1.normalised(active, &self.bn2));
        ops::residual(x, shortcut, Activation::NONE)
    }
}

#[derive(Module, Debug)]
struct S2m2Stage {
    layer: Vec<S2m2Block>,
}

/// The form of S2M2.
#[derive(Module, Debug)]
pub struct S2m2WideResNet {
    conv1: Conv,
    block1: S2m2Stage,
    block2: S2m2Stage,
    block3: S2m2Stage,
    bn1: BatchNorm,
}

impl S2m2WideResNet {
    /// The network with the filters of its stem and stages.
    pub fn new(widths: [usize; 4], device: &Device) -> Self {
        let [block1, block2, block3] = stages(widths).map(|(channels, filters, stride)| S2m2Stage {
            layer: (0..BLOCKS)
                .map(|at| match at {
                    0 => S2m2Block::new(channels, filters, stride, device),
                    _ => S2m2Block::new(filters, filters, 1, device),
                })
                .collect(),
        });
        let bn1 = BatchNorm::new(widths[3], device).relu();
        Self { conv1: Conv::new(3, widths[0], 3, 1, device), block1, block2, block3, bn1 }
    }

    /// The last maps of images.
    pub fn maps(&self, images: Tensor<4>) -> Tensor<4> {
        let blocks = [&self.block1, &self.block2, &self.block3].into_iter().flat_map(|stage| &stage.layer);
        let x = blocks.fold(self.conv1.forward(images), |x, block| block.forward(x));
        self.bn1.forward(x)
    }
}
