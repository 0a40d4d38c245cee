//! 3 x 3 convolution at stride 1 with 4 multiplications for 9: Winograd's F(2 x 2, 3 x 3), after Lavin and Gray (2016).
//!
//! A tile of 4 x 4 inputs gives 2 x 2 outputs. Between two cheap transformations each of its 16 places is multiplied on
//! its own, which over all channels, filters and tiles are 16 matrix products:
//!
//! ```text
//! Y = Aᵀ [ (G g Gᵀ) · (Bᵀ d B) ] A
//! ```
//!
//! The gradient of the input is such a convolution too, of the output's gradient with the kernels turned by a half.

use std::cell::RefCell;
use std::ops::Range;

use handful::linalg::product::{View, product};
use rayon::prelude::*;

use super::ending::Ending;

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

/// `G g Gᵀ` of each kernel: 16 matrices `[filters, channels]`.
pub(super) struct Kernels(Vec<f32>);

impl Kernels {
    /// From `[filters, channels, 3, 3]`.
    pub(super) fn forward(weight: &[f32], filters: usize, channels: usize) -> Self {
        Self::new(filters, channels, |filter, channel, tap| weight[(filter * channels + channel) * 9 + tap])
    }

    /// Those of the way back: filters and channels exchanged, kernels turned by a half.
    pub(super) fn backward(weight: &[f32], filters: usize, channels: usize) -> Self {
        Self::new(channels, filters, |channel, filter, tap| {
            weight[(filter * channels + channel) * 9 + 8 - tap]
        })
    }

    fn new(rows: usize, columns: usize, weight: impl Fn(usize, usize, usize) -> f32 + Sync) -> Self {
        let transformed: Vec<[f32; PLACES]> = (0..rows * columns)
            .into_par_iter()
            .map(|at| transform_kernel(std::array::from_fn(|tap| weight(at / columns, at % columns, tap))))
            .collect();
        let places = (0..PLACES).into_par_iter();
        Self(places.flat_map_iter(|place| transformed.iter().map(move |kernel| kernel[place])).collect())
    }
}

fn transform_kernel(g: [f32; 9]) -> [f32; PLACES] {
    let transform = |[a, b, c]: [f32; 3]| [a, 0.5 * (a + b + c), 0.5 * (a - b + c), c];
    let columns: [[f32; 4]; 3] =
        std::array::from_fn(|column| transform([g[column], g[3 + column], g[6 + column]]));
    let rows: [[f32; 4]; 4] =
        std::array::from_fn(|row| transform([columns[0][row], columns[1][row], columns[2][row]]));
    std::array::from_fn(|place| rows[place / 4][place % 4])
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

    /// Convolves all images of `x` into `y`, with what follows.
    pub(super) fn convolve(&self, x: &[f32], kernels: &Kernels, y: &mut [f32], ending: Option<&Ending>) {
        let image = self.channels * self.input[0] * self.input[1];
        let outputs = self.output[0] * self.output[1];
        let tiles = self.tile_rows() * self.tile_columns();
        let group = (self.block() / tiles.max(1)).max(1);
        let groups = y.par_chunks_mut(group * self.filters * outputs).zip(x.par_chunks(group * image));
        groups.for_each(|(y, x)| {
            let images: Vec<&[f32]> = x.chunks_exact(image).collect();
            let height = if group > 1 { self.tile_rows() } else { self.block() / self.tile_columns().max(1) };
            for first in (0..self.tile_rows()).step_by(height.max(1)) {
                let band = first..(first + height.max(1)).min(self.tile_rows());
                SCRATCH.with_borrow_mut(|scratch| self.band(&images, kernels, band, scratch, y));
            }
            if let Some(ending) = ending {
                let planes = y.chunks_exact_mut(outputs).enumerate();
                planes.for_each(|(place, plane)| ending.apply(place % self.filters, plane));
            }
        });
    }

    /// Convolves a band of rows of tiles of some images.
    fn band(
        &self,
        images: &[&[f32]],
        kernels: &Kernels,
        band: Range<usize>,
        scratch: &mut Vec<f32>,
        y: &mut [f32],
    ) {
        let (channels, filters) = (self.channels, self.filters);
        let tiles = images.len() * band.len() * self.tile_columns();
        let line = self.tile_columns() + 1;
        let lengths = [PLACES * channels * tiles, PLACES * filters * tiles, 16 * line];
        if scratch.len() < lengths.iter().sum() {
            scratch.resize(lengths.iter().sum(), 0.0);
        }
        let (transformed, rest) = scratch.split_at_mut(lengths[0]);
        let (products, rest) = rest.split_at_mut(lengths[1]);
        let lines = &mut rest[..lengths[2]];
        for (at, image) in images.iter().enumerate() {
            for row in band.clone() {
                let first = (at * band.len() + row - band.start) * self.tile_columns();
                for channel in 0..channels {
                    self.transform_input(image, channel, row, lines, |place, values| {
                        let start = (place * channels + channel) * tiles + first;
                        transformed[start..][..values.len()].copy_from_slice(values);
                    });
                }
            }
        }
        for place in 0..PLACES {
            let kernels = View::new(&kernels.0[place * filters * channels..], filters, channels);
            let values = View::new(&transformed[place * channels * tiles..], channels, tiles);
            product(&mut products[place * filters * tiles..], tiles, kernels, values, false);
        }
        let outputs = self.output[0] * self.output[1];
        for (at, y) in y.chunks_exact_mut(filters * outputs).enumerate() {
            for row in band.clone() {
                let first = (at * band.len() + row - band.start) * self.tile_columns();
                for (filter, plane) in y.chunks_exact_mut(outputs).enumerate() {
                    let of = |place: usize| &products[(place * filters + filter) * tiles + first..];
                    self.transform_output(of, row, lines, plane);
                }
            }
        }
    }

    /// `Bᵀ d B` of one row of tiles of a channel, place by place.
    fn transform_input(
        &self,
        image: &[f32],
        channel: usize,
        tile_row: usize,
        lines: &mut [f32],
        mut put: impl FnMut(usize, &[f32]),
    ) {
        let plane = &image[channel * self.input[0] * self.input[1]..][..self.input[0] * self.input[1]];
        let (tiles, line) = (self.tile_columns(), self.tile_columns() + 1);
        let (rows, rest) = lines.split_at_mut(8 * line);
        for (row, halves) in rows.chunks_exact_mut(2 * line).enumerate() {
            self.read_line(plane, (2 * tile_row + row).checked_sub(self.before[0]), halves);
        }
        let (sums, rest) = rest.split_at_mut(2 * line);
        for (row, (a, b, sign)) in
            [(0, 2, -1.0), (1, 2, 1.0), (2, 1, -1.0), (1, 3, -1.0)].into_iter().enumerate()
        {
            let (a, b) = (&rows[a * 2 * line..][..2 * line], &rows[b * 2 * line..][..2 * line]);
            sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum = a + sign * b);
            let (even, odd) = sums.split_at(line);
            let out = &mut rest[..tiles];
            let pairs: [(&[f32], &[f32], f32); 4] = [
                (even, &even[1..], -1.0),
                (odd, &even[1..], 1.0),
                (&even[1..], odd, -1.0),
                (odd, &odd[1..], -1.0),
            ];
            for (column, (a, b, sign)) in pairs.into_iter().enumerate() {
                out.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = a + sign * b);
                put(4 * row + column, out);
            }
        }
    }

    /// A row of the padded plane, even columns first and then odd ones: then neighbouring tiles lie side by side.
    fn read_line(&self, plane: &[f32], row: Option<usize>, halves: &mut [f32]) {
        halves.fill(0.0);
        let Some(row) = row.filter(|&row| row < self.input[0]) else { return };
        let source = &plane[row * self.input[1]..][..self.input[1]];
        let before = self.before[1];
        let (even, odd) = halves.split_at_mut(halves.len() / 2);
        // The first pixel stands at column `before` of the padded plane.
        let (own, other) = if before.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        let pairs = source.chunks(2).zip(own[before / 2..].iter_mut().zip(&mut other[before.div_ceil(2)..]));
        for (pixels, (own, other)) in pairs {
            *own = pixels[0];
            if let Some(&second) = pixels.get(1) {
                *other = second;
            }
        }
        // A last pixel may have a place in one half only.
        let whole = (own.len() - before / 2).min(other.len() - before.div_ceil(2));
        if let (Some(&pixel), Some(own)) = (source.get(2 * whole), own.get_mut(before / 2 + whole)) {
            *own = pixel;
        }
    }

    /// `Aᵀ m A` of one row of tiles of a filter, into its plane.
    fn transform_output<'a>(
        &self,
        of: impl Fn(usize) -> &'a [f32],
        tile_row: usize,
        lines: &mut [f32],
        plane: &mut [f32],
    ) {
        let (tiles, columns) = (self.tile_columns(), self.output[1]);
        let (sums, out) = lines.split_at_mut(4 * tiles);
        for half in 0..2 {
            let row = 2 * tile_row + half;
            if row >= self.output[0] {
                return;
            }
            for (column, sums) in sums.chunks_exact_mut(tiles).enumerate() {
                let [a, b, c, d] = [0, 4, 8, 12].map(|row| &of(row + column)[..tiles]);
                if half == 0 {
                    for (tile, sum) in sums.iter_mut().enumerate() {
                        *sum = a[tile] + b[tile] + c[tile];
                    }
                } else {
                    for (tile, sum) in sums.iter_mut().enumerate() {
                        *sum = b[tile] - c[tile] - d[tile];
                    }
                }
            }
            let [a, b, c, d] = [0, 1, 2, 3].map(|column| &sums[column * tiles..][..tiles]);
            for (tile, pair) in out[..2 * tiles].chunks_exact_mut(2).enumerate() {
                pair[0] = a[tile] + b[tile] + c[tile];
                pair[1] = b[tile] - c[tile] - d[tile];
            }
            plane[row * columns..][..columns].copy_from_slice(&out[..columns]);
        }
    }
}
