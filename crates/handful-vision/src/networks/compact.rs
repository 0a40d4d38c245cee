//! Our network for CPUs: 53 M multiply-adds at 32 px, 1.9 M parameters, 256 features.
//!
//! ```text
//! conv 3 -> 32 ─ pool ─ conv 32 -> 64 ─ pool ─ conv 64 -> 128 ─ residual 128 ─ pool
//!                                            ─ conv 128 -> 256 ─ residual 256 ─ global average
//! ```
//!
//! Every convolution is 3 x 3 and followed by batch normalisation and ReLU; a residual is two of them around an
//! addition. Pooling comes before a layer widens, so each stage costs the same, and only plain convolutions are used:
//! depthwise ones have few multiplications but run at the speed of memory.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::Blend;
use crate::dual::{self, Dual};
use crate::layers::{BatchNorm, Conv};
use crate::ops::{self, Activation};

/// The channels after each stage.
pub const WIDTHS: [usize; 4] = [32, 64, 128, 256];

/// A convolution, normalised and rectified.
#[derive(Module, Debug)]
struct Unit {
    conv: Conv,
    bn: BatchNorm,
}

impl Unit {
    fn new(channels: usize, filters: usize, device: &Device) -> Self {
        Self { conv: Conv::new(channels, filters, 3, 1, device), bn: BatchNorm::new(filters, device).relu() }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        self.conv.normalised(x, &self.bn)
    }

    fn dual(&self, along: &Self, x: Dual<4>) -> Dual<4> {
        dual::unit((&self.conv, &along.conv), (&self.bn, &along.bn), x)
    }
}

#[derive(Module, Debug)]
struct Stage {
    widen: Unit,
    /// None, or two.
    residual: Vec<Unit>,
}

/// The compact network.
#[derive(Module, Debug)]
pub struct Compact {
    stem: Unit,
    stages: Vec<Stage>,
}

impl Compact {
    /// The network with widths of its stages, the first of the stem.
    pub fn new(widths: [usize; 4], device: &Device) -> Self {
        // The first stage has four times the pixels of the next: a residual there would cost more than it gives.
        let stage = |(at, pair): (usize, &[usize])| Stage {
            widen: Unit::new(pair[0], pair[1], device),
            residual: (0..if at == 0 { 0 } else { 2 }).map(|_| Unit::new(pair[1], pair[1], device)).collect(),
        };
        Self {
            stem: Unit::new(3, widths[0], device),
            stages: widths.windows(2).enumerate().map(stage).collect(),
        }
    }

    /// The last maps of images, mixed on the way.
    pub fn maps(&self, images: Tensor<4>, blend: Option<Blend>) -> Tensor<4> {
        let mut x = self.stem.forward(Blend::at(blend, 0, images));
        for (at, stage) in self.stages.iter().enumerate() {
            x = stage.widen.forward(Blend::at(blend, at + 1, ops::max_pool(x)));
            if !stage.residual.is_empty() {
                let branch = stage.residual.iter().fold(x.clone(), |x, unit| unit.forward(x));
                x = ops::residual(branch, x, Activation::NONE);
            }
        }
        x
    }

    /// The last maps, and how they change along a direction.
    pub(crate) fn dual_maps(&self, along: &Self, images: Tensor<4>) -> Dual<4> {
        let mut x = self.stem.dual(&along.stem, Dual::fixed(images));
        for (stage, along) in self.stages.iter().zip(&along.stages) {
            x = stage.widen.dual(&along.widen, x.max_pool());
            if !stage.residual.is_empty() {
                let units = stage.residual.iter().zip(&along.residual);
                x = units.fold(x.clone(), |x, (unit, along)| unit.dual(along, x)).plus(x);
            }
        }
        x
    }
}
