//! Convolution of each channel by a kernel of its own, where the channels of a pixel lie side by side: a vector of channels
//! at a time, for some pixels of a row, `y[p] = act(scale · Σ w[tap] x[p + tap] + shift)`.

use std::ops::Range;

use super::super::ending::Ending;
use super::super::lanes::{Avx2, Avx512, Lanes};
use super::super::wide::Instructions;
use super::bends::{Bends, Finish};
use super::lines::Lines;
use super::product::width;

/// Pixels whose sums are in registers: networks for 224 px have rows of 7, 14, 28, 56 and 112.
const PIXELS: usize = 7;

/// Kernels of all channels and what follows them.
pub(super) struct Filter {
    instructions: Instructions,
    /// `[kernel, kernel, channels]`.
    weights: Lines,
    kernel: usize,
    bends: Bends,
}

/// Some channels of maps with zeros around them, and of what they become.
pub(super) struct Window {
    pub maps: usize,
    /// Rows and columns of a map, zeros included.
    pub input: [usize; 2],
    pub output: [usize; 2],
    pub stride: usize,
    /// Numbers from a pixel to the next, on both sides.
    pub step: usize,
}

impl Filter {
    /// Of weights `[channels, kernel, kernel]`.
    pub(super) fn new(instructions: Instructions, weights: &[f32], kernel: usize, ending: &Ending) -> Self {
        let bends = Bends::new(ending, width(instructions));
        let mut turned = Lines::zeros(kernel * kernel * bends.channels());
        for (channel, taps) in weights.chunks_exact(kernel * kernel).enumerate() {
            for (tap, weight) in taps.iter().enumerate() {
                turned[tap * bends.channels() + channel] = *weight;
            }
        }
        Self { instructions, weights: turned, kernel, bends }
    }

    /// Rows and columns of a kernel.
    pub(super) fn kernel(&self) -> usize {
        self.kernel
    }

    /// Channels, with those that fill the last vector up.
    pub(super) fn channels(&self) -> usize {
        self.bends.channels()
    }

    /// Filters some channels, whole vectors of them.
    ///
    /// # Panics
    /// If the window does not fit in the numbers.
    pub(super) fn apply(&self, channels: Range<usize>, window: &Window, x: &[f32], out: &mut [f32]) {
        let Window { maps, input, output, stride, step } = *window;
        let least = output.map(|outputs| (outputs.max(1) - 1) * stride + self.kernel);
        assert!(input[0] >= least[0] && input[1] >= least[1], "kernels outside of the maps");
        assert!(maps * input[0] * input[1] * step <= x.len(), "maps outside");
        assert!(maps * output[0] * output[1] * step <= out.len(), "results outside");
        assert!(channels.len() <= step && channels.end <= self.channels(), "more than there are");
        assert!(channels.len().is_multiple_of(width(self.instructions)), "a part of a vector");
        if output[1] == 0 {
            return;
        }
        let row = input[1] * step;
        let taps: Vec<usize> = (0..self.kernel)
            .flat_map(|tap_row| (0..self.kernel).map(move |tap| tap_row * row + tap * step))
            .collect();
        for (line, out) in out.chunks_exact_mut(output[1] * step).take(maps * output[0]).enumerate() {
            let (map, line) = (line / output[0], line % output[0]);
            let job = Job {
                x: x[(map * input[0] + line * stride) * row..].as_ptr(),
                columns: output[1],
                step,
                stride: stride * step,
                taps: &taps,
                channels: channels.len(),
                weights: self.weights[channels.start..].as_ptr(),
                weight_step: self.channels(),
                out: out.as_mut_ptr(),
                finish: self.bends.from(channels.start),
            };
            // SAFETY: the instructions are there, or nothing would be packed for them; the window was compared with the
            // lengths of the slices above.
            unsafe {
                match self.instructions {
                    Instructions::Avx512 => avx512(&job),
                    _ => avx2(&job),
                }
            }
        }
    }
}

/// A row of results.
struct Job<'a> {
    x: *const f32,
    columns: usize,
    step: usize,
    /// Numbers between the pixels under neighbouring results.
    stride: usize,
    taps: &'a [usize],
    channels: usize,
    weights: *const f32,
    weight_step: usize,
    out: *mut f32,
    finish: Finish,
}

/// # Safety
/// AVX2 and FMA are present, and what the job reads and writes inside its slices.
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(job: &Job<'_>) {
    // SAFETY: the caller's.
    unsafe { row::<Avx2>(job) }
}

/// # Safety
/// As [`avx2`], for AVX-512.
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn avx512(job: &Job<'_>) {
    // SAFETY: the caller's.
    unsafe { row::<Avx512>(job) }
}

/// Where there are not enough pixels for all sums, the last one is computed several times.
#[inline(always)]
unsafe fn row<L: Lanes>(job: &Job<'_>) {
    // SAFETY: the caller's.
    unsafe {
        for channel in (0..job.channels).step_by(L::WIDTH) {
            for first in (0..job.columns).step_by(PIXELS) {
                let places: [usize; PIXELS] = std::array::from_fn(|at| (first + at).min(job.columns - 1));
                let pixels = places.map(|place| job.x.add(place * job.stride + channel));
                let mut sums = [L::splat(0.0); PIXELS];
                let mut weights = job.weights.add(channel);
                for tap in job.taps {
                    let weight = L::load(weights);
                    for (sum, pixel) in sums.iter_mut().zip(pixels) {
                        *sum = L::mul_add(weight, L::load(pixel.add(*tap)), *sum);
                    }
                    weights = weights.add(job.weight_step);
                }
                job.finish.apply::<L>(channel, &mut sums);
                for (sum, place) in sums.into_iter().zip(places) {
                    L::store(job.out.add(place * job.step + channel), sum);
                }
            }
        }
    }
}
