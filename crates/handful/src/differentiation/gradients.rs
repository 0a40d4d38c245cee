//! What can be done to matrices, backwards.

use super::operation::{Operation, column_sums, each, row_sums, stretched};
use super::{Graph, Node, Var, products, svm_dual};
use crate::linalg::Matrix;

/// How a sum of entries changes with every matrix of its graph.
pub struct Gradients(Vec<Option<Matrix<f64>>>);

impl Graph {
    /// Differentiates the sum of a matrix's entries.
    pub fn gradients(&self, of: Var<'_>) -> Gradients {
        let nodes = self.nodes.borrow();
        let mut gradients: Vec<Option<Matrix<f64>>> = Vec::new();
        gradients.resize_with(of.at + 1, || None);
        gradients[of.at] = Some(each(&nodes[of.at].value, |_| 1.0));
        for at in (0..=of.at).rev() {
            if matches!(nodes[at].operation, Operation::Leaf) {
                continue;
            }
            // A gradient that has been handed on is not needed any more.
            let Some(gradient) = gradients[at].take() else { continue };
            for (input, part) in nodes[at].inputs.iter().zip(parts(&nodes, &nodes[at], &gradient)) {
                match &mut gradients[*input] {
                    Some(sum) => {
                        sum.as_mut_slice().iter_mut().zip(part.as_slice()).for_each(|(s, p)| *s += p)
                    }
                    empty => *empty = Some(part),
                }
            }
        }
        Gradients(gradients)
    }
}

impl Gradients {
    /// The gradient of a leaf; zero where nothing depends on it.
    pub fn of(&self, var: Var<'_>) -> Matrix<f64> {
        let zero = || Matrix::zeros(var.rows(), var.columns());
        self.0.get(var.at).and_then(Clone::clone).unwrap_or_else(zero)
    }
}

/// What each input of a node gets of the node's gradient.
fn parts(nodes: &[Node], node: &Node, gradient: &Matrix<f64>) -> Vec<Matrix<f64>> {
    let value = node.value.as_ref();
    let input = |place: usize| nodes[node.inputs[place]].value.as_ref();
    let first = input(0);
    let with = |other: &Matrix<f64>, part: fn(f64, f64) -> f64| stretched(gradient, other, part);
    match &node.operation {
        Operation::Leaf => Vec::new(),
        Operation::Product => {
            vec![products::inner_products(gradient, input(1)), products::outer_products(first, gradient)]
        }
        Operation::InnerProducts => {
            vec![products::product(gradient, input(1)), products::outer_products(gradient, first)]
        }
        Operation::Transpose => vec![products::transpose(gradient)],
        Operation::Add => vec![shrunk(gradient, first), shrunk(gradient, input(1))],
        Operation::Subtract => {
            vec![shrunk(gradient, first), shrunk(&each(gradient, |value| -value), input(1))]
        }
        Operation::Multiply => {
            vec![shrunk(&with(input(1), |g, b| g * b), first), shrunk(&with(first, |g, a| g * a), input(1))]
        }
        Operation::Divide => {
            let numerator = with(input(1), |g, b| g / b);
            let denominator = stretched(&numerator, value, |g, quotient| -g * quotient);
            vec![shrunk(&numerator, first), shrunk(&denominator, input(1))]
        }
        &Operation::Scale(factor) => vec![each(gradient, |value| factor * value)],
        Operation::Shift(_) => vec![gradient.clone()],
        Operation::Relu => vec![with(first, |g, x| if x > 0.0 { g } else { 0.0 })],
        Operation::Sigmoid => vec![with(value, |g, y| g * y * (1.0 - y))],
        Operation::Exp => vec![with(value, |g, y| g * y)],
        Operation::Ln => vec![with(first, |g, x| g / x)],
        Operation::Sqrt => vec![with(value, |g, y| g / (2.0 * y))],
        Operation::RowSums | Operation::ColumnSums => vec![stretched(gradient, first, |g, _| g)],
        Operation::Gather(rows) => {
            let mut sums = Matrix::zeros(first.rows(), first.columns());
            for (&row, part) in rows.iter().zip(gradient.iter_rows()) {
                sums.row_mut(row).iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            }
            vec![sums]
        }
        Operation::Stack => {
            let all: Vec<usize> = (0..gradient.rows()).collect();
            let (above, below) = all.split_at(first.rows());
            vec![gradient.gather(above), gradient.gather(below)]
        }
        Operation::Reshape(..) => {
            vec![Matrix::from_vec(first.rows(), first.columns(), gradient.as_slice().to_vec())]
        }
        Operation::Softmax => {
            let weighted = stretched(gradient, value, |g, p| g * p);
            let means = row_sums(&weighted);
            vec![stretched(&weighted, &stretched(value, &means, |p, mean| p * mean), |a, b| a - b)]
        }
        Operation::LogSoftmax => {
            let totals = row_sums(gradient);
            let shares = stretched(value, &totals, |log, total| log.exp() * total);
            vec![stretched(gradient, &shares, |g, share| g - share)]
        }
        Operation::Solve => {
            let right = products::solve(first, gradient, true);
            let left = each(&products::inner_products(&right, value), |entry| -entry);
            vec![left, right]
        }
        Operation::SvmDual { labels, c, dual_ridge, .. } => {
            vec![svm_dual::gradient(first, value, labels, *c, *dual_ridge, gradient)]
        }
    }
}

/// Sums over the sides along which the matrix was stretched.
fn shrunk(gradient: &Matrix<f64>, to: &Matrix<f64>) -> Matrix<f64> {
    let rows = if to.rows() < gradient.rows() { column_sums(gradient) } else { gradient.clone() };
    if to.columns() < rows.columns() { row_sums(&rows) } else { rows }
}
