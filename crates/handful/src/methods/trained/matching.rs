//! `matching` with a network trained under it (MatchingNet, Vinyals et al. 2016), inductive.
//!
//! ```text
//! a_i(z) = softmax_i(s cos(z, x_i)),     p_c(z) = sum over i of class c of a_i(z),     loss = -log p
//! ```
//!
//! The paper has s = 1 and wyharveychen/CloserLookFewShot s = 100; here s is learnt, from 10 on. The full-context embeddings,
//! which let rows of a task change each other, are left out: they are not part of the Conv-4 figures that are compared with.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Constants, EpisodeRows, Start, System, TensorSpec, Weights, tensor, to_value};
use crate::differentiation::Var;
use crate::methods::common::answer::one_hot;

/// Constants of MatchingNet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matching {
    /// What s starts as.
    pub scale: f64,
}

impl Constants for Matching {
    const NAME: &'static str = "matching";
    const ABOUT: &'static str =
        "MatchingNet (Vinyals et al. 2016): attention over the labelled rows, in a network trained for it";

    fn for_shots(_: usize) -> Self {
        Self { scale: 10.0 }
    }
}

/// What keeps the logarithm of a class that gets no attention a number.
const LEAST: f64 = 1e-12;

impl System for Matching {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn settings(&self) -> Value {
        to_value(self)
    }

    fn tensors(&self, _: usize, _: usize) -> Vec<TensorSpec> {
        vec![tensor("scale", 1, 1, Start::Constant(self.scale))]
    }

    fn needs_network(&self) -> bool {
        true
    }

    fn row_length(&self, _: usize) -> f64 {
        1.0
    }

    fn logits<'g>(&self, weights: &Weights<'g>, rows: &EpisodeRows<'g>) -> Var<'g> {
        let cosines = rows.query.unit_rows().inner_products(rows.support.unit_rows());
        let attention = cosines.times(weights["scale"]).softmax();
        let classes = rows.graph().constant(one_hot(&rows.labels, rows.ways));
        // The softmax of these is the probabilities themselves.
        attention.product(classes).shifted(LEAST).ln()
    }
}
