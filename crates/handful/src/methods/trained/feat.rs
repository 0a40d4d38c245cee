//! `feat`: prototypes that have looked at each other (FEAT, Ye et al. 2020), inductive.
//!
//! ```text
//! A = softmax(P Wq^T Wk P^T / sqrt(d)),   P' = LayerNorm(P + A P Wv^T Wo^T + bo),   logits_c(z) = -|z - p'_c|^2 / T
//! loss = cross entropy + lambda * the same with centres from all rows of a class: R' of its rows, averaged, over T2
//! ```
//!
//! Sha-Lab/FEAT (`model/models/feat.py`): one head, dropout 0.1 on the attention and 0.5 on its result, T = 64,
//! lambda = 0.01 at one shot and 0.1 at five, T2 = 64 and 32. Their network is trained too; here the features stay, so
//! that Wo starts at zero, rows have the length that LayerNorm gives, and the head starts as ProtoNet.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rows::class_means;
use super::{Constants, Draws, EpisodeRows, Start, System, TensorSpec, Weights, tensor, to_value};
use crate::differentiation::Var;

/// Constants of FEAT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feat {
    /// T.
    pub temperature: f64,
    /// T2.
    pub regulariser_temperature: f64,
    /// lambda.
    pub regulariser_weight: f64,
    /// Dropout of the attention.
    pub attention_dropout: f64,
    /// Dropout of what attention adds.
    pub dropout: f64,
}

/// PyTorch's, of layer normalisation.
const EPSILON: f64 = 1e-5;

impl Constants for Feat {
    const NAME: &'static str = "feat";
    const ABOUT: &'static str = "FEAT (Ye et al. 2020): prototypes adapted by attention";

    fn for_shots(shots: usize) -> Self {
        let (regulariser_temperature, regulariser_weight) =
            if shots < 5 { (64.0, 0.01) } else { (32.0, 0.1) };
        Self {
            temperature: 64.0,
            regulariser_temperature,
            regulariser_weight,
            attention_dropout: 0.1,
            dropout: 0.5,
        }
    }
}

fn layer_norm<'g>(weights: &Weights<'g>, rows: Var<'g>) -> Var<'g> {
    let share = 1.0 / rows.columns() as f64;
    let centred = rows.minus(rows.row_sums().scaled(share));
    let deviation = centred.squared().row_sums().scaled(share).shifted(EPSILON).sqrt();
    centred.over(deviation).times(weights["norm"]).plus(weights["norm_bias"])
}

impl Feat {
    /// Rows that have looked at each other; with dropout in training.
    fn adapted<'g>(&self, weights: &Weights<'g>, rows: Var<'g>, draws: Option<&mut dyn Draws>) -> Var<'g> {
        let graph = rows.graph();
        let queries = rows.inner_products(weights["query"]);
        let keys = rows.inner_products(weights["key"]);
        let mut attention =
            queries.inner_products(keys).scaled(1.0 / (rows.columns() as f64).sqrt()).softmax();
        let values = rows.inner_products(weights["value"]);
        let out = |attention: Var<'g>| {
            attention.product(values).inner_products(weights["out"]).plus(weights["out_bias"])
        };
        let added = match draws {
            Some(draws) => {
                let count = rows.rows();
                attention = attention.times(graph.constant(draws.kept(count, count, self.attention_dropout)));
                out(attention).times(graph.constant(draws.kept(count, rows.columns(), self.dropout)))
            }
            None => out(attention),
        };
        layer_norm(weights, rows.plus(added))
    }
}

impl System for Feat {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn settings(&self) -> Value {
        to_value(self)
    }

    fn tensors(&self, dim: usize, _: usize) -> Vec<TensorSpec> {
        let normal = Start::Normal((1.0 / dim as f64).sqrt());
        vec![
            tensor("query", dim, dim, normal),
            tensor("key", dim, dim, normal),
            tensor("value", dim, dim, normal),
            tensor("out", dim, dim, Start::Constant(0.0)),
            tensor("out_bias", 1, dim, Start::Constant(0.0)),
            tensor("norm", 1, dim, Start::Constant(1.0)),
            tensor("norm_bias", 1, dim, Start::Constant(0.0)),
        ]
    }

    fn row_length(&self, dim: usize) -> f64 {
        (dim as f64).sqrt()
    }

    fn logits<'g>(&self, weights: &Weights<'g>, rows: &EpisodeRows<'g>) -> Var<'g> {
        let classes = self.adapted(weights, rows.prototypes(), None);
        rows.query.squared_distances(classes).scaled(-1.0 / self.temperature)
    }

    fn loss<'g>(
        &self,
        weights: &Weights<'g>,
        rows: &EpisodeRows<'g>,
        query_labels: &[usize],
        draws: &mut dyn Draws,
    ) -> Var<'g> {
        let classes = self.adapted(weights, rows.prototypes(), Some(&mut *draws));
        let logits = rows.query.squared_distances(classes).scaled(-1.0 / self.temperature);
        let loss = logits.cross_entropy(query_labels);
        if self.regulariser_weight == 0.0 {
            return loss;
        }
        let all = rows.support.stack(rows.query);
        let labels = [rows.labels.as_slice(), query_labels].concat();
        let centre = |class: usize| {
            let own: Vec<usize> = (0..labels.len()).filter(|&row| labels[row] == class).collect();
            let (count, own) = (own.len(), all.gather(own));
            class_means(self.adapted(weights, own, Some(&mut *draws)), &vec![0; count], 1)
        };
        let centres = (0..rows.ways).map(centre).reduce(|above, below| above.stack(below));
        let Some(centres) = centres else { return loss };
        let logits = all.squared_distances(centres).scaled(-1.0 / self.regulariser_temperature);
        loss.plus(logits.cross_entropy(&labels).scaled(self.regulariser_weight))
    }
}
