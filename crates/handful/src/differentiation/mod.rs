//! Arithmetic on small matrices that remembers how it got there, so that it can be differentiated.
//!
//! Systems whose parameters are learnt from tasks (`methods/trained`) are written once, on a [`Graph`]: solving a task
//! reads the values, training asks for the [`Gradients`]. Everything is done in double precision on the calling thread, in
//! the order it was written, so neither values nor gradients depend on the number of threads. Gradients that a formula
//! itself takes (the inner steps of SIB and LEO) are written out in these operations, and so can be differentiated again.

mod gradients;
mod operation;
mod products;
mod svm_dual;

use std::cell::RefCell;
use std::sync::Arc;

pub use gradients::Gradients;
use operation::{Operation, evaluate};

use crate::linalg::Matrix;

struct Node {
    value: Arc<Matrix<f64>>,
    operation: Operation,
    inputs: Vec<usize>,
}

/// Everything that was computed, in order.
#[derive(Default)]
pub struct Graph {
    nodes: RefCell<Vec<Node>>,
}

/// A matrix in a [`Graph`].
///
/// Sums, differences, products and quotients of entries stretch a side of length 1 to the other's. Shapes that do not fit
/// are mistakes in a formula and panic.
#[derive(Clone, Copy)]
pub struct Var<'g> {
    graph: &'g Graph,
    at: usize,
}

impl Graph {
    /// Starts with nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a matrix in.
    pub fn leaf(&self, value: Arc<Matrix<f64>>) -> Var<'_> {
        self.push(value, Operation::Leaf, Vec::new())
    }

    /// Puts a matrix in whose gradient nobody asks for.
    pub fn constant(&self, value: Matrix<f64>) -> Var<'_> {
        self.leaf(Arc::new(value))
    }

    fn push(&self, value: Arc<Matrix<f64>>, operation: Operation, inputs: Vec<usize>) -> Var<'_> {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node { value, operation, inputs });
        Var { graph: self, at: nodes.len() - 1 }
    }

    fn apply(&self, operation: Operation, inputs: &[usize]) -> Var<'_> {
        let value = {
            let nodes = self.nodes.borrow();
            let values: Vec<&Matrix<f64>> = inputs.iter().map(|&at| nodes[at].value.as_ref()).collect();
            evaluate(&operation, &values)
        };
        self.push(Arc::new(value), operation, inputs.to_vec())
    }
}

impl<'g> Var<'g> {
    fn unary(self, operation: Operation) -> Self {
        self.graph.apply(operation, &[self.at])
    }

    fn binary(self, operation: Operation, other: Self) -> Self {
        self.graph.apply(operation, &[self.at, other.at])
    }

    /// Returns its graph.
    pub fn graph(self) -> &'g Graph {
        self.graph
    }

    /// Returns the matrix.
    pub fn value(self) -> Arc<Matrix<f64>> {
        Arc::clone(&self.graph.nodes.borrow()[self.at].value)
    }

    /// Returns the number of rows.
    pub fn rows(self) -> usize {
        self.graph.nodes.borrow()[self.at].value.rows()
    }

    /// Returns the number of columns.
    pub fn columns(self) -> usize {
        self.graph.nodes.borrow()[self.at].value.columns()
    }

    /// The same numbers, as a constant.
    pub fn detached(self) -> Self {
        self.graph.leaf(self.value())
    }

    /// The matrix product.
    pub fn product(self, other: Self) -> Self {
        self.binary(Operation::Product, other)
    }

    /// The product with the transpose: inner products of rows.
    pub fn inner_products(self, other: Self) -> Self {
        self.binary(Operation::InnerProducts, other)
    }

    /// The transpose.
    pub fn transposed(self) -> Self {
        self.unary(Operation::Transpose)
    }

    /// Sums of entries.
    pub fn plus(self, other: Self) -> Self {
        self.binary(Operation::Add, other)
    }

    /// Differences of entries.
    pub fn minus(self, other: Self) -> Self {
        self.binary(Operation::Subtract, other)
    }

    /// Products of entries.
    pub fn times(self, other: Self) -> Self {
        self.binary(Operation::Multiply, other)
    }

    /// Quotients of entries.
    pub fn over(self, other: Self) -> Self {
        self.binary(Operation::Divide, other)
    }

    /// Every entry times a number.
    pub fn scaled(self, factor: f64) -> Self {
        self.unary(Operation::Scale(factor))
    }

    /// Every entry plus a number.
    pub fn shifted(self, term: f64) -> Self {
        self.unary(Operation::Shift(term))
    }

    /// What is above zero of every entry.
    pub fn relu(self) -> Self {
        self.unary(Operation::Relu)
    }

    /// `1 / (1 + exp(-x))` of every entry.
    pub fn sigmoid(self) -> Self {
        self.unary(Operation::Sigmoid)
    }

    /// The exponential of every entry.
    pub fn exp(self) -> Self {
        self.unary(Operation::Exp)
    }

    /// The logarithm of every entry.
    pub fn ln(self) -> Self {
        self.unary(Operation::Ln)
    }

    /// The square root of every entry.
    pub fn sqrt(self) -> Self {
        self.unary(Operation::Sqrt)
    }

    /// The square of every entry.
    pub fn squared(self) -> Self {
        self.times(self)
    }

    /// The sum of each row.
    pub fn row_sums(self) -> Self {
        self.unary(Operation::RowSums)
    }

    /// The sum of each column.
    pub fn column_sums(self) -> Self {
        self.unary(Operation::ColumnSums)
    }

    /// The sum of everything.
    pub fn sum(self) -> Self {
        self.row_sums().column_sums()
    }

    /// The mean of everything.
    pub fn mean(self) -> Self {
        self.sum().scaled(1.0 / (self.rows() * self.columns()) as f64)
    }

    /// Some rows, in some order, perhaps repeatedly.
    pub fn gather(self, rows: Vec<usize>) -> Self {
        self.unary(Operation::Gather(rows))
    }

    /// These rows above others.
    pub fn stack(self, below: Self) -> Self {
        self.binary(Operation::Stack, below)
    }

    /// Some columns: `from` and those after it.
    pub fn columns_from(self, from: usize, count: usize) -> Self {
        self.transposed().gather((from..from + count).collect()).transposed()
    }

    /// The same numbers in rows of another length.
    pub fn reshaped(self, rows: usize, columns: usize) -> Self {
        self.unary(Operation::Reshape(rows, columns))
    }

    /// The softmax of each row.
    pub fn softmax(self) -> Self {
        self.unary(Operation::Softmax)
    }

    /// The logarithm of the softmax of each row.
    pub fn log_softmax(self) -> Self {
        self.unary(Operation::LogSoftmax)
    }

    /// `self^-1 right`. A matrix that has no inverse gives numbers that are not finite.
    pub fn solve(self, right: Self) -> Self {
        self.binary(Operation::Solve, right)
    }

    /// The dual variables of Crammer and Singer's SVM, where `self` are the inner products of the labelled rows.
    pub fn svm_dual(self, labels: &[usize], ways: usize, c: f64, dual_ridge: f64) -> Self {
        self.unary(Operation::SvmDual { labels: labels.to_vec(), ways, c, dual_ridge })
    }

    /// Rows of length 1; a zero row stays zero.
    pub fn unit_rows(self) -> Self {
        // As PyTorch's `normalize`, which divides by at least 1e-12.
        let lengths = self.squared().row_sums().shifted(1e-24).sqrt();
        self.over(lengths)
    }

    /// Squared distances between rows.
    pub fn squared_distances(self, other: Self) -> Self {
        let own = self.squared().row_sums();
        let others = other.squared().row_sums().transposed();
        own.plus(others).minus(self.inner_products(other).scaled(2.0))
    }

    /// Mean cross entropy of rows of logits.
    pub fn cross_entropy(self, labels: &[usize]) -> Self {
        let targets = self.graph.constant(crate::methods::common::answer::one_hot(labels, self.columns()));
        self.log_softmax().times(targets).sum().scaled(-1.0 / labels.len().max(1) as f64)
    }
}

#[cfg(test)]
mod tests;
