//! Gradients of the tasks of a step, and the step.

use std::collections::BTreeMap;

use handful::Matrix;

use super::Moments;
use super::checkpoint::{NETWORK, State};

/// Mean gradients by the names of the tensors.
#[derive(Default)]
pub(super) struct Sums(BTreeMap<String, Matrix<f64>>);

impl Sums {
    /// Adds a share of a gradient. Tasks come in their order, so that a sum does not depend on threads.
    pub(super) fn add(&mut self, name: &str, share: f64, gradient: &Matrix<f64>) {
        let zeros = || Matrix::zeros(gradient.rows(), gradient.columns());
        let sum = self.0.entry(name.to_owned()).or_insert_with(zeros);
        let places = sum.as_mut_slice().iter_mut().zip(gradient.as_slice());
        places.for_each(|(sum, part)| *sum += share * part);
    }

    /// Moves every tensor that has a gradient. The rate falls to nothing along half a cosine.
    pub(super) fn descend(mut self, state: &mut State) {
        let header = &state.header;
        let (step, settings) = (header.step, &header.settings);
        let done = step as f64 / settings.steps as f64;
        let rate = settings.rate * 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
        for (name, sum) in &mut self.0 {
            if let Some(clip) = settings.clip {
                sum.as_mut_slice().iter_mut().for_each(|value| *value = value.clamp(-clip, clip));
            }
            let moments =
                state.moments.entry(name.clone()).or_insert_with(|| Moments::new(sum.rows(), sum.columns()));
            let mut take = |tensor: &mut Matrix<f32>| {
                settings.optimiser.step(tensor, sum, moments, rate, settings.weight_decay, step);
            };
            if let Some(array) = name.strip_prefix(NETWORK).and_then(|name| state.network.get_mut(name)) {
                let mut values = Matrix::from_vec(1, array.values.len(), std::mem::take(&mut array.values));
                take(&mut values);
                array.values = values.as_slice().to_vec();
            } else if let Some(tensor) = state.tensors.get_mut(name) {
                take(tensor);
            }
        }
    }
}
