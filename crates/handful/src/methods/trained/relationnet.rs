//! `relationnet`: a network says how much a row and a class belong together (Sung et al. 2018), inductive.
//!
//! ```text
//! score_c(z) = sigmoid(w3 relu(W2 relu(W1 [mu_c ; z] + b1) + b2) + b3),     loss = mean (score - onehot)^2
//! ```
//!
//! floodsung/LearningToCompare_FSL compares maps of Conv-4 with two convolutions; on pooled features those are the layers
//! 2d -> 64 -> 8 -> 1, the last two as there.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Constants, Draws, EpisodeRows, Start, System, TensorSpec, Weights, tensor, to_value};
use crate::differentiation::Var;
use crate::methods::common::answer::one_hot;

/// Constants of RelationNet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relationnet {
    /// Width of the first layer.
    pub hidden: usize,
    /// Width of the second.
    pub second: usize,
}

impl Constants for Relationnet {
    const NAME: &'static str = "relationnet";
    const ABOUT: &'static str = "RelationNet (Sung et al. 2018): a network that compares pairs";

    fn for_shots(_: usize) -> Self {
        Self { hidden: 64, second: 8 }
    }
}

impl System for Relationnet {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn settings(&self) -> Value {
        to_value(self)
    }

    fn tensors(&self, dim: usize, _: usize) -> Vec<TensorSpec> {
        let bound = |inputs: usize| Start::Uniform(1.0 / (inputs as f64).sqrt());
        vec![
            tensor("class", self.hidden, dim, bound(2 * dim)),
            tensor("row", self.hidden, dim, bound(2 * dim)),
            tensor("bias1", 1, self.hidden, bound(2 * dim)),
            tensor("layer2", self.second, self.hidden, bound(self.hidden)),
            tensor("bias2", 1, self.second, bound(self.hidden)),
            tensor("layer3", 1, self.second, bound(self.second)),
            tensor("bias3", 1, 1, bound(self.second)),
        ]
    }

    fn row_length(&self, dim: usize) -> f64 {
        (dim as f64).sqrt()
    }

    fn logits<'g>(&self, weights: &Weights<'g>, rows: &EpisodeRows<'g>) -> Var<'g> {
        let (ways, count) = (rows.ways, rows.query.rows());
        // The first layer of a pair is the sum of its halves, so each row goes through it once.
        let classes = rows.prototypes().inner_products(weights["class"]);
        let queries = rows.query.inner_products(weights["row"]);
        let classes = classes.gather((0..count).flat_map(|_| 0..ways).collect());
        let queries = queries.gather((0..count * ways).map(|pair| pair / ways).collect());
        let first = classes.plus(queries).plus(weights["bias1"]).relu();
        let second = first.inner_products(weights["layer2"]).plus(weights["bias2"]).relu();
        second.inner_products(weights["layer3"]).plus(weights["bias3"]).reshaped(count, ways)
    }

    fn loss<'g>(
        &self,
        weights: &Weights<'g>,
        rows: &EpisodeRows<'g>,
        query_labels: &[usize],
        _: &mut dyn Draws,
    ) -> Var<'g> {
        let targets = rows.graph().constant(one_hot(query_labels, rows.ways));
        self.logits(weights, rows).sigmoid().minus(targets).squared().mean()
    }
}
