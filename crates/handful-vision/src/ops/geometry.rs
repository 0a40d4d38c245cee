//! Where a window of a convolution or pooling layer lies, and the copy of windows into columns and back.

use std::ops::Range;

/// The windows of one layer over images of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Input rows and columns.
    pub input: [usize; 2],
    /// Window rows and columns.
    pub kernel: [usize; 2],
    /// Distance between windows, the same in both directions.
    pub stride: usize,
    /// Zeros before and after, for rows and columns.
    pub padding: [(usize, usize); 2],
}

impl Geometry {
    /// Output rows and columns.
    pub(crate) fn output(&self) -> [usize; 2] {
        [0, 1].map(|axis| {
            let (before, after) = self.padding[axis];
            (self.input[axis] + before + after).saturating_sub(self.kernel[axis]) / self.stride + 1
        })
    }

    /// Whether each output sees one pixel, its own: then the columns are the image.
    pub(crate) fn is_pointwise(&self) -> bool {
        self.kernel == [1, 1] && self.stride == 1 && self.padding == [(0, 0); 2]
    }

    /// The outputs `first..end` along an axis whose window, at offset `tap`, reads inside the image.
    fn inside(&self, axis: usize, tap: usize) -> (usize, usize) {
        let (before, _) = self.padding[axis];
        let outputs = self.output()[axis];
        let first = before.saturating_sub(tap).div_ceil(self.stride);
        // The last input row is `input - 1 = output * stride + tap - before`.
        let end = (self.input[axis] + before).saturating_sub(tap).div_ceil(self.stride);
        (first.min(outputs), end.min(outputs).max(first.min(outputs)))
    }

    /// The rows of `band` whose window, at offset `tap`, reads inside the image.
    fn inside_rows(&self, band: &Range<usize>, tap: usize) -> (usize, usize) {
        let (first, end) = self.inside(0, tap);
        let first = first.clamp(band.start, band.end);
        (first, end.clamp(first, band.end))
    }

    /// Writes what each window of a band of rows sees at one of its taps: one row of the column matrix.
    fn read_tap(&self, plane: &[f32], tap: [usize; 2], band: &Range<usize>, row: &mut [f32]) {
        let [_, columns] = self.output();
        let (first_row, end_row) = self.inside_rows(band, tap[0]);
        let (first, end) = self.inside(1, tap[1]);
        row[..(first_row - band.start) * columns].fill(0.0);
        row[(end_row - band.start) * columns..band.len() * columns].fill(0.0);
        for y in first_row..end_row {
            let input_row = y * self.stride + tap[0] - self.padding[0].0;
            let source = &plane[input_row * self.input[1]..][..self.input[1]];
            let target = &mut row[(y - band.start) * columns..][..columns];
            target[..first].fill(0.0);
            target[end..].fill(0.0);
            if first == end {
                continue;
            }
            let start = first * self.stride + tap[1] - self.padding[1].0;
            if self.stride == 1 {
                target[first..end].copy_from_slice(&source[start..start + end - first]);
            } else {
                let sources = source[start..].iter().step_by(self.stride);
                target[first..end].iter_mut().zip(sources).for_each(|(out, value)| *out = *value);
            }
        }
    }

    /// Adds to the image what each window of a band of rows gives back at one of its taps.
    fn add_tap(&self, row: &[f32], tap: [usize; 2], band: &Range<usize>, plane: &mut [f32]) {
        let [_, columns] = self.output();
        let (first_row, end_row) = self.inside_rows(band, tap[0]);
        let (first, end) = self.inside(1, tap[1]);
        if first == end {
            return;
        }
        for y in first_row..end_row {
            let input_row = y * self.stride + tap[0] - self.padding[0].0;
            let target = &mut plane[input_row * self.input[1]..][..self.input[1]];
            let source = &row[(y - band.start) * columns..][first..end];
            let start = first * self.stride + tap[1] - self.padding[1].0;
            if self.stride == 1 {
                target[start..start + end - first]
                    .iter_mut()
                    .zip(source)
                    .for_each(|(out, value)| *out += value);
            } else {
                let targets = target[start..].iter_mut().step_by(self.stride);
                targets.zip(source).for_each(|(out, value)| *out += value);
            }
        }
    }

    /// The places in a window, row by row.
    pub(crate) fn taps(&self) -> impl Iterator<Item = [usize; 2]> + use<> {
        let [rows, columns] = self.kernel;
        (0..rows).flat_map(move |y| (0..columns).map(move |x| [y, x]))
    }

    /// The columns of a band of rows of a group of images, `[channels * kernel, images * outputs]`; image `i` of the
    /// group fills columns `i * outputs ..`.
    pub(crate) fn fill_columns(
        &self,
        images: &[&[f32]],
        channels: usize,
        band: &Range<usize>,
        columns: &mut [f32],
    ) {
        let plane = self.input[0] * self.input[1];
        let outputs = band.len() * self.output()[1];
        let width = images.len() * outputs;
        for (place, image) in images.iter().enumerate() {
            let taps = (0..channels).flat_map(|channel| self.taps().map(move |tap| (channel, tap)));
            for ((channel, tap), row) in taps.zip(columns.chunks_exact_mut(width)) {
                self.read_tap(
                    &image[channel * plane..][..plane],
                    tap,
                    band,
                    &mut row[place * outputs..][..outputs],
                );
            }
        }
    }

    /// The transpose of [`Geometry::fill_columns`]: adds columns into images.
    pub(crate) fn add_columns(
        &self,
        columns: &[f32],
        channels: usize,
        band: &Range<usize>,
        images: &mut [&mut [f32]],
    ) {
        let plane = self.input[0] * self.input[1];
        let outputs = band.len() * self.output()[1];
        let width = images.len() * outputs;
        for (place, image) in images.iter_mut().enumerate() {
            let taps = (0..channels).flat_map(|channel| self.taps().map(move |tap| (channel, tap)));
            for ((channel, tap), row) in taps.zip(columns.chunks_exact(width)) {
                self.add_tap(
                    &row[place * outputs..][..outputs],
                    tap,
                    band,
                    &mut image[channel * plane..][..plane],
                );
            }
        }
    }
}
