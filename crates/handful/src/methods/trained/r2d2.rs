//! `r2d2`: ridge regression whose scale, offset and penalty are learnt (Bertinetto et al. 2019), inductive.
//!
//! ```text
//! X = S M^T,   A = (X X^T + exp(l) I)^-1 Y,   logits(z) = alpha M z X^T A + beta
//! ```
//!
//! The published system learns a network under the regression; on frozen features the linear map M, which starts as the
//! identity, stands for it. Through a network M is the identity.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rows::{map_spec, mapped, ridge, with_map};
use super::{Constants, EpisodeRows, Start, System, TensorSpec, Weights, tensor, to_value};
use crate::differentiation::Var;
use crate::methods::common::answer::one_hot;

/// Constants of R2D2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct R2d2 {
    /// What alpha starts as.
    pub scale: f64,
    /// What the logarithm of the penalty starts as.
    pub log_penalty: f64,
    /// Whether a linear map is learnt; through a network there is none.
    #[serde(default = "with_map")]
    pub map: bool,
}

impl Constants for R2d2 {
    const NAME: &'static str = "r2d2";
    const ABOUT: &'static str = "R2D2 (Bertinetto et al. 2019): ridge regression in a learnt space";

    fn for_shots(_: usize) -> Self {
        Self { scale: 10.0, log_penalty: 0.0, map: true }
    }

    fn for_network(shots: usize) -> Self {
        Self { map: false, ..Self::for_shots(shots) }
    }
}

impl System for R2d2 {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn settings(&self) -> Value {
        to_value(self)
    }

    fn tensors(&self, dim: usize, _: usize) -> Vec<TensorSpec> {
        let own = [
            tensor("scale", 1, 1, Start::Constant(self.scale)),
            tensor("offset", 1, 1, Start::Constant(0.0)),
            tensor("log_penalty", 1, 1, Start::Constant(self.log_penalty)),
        ];
        map_spec(self.map, dim).into_iter().chain(own).collect()
    }

    fn row_length(&self, _: usize) -> f64 {
        1.0
    }

    fn logits<'g>(&self, weights: &Weights<'g>, rows: &EpisodeRows<'g>) -> Var<'g> {
        let graph = rows.graph();
        let [support, query] = [rows.support, rows.query].map(|rows| mapped(weights, rows));
        let penalty = ridge(graph, support.rows(), 1.0).times(weights["log_penalty"].exp());
        let targets = graph.constant(one_hot(&rows.labels, rows.ways));
        let dual = support.inner_products(support).plus(penalty).solve(targets);
        let fitted = query.inner_products(support).product(dual);
        fitted.times(weights["scale"]).plus(weights["offset"])
    }
}
