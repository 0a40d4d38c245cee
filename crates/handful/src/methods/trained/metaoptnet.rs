//! `metaoptnet`: Crammer and Singer's SVM with a learnt scale (MetaOptNet-SVM, Lee et al. 2019), inductive.
//!
//! ```text
//! X = S M^T,   a = the dual of the SVM on X (see `svm`),   logits_m(z) = alpha sum_i a_im <x_i, M z>
//! ```
//!
//! Training goes through the solution of the quadratic program. kjunelee/MetaOptNet learns a network under it; on frozen
//! features the linear map M, which starts as the identity, stands for it. C = 0.1 and the ridge of 1 are theirs.
//! Through a network M is the identity, rows have no fixed length, and alpha starts as 10 (theirs starts as 1, for
//! trainings a hundred times as long).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rows::{map_spec, mapped, with_map};
use super::{Constants, EpisodeRows, Start, System, TensorSpec, Weights, tensor, to_value};
use crate::differentiation::Var;

/// Constants of MetaOptNet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metaoptnet {
    /// C, the most a labelled row can count.
    pub c: f64,
    /// The weight of the squared dual variables.
    pub dual_ridge: f64,
    /// What alpha starts as.
    pub scale: f64,
    /// Whether a linear map is learnt; through a network there is none.
    #[serde(default = "with_map")]
    pub map: bool,
}

impl Constants for Metaoptnet {
    const NAME: &'static str = "metaoptnet";
    const ABOUT: &'static str = "MetaOptNet (Lee et al. 2019): SVM in a learnt space";

    fn for_shots(_: usize) -> Self {
        Self { c: 0.1, dual_ridge: 1.0, scale: 50.0, map: true }
    }

    fn for_network(shots: usize) -> Self {
        Self { scale: 10.0, map: false, ..Self::for_shots(shots) }
    }
}

impl System for Metaoptnet {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn settings(&self) -> Value {
        to_value(self)
    }

    fn tensors(&self, dim: usize, _: usize) -> Vec<TensorSpec> {
        let scale = tensor("scale", 1, 1, Start::Constant(self.scale));
        map_spec(self.map, dim).into_iter().chain([scale]).collect()
    }

    fn row_length(&self, _: usize) -> f64 {
        1.0
    }

    fn logits<'g>(&self, weights: &Weights<'g>, rows: &EpisodeRows<'g>) -> Var<'g> {
        let [support, query] = [rows.support, rows.query].map(|rows| mapped(weights, rows));
        let gram = support.inner_products(support);
        let dual = gram.svm_dual(&rows.labels, rows.ways, self.c, self.dual_ridge);
        query.inner_products(support).product(dual).times(weights["scale"])
    }
}
