//! What can be done to matrices, forwards.

use super::{products, svm_dual};
use crate::linalg::Matrix;

/// What made a node of a graph.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    Leaf,
    Product,
    InnerProducts,
    Transpose,
    Add,
    Subtract,
    Multiply,
    Divide,
    Scale(f64),
    Shift(f64),
    Relu,
    Sigmoid,
    Exp,
    Ln,
    Sqrt,
    RowSums,
    ColumnSums,
    Gather(Vec<usize>),
    Stack,
    Reshape(usize, usize),
    Softmax,
    LogSoftmax,
    Solve,
    SvmDual { labels: Vec<usize>, ways: usize, c: f64, dual_ridge: f64 },
}

/// The result of an operation.
pub(super) fn evaluate(operation: &Operation, inputs: &[&Matrix<f64>]) -> Matrix<f64> {
    let first = inputs[0];
    match operation {
        Operation::Leaf => first.clone(),
        Operation::Product => products::product(first, inputs[1]),
        Operation::InnerProducts => products::inner_products(first, inputs[1]),
        Operation::Transpose => products::transpose(first),
        Operation::Add => stretched(first, inputs[1], |a, b| a + b),
        Operation::Subtract => stretched(first, inputs[1], |a, b| a - b),
        Operation::Multiply => stretched(first, inputs[1], |a, b| a * b),
        Operation::Divide => stretched(first, inputs[1], |a, b| a / b),
        &Operation::Scale(factor) => each(first, |value| factor * value),
        &Operation::Shift(term) => each(first, |value| value + term),
        Operation::Relu => each(first, |value| value.max(0.0)),
        Operation::Sigmoid => each(first, |value| 1.0 / (1.0 + (-value).exp())),
        Operation::Exp => each(first, f64::exp),
        Operation::Ln => each(first, f64::ln),
        Operation::Sqrt => each(first, f64::sqrt),
        Operation::RowSums => row_sums(first),
        Operation::ColumnSums => column_sums(first),
        Operation::Gather(rows) => first.gather(rows),
        Operation::Stack => first.stack(inputs[1]),
        &Operation::Reshape(rows, columns) => Matrix::from_vec(rows, columns, first.as_slice().to_vec()),
        Operation::Softmax => each(&log_softmax(first), f64::exp),
        Operation::LogSoftmax => log_softmax(first),
        Operation::Solve => products::solve(first, inputs[1], false),
        Operation::SvmDual { labels, ways, c, dual_ridge } => {
            svm_dual::solve(first, labels, *ways, *c, *dual_ridge)
        }
    }
}

pub(super) fn each(matrix: &Matrix<f64>, value: impl Fn(f64) -> f64) -> Matrix<f64> {
    let values = matrix.as_slice().iter().map(|&old| value(old)).collect();
    Matrix::from_vec(matrix.rows(), matrix.columns(), values)
}

/// Entry by entry; a side of length 1 counts for every place of the other matrix.
pub(super) fn stretched(a: &Matrix<f64>, b: &Matrix<f64>, value: impl Fn(f64, f64) -> f64) -> Matrix<f64> {
    let length = |a: usize, b: usize| {
        assert!(a == b || a == 1 || b == 1, "sides of {a} and {b} do not fit");
        if a == 1 { b } else { a }
    };
    let (rows, columns) = (length(a.rows(), b.rows()), length(a.columns(), b.columns()));
    let mut values = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        let a = a.row(if a.rows() == 1 { 0 } else { row });
        let b = b.row(if b.rows() == 1 { 0 } else { row });
        match (a, b) {
            (&[a], b) => values.extend(b.iter().map(|&b| value(a, b))),
            (a, &[b]) => values.extend(a.iter().map(|&a| value(a, b))),
            (a, b) => values.extend(a.iter().zip(b).map(|(&a, &b)| value(a, b))),
        }
    }
    Matrix::from_vec(rows, columns, values)
}

pub(super) fn row_sums(matrix: &Matrix<f64>) -> Matrix<f64> {
    Matrix::from_vec(matrix.rows(), 1, matrix.iter_rows().map(|row| row.iter().sum()).collect())
}

pub(super) fn column_sums(matrix: &Matrix<f64>) -> Matrix<f64> {
    let mut sums = Matrix::zeros(1, matrix.columns());
    for row in matrix.iter_rows() {
        sums.row_mut(0).iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    sums
}

fn log_softmax(matrix: &Matrix<f64>) -> Matrix<f64> {
    let mut out = matrix.clone();
    for row in 0..out.rows() {
        let row = out.row_mut(row);
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = row.iter().map(|value| (value - largest).exp()).sum();
        let shift = largest + total.ln();
        row.iter_mut().for_each(|value| *value -= shift);
    }
    out
}
