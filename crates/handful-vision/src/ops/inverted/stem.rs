//! The first convolution: from planes of an image to maps whose channels lie side by side.

use super::block::Maps;
use super::lines::Lines;
use super::product::{Product, Source};

/// The convolution with its weights packed, `[channels, planes, kernel, kernel]`.
pub(super) struct Stem {
    pub product: Product,
    pub kernel: usize,
    pub stride: usize,
}

/// Buffers that are kept from image to image.
#[derive(Default)]
pub(super) struct Scratch {
    planes: Lines,
    tables: [Vec<usize>; 3],
}

impl Stem {
    /// The sizes of what an image of this size becomes.
    pub(super) fn output(&self, sides: [usize; 2]) -> Maps {
        let sides = sides.map(|side| side.div_ceil(self.stride));
        Maps { count: 1, sides, step: self.product.channels() }
    }

    /// Computes the convolution of an image.
    pub(super) fn apply(&self, image: &[f32], sides: [usize; 2], y: &mut [f32], scratch: &mut Scratch) {
        let output = self.output(sides);
        let reach = output.sides.map(|side| (side.max(1) - 1) * self.stride + self.kernel);
        let before = [0, 1].map(|axis| reach[axis].saturating_sub(sides[axis]) / 2);
        let [rows, columns] = [0, 1].map(|axis| reach[axis].max(before[axis] + sides[axis]));
        let planes = self.product.depth() / (self.kernel * self.kernel);
        let Scratch { planes: padded, tables: [pixels, segments, to] } = scratch;
        let padded = padded.room(planes * rows * columns);
        padded.fill(0.0);
        for (line, numbers) in image.chunks_exact(sides[1].max(1)).enumerate() {
            let (plane, row) = (line / sides[0], line % sides[0]);
            let place = (plane * rows + row + before[0]) * columns + before[1];
            padded[place..][..numbers.len()].copy_from_slice(numbers);
        }
        [&mut *pixels, &mut *segments, &mut *to].into_iter().for_each(Vec::clear);
        for row in 0..output.sides[0] {
            let start = row * self.stride * columns;
            pixels.extend((0..output.sides[1]).map(|column| start + column * self.stride));
        }
        to.extend((0..pixels.len()).map(|pixel| pixel * output.step));
        for plane in 0..planes {
            segments.extend((0..self.kernel).map(|row| (plane * rows + row) * columns));
        }
        let source = Source { numbers: padded, pixels, segments, run: self.kernel };
        self.product.times(0..output.step, 0..self.product.depth(), &source, y, to);
    }
}
