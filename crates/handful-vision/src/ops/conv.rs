//! Convolution on the CPU: `Y = W · columns(X)` and its two gradients as matrix products.
//!
//! burn's CPU backend differentiates a convolution by another convolution whose kernel is as large as the image,
//! which is slower than the products it stands for. Here a group of images becomes one column matrix
//! `C` (`channels * kernel` rows, a column for each output pixel), and
//!
//! ```text
//! Y = W C        dC = Wᵀ dY  (added back into the image)        dW = Σ dY Cᵀ
//! ```
//!
//! `dW` is summed over a fixed number of shards in a fixed order, so that results do not depend on the number of
//! threads.

use std::cell::RefCell;
use std::ops::Range;

use burn::backend::flex::FlexTensor;
use handful::linalg::product::{View, product};
use rayon::prelude::*;

use super::convolution::Convolution;
use super::ending::Ending;
use super::geometry::Geometry;
use super::host::dims4;
use super::panels::{Packed, Then};
use super::winograd::{self, Kernels, Winograd};
use super::{Padding, spare};

/// Images are grouped, or cut into bands of rows, until a column matrix has about this many columns: enough for the
/// product to run at full speed, few enough to stay in the cache.
const COLUMNS: usize = 512;
/// Rows of this many columns are long enough not to be copied.
const ROW: usize = 128;
/// Partial sums of the weight gradient.
const SHARDS: usize = 4;

thread_local! {
    static SCRATCH: RefCell<[Vec<f32>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// Lends two buffers of at least the given lengths; what is in them is left from before.
fn with_scratch<R>(lengths: [usize; 2], work: impl FnOnce(&mut [f32], &mut [f32]) -> R) -> R {
    SCRATCH.with_borrow_mut(|[first, second]| {
        for (buffer, length) in [(&mut *first, lengths[0]), (&mut *second, lengths[1])] {
            if buffer.len() < length {
                buffer.resize(length, 0.0);
            }
        }
        work(&mut first[..lengths[0]], &mut second[..lengths[1]])
    })
}

/// One layer's sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dense {
    geometry: Geometry,
    batch: usize,
    channels: usize,
    filters: usize,
}

impl Dense {
    fn outputs(&self) -> usize {
        let [rows, columns] = self.geometry.output();
        rows * columns
    }

    /// Rows of the column matrix.
    fn depth(&self) -> usize {
        self.channels * self.geometry.kernel[0] * self.geometry.kernel[1]
    }

    fn image(&self) -> usize {
        self.channels * self.geometry.input[0] * self.geometry.input[1]
    }

    /// Images that are taken together, which costs a copy.
    fn group(&self) -> usize {
        let outputs = self.outputs().max(1);
        let enough = if self.geometry.is_pointwise() { ROW } else { COLUMNS };
        if outputs >= enough { 1 } else { (COLUMNS / outputs).clamp(1, self.batch.max(1)) }
    }

    /// Whether both ways can be computed with fewer multiplications, and it pays.
    fn is_winograd(&self) -> bool {
        let Geometry { kernel, stride, padding, .. } = self.geometry;
        // The way back is padded by what is left of two zeros.
        let is_padded = padding.iter().all(|&(before, after)| before <= 2 && after <= 2);
        is_padded && winograd::pays(kernel, stride, self.channels, self.filters)
    }

    fn winograd(&self) -> Winograd {
        Winograd {
            input: self.geometry.input,
            output: self.geometry.output(),
            before: self.geometry.padding.map(|(before, _)| before),
            channels: self.channels,
            filters: self.filters,
        }
    }

    /// The rows of the output, in bands; all of them at once where images are grouped.
    fn bands(&self) -> impl Iterator<Item = Band> + use<> {
        let [rows, columns] = self.geometry.output();
        let height = (COLUMNS / columns.max(1)).clamp(1, rows.max(1));
        let height = if self.outputs() <= COLUMNS { rows.max(1) } else { height };
        (0..rows).step_by(height).map(move |first| {
            let rows = first..(first + height).min(rows);
            Band { start: rows.start * columns, outputs: rows.len() * columns, rows }
        })
    }
}

/// Some rows of the output.
struct Band {
    rows: Range<usize>,
    /// The first of its outputs.
    start: usize,
    outputs: usize,
}

impl Convolution for Dense {
    fn of(x: &FlexTensor, weight: &FlexTensor, stride: usize, padding: Padding) -> Self {
        let [batch, channels, rows, columns] = dims4(x);
        let [filters, _, kernel_rows, kernel_columns] = dims4(weight);
        let kernel = [kernel_rows, kernel_columns];
        Self {
            geometry: Geometry { input: [rows, columns], kernel, stride, padding },
            batch,
            channels,
            filters,
        }
    }

    fn output(&self) -> [usize; 4] {
        let [rows, columns] = self.geometry.output();
        [self.batch, self.filters, rows, columns]
    }

    fn forward(&self, x: &[f32], weight: &[f32], ending: Option<&Ending>) -> Vec<f32> {
        let (outputs, depth, filters) = (self.outputs(), self.depth(), self.filters);
        let mut y = spare::take(self.batch * filters * outputs);
        if self.is_winograd() {
            let kernels = Kernels::forward(weight, filters, self.channels);
            self.winograd().convolve(x, &kernels, &mut y, ending);
            return y;
        }
        let weight = Packed::new(weight, filters, depth, [depth, 1]);
        let then = Then::from(ending);
        let groups = y.par_chunks_mut(self.group() * filters * outputs);
        groups.zip(x.par_chunks(self.group() * self.image())).for_each(|(y, x)| {
            let images: Vec<&[f32]> = x.chunks_exact(self.image()).collect();
            let width = images.len() * outputs;
            if let ([image], true) = (images.as_slice(), self.geometry.is_pointwise()) {
                weight.times(image, width, width, y, width, then);
            } else if images.len() == 1 {
                for band in self.bands() {
                    with_scratch([depth * band.outputs, 0], |columns, _| {
                        self.geometry.fill_columns(&images, self.channels, &band.rows, columns);
                        weight.times(
                            columns,
                            band.outputs,
                            band.outputs,
                            &mut y[band.start..],
                            outputs,
                            then,
                        );
                    });
                }
            } else {
                with_scratch([depth * width, filters * width], |columns, together| {
                    let rows = 0..self.geometry.output()[0];
                    self.geometry.fill_columns(&images, self.channels, &rows, columns);
                    weight.times(columns, width, width, together, width, then);
                    from_group(together, outputs, images.len(), y);
                });
            }
        });
        y
    }

    fn input_gradient(&self, weight: &[f32], grad: &[f32]) -> Vec<f32> {
        let (outputs, depth, filters) = (self.outputs(), self.depth(), self.filters);
        let mut x = spare::take(self.batch * self.image());
        if self.is_winograd() {
            let kernels = Kernels::backward(weight, filters, self.channels);
            self.winograd().backward().convolve(grad, &kernels, &mut x, None);
            return x;
        }
        let weight = Packed::new(weight, depth, filters, [1, depth]);
        let groups = x.par_chunks_mut(self.group() * self.image());
        groups.zip(grad.par_chunks(self.group() * filters * outputs)).for_each(|(x, grad)| {
            x.fill(0.0);
            let mut images: Vec<&mut [f32]> = x.chunks_exact_mut(self.image()).collect();
            let together = images.len() * outputs;
            for band in self.bands() {
                let width = images.len() * band.outputs;
                with_scratch([depth * width, filters * together], |columns, gathered| {
                    let grad = to_group(grad, outputs, images.len(), gathered);
                    weight.times(&grad[band.start..], together, width, columns, width, Then::Nothing);
                    self.geometry.add_columns(columns, self.channels, &band.rows, &mut images);
                });
            }
        });
        x
    }

    fn weight_gradient(&self, x: &[f32], grad: &[f32]) -> Vec<f32> {
        if self.is_winograd() {
            return self.winograd().weight_gradient(x, grad);
        }
        let (outputs, depth, filters) = (self.outputs(), self.depth(), self.filters);
        let group = self.group();
        let groups: Vec<(&[f32], &[f32])> =
            x.chunks(group * self.image()).zip(grad.chunks(group * filters * outputs)).collect();
        let shard = groups.len().div_ceil(SHARDS).max(1);
        let partial = |groups: &[(&[f32], &[f32])]| {
            let mut sum = vec![0.0; depth * filters];
            for (x, grad) in groups {
                let images: Vec<&[f32]> = x.chunks_exact(self.image()).collect();
                let together = images.len() * outputs;
                for band in self.bands() {
                    let width = images.len() * band.outputs;
                    with_scratch([depth * width, filters * together], |columns, gathered| {
                        self.geometry.fill_columns(&images, self.channels, &band.rows, columns);
                        let grad = to_group(grad, outputs, images.len(), gathered);
                        let grad = View::with_stride(&grad[band.start..], filters, width, together);
                        let columns = View::new(columns, depth, width).transposed();
                        product(&mut sum, depth, grad, columns, true);
                    });
                }
            }
            sum
        };
        let sums: Vec<Vec<f32>> = groups.par_chunks(shard).map(partial).collect();
        let mut sums = sums.into_iter();
        let mut total = sums.next().unwrap_or_default();
        for sum in sums {
            total.iter_mut().zip(&sum).for_each(|(total, part)| *total += part);
        }
        total
    }
}

/// `[images, filters, outputs]` to `[filters, images * outputs]`; a single image is that already.
fn to_group<'a>(grad: &'a [f32], outputs: usize, images: usize, gathered: &'a mut [f32]) -> &'a [f32] {
    if images == 1 {
        return grad;
    }
    let filters = grad.len() / (images * outputs);
    for (place, plane) in grad.chunks_exact(outputs).enumerate() {
        let (image, filter) = (place / filters, place % filters);
        gathered[(filter * images + image) * outputs..][..outputs].copy_from_slice(plane);
    }
    gathered
}

/// `[filters, images * outputs]` to `[images, filters, outputs]`.
fn from_group(together: &[f32], outputs: usize, images: usize, y: &mut [f32]) {
    let filters = y.len() / (images * outputs);
    for (place, plane) in y.chunks_exact_mut(outputs).enumerate() {
        let (image, filter) = (place / filters, place % filters);
        plane.copy_from_slice(&together[(filter * images + image) * outputs..][..outputs]);
    }
}
