//! `y[p] = act(scale · W x[p] + shift)` for pixels whose channels lie side by side.
//!
//! The weights are packed in panels of as many channels as fit in two or three vectors, one depth after the other. A panel
//! stays in the nearest cache while all pixels pass by, some at a time, with all their sums in registers. Pixels are found
//! by tables of their places, so that rows with zeros around them are read and written where they are. A part of the depth
//! can be taken at a time: the sums then go on from what was written, in the same order, and not a bit is different.

use std::ops::Range;

use super::super::ending::Ending;
use super::super::lanes::{Avx2, Avx512, Lanes};
use super::super::wide::Instructions;
use super::bends::{Bends, Finish};
use super::lines::Lines;

/// Pixels and vectors of a tile: with the weights' vectors and one pixel, as many as there are registers.
const AVX2: (usize, usize) = (6, 2);
const AVX512: (usize, usize) = (8, 3);

/// Depths that are packed at a time.
const DEPTHS: usize = 64;

/// Numbers in a vector.
pub(super) fn width(instructions: Instructions) -> usize {
    if instructions == Instructions::Avx512 { Avx512::WIDTH } else { Avx2::WIDTH }
}

/// Weights and what follows the product.
pub(super) struct Product {
    instructions: Instructions,
    weights: Lines,
    panels: Vec<Panel>,
    depth: usize,
    bends: Bends,
}

/// The weights of some channels.
struct Panel {
    /// The first channel.
    first: usize,
    vectors: usize,
    /// Where its weights begin.
    start: usize,
}

/// Pixels to be read. One has `segments` runs of `run` numbers, each so far behind the pixel's place.
pub(super) struct Source<'a> {
    pub numbers: &'a [f32],
    pub pixels: &'a [usize],
    pub segments: &'a [usize],
    pub run: usize,
}

impl Product {
    /// Of weights `[channels, depth]`.
    pub(super) fn new(instructions: Instructions, weights: &[f32], depth: usize, ending: &Ending) -> Self {
        let width = width(instructions);
        let most = if instructions == Instructions::Avx512 { AVX512.1 } else { AVX2.1 };
        let bends = Bends::new(ending, width);
        let vectors = bends.channels() / width;
        let count = vectors.div_ceil(most);
        let mut packed = Lines::zeros(bends.channels() * depth);
        let mut panels = Vec::with_capacity(count);
        // As equal as whole vectors allow.
        for number in 0..count {
            let [begin, end] = [number, number + 1].map(|number| vectors * number / count);
            let (first, start) = (begin * width, begin * width * depth);
            let panel = &mut packed[start..][..(end - begin) * width * depth];
            pack(&weights[first * depth..], depth, panel);
            panels.push(Panel { first, vectors: end - begin, start });
        }
        Self { instructions, weights: packed, panels, depth, bends }
    }

    /// Channels, with those that fill the last vector up.
    pub(super) fn channels(&self) -> usize {
        self.bends.channels()
    }

    /// Numbers of a pixel.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// The channels in parts of whole panels with at least `least` channels, the last perhaps fewer.
    pub(super) fn parts(&self, least: usize) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut start = 0;
        for end in self.panels.iter().skip(1).map(|panel| panel.first) {
            if end - start >= least {
                parts.push(start..end);
                start = end;
            }
        }
        parts.push(start..self.channels());
        parts
    }

    /// Computes the channels of a part over some of the depth. What lies in `out` at each of the places `to` is the sum so
    /// far unless the depth begins at 0; what follows the sums is done where it ends.
    ///
    /// # Panics
    /// If places lie outside the numbers, or the depth is not the source's.
    pub(super) fn times(
        &self,
        channels: Range<usize>,
        depth: Range<usize>,
        source: &Source<'_>,
        out: &mut [f32],
        to: &[usize],
    ) {
        let greatest = |numbers: &[usize]| numbers.iter().max().copied().unwrap_or_default();
        assert_eq!(source.segments.len() * source.run, depth.len(), "another depth");
        assert_eq!(source.pixels.len(), to.len(), "pixels without a place");
        let reach = greatest(source.pixels) + greatest(source.segments) + source.run;
        assert!(to.is_empty() || reach <= source.numbers.len(), "a pixel outside");
        assert!(to.is_empty() || greatest(to) + channels.len() <= out.len(), "a place outside");
        assert!(depth.end <= self.depth && channels.end <= self.channels(), "more than there is");
        for panel in &self.panels {
            let width = panel.vectors * width(self.instructions);
            if panel.first < channels.start || panel.first + width > channels.end {
                continue;
            }
            let job = Job {
                x: source.numbers.as_ptr(),
                pixels: source.pixels,
                segments: source.segments,
                run: source.run,
                weights: self.weights[panel.start + depth.start * width..].as_ptr(),
                out: out[panel.first - channels.start..].as_mut_ptr(),
                to,
                goes_on: depth.start > 0,
                finish: (depth.end == self.depth).then(|| self.bends.from(panel.first)),
            };
            // SAFETY: the instructions are there, or nothing would be packed for them; the places were compared with the
            // lengths of the slices above.
            unsafe {
                match self.instructions {
                    Instructions::Avx512 => avx512(&job, panel.vectors),
                    _ => avx2(&job, panel.vectors),
                }
            }
        }
    }
}

/// Rows of weights to one depth after the other; some depths at a time, whose part of the panel stays in the cache.
fn pack(weights: &[f32], depth: usize, panel: &mut [f32]) {
    let width = panel.len() / depth.max(1);
    for (number, panel) in panel.chunks_mut((DEPTHS * width).max(1)).enumerate() {
        for (channel, row) in weights.chunks_exact(depth).take(width).enumerate() {
            for (weight, packed) in row[number * DEPTHS..].iter().zip(panel.chunks_exact_mut(width)) {
                packed[channel] = *weight;
            }
        }
    }
}

/// The product of a panel.
struct Job<'a> {
    x: *const f32,
    pixels: &'a [usize],
    segments: &'a [usize],
    run: usize,
    weights: *const f32,
    out: *mut f32,
    to: &'a [usize],
    goes_on: bool,
    finish: Option<Finish>,
}

/// # Safety
/// AVX2 and FMA are present, and all places of the job inside its slices.
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(job: &Job<'_>, vectors: usize) {
    // SAFETY: the caller's.
    unsafe {
        match vectors {
            1 => tiles::<Avx2, { AVX2.0 }, 1>(job),
            _ => tiles::<Avx2, { AVX2.0 }, 2>(job),
        }
    }
}

/// # Safety
/// As [`avx2`], for AVX-512.
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn avx512(job: &Job<'_>, vectors: usize) {
    // SAFETY: the caller's.
    unsafe {
        match vectors {
            1 => tiles::<Avx512, { AVX512.0 }, 1>(job),
            2 => tiles::<Avx512, { AVX512.0 }, 2>(job),
            _ => tiles::<Avx512, { AVX512.0 }, 3>(job),
        }
    }
}

#[inline(always)]
unsafe fn tiles<L: Lanes, const PIXELS: usize, const VECTORS: usize>(job: &Job<'_>) {
    for first in (0..job.pixels.len()).step_by(PIXELS) {
        // SAFETY: the caller's.
        unsafe { tile::<L, PIXELS, VECTORS>(job, first) };
    }
}

/// Where there are not enough pixels for a tile, the last one is computed several times.
#[inline(always)]
unsafe fn tile<L: Lanes, const PIXELS: usize, const VECTORS: usize>(job: &Job<'_>, first: usize) {
    // SAFETY: the caller's.
    unsafe {
        let last = job.pixels.len() - 1;
        let places: [usize; PIXELS] = std::array::from_fn(|at| (first + at).min(last));
        let pixels = places.map(|place| job.x.add(*job.pixels.get_unchecked(place)));
        let out = places.map(|place| job.out.add(*job.to.get_unchecked(place)));
        let mut sums = [[L::splat(0.0); VECTORS]; PIXELS];
        if job.goes_on {
            for (sums, out) in sums.iter_mut().zip(out) {
                *sums = std::array::from_fn(|vector| L::load(out.add(vector * L::WIDTH)));
            }
        }
        let mut weights = job.weights;
        for segment in job.segments {
            let pixels = pixels.map(|pixel| pixel.add(*segment));
            for at in 0..job.run {
                let vectors: [L::Vector; VECTORS] =
                    std::array::from_fn(|vector| L::load(weights.add(vector * L::WIDTH)));
                for (sums, pixel) in sums.iter_mut().zip(pixels) {
                    let value = L::splat(*pixel.add(at));
                    for (sum, weights) in sums.iter_mut().zip(vectors) {
                        *sum = L::mul_add(value, weights, *sum);
                    }
                }
                weights = weights.add(VECTORS * L::WIDTH);
            }
        }
        for vector in 0..VECTORS {
            let mut column = sums.map(|sums| sums[vector]);
            if let Some(finish) = &job.finish {
                finish.apply::<L>(vector * L::WIDTH, &mut column);
            }
            for (sum, out) in column.into_iter().zip(out) {
                L::store(out.add(vector * L::WIDTH), sum);
            }
        }
    }
}
