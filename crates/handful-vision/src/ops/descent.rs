//! One step of SGD for one parameter, in one pass over memory:
//!
//! ```text
//! g ← ∇ + weight_decay · p        v ← momentum · v + g        p ← p - rate · v
//! ```
//!
//! Every product and sum is rounded by itself, as in burn's operations: the two forms agree to the bit.

use burn::backend::TensorMetadata;
use burn::backend::flex::Flex;
use burn::tensor::Tensor;
use rayon::prelude::*;

use super::host::{in_order, tensor, values};

/// Numbers that one thread takes at a time.
const CHUNK: usize = 1 << 14;

/// The numbers of the formula.
#[derive(Clone, Copy, Debug)]
pub struct Descent {
    /// What is left of the velocity after a step.
    pub momentum: f64,
    /// Pull towards zero.
    pub weight_decay: f64,
    /// Learning rate.
    pub rate: f64,
}

impl Descent {
    /// The new value and the new velocity, which is flat. None of the tensors takes part in differentiation.
    pub fn step<const D: usize>(
        self,
        value: Tensor<D>,
        gradient: Tensor<D>,
        velocity: Option<Tensor<1>>,
    ) -> (Tensor<D>, Tensor<1>) {
        if super::is_cpu(&value.device()) {
            self.on_cpu(value, gradient, velocity)
        } else {
            self.by_tensors(value, gradient, velocity)
        }
    }

    pub(super) fn by_tensors<const D: usize>(
        self,
        value: Tensor<D>,
        gradient: Tensor<D>,
        velocity: Option<Tensor<1>>,
    ) -> (Tensor<D>, Tensor<1>) {
        let shape = value.shape();
        let gradient = gradient + value.clone() * self.weight_decay;
        let gradient = gradient.reshape([shape.num_elements()]);
        let velocity = match velocity {
            Some(velocity) => velocity * self.momentum + gradient,
            None => gradient,
        };
        (value - (velocity.clone() * self.rate).reshape(shape), velocity)
    }

    fn on_cpu<const D: usize>(
        self,
        value: Tensor<D>,
        gradient: Tensor<D>,
        velocity: Option<Tensor<1>>,
    ) -> (Tensor<D>, Tensor<1>) {
        let [momentum, weight_decay, rate] =
            [self.momentum, self.weight_decay, self.rate].map(|number| number as f32);
        let (value, gradient) = (in_order(super::plain(value)), in_order(super::plain(gradient)));
        let velocity = velocity.map(|velocity| in_order(super::plain(velocity)));
        let mut new = values(&value).to_vec();
        // Without a velocity yet, the gradient is the velocity: 1 · 0 + g would lose the sign of a zero.
        let mut speed = velocity.as_ref().map_or_else(|| vec![0.0; new.len()], |v| values(v).to_vec());
        let first = velocity.is_none();
        let chunks = new.par_chunks_mut(CHUNK).zip(speed.par_chunks_mut(CHUNK));
        chunks.zip(values(&gradient).par_chunks(CHUNK)).for_each(|((value, speed), gradient)| {
            for ((value, speed), gradient) in value.iter_mut().zip(speed).zip(gradient) {
                let gradient = gradient + *value * weight_decay;
                *speed = if first { gradient } else { *speed * momentum + gradient };
                *value -= *speed * rate;
            }
        });
        let length = speed.len();
        (
            Tensor::from_primitive::<Flex>(tensor(new, value.shape())),
            Tensor::from_primitive::<Flex>(tensor(speed, [length])),
        )
    }
}
