//! Convolution of each channel by a kernel of its own, on the CPU.
//!
//! There is no matrix product in it, only `Σ w[tap] · x[pixel + tap]`, and the rows of a late layer are four pixels
//! long: loops over rows would be all overhead. So each plane is copied once into a padded one, in which a tap is the
//! same distance away from every pixel, rows included:
//!
//! ```text
//! y[i] = Σ_tap w[tap] x[i + distance(tap)]      dx[i + distance(tap)] += w[tap] dy[i]      dw[tap] = Σ_i dy[i] x[i + distance(tap)]
//! ```
//!
//! With a stride s, rows and columns of equal remainder by s lie together (s² small planes), which makes the outputs
//! neighbours again. The few `i` between two rows of the output are computed for nothing. A channel's weight gradient
//! is one thread's, image after image, so that it does not depend on the number of threads.

use burn::backend::flex::FlexTensor;
use rayon::prelude::*;

use super::convolution::Convolution;
use super::ending::Ending;
use super::geometry::Geometry;
use super::host::dims4;
use super::sums::product_sum;
use super::wide::{multiply_add, widened};
use super::{Padding, spare};

/// Outputs that are summed over all taps before they are written.
const BLOCK: usize = 32;

/// One layer's sizes and distances.
#[derive(Debug)]
pub(super) struct Depthwise {
    geometry: Geometry,
    batch: usize,
    channels: usize,
    /// Rows and columns of one small plane.
    small: [usize; 2],
    /// The distance of each tap.
    distances: Vec<usize>,
}

impl Depthwise {
    fn padded_plane(&self) -> usize {
        self.geometry.stride.pow(2) * self.small[0] * self.small[1]
    }

    fn plane(&self) -> usize {
        (self.geometry.input[0] * self.geometry.input[1]).max(1)
    }

    fn outputs(&self) -> usize {
        let [rows, columns] = self.geometry.output();
        rows * columns
    }

    /// From the first output to the last, with what lies between the rows.
    fn span(&self) -> usize {
        let [rows, columns] = self.geometry.output();
        (rows - 1) * self.small[1] + columns
    }

    /// Gives each run of pixels that lie in one small row: the row of the image, its first pixel there, and where that
    /// lies in the padded plane.
    fn runs(&self, mut run: impl FnMut(usize, usize, usize)) {
        let stride = self.geometry.stride;
        let [before_rows, before_columns] = self.geometry.padding.map(|(before, _)| before);
        for row in 0..self.geometry.input[0] {
            let padded_row = row + before_rows;
            for first in 0..stride.min(self.geometry.input[1]) {
                let padded_column = first + before_columns;
                let plane = padded_row % stride * stride + padded_column % stride;
                let place = (plane * self.small[0] + padded_row / stride) * self.small[1];
                run(row, first, place + padded_column / stride);
            }
        }
    }

    /// Copies an image's plane into a padded one, whose zeros are left alone.
    fn pad(&self, plane: &[f32], padded: &mut [f32]) {
        let (columns, stride) = (self.geometry.input[1], self.geometry.stride);
        self.runs(|row, first, place| {
            let source = &plane[row * columns..][first..columns];
            match stride {
                1 => padded[place..][..columns].copy_from_slice(source),
                2 => every_second(source, &mut padded[place..]),
                _ => {
                    let pixels = source.iter().step_by(stride);
                    padded[place..].iter_mut().zip(pixels).for_each(|(out, value)| *out = *value);
                }
            }
        });
    }

    /// The way back.
    fn unpad(&self, padded: &[f32], plane: &mut [f32]) {
        let (columns, stride) = (self.geometry.input[1], self.geometry.stride);
        self.runs(|row, first, place| {
            let target = plane[row * columns..][first..columns].iter_mut().step_by(stride);
            target.zip(&padded[place..]).for_each(|(out, value)| *out = *value);
        });
    }

    /// Outputs with the distance between their rows that they have in the padded plane; zeros between are left alone.
    fn widen(&self, outputs: &[f32], wide: &mut [f32]) {
        let [_, columns] = self.geometry.output();
        for (wide, row) in wide.chunks_mut(self.small[1]).zip(outputs.chunks_exact(columns)) {
            wide[..columns].copy_from_slice(row);
        }
    }
}

impl Convolution for Depthwise {
    fn of(x: &FlexTensor, weight: &FlexTensor, stride: usize, padding: Padding) -> Self {
        let [batch, channels, rows, columns] = dims4(x);
        let [_, _, kernel_rows, kernel_columns] = dims4(weight);
        let geometry =
            Geometry { input: [rows, columns], kernel: [kernel_rows, kernel_columns], stride, padding };
        let small = [0, 1].map(|axis| {
            let (before, after) = padding[axis];
            (before + geometry.input[axis] + after).max(geometry.kernel[axis]).div_ceil(stride)
        });
        let distance = |[row, column]: [usize; 2]| {
            let plane = row % stride * stride + column % stride;
            (plane * small[0] + row / stride) * small[1] + column / stride
        };
        let distances = geometry.taps().map(distance).collect();
        Self { geometry, batch, channels, small, distances }
    }

    fn output(&self) -> [usize; 4] {
        let [rows, columns] = self.geometry.output();
        [self.batch, self.channels, rows, columns]
    }

    fn forward(&self, x: &[f32], weight: &[f32], ending: Option<&Ending>) -> Vec<f32> {
        let (plane, outputs, taps) = (self.plane(), self.outputs(), self.distances.len());
        let [_, columns] = self.geometry.output();
        // A block more, so that the last one is whole.
        let scratch = || (vec![0.0; self.padded_plane() + BLOCK], vec![0.0; self.span() + BLOCK]);
        let mut y = spare::take(x.len() / plane * outputs);
        let planes = y.par_chunks_mut(outputs).zip(x.par_chunks(plane)).enumerate().with_min_len(8);
        planes.for_each_init(scratch, |(padded, wide), (place, (y, x))| {
            let channel = place % self.channels;
            self.pad(x, padded);
            sum_taps(padded, &weight[channel * taps..][..taps], &self.distances, wide);
            if let Some(ending) = ending {
                ending.apply(channel, wide);
            }
            for (y, wide) in y.chunks_exact_mut(columns).zip(wide.chunks(self.small[1])) {
                y.copy_from_slice(&wide[..columns]);
            }
        });
        y
    }

    fn input_gradient(&self, weight: &[f32], grad: &[f32]) -> Vec<f32> {
        let (plane, outputs, taps) = (self.plane(), self.outputs(), self.distances.len());
        let scratch = || (vec![0.0; self.padded_plane()], vec![0.0; self.span()]);
        let mut out = spare::take(grad.len() / outputs * plane);
        let planes = out.par_chunks_mut(plane).zip(grad.par_chunks(outputs)).enumerate().with_min_len(8);
        planes.for_each_init(scratch, |(padded, wide), (place, (out, grad))| {
            self.widen(grad, wide);
            padded.fill(0.0);
            let weight = &weight[place % self.channels * taps..][..taps];
            for (weight, distance) in weight.iter().zip(&self.distances) {
                add_scaled(&mut padded[*distance..][..wide.len()], *weight, wide);
            }
            self.unpad(padded, out);
        });
        out
    }

    fn weight_gradient(&self, x: &[f32], grad: &[f32]) -> Vec<f32> {
        let (plane, outputs, taps) = (self.plane(), self.outputs(), self.distances.len());
        let mut out = vec![0.0; self.channels * taps];
        out.par_chunks_mut(taps).enumerate().for_each(|(channel, out)| {
            let (mut padded, mut wide) = (vec![0.0; self.padded_plane()], vec![0.0; self.span()]);
            let mut sums = vec![0.0f64; taps];
            let planes = x.chunks_exact(plane).zip(grad.chunks_exact(outputs));
            for (x, grad) in planes.skip(channel).step_by(self.channels) {
                self.pad(x, &mut padded);
                self.widen(grad, &mut wide);
                for (sum, distance) in sums.iter_mut().zip(&self.distances) {
                    *sum += product_sum(&wide, &padded[*distance..][..wide.len()]);
                }
            }
            out.iter_mut().zip(&sums).for_each(|(out, sum)| *out = *sum as f32);
        });
        out
    }
}

widened! {
    /// `Σ w[tap] x[i + distance(tap)]` for whole blocks of `i`.
    fn sum_taps<const FUSED: bool>(x: &[f32], weights: &[f32], distances: &[usize], out: &mut [f32]) {
        for (block, out) in out.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
            let mut sum = [0.0f32; BLOCK];
            for (weight, distance) in weights.iter().zip(distances) {
                let x = &x[block * BLOCK + distance..][..BLOCK];
                sum.iter_mut().zip(x).for_each(|(sum, x)| *sum = multiply_add::<FUSED>(*weight, *x, *sum));
            }
            *out = sum;
        }
    }
}

widened! {
    /// `y += w x`.
    fn add_scaled<const FUSED: bool>(y: &mut [f32], weight: f32, x: &[f32]) {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = multiply_add::<FUSED>(weight, *x, *y));
    }
}

widened! {
    /// The first number, the third, and so on.
    fn every_second<const FUSED: bool>(source: &[f32], out: &mut [f32]) {
        let (pairs, last) = source.as_chunks::<2>();
        let (whole, rest) = out.split_at_mut(pairs.len());
        whole.iter_mut().zip(pairs).for_each(|(out, pair)| *out = pair[0]);
        rest.iter_mut().zip(last).for_each(|(out, last)| *out = *last);
    }
}
