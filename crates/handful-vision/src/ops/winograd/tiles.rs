//! The transformations of tiles: `Bᵀ d B` of inputs, `Aᵀ m A` to outputs, and the way back of the latter, `A dY Aᵀ`.
//!
//! One row of tiles of a plane at a time. Its even and odd columns are taken apart first: then what neighbouring tiles need
//! lies side by side, and every step is a sum of two rows of numbers.

use std::ops::Range;

use super::super::wide::widened;
use super::{PLACES, Winograd};

impl Winograd {
    /// Numbers that a transformation needs for rows on their way.
    pub(super) fn lines(&self) -> usize {
        16 * (self.tile_columns() + 1)
    }

    /// `Bᵀ d B` of one row of tiles of a channel; places are `distance` apart.
    #[inline(always)]
    fn transform_input(
        &self,
        plane: &[f32],
        tile_row: usize,
        lines: &mut [f32],
        transformed: &mut [f32],
        distance: usize,
    ) {
        let (tiles, line) = (self.tile_columns(), self.tile_columns() + 1);
        let (rows, rest) = lines.split_at_mut(8 * line);
        for (row, halves) in rows.chunks_exact_mut(2 * line).enumerate() {
            self.read_line(plane, (2 * tile_row + row).checked_sub(self.before[0]), halves);
        }
        let sums = &mut rest[..2 * line];
        for (row, (a, b, sign)) in
            [(0, 2, -1.0), (1, 2, 1.0), (2, 1, -1.0), (1, 3, -1.0)].into_iter().enumerate()
        {
            let (a, b) = (&rows[a * 2 * line..][..2 * line], &rows[b * 2 * line..][..2 * line]);
            sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum = a + sign * b);
            let (even, odd) = sums.split_at(line);
            let pairs: [(&[f32], &[f32], f32); 4] = [
                (even, &even[1..], -1.0),
                (odd, &even[1..], 1.0),
                (&even[1..], odd, -1.0),
                (odd, &odd[1..], -1.0),
            ];
            for (column, (a, b, sign)) in pairs.into_iter().enumerate() {
                let out = &mut transformed[(4 * row + column) * distance..][..tiles];
                out.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = a + sign * b);
            }
        }
    }

    /// A row of the padded plane, even columns first and then odd ones: then neighbouring tiles lie side by side.
    #[inline(always)]
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

    /// `A dY Aᵀ` of one row of tiles of a filter; places are `distance` apart.
    #[inline(always)]
    fn transform_gradient(
        &self,
        plane: &[f32],
        tile_row: usize,
        lines: &mut [f32],
        transformed: &mut [f32],
        distance: usize,
    ) {
        let (tiles, columns) = (self.tile_columns(), self.output[1]);
        let (halves, rest) = lines.split_at_mut(4 * tiles);
        for (row, halves) in halves.chunks_exact_mut(2 * tiles).enumerate() {
            let row = 2 * tile_row + row;
            if row >= self.output[0] {
                halves.fill(0.0);
                continue;
            }
            let (even, odd) = halves.split_at_mut(tiles);
            let pixels = &plane[row * columns..][..columns];
            for ((even, odd), pair) in even.iter_mut().zip(&mut *odd).zip(pixels.chunks(2)) {
                (*even, *odd) = (pair[0], pair.get(1).copied().unwrap_or_default());
            }
        }
        let (upper, lower) = halves.split_at(2 * tiles);
        let sums = &mut rest[..2 * tiles];
        for (row, (a, b)) in [(1.0, 0.0), (1.0, 1.0), (1.0, -1.0), (0.0, -1.0)].into_iter().enumerate() {
            sums.iter_mut().zip(upper).zip(lower).for_each(|((sum, x), y)| *sum = a * x + b * y);
            let (even, odd) = sums.split_at(tiles);
            for (column, (a, b)) in [(1.0, 0.0), (1.0, 1.0), (1.0, -1.0), (0.0, -1.0)].into_iter().enumerate()
            {
                let out = &mut transformed[(4 * row + column) * distance..][..tiles];
                out.iter_mut().zip(even).zip(odd).for_each(|((out, x), y)| *out = a * x + b * y);
            }
        }
    }

    /// `Aᵀ m A` of one row of tiles of a filter, into its plane.
    #[inline(always)]
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

widened! {
    /// The tiles of a band of rows of some images: 16 matrices `[channels, tiles]`.
    pub(super) fn transform_inputs<const FUSED: bool>(
        layer: &Winograd,
        images: &[&[f32]],
        band: &Range<usize>,
        lines: &mut [f32],
        transformed: &mut [f32],
    ) {
        let (columns, plane) = (layer.tile_columns(), layer.input[0] * layer.input[1]);
        let tiles = images.len() * band.len() * columns;
        for (at, image) in images.iter().enumerate() {
            for (channel, plane) in image.chunks_exact(plane).enumerate() {
                for row in band.clone() {
                    let start = channel * tiles + (at * band.len() + row - band.start) * columns;
                    layer.transform_input(plane, row, lines, &mut transformed[start..], layer.channels * tiles);
                }
            }
        }
    }
}

widened! {
    /// The same of gradients of outputs, `grad` of these images: 16 matrices `[filters, tiles]`.
    pub(super) fn transform_gradients<const FUSED: bool>(
        layer: &Winograd,
        grad: &[f32],
        band: &Range<usize>,
        lines: &mut [f32],
        transformed: &mut [f32],
    ) {
        let (columns, filters) = (layer.tile_columns(), layer.filters);
        let images = grad.len() / (filters * layer.outputs());
        let tiles = images * band.len() * columns;
        for (place, plane) in grad.chunks_exact(layer.outputs()).enumerate() {
            let (at, filter) = (place / filters, place % filters);
            for row in band.clone() {
                let start = filter * tiles + (at * band.len() + row - band.start) * columns;
                layer.transform_gradient(plane, row, lines, &mut transformed[start..], filters * tiles);
            }
        }
    }
}

widened! {
    /// The way back, from 16 matrices `[filters, tiles]`.
    pub(super) fn transform_outputs<const FUSED: bool>(
        layer: &Winograd,
        products: &[f32],
        band: &Range<usize>,
        lines: &mut [f32],
        y: &mut [f32],
    ) {
        let outputs = layer.outputs();
        let tiles = products.len() / (PLACES * layer.filters);
        for (place, plane) in y.chunks_exact_mut(outputs).enumerate() {
            let (at, filter) = (place / layer.filters, place % layer.filters);
            for row in band.clone() {
                let first = (at * band.len() + row - band.start) * layer.tile_columns();
                let of = |place: usize| &products[(place * layer.filters + filter) * tiles + first..];
                layer.transform_output(of, row, lines, plane);
            }
        }
    }
}
