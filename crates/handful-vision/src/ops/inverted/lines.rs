//! Numbers that begin where a line of the cache does: a wide vector that lies across two lines is read twice.

use std::ops::{Deref, DerefMut};

/// A line of the cache, in bytes and in numbers.
const BYTES: usize = 64;
const NUMBERS: usize = BYTES / size_of::<f32>();

/// Numbers in whole lines.
#[derive(Default)]
pub(super) struct Lines {
    buffer: Vec<f32>,
    start: usize,
    length: usize,
}

impl Lines {
    /// So many zeros.
    pub(super) fn zeros(length: usize) -> Self {
        let buffer = vec![0.0; length + NUMBERS];
        // What cannot be aligned, which the standard library allows for, is slower and no less right.
        let start = buffer.as_ptr().align_offset(BYTES).min(NUMBERS);
        Self { buffer, start, length }
    }

    /// At least so many numbers; what is in them is left from before.
    pub(super) fn room(&mut self, length: usize) -> &mut [f32] {
        if self.length < length {
            *self = Self::zeros(length);
        }
        &mut self[..length]
    }
}

impl Deref for Lines {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.buffer[self.start..][..self.length]
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.buffer[self.start..][..self.length]
    }
}
