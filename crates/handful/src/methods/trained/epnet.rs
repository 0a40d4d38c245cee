//! `epnet` with a network trained under it (Rodriguez et al. 2020): the loss is taken behind both propagations.
//!
//! ```text
//! A_ij = exp(-|z_i - z_j|^2 / s) off the diagonal, s the standard deviation of the squared distances there
//! S = D^-1/2 A D^-1/2,  D = 1e-4 + row sums,      P(a) = (I - a S)^-1
//! Z <- P(alpha) Z,      logits = ln(P'(beta) Y + 1e-6),   rows of P' summing to one, S remade from the new Z
//! loss = cross entropy of the queries
//! ```
//!
//! ElementAI/embedding-propagation (`src/models`, `exp_configs`): alpha = 0.5, beta = 0.2. Its fine-tuning adds the cross entropy
//! of a classifier of the base classes by a weight searched in 0, 0.1 and 0.5; here it is 0. Nothing is learnt but the network, whose
//! features the method [`epnet`](crate::methods) then runs on; on frozen features `train` refuses. The graph joins labelled rows
//! and rows to label: of a pool beside the query this form makes no use.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rows::ridge;
use super::{Constants, EpisodeRows, System, TensorSpec, Weights, to_value};
use crate::differentiation::Var;
use crate::linalg::Matrix;
use crate::methods::Setting;
use crate::methods::common::answer::one_hot;
use crate::methods::epnet::{DEGREE_FLOOR, LABEL_FLOOR};

/// Constants of EPNet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epnet {
    /// alpha, of the embeddings.
    pub embedding_alpha: f64,
    /// beta, of the labels.
    pub label_alpha: f64,
}

impl Constants for Epnet {
    const NAME: &'static str = "epnet";
    const ABOUT: &'static str =
        "EPNet (Rodriguez et al. 2020): embedding and label propagation over a network trained through them";

    fn for_shots(_: usize) -> Self {
        Self { embedding_alpha: 0.5, label_alpha: 0.2 }
    }
}

/// S of the module's first lines.
fn similarities(rows: Var<'_>) -> Var<'_> {
    let (graph, size) = (rows.graph(), rows.rows());
    let mut apart = Matrix::from_vec(size, size, vec![1.0; size * size]);
    (0..size).for_each(|at| apart.row_mut(at)[at] = 0.0);
    let (apart, pairs) = (graph.constant(apart), (size * size - size) as f64);
    let distances = rows.squared_distances(rows).times(apart);
    let mean = distances.sum().scaled(1.0 / pairs);
    let squares = distances.minus(mean).times(apart).squared().sum();
    let deviation = squares.scaled(1.0 / (pairs - 1.0)).shifted(f64::MIN_POSITIVE).sqrt();
    let weights = distances.over(deviation).scaled(-1.0).exp().times(apart);
    let root = weights.row_sums().shifted(DEGREE_FLOOR).sqrt();
    weights.over(root).over(root.transposed())
}

/// `P(alpha) right`.
fn propagated<'g>(rows: Var<'g>, alpha: f64, right: Var<'g>) -> Var<'g> {
    let identity = ridge(rows.graph(), rows.rows(), 1.0);
    identity.minus(similarities(rows).scaled(alpha)).solve(right)
}

impl System for Epnet {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn setting(&self) -> Setting {
        Setting::UsesUnlabeled
    }

    fn settings(&self) -> Value {
        to_value(self)
    }

    fn tensors(&self, _: usize, _: usize) -> Vec<TensorSpec> {
        Vec::new()
    }

    fn needs_network(&self) -> bool {
        true
    }

    fn row_length(&self, _: usize) -> f64 {
        1.0
    }

    fn logits<'g>(&self, _: &Weights<'g>, rows: &EpisodeRows<'g>) -> Var<'g> {
        let (ways, labelled) = (rows.ways, rows.labels.len());
        let all = rows.support.stack(rows.query);
        let all = propagated(all, self.embedding_alpha, all);
        // Behind the labels a column of ones, whose propagation is what rows of P' are divided by.
        let mut given = Matrix::zeros(all.rows(), ways + 1);
        for (row, label) in one_hot(&rows.labels, ways).iter_rows().enumerate() {
            given.row_mut(row)[..ways].copy_from_slice(label);
        }
        (0..all.rows()).for_each(|row| given.row_mut(row)[ways] = 1.0);
        let spread = propagated(all, self.label_alpha, rows.graph().constant(given));
        let query = spread.gather((labelled..all.rows()).collect());
        let shares = query.columns_from(0, ways).over(query.columns_from(ways, 1));
        shares.relu().shifted(LABEL_FLOOR).ln()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::differentiation::Graph;
    use crate::fit::classifier::softmax_rows;
    use crate::methods::build;
    use crate::methods::common::test_tasks::usual;

    fn rows<'g>(
        graph: &'g Graph,
        support: &Matrix<f64>,
        query: &Matrix<f64>,
        labels: &[usize],
    ) -> EpisodeRows<'g> {
        let [support, query] = [support, query].map(|rows| graph.leaf(Arc::new(rows.clone())));
        EpisodeRows { support, labels: labels.to_vec(), ways: 5, unlabeled: query, query }
    }

    #[test]
    fn it_is_the_method_of_the_same_name() {
        let task = usual(None, 0.9, 3).task;
        let method = build("epnet", Some("authors"), &[]).expect("valid").solve(&task).expect("solved");
        let graph = Graph::new();
        let [support, query] = [task.support(), task.query()].map(Matrix::cast::<f64>);
        let rows = rows(&graph, &support, &query, task.support_labels());
        let mut found = Epnet::for_shots(1).logits(&Weights::new(), &rows).value().as_ref().clone();
        softmax_rows(&mut found);
        for (found, expected) in found.as_slice().iter().zip(method.query.as_slice()) {
            assert!((found - f64::from(*expected)).abs() < 1e-5, "{found} instead of {expected}");
        }
    }

    #[test]
    fn its_gradient_is_the_slope_of_the_loss() {
        let task = usual(None, 0.9, 4).task;
        let [support, query] = [task.support(), task.query()].map(Matrix::cast::<f64>);
        let targets: Vec<usize> = (0..query.rows()).map(|row| row % 5).collect();
        let loss = |support: &Matrix<f64>| {
            let graph = Graph::new();
            let rows = rows(&graph, support, &query, task.support_labels());
            let loss = Epnet::for_shots(1).logits(&Weights::new(), &rows).cross_entropy(&targets);
            (loss.value().as_slice()[0], graph.gradients(loss).of(rows.support))
        };
        let gradient = loss(&support).1;
        for at in [0, 7, 61] {
            let moved = |by: f64| {
                let mut moved = support.clone();
                moved.as_mut_slice()[at] += by;
                loss(&moved).0
            };
            let (slope, found) = ((moved(1e-5) - moved(-1e-5)) / 2e-5, gradient.as_slice()[at]);
            assert!((slope - found).abs() < 1e-6 * (1.0 + found.abs()), "{at}: {found} instead of {slope}");
        }
    }
}
