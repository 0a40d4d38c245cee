//! What one task teaches a head: the loss, and how it changes with the learnt tensors and with the rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use handful::Matrix;
use handful::differentiation::Graph;
use handful::methods::trained::{EpisodeRows, System, Weights};

use super::TaskDraws;

/// Learnt tensors as a graph takes them.
pub(super) type Leaves = BTreeMap<&'static str, Arc<Matrix<f64>>>;

/// The rows of a task as a head sees them.
pub(super) struct Rows {
    /// Labelled rows, and below them the rows to label.
    pub all: Matrix<f64>,
    /// Classes of the labelled rows.
    pub labels: Vec<usize>,
    /// Classes of the others.
    pub query_labels: Vec<usize>,
    /// Number of classes.
    pub ways: usize,
}

/// The loss of a task and its gradients.
pub struct Lesson {
    /// The loss.
    pub loss: f64,
    /// The gradient of each learnt tensor, in the order of their names.
    pub tensors: Vec<Matrix<f64>>,
    /// The gradient of the rows, labelled ones above: what a network under the head has to follow.
    pub rows: Matrix<f64>,
}

/// Loss and gradients of one task.
pub(super) fn lesson(system: &dyn System, tensors: &Leaves, rows: Rows, draws: &mut TaskDraws) -> Lesson {
    let graph = Graph::new();
    let weights: Weights<'_> =
        tensors.iter().map(|(name, value)| (*name, graph.leaf(Arc::clone(value)))).collect();
    let all = graph.leaf(Arc::new(rows.all));
    let count = rows.labels.len();
    let query = all.gather((count..all.rows()).collect());
    let episode = EpisodeRows {
        support: all.gather((0..count).collect()),
        labels: rows.labels,
        ways: rows.ways,
        unlabeled: query,
        query,
    };
    let loss = system.loss(&weights, &episode, &rows.query_labels, draws);
    let gradients = graph.gradients(loss);
    Lesson {
        loss: loss.value().as_slice()[0],
        tensors: weights.values().map(|weight| gradients.of(*weight)).collect(),
        rows: gradients.of(all),
    }
}
