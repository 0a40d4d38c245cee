//! `sib`: a network that stands for the gradient of rows without labels (Hu et al. 2020), uses unlabelled rows.
//!
//! ```text
//! theta_c = s o mean of class c,     logits(z) = g (cos(z, theta) + b)
//! a few times:  theta <- theta - eta d<logits, G(logits)> / d theta,     G: N -> 8N -> 8N -> N on the unlabelled rows
//! ```
//!
//! hushell/sib_meta_learn (`sib.py`, `networks.py`): 3 times, eta = 1e-3, g starts at 10; each hidden layer of G is linear,
//! rectified, then normalised over the unlabelled rows of the task, when it is used as well as in training. G is made for N
//! classes in their order, so a head serves tasks of N classes only. The gradient is that of the cosine, written out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Constants, EpisodeRows, Start, System, TensorSpec, Weights, tensor, to_value};
use crate::differentiation::Var;
use crate::methods::Setting;

/// Constants of SIB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sib {
    /// How often the classifier is moved.
    pub steps: usize,
    /// eta, how far.
    pub rate: f64,
    /// What g starts as.
    pub gain: f64,
}

/// PyTorch's, of batch normalisation.
const EPSILON: f64 = 1e-5;

impl Constants for Sib {
    const NAME: &'static str = "sib";
    const ABOUT: &'static str = "SIB (Hu et al. 2020): synthetic gradients of unlabelled rows";

    fn for_shots(_: usize) -> Self {
        Self { steps: 3, rate: 1e-3, gain: 10.0 }
    }
}

/// Normalises each column over the rows, as PyTorch does in training.
fn normalised<'g>(rows: Var<'g>, weight: Var<'g>, bias: Var<'g>) -> Var<'g> {
    let share = 1.0 / rows.rows() as f64;
    let centred = rows.minus(rows.column_sums().scaled(share));
    let deviation = centred.squared().column_sums().scaled(share).shifted(EPSILON).sqrt();
    centred.over(deviation).times(weight).plus(bias)
}

fn synthetic_gradient<'g>(weights: &Weights<'g>, logits: Var<'g>) -> Var<'g> {
    let first = logits.inner_products(weights["layer1"]).plus(weights["bias1"]).relu();
    let first = normalised(first, weights["norm1"], weights["shift1"]);
    let second = first.inner_products(weights["layer2"]).plus(weights["bias2"]).relu();
    let second = normalised(second, weights["norm2"], weights["shift2"]);
    second.inner_products(weights["layer3"]).plus(weights["bias3"])
}

impl System for Sib {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn setting(&self) -> Setting {
        Setting::UsesUnlabeled
    }

    fn settings(&self) -> Value {
        to_value(self)
    }

    fn tensors(&self, dim: usize, ways: usize) -> Vec<TensorSpec> {
        let hidden = 8 * ways;
        let bound = |inputs: usize| Start::Uniform(1.0 / (inputs as f64).sqrt());
        vec![
            tensor("class_scale", 1, dim, Start::Constant(1.0)),
            tensor("gain", 1, 1, Start::Constant(self.gain)),
            tensor("offset", 1, 1, Start::Constant(0.0)),
            tensor("layer1", hidden, ways, bound(ways)),
            tensor("bias1", 1, hidden, bound(ways)),
            tensor("norm1", 1, hidden, Start::Constant(1.0)),
            tensor("shift1", 1, hidden, Start::Constant(0.0)),
            tensor("layer2", hidden, hidden, bound(hidden)),
            tensor("bias2", 1, hidden, bound(hidden)),
            tensor("norm2", 1, hidden, Start::Constant(1.0)),
            tensor("shift2", 1, hidden, Start::Constant(0.0)),
            tensor("layer3", ways, hidden, bound(hidden)),
            tensor("bias3", 1, ways, bound(hidden)),
        ]
    }

    fn fixed_ways(&self) -> bool {
        true
    }

    fn row_length(&self, _: usize) -> f64 {
        1.0
    }

    fn logits<'g>(&self, weights: &Weights<'g>, rows: &EpisodeRows<'g>) -> Var<'g> {
        let logits = |rows: Var<'g>, theta: Var<'g>| {
            let cosines = rows.inner_products(theta.unit_rows());
            cosines.plus(weights["offset"]).times(weights["gain"])
        };
        let unlabeled = rows.unlabeled.unit_rows();
        let mut theta = rows.prototypes().times(weights["class_scale"]);
        if rows.unlabeled.rows() > 0 {
            for _ in 0..self.steps {
                let pull = synthetic_gradient(weights, logits(unlabeled, theta));
                let along = pull.transposed().product(unlabeled).times(weights["gain"]);
                let direction = theta.unit_rows();
                let radial = direction.times(along.times(direction).row_sums());
                let lengths = theta.squared().row_sums().sqrt();
                theta = theta.minus(along.minus(radial).over(lengths).scaled(self.rate));
            }
        }
        logits(rows.query.unit_rows(), theta)
    }
}
