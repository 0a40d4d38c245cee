//! Conjugate gradients for `A x = b` with a symmetric positive definite A, every column of b by itself.

use crate::linalg::Matrix;
use crate::scalar::Scalar;

/// When conjugate gradients stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CgStop {
    /// Size of the residual relative to that of the right-hand side, of every column.
    pub tolerance: f64,
    /// The most steps.
    pub max_steps: usize,
}

/// Solves from zero. `system` writes `A x` into its second argument; `precondition` gives the diagonal that residuals are
/// multiplied by.
pub(crate) fn conjugate_gradients<T: Scalar>(
    system: impl Fn(&Matrix<T>, &mut Matrix<T>),
    right: &Matrix<T>,
    precondition: Option<&[T]>,
    stop: CgStop,
) -> Matrix<T> {
    let columns = right.columns();
    let mut solution = Matrix::zeros(right.rows(), columns);
    let mut residual = right.clone();
    let mut direction = preconditioned(&residual, precondition);
    let mut image = Matrix::zeros(right.rows(), columns);
    let mut squares = column_products(&residual, &direction);
    let goals: Vec<f64> = squares.iter().map(|square| square * stop.tolerance * stop.tolerance).collect();
    for _ in 0..stop.max_steps {
        if squares.iter().zip(&goals).all(|(square, goal)| square <= goal) {
            break;
        }
        system(&direction, &mut image);
        let steps: Vec<T> = ratios(&squares, &column_products(&direction, &image));
        for row in 0..right.rows() {
            let moved = solution.row_mut(row).iter_mut().zip(direction.row(row)).zip(&steps);
            moved.for_each(|((x, &d), &step)| *x += step * d);
            let moved = residual.row_mut(row).iter_mut().zip(image.row(row)).zip(&steps);
            moved.for_each(|((r, &a), &step)| *r -= step * a);
        }
        let scaled = precondition.map(|_| preconditioned(&residual, precondition));
        let scaled = scaled.as_ref().unwrap_or(&residual);
        let next = column_products(&residual, scaled);
        let turns: Vec<T> = ratios(&next, &squares);
        for row in 0..right.rows() {
            let turned = direction.row_mut(row).iter_mut().zip(scaled.row(row)).zip(&turns);
            turned.for_each(|((d, &s), &turn)| *d = s + turn * *d);
        }
        squares = next;
    }
    solution
}

fn preconditioned<T: Scalar>(residual: &Matrix<T>, precondition: Option<&[T]>) -> Matrix<T> {
    let mut out = residual.clone();
    for (row, &scale) in precondition.unwrap_or_default().iter().enumerate() {
        out.row_mut(row).iter_mut().for_each(|value| *value *= scale);
    }
    out
}

fn column_products<T: Scalar>(a: &Matrix<T>, b: &Matrix<T>) -> Vec<f64> {
    let mut sums = vec![0.0; a.columns()];
    for (a, b) in a.iter_rows().zip(b.iter_rows()) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (&a, &b))| *sum += (a * b).to_f64());
    }
    sums
}

/// A column that is solved already takes no step.
fn ratios<T: Scalar>(over: &[f64], under: &[f64]) -> Vec<T> {
    let ratio = |(&a, &b): (&f64, &f64)| T::from_f64(if b > 0.0 { a / b } else { 0.0 });
    over.iter().zip(under).map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tridiagonal system with a diagonal that differs from row to row.
    fn system(x: &Matrix<f64>, out: &mut Matrix<f64>) {
        for row in 0..x.rows() {
            for column in 0..x.columns() {
                let at = |row: usize| if row < x.rows() { x.row(row)[column] } else { 0.0 };
                out.row_mut(row)[column] =
                    (2.5 + row as f64) * at(row) - at(row.wrapping_sub(1)) - at(row + 1);
            }
        }
    }

    #[test]
    fn every_column_is_solved_with_and_without_a_preconditioner() {
        // One column is all zeros: nothing to solve.
        let wanted = Matrix::from_vec(
            9,
            2,
            (0..18).map(|at| if at % 2 == 0 { (at as f64).sin() } else { 0.0 }).collect(),
        );
        let mut right = Matrix::zeros(9, 2);
        system(&wanted, &mut right);
        let diagonal: Vec<f64> = (0..9).map(|row| 1.0 / (2.5 + f64::from(row))).collect();
        for precondition in [None, Some(&diagonal[..])] {
            let solved =
                conjugate_gradients(system, &right, precondition, CgStop { tolerance: 1e-12, max_steps: 50 });
            for (got, wanted) in solved.as_slice().iter().zip(wanted.as_slice()) {
                assert!((got - wanted).abs() < 1e-10);
            }
        }
    }
}
