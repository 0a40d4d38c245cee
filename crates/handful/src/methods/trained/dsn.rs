//! `dsn` with weights: the nearest class subspace in a learnt space (Simon et al. 2020), inductive.
//!
//! ```text
//! logits_c(z) = -alpha |(I - P_c)(M z - mu_c)|^2,   P_c the projection on the span of class c's rows M x minus mu_c
//! loss = cross entropy + lambda sum_{i != j} |U_i^T U_j|^2,   U_c an orthonormal basis of the span
//! ```
//!
//! K rows minus their mean span K - 1 dimensions, all of which the published code keeps: so the projection needs no singular
//! vectors, only a system of K - 1 equations, and neither does `|U_i^T U_j|^2 = tr(P_i P_j)`. The linear map M, which
//! starts as the identity, stands for the network that is trained there. lambda = 0.03 is the paper's.
//! Through a network M is the identity, and distances are divided by the number of dimensions, as theirs are.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rows::{map_spec, mapped, ridge, with_map};
use super::{Constants, Draws, EpisodeRows, Start, System, TensorSpec, Weights, tensor, to_value};
use crate::differentiation::Var;

/// Constants of DSN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DsnHead {
    /// What alpha starts as.
    pub scale: f64,
    /// lambda, the weight of the discriminative term.
    pub discriminative: f64,
    /// Whether a linear map is learnt; through a network there is none.
    #[serde(default = "with_map")]
    pub map: bool,
}

/// What keeps the system solvable when rows are copies of each other.
const RIDGE: f64 = 1e-6;

impl Constants for DsnHead {
    const NAME: &'static str = "dsn";
    const ABOUT: &'static str = "DSN (Simon et al. 2020): class subspaces in a learnt space";

    fn for_shots(_: usize) -> Self {
        Self { scale: 7.5, discriminative: 0.03, map: true }
    }

    fn for_network(shots: usize) -> Self {
        Self { map: false, ..Self::for_shots(shots) }
    }
}

/// A class: rows that span its subspace, and their inner products.
struct Span<'g> {
    mean: Var<'g>,
    basis: Var<'g>,
    gram: Var<'g>,
}

impl DsnHead {
    fn spans<'g>(&self, weights: &Weights<'g>, rows: &EpisodeRows<'g>) -> Vec<Span<'g>> {
        let support = mapped(weights, rows.support);
        let span = |class: usize| {
            let members: Vec<usize> =
                (0..rows.labels.len()).filter(|&row| rows.labels[row] == class).collect();
            let own = support.gather(members.clone());
            let mean = own.column_sums().scaled(1.0 / members.len() as f64);
            // Differences to the first row span the same space as those to the mean, without the one too many.
            let basis = own.gather((1..members.len()).collect()).minus(own.gather(vec![0]));
            let gram = basis.inner_products(basis).plus(ridge(rows.graph(), basis.rows(), RIDGE));
            Span { mean, basis, gram }
        };
        (0..rows.ways).map(span).collect()
    }

    fn logits_of<'g>(&self, weights: &Weights<'g>, rows: &EpisodeRows<'g>, spans: &[Span<'g>]) -> Var<'g> {
        let query = mapped(weights, rows.query);
        let residual = |span: &Span<'g>| {
            let from_mean = query.minus(span.mean);
            let along = span.basis.inner_products(from_mean);
            let inside = along.times(span.gram.solve(along)).column_sums();
            from_mean.squared().row_sums().transposed().minus(inside)
        };
        let residuals = spans.iter().map(residual).reduce(|above, below| above.stack(below));
        // There are at least two classes.
        let residuals = residuals.unwrap_or(query);
        let share = if self.map { 1.0 } else { 1.0 / rows.query.columns() as f64 };
        residuals.transposed().times(weights["scale"]).scaled(-share)
    }
}

impl System for DsnHead {
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

    fn least_shots(&self) -> usize {
        2
    }

    fn row_length(&self, _: usize) -> f64 {
        1.0
    }

    fn logits<'g>(&self, weights: &Weights<'g>, rows: &EpisodeRows<'g>) -> Var<'g> {
        self.logits_of(weights, rows, &self.spans(weights, rows))
    }

    fn loss<'g>(
        &self,
        weights: &Weights<'g>,
        rows: &EpisodeRows<'g>,
        query_labels: &[usize],
        _: &mut dyn Draws,
    ) -> Var<'g> {
        let spans = self.spans(weights, rows);
        let mut loss = self.logits_of(weights, rows, &spans).cross_entropy(query_labels);
        for (at, one) in spans.iter().enumerate() {
            for other in &spans[..at] {
                let across = one.basis.inner_products(other.basis);
                let overlap =
                    one.gram.solve(across).times(other.gram.solve(across.transposed()).transposed());
                // Each pair counts in both orders.
                loss = loss.plus(overlap.sum().scaled(2.0 * self.discriminative));
            }
        }
        loss
    }
}
