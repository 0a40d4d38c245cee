//! What follows a convolution outside training: a channel's scale and shift, then an activation.
//!
//! Batch normalisation by running statistics is no more than that. Convolutions apply it to what they have just computed,
//! which is still in the cache: by itself it would be another pass over memory, and another buffer.

use super::activation::Activation;
#[cfg(target_arch = "x86_64")]
use super::panels::Finish;
use super::wide::{multiply_add, widened};

/// `act(scale x + shift)`, by channel.
#[derive(Debug)]
pub(super) struct Ending {
    scale: Vec<f32>,
    shift: Vec<f32>,
    activation: Activation,
}

impl Ending {
    /// Normalisation by these statistics.
    pub(super) fn of_norm(
        [gamma, beta, mean, variance]: [&[f32]; 4],
        epsilon: f64,
        activation: Activation,
    ) -> Self {
        let scale: Vec<f32> = (gamma.iter().zip(variance))
            .map(|(&gamma, &variance)| (f64::from(gamma) / (f64::from(variance) + epsilon).sqrt()) as f32)
            .collect();
        let shift = (0..scale.len()).map(|c| beta[c] - mean[c] * scale[c]).collect();
        Self { scale, shift, activation }
    }

    /// The same for numbers to which a bias is still to be added.
    pub(super) fn after_bias(mut self, bias: &[f32]) -> Self {
        let shifts = self.shift.iter_mut().zip(&self.scale).zip(bias);
        shifts.for_each(|((shift, scale), bias)| *shift += scale * bias);
        self
    }

    /// How many channels there are.
    pub(super) fn channels(&self) -> usize {
        self.scale.len()
    }

    /// The same for the product of [`panels`](super::panels).
    #[cfg(target_arch = "x86_64")]
    pub(super) fn finish(&self) -> Finish<'_> {
        let (slope, ceiling) = self.activation.bends();
        Finish { scale: &self.scale, shift: &self.shift, slope, ceiling }
    }

    /// Changes the pixels of a channel.
    pub(super) fn apply(&self, channel: usize, plane: &mut [f32]) {
        change(plane, self.scale[channel], self.shift[channel], self.activation);
    }

    /// What the pixels of a channel become.
    pub(super) fn of_plane(&self, channel: usize, plane: &[f32], out: &mut [f32]) {
        changed(plane, out, self.scale[channel], self.shift[channel], self.activation);
    }
}

widened! {
    fn change<const FUSED: bool>(plane: &mut [f32], scale: f32, shift: f32, activation: Activation) {
        plane.iter_mut().for_each(|x| *x = activation.apply(multiply_add::<FUSED>(scale, *x, shift)));
    }
}

widened! {
    fn changed<const FUSED: bool>(plane: &[f32], out: &mut [f32], scale: f32, shift: f32, activation: Activation) {
        let pixels = out.iter_mut().zip(plane);
        pixels.for_each(|(out, x)| *out = activation.apply(multiply_add::<FUSED>(scale, *x, shift)));
    }
}
