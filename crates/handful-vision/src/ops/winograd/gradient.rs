//! The gradient of the kernels: the products of the convolution transposed, and summed over tiles.
//!
//! The sum runs over a fixed number of shards in a fixed order, so that it does not depend on the number of threads.

use handful::linalg::product::{View, product};
use rayon::prelude::*;

use super::kernels::transform_back;
use super::tiles::{transform_gradients, transform_inputs};
use super::{PLACES, Winograd, with_scratch};

/// Partial sums.
const SHARDS: usize = 4;

impl Winograd {
    /// The gradient by the weights `[filters, channels, 3, 3]`, from images and the gradients of their outputs.
    pub(in super::super) fn weight_gradient(&self, x: &[f32], grad: &[f32]) -> Vec<f32> {
        let (channels, filters) = (self.channels, self.filters);
        let group = self.group();
        let groups: Vec<(&[f32], &[f32])> =
            x.chunks(group * self.image()).zip(grad.chunks(group * filters * self.outputs())).collect();
        let shard = groups.len().div_ceil(SHARDS).max(1);
        let sums: Vec<Vec<f32>> = groups.par_chunks(shard).map(|groups| self.sum_of_tiles(groups)).collect();
        let mut gradient = vec![0.0; filters * channels * 9];
        gradient.par_chunks_exact_mut(9).with_min_len(64).enumerate().for_each(|(at, gradient)| {
            let total = |place: usize| sums.iter().map(|sum| sum[place * filters * channels + at]).sum();
            gradient.copy_from_slice(&transform_back(std::array::from_fn(total)));
        });
        gradient
    }

    /// `Σ (A dY Aᵀ) · (Bᵀ d B)` over the tiles of some groups of images: 16 matrices `[filters, channels]`.
    fn sum_of_tiles(&self, groups: &[(&[f32], &[f32])]) -> Vec<f32> {
        let (channels, filters) = (self.channels, self.filters);
        let mut sum = vec![0.0; PLACES * filters * channels];
        let bands = groups.iter().flat_map(|(x, grad)| self.bands().map(move |band| (x, grad, band)));
        for (at, (x, grad, band)) in bands.enumerate() {
            let images: Vec<&[f32]> = x.chunks_exact(self.image()).collect();
            let tiles = images.len() * band.len() * self.tile_columns();
            let lengths = [PLACES * channels * tiles, PLACES * filters * tiles, self.lines()];
            with_scratch(lengths, |[inputs, gradients, lines]| {
                transform_inputs(self, &images, &band, lines, inputs);
                transform_gradients(self, grad, &band, lines, gradients);
                let matrices = sum.chunks_exact_mut(filters * channels).enumerate();
                for (place, sum) in matrices {
                    let inputs = View::new(&inputs[place * channels * tiles..], channels, tiles).transposed();
                    let gradients = View::new(&gradients[place * filters * tiles..], filters, tiles);
                    product(sum, channels, gradients, inputs, at > 0);
                }
            });
        }
        sum
    }
}
