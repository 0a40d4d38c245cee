//! 3 x 3 convolution at stride 1 with 4 multiplications for 9: Winograd's F(2 x 2, 3 x 3), after Lavin and Gray (2016).
//!
//! A tile of 4 x 4 inputs gives 2 x 2 outputs. Between two cheap transformations each of its 16 places is multiplied on
//! its own, which over all channels, filters and tiles are 16 matrix products:
//!
//! ```text
//! Y = Aᵀ [ (G g Gᵀ) · (Bᵀ d B) ] A
//! ```
//!
//! The gradient of the input is such a convolution too, of the output's gradient with the kernels turned by a half. That
//! of the kernels is the transpose of the same products, summed over tiles ([`gradient`]):
//!
//! ```text
//! dg = Gᵀ [ Σ (A dY Aᵀ) · (Bᵀ d B) ] G
//! ```

mod gradient;
mod kernels;
mod tiles;

use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;

use self::tiles::{transform_inputs, transform_outputs};
use super::ending::Ending;
use super::panels::Then;

pub(super) use self::kernels::Kernels;

/// Places of a tile.
const PLACES: usize = 16;
/// Tiles of one image or several are taken together as long as what they are transformed to has about this many numbers,
/// which is what a core's caches hold, but never so few or many tiles that the products would be slow.
const NUMBERS: usize = 1 << 20;
const FEWEST: usize = 128;
const MOST: usize = 512;
/// With fewer channels or filters the transformations cost more than they save.
const NARROWEST: usize = 32;

/// Whether it pays for a layer: by its kernel, stride, channels and filters.
pub(super) fn pays(kernel: [usize; 2], stride: usize, channels: usize, filters: usize) -> bool {
    kernel == [3, 3] && stride == 1 && channels.min(filters) >= NARROWEST
}

/// One layer's sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Winograd {
    /// Rows and columns of an input.
    pub input: [usize; 2],
    /// Rows and columns of an output.
    pub output: [usize; 2],
    /// Zeros before the first row and column.
    pub before: [usize; 2],
    pub channels: usize,
    pub filters: usize,
}

thread_local! {
    static SCRATCH: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

impl Winograd {
    /// The layer that takes gradients of outputs to those of inputs.
    pub(super) fn backward(&self) -> Self {
        Self {
            input: self.output,
            output: self.input,
            before: self.before.map(|before| 2 - before),
            channels: self.filters,
            filters: self.channels,
        }
    }

    fn tile_rows(&self) -> usize {
        self.output[0].div_ceil(2)
    }

    fn tile_columns(&self) -> usize {
        self.output[1].div_ceil(2)
    }

    /// Tiles that are taken together.
    fn block(&self) -> usize {
        (NUMBERS / (PLACES * (self.channels + self.filters))).clamp(FEWEST, MOST)
    }

    /// Numbers of an image.
    fn image(&self) -> usize {
        self.channels * self.input[0] * self.input[1]
    }

    /// Numbers of a plane of the output.
    fn outputs(&self) -> usize {
        self.output[0] * self.output[1]
    }

    /// Images that are taken together.
    fn group(&self) -> usize {
        (self.block() / (self.tile_rows() * self.tile_columns()).max(1)).max(1)
    }

    /// The rows of tiles, in bands; all of them at once where images are grouped.
    fn bands(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let rows = self.tile_rows();
        let height = if self.group() > 1 { rows } else { self.block() / self.tile_columns().max(1) }.max(1);
        (0..rows).step_by(height).map(move |first| first..(first + height).min(rows))
    }

    /// Convolves all images of `x` into `y`, with what follows.
    pub(super) fn convolve(&self, x: &[f32], kernels: &Kernels, y: &mut [f32], ending: Option<&Ending>) {
        let (image, outputs, group) = (self.image(), self.outputs(), self.group());
        let groups = y.par_chunks_mut(group * self.filters * outputs).zip(x.par_chunks(group * image));
        groups.for_each(|(y, x)| {
            let images: Vec<&[f32]> = x.chunks_exact(image).collect();
            for band in self.bands() {
                self.band(&images, kernels, &band, y);
            }
            if let Some(ending) = ending {
                let planes = y.chunks_exact_mut(outputs).enumerate();
                planes.for_each(|(place, plane)| ending.apply(place % self.filters, plane));
            }
        });
    }

    /// Convolves a band of rows of tiles of some images.
    fn band(&self, images: &[&[f32]], kernels: &Kernels, band: &Range<usize>, y: &mut [f32]) {
        let (channels, filters) = (self.channels, self.filters);
        let tiles = images.len() * band.len() * self.tile_columns();
        let lengths = [PLACES * channels * tiles, PLACES * filters * tiles, self.lines()];
        with_scratch(lengths, |[transformed, products, lines]| {
            transform_inputs(self, images, band, lines, transformed);
            for (place, kernels) in kernels.0.iter().enumerate() {
                let values = &transformed[place * channels * tiles..];
                let products = &mut products[place * filters * tiles..];
                kernels.times(values, tiles, tiles, products, tiles, Then::Nothing);
            }
            transform_outputs(self, products, band, lines, y);
        });
    }
}

/// Lends buffers of these lengths; what is in them is left from before.
fn with_scratch<R>(lengths: [usize; 3], work: impl FnOnce([&mut [f32]; 3]) -> R) -> R {
    SCRATCH.with_borrow_mut(|scratch| {
        let length = lengths.iter().sum();
        if scratch.len() < length {
            scratch.resize(length, 0.0);
        }
        let (first, rest) = scratch.split_at_mut(lengths[0]);
        let (second, rest) = rest.split_at_mut(lengths[1]);
        work([first, second, &mut rest[..lengths[2]]])
    })
}
