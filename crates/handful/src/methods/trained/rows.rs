//! A task in a graph.

use super::{Start, TensorSpec, Weights, tensor};
use crate::differentiation::{Graph, Var};
use crate::linalg::Matrix;

/// The rows of a task, centred and scaled.
#[derive(Clone)]
pub struct EpisodeRows<'g> {
    /// The labelled rows.
    pub support: Var<'g>,
    /// Their classes.
    pub labels: Vec<usize>,
    /// Number of classes.
    pub ways: usize,
    /// The rows that may be learnt from.
    pub unlabeled: Var<'g>,
    /// The rows to label.
    pub query: Var<'g>,
}

impl<'g> EpisodeRows<'g> {
    /// The graph they are in.
    pub fn graph(&self) -> &'g Graph {
        self.support.graph()
    }

    /// The mean of each class of labelled rows.
    pub fn prototypes(&self) -> Var<'g> {
        class_means(self.support, &self.labels, self.ways)
    }
}

/// Rows in the learnt space, where the system learns one: the tensor `map` is its linear map.
pub(super) fn mapped<'g>(weights: &Weights<'g>, rows: Var<'g>) -> Var<'g> {
    weights.get("map").map_or(rows, |map| rows.inner_products(*map))
}

/// The linear map that stands for a network on frozen features, if there shall be one.
pub(super) fn map_spec(wanted: bool, dim: usize) -> Option<TensorSpec> {
    wanted.then(|| tensor("map", dim, dim, Start::Identity))
}

/// What heads that were written before `map` was a constant have.
pub(super) fn with_map() -> bool {
    true
}

/// The mean of the rows of each class.
pub(super) fn class_means<'g>(rows: Var<'g>, labels: &[usize], ways: usize) -> Var<'g> {
    let mut shares = Matrix::zeros(ways, labels.len());
    for (row, &label) in labels.iter().enumerate() {
        let size = labels.iter().filter(|&&other| other == label).count();
        shares.row_mut(label)[row] = 1.0 / size as f64;
    }
    rows.graph().constant(shares).product(rows)
}

/// A number times the identity.
pub(super) fn ridge(graph: &Graph, size: usize, value: f64) -> Var<'_> {
    let mut matrix = Matrix::zeros(size, size);
    (0..size).for_each(|at| matrix.row_mut(at)[at] = value);
    graph.constant(matrix)
}

/// Centres rows and gives each the same length; a row without length stays zero.
pub fn prepared(rows: &Matrix<f32>, centre: &[f32], length: f64) -> Matrix<f64> {
    let mut out: Matrix<f64> = rows.cast();
    for row in 0..out.rows() {
        let row = out.row_mut(row);
        row.iter_mut().zip(centre).for_each(|(value, &centre)| *value -= f64::from(centre));
        let norm = row.iter().map(|value| value * value).sum::<f64>().sqrt().max(1e-12);
        row.iter_mut().for_each(|value| *value *= length / norm);
    }
    out
}
