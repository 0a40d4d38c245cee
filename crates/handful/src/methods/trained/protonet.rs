//! `protonet` with a network trained under it (Snell et al. 2017), inductive.
//!
//! ```text
//! logits_c(z) = -alpha |z - mu_c|^2 / d,     loss = cross entropy
//! ```
//!
//! The published system has no alpha and no d. Distances of pretrained features are large at the start, and their softmax is
//! almost a choice; so they are divided by the number of dimensions and multiplied by a learnt scale, as in
//! kjunelee/MetaOptNet (`models/classification_heads.py`), where alpha starts as 1; here it starts as 5, which was not searched.
//! It changes no label. On frozen features there is nothing to learn but alpha, and `train` refuses.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Constants, EpisodeRows, Start, System, TensorSpec, Weights, tensor, to_value};
use crate::differentiation::Var;

/// Constants of ProtoNet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Protonet {
    /// What alpha starts as.
    pub scale: f64,
}

impl Constants for Protonet {
    const NAME: &'static str = "protonet";
    const ABOUT: &'static str =
        "ProtoNet (Snell et al. 2017): the nearest class mean of a network trained for it";

    fn for_shots(_: usize) -> Self {
        Self { scale: 5.0 }
    }
}

impl System for Protonet {
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

    fn row_length(&self, dim: usize) -> f64 {
        (dim as f64).sqrt()
    }

    fn logits<'g>(&self, weights: &Weights<'g>, rows: &EpisodeRows<'g>) -> Var<'g> {
        let share = 1.0 / rows.query.columns() as f64;
        rows.query.squared_distances(rows.prototypes()).times(weights["scale"]).scaled(-share)
    }
}
