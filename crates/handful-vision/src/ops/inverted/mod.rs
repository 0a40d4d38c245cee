//! Networks of inverted residual blocks outside training, with the channels of a pixel side by side.
//!
//! Such a network has few multiplications for the numbers that it moves: layer by layer, most of its time is memory's.
//! Here it is one operation. Images go through the large first maps one by one, then some together, and each
//! [`block`] is computed in pieces that stay in the cache. The sums are those of the layers by themselves, in the same
//! order: no bit depends on pieces, on threads, or on which images go together.
//!
//! For processors with AVX2; on others the layers are computed by themselves.

mod bends;
mod block;
mod filter;
mod lines;
mod product;
mod stem;
#[cfg(test)]
mod tests;

use std::cell::RefCell;

use burn::backend::flex::Flex;
use burn::tensor::Tensor;
use rayon::prelude::*;

use self::block::{Block, Maps};
use self::filter::Filter;
use self::lines::Lines;
use self::product::{Product, Source};
use self::stem::Stem;
use super::ending::Ending;
use super::host::{dims4, in_order, tensor, values};
use super::wide::Instructions;
use super::{FixedNorm, InvertedBlock, InvertedNetwork, Layer, norm, spare};

/// Images go together once their maps have fewer pixels than this.
const PIXELS: usize = 512;
/// Images that go together at most.
const IMAGES: usize = 8;

/// The network with its weights packed.
struct Packed {
    stem: Stem,
    blocks: Vec<Block>,
    head: Product,
    /// Channels of the last maps.
    features: usize,
}

/// Buffers of a thread, kept from batch to batch.
#[derive(Default)]
struct Buffers {
    stem: stem::Scratch,
    block: block::Scratch,
    maps: [Lines; 2],
    together: Lines,
    tables: [Vec<usize>; 2],
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

/// The last maps `[images, channels, rows, columns]` of images on the CPU that take no part in differentiation, on a
/// processor with these instructions.
pub(super) fn maps(instructions: Instructions, images: Tensor<4>, network: &InvertedNetwork) -> Tensor<4> {
    let network = Packed::new(instructions, network);
    let images = in_order(super::plain(images));
    let [count, planes, rows, columns] = dims4(&images);
    let sides = network.sides([rows, columns]);
    let shape = [count, network.features, sides[0], sides[1]];
    let mut y = spare::take(shape.iter().product());
    let tasks = count.div_ceil(IMAGES).max(rayon::current_num_threads()).clamp(1, count.max(1));
    let together = count.div_ceil(tasks).max(1);
    let groups = y.par_chunks_mut(together * shape[1..].iter().product::<usize>());
    groups.zip(values(&images).par_chunks(together * planes * rows * columns)).for_each(|(y, images)| {
        let images: Vec<&[f32]> = images.chunks_exact(planes * rows * columns).collect();
        BUFFERS.with_borrow_mut(|buffers| network.apply(&images, [rows, columns], y, buffers));
    });
    Tensor::from_primitive::<Flex>(tensor(y, shape))
}

impl Packed {
    fn new(instructions: Instructions, network: &InvertedNetwork) -> Self {
        let product = |layer: &Layer| {
            let [_, planes, kernel, _] = layer.weight.dims();
            let depth = planes * kernel * kernel;
            layer.packed(|weights, ending| Product::new(instructions, weights, depth, ending))
        };
        let block = |block: &InvertedBlock| {
            let [.., kernel] = block.depthwise.weight.dims();
            let depthwise = &block.depthwise;
            Block {
                expand: block.expand.as_ref().map(product),
                filter: depthwise
                    .packed(|weights, ending| Filter::new(instructions, weights, kernel, ending)),
                project: product(&block.project),
                stride: depthwise.stride,
                is_residual: block.is_residual,
            }
        };
        let InvertedNetwork { stem, blocks, head } = network;
        let [.., kernel] = stem.weight.dims();
        Self {
            stem: Stem { product: product(stem), kernel, stride: stem.stride },
            blocks: blocks.par_iter().map(block).collect(),
            head: product(head),
            features: head.weight.dims()[0],
        }
    }

    /// Rows and columns of the last maps.
    fn sides(&self, sides: [usize; 2]) -> [usize; 2] {
        let maps = self.stem.output(sides);
        self.blocks.iter().fold(maps, |maps, block| block.output(&maps)).sides
    }

    /// Computes the last maps of some images.
    fn apply(&self, images: &[&[f32]], sides: [usize; 2], y: &mut [f32], buffers: &mut Buffers) {
        let Buffers { stem: stem_scratch, block: scratch, maps: [one, other], together, tables } = buffers;
        let first = self.stem.output(sides);
        // The blocks whose output is still large.
        let (mut alone, mut maps) = (0, first);
        for block in &self.blocks {
            let next = block.output(&maps);
            if next.sides[0] * next.sides[1] < PIXELS {
                break;
            }
            (alone, maps) = (alone + 1, next);
        }
        let together = together.room(images.len() * maps.numbers());
        for (image, together) in images.iter().zip(together.chunks_exact_mut(maps.numbers())) {
            let (mut x, mut y, mut maps) = (&mut *one, &mut *other, first);
            self.stem.apply(image, sides, x.room(first.numbers()), stem_scratch);
            for block in &self.blocks[..alone] {
                let next = block.output(&maps);
                block.apply(&maps, x, y.room(next.numbers()), scratch);
                (x, y, maps) = (y, x, next);
            }
            together.copy_from_slice(&x[..maps.numbers()]);
        }
        let mut maps = Maps { count: images.len(), ..maps };
        one.room(together.len()).copy_from_slice(together);
        let (mut x, mut next_x) = (one, other);
        for block in &self.blocks[alone..] {
            let next = block.output(&maps);
            block.apply(&maps, x, next_x.room(next.count * next.numbers()), scratch);
            (x, next_x, maps) = (next_x, x, next);
        }
        let pixels = maps.sides[0] * maps.sides[1];
        let step = self.head.channels();
        let [from, to] = tables;
        [&mut *from, &mut *to].into_iter().for_each(Vec::clear);
        from.extend((0..maps.count * pixels).map(|pixel| pixel * maps.step));
        to.extend((0..maps.count * pixels).map(|pixel| pixel * step));
        let last = next_x.room(maps.count * pixels * step);
        let depth = self.head.depth();
        let source = Source { numbers: x, pixels: from, segments: &[0], run: depth };
        self.head.times(0..step, 0..depth, &source, last, to);
        for (y, last) in y.chunks_exact_mut(self.features * pixels).zip(last.chunks_exact(pixels * step)) {
            for (channel, y) in y.chunks_exact_mut(pixels).enumerate() {
                let numbers = last[channel..].iter().step_by(step);
                y.iter_mut().zip(numbers).for_each(|(y, number)| *y = *number);
            }
        }
    }
}

impl Layer {
    /// What is made of the weights and of what follows them.
    fn packed<T>(&self, pack: impl FnOnce(&[f32], &Ending) -> T) -> T {
        let FixedNorm { parameters, epsilon, activation } = self.norm.clone();
        let ending = norm::ending(parameters, epsilon, activation);
        pack(values(&in_order(super::plain(self.weight.clone()))), &ending)
    }
}
