//! Crammer and Singer's dual as a function of the inner products of labelled rows, and its derivative.
//!
//! At the optimum the variables that are at their limit stay there, so the others solve a linear system, and so does the
//! change of them (the implicit function theorem on the active set). This is what MetaOptNet gets from differentiating
//! its solver of quadratic programs.

use nalgebra::{DMatrix, DVector};

use crate::linalg::Matrix;
use crate::methods::SvmParams;

/// The dual variables, one row for each labelled row.
pub(super) fn solve(
    gram: &Matrix<f64>,
    labels: &[usize],
    ways: usize,
    c: f64,
    dual_ridge: f64,
) -> Matrix<f64> {
    SvmParams::for_training(c, dual_ridge).solve_dual(gram, labels, ways)
}

/// The gradient with respect to the inner products, from that with respect to the dual variables.
pub(super) fn gradient(
    gram: &Matrix<f64>,
    dual: &Matrix<f64>,
    labels: &[usize],
    c: f64,
    dual_ridge: f64,
    outer: &Matrix<f64>,
) -> Matrix<f64> {
    let ways = dual.columns();
    let is_free = |row: usize, class: usize| {
        let limit = if labels[row] == class { c } else { 0.0 };
        dual.row(row)[class] < limit - 1e-7 * c
    };
    let free: Vec<(usize, usize)> = (0..labels.len())
        .flat_map(|row| (0..ways).map(move |class| (row, class)))
        .filter(|&(row, class)| is_free(row, class))
        .collect();
    // The variables of a row sum to zero: one multiplier for each row with any free variable.
    let bound: Vec<usize> =
        (0..labels.len()).filter(|&row| free.iter().any(|&(other, _)| other == row)).collect();
    let size = free.len() + bound.len();
    let mut system = DMatrix::<f64>::zeros(size, size);
    let mut right = DVector::<f64>::zeros(size);
    for (at, &(row, class)) in free.iter().enumerate() {
        for (other, &(other_row, other_class)) in free.iter().enumerate() {
            if class == other_class {
                system[(at, other)] = 0.5 * (gram.row(row)[other_row] + gram.row(other_row)[row]);
            }
        }
        system[(at, at)] += dual_ridge;
        if let Some(place) = bound.iter().position(|&bound| bound == row) {
            system[(at, free.len() + place)] = 1.0;
            system[(free.len() + place, at)] = 1.0;
        }
        right[at] = outer.row(row)[class];
    }
    let mut gradient = Matrix::zeros(labels.len(), labels.len());
    let Some(adjoint) = system.lu().solve(&right) else { return gradient };
    for (at, &(row, class)) in free.iter().enumerate() {
        for other in 0..labels.len() {
            gradient.row_mut(row)[other] -= adjoint[at] * dual.row(other)[class];
        }
    }
    gradient
}
