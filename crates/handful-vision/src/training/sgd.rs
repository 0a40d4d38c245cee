//! Stochastic gradient descent as PyTorch's `SGD` does it: momentum without dampening, weight decay in the gradient.
//!
//! ```text
//! g ← ∇ + weight_decay · p        v ← momentum · v + g        p ← p - rate · v
//! ```

use std::collections::HashMap;

use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::tensor::{Gradients, Tensor};

use crate::ops::Descent;

/// The optimiser and its velocities.
#[derive(Clone, Debug)]
pub struct Sgd {
    momentum: f64,
    weight_decay: f64,
    velocities: HashMap<ParamId, Tensor<1>>,
}

impl Sgd {
    /// An optimiser that stands still.
    pub fn new(momentum: f64, weight_decay: f64) -> Self {
        Self { momentum, weight_decay, velocities: HashMap::new() }
    }

    /// The velocity of a parameter, flattened, once it has moved.
    pub fn velocity(&self, id: &ParamId) -> Option<&Tensor<1>> {
        self.velocities.get(id)
    }

    /// Gives a parameter a velocity, as read from a checkpoint.
    pub fn set_velocity(&mut self, id: ParamId, velocity: Tensor<1>) {
        self.velocities.insert(id, velocity);
    }

    /// Moves every parameter that has a gradient.
    pub fn step<M: Module>(&mut self, module: M, gradients: &mut Gradients, rate: f64) -> M {
        module.map(&mut Step { sgd: self, gradients, rate })
    }
}

struct Step<'a> {
    sgd: &'a mut Sgd,
    gradients: &'a mut Gradients,
    rate: f64,
}

impl ModuleMapper for Step<'_> {
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, value, mapper) = parameter.consume();
        // Running statistics are no parameters: nothing was differentiated by them.
        let Some(gradient) = value.grad_remove(self.gradients) else {
            return Param::from_mapped_value(id, value, mapper);
        };
        let value = value.inner();
        let descent =
            Descent { momentum: self.sgd.momentum, weight_decay: self.sgd.weight_decay, rate: self.rate };
        let (value, velocity) = descent.step(value, gradient, self.sgd.velocities.remove(&id));
        self.sgd.velocities.insert(id, velocity);
        Param::from_mapped_value(id, Tensor::from_inner(value).require_grad(), mapper)
    }
}
