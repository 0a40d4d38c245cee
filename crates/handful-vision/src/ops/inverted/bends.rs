//! What follows each convolution here, with numbers for the channels that fill a vector up.

use super::super::ending::Ending;
use super::super::lanes::Lanes;
use super::lines::Lines;

/// `act(scale x + shift)` by channel; a channel that only fills up stays 0.
pub(super) struct Bends {
    scale: Lines,
    shift: Lines,
    slope: f32,
    ceiling: f32,
}

impl Bends {
    pub(super) fn new(ending: &Ending, width: usize) -> Self {
        let finish = ending.finish();
        let padded = |numbers: &[f32]| {
            let mut lines = Lines::zeros(numbers.len().next_multiple_of(width));
            lines[..numbers.len()].copy_from_slice(numbers);
            lines
        };
        let (scale, shift) = (padded(finish.scale), padded(finish.shift));
        Self { scale, shift, slope: finish.slope, ceiling: finish.ceiling }
    }

    /// Channels, with those that fill up.
    pub(super) fn channels(&self) -> usize {
        self.scale.len()
    }

    /// The same from a channel on.
    pub(super) fn from(&self, channel: usize) -> Finish {
        Finish {
            scale: self.scale[channel..].as_ptr(),
            shift: self.shift[channel..].as_ptr(),
            slope: self.slope,
            ceiling: self.ceiling,
        }
    }
}

/// [`Bends`] for the inner loops.
#[derive(Clone, Copy)]
pub(super) struct Finish {
    scale: *const f32,
    shift: *const f32,
    slope: f32,
    ceiling: f32,
}

impl Finish {
    /// What sums of the vector of channels that begins `channel` further on become. With a slope of at most 1, the greater of
    /// `z` and `slope z` is the one that counts.
    ///
    /// # Safety
    /// The instruction set is present, and there are so many channels.
    #[inline(always)]
    pub(super) unsafe fn apply<L: Lanes>(&self, channel: usize, sums: &mut [L::Vector]) {
        // SAFETY: the caller's.
        unsafe {
            let [scale, shift] = [self.scale, self.shift].map(|of| L::load(of.add(channel)));
            let [slope, ceiling] = [self.slope, self.ceiling].map(|of| L::splat(of));
            for sum in sums {
                let z = L::mul_add(scale, *sum, shift);
                *sum = L::min(ceiling, L::max(L::mul(slope, z), z));
            }
        }
    }
}
