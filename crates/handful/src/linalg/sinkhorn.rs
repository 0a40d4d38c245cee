//! Sinkhorn's scaling: the matrix `diag(u) K diag(v)` with row sums one and given column sums.
//!
//! ```text
//! repeat   each column times (its wanted sum / its sum);   each row divided by its sum
//! until    no row sum is further than `tolerance` from one after the columns were scaled
//! ```
//!
//! Near-certain rows make that slow: a thousand sweeps and more. The scaling also maximises
//! `sum_c wanted_c log v_c - sum_i log sum_c K_ic v_c`, a concave function of one number per class, so from the tenth sweep
//! on each is preceded by a Newton step on that, with the step halved until the function rises. A step counts as a sweep.
//!
//! In double precision, so that the test can succeed: the published single-precision versions (PT-MAP, easyfsl) stop on
//! a change of 1e-6, which rounding of sums around 15 often prevents, and then run into their limit of 1,000 sweeps.
//! The result always ends with row sums of one, so its rows are probabilities; column sums hold up to the tolerance.

use nalgebra::{Cholesky, DMatrix, DVector};

use crate::linalg::Matrix;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stop {
    /// Largest distance of a row sum from one.
    pub tolerance: f64,
    /// The most sweeps.
    pub max_sweeps: usize,
}

/// What the scaling ended with.
pub(crate) struct Plan {
    /// The scaled matrix.
    pub plan: Matrix<f64>,
    /// Sweeps it took.
    pub sweeps: usize,
}

/// The smallest entry: a class that no row is near to still has to get its share of rows, and neither it nor the factor
/// that lifts it may leave the range of double precision.
const SMALLEST: f64 = 1e-150;

/// Sweeps before the first Newton step, the most classes it is worth its cubic cost for, and how often a step is halved.
const PLAIN_SWEEPS: usize = 10;
const MOST_CLASSES: usize = 50;
const HALVINGS: usize = 8;

/// Scales `exp(logits)`. Without `columns` that is the softmax of each row, and no sweep is needed.
pub(crate) fn transport(logits: Matrix<f64>, columns: Option<&[f64]>, stop: Stop) -> Plan {
    let mut plan = exponential(logits);
    let Some(columns) = columns else {
        scale_rows(&mut plan);
        return Plan { plan, sweeps: 0 };
    };
    // Only the factors change from sweep to sweep: u of the rows, v of the columns.
    let ways = plan.columns();
    let mut row_factors: Vec<f64> = plan.iter_rows().map(|row| 1.0 / row.iter().sum::<f64>()).collect();
    let mut column_factors = vec![1.0; ways];
    let mut sums = vec![0.0; ways];
    let mut sweeps = 0;
    column_sums_into(&plan, &row_factors, &mut sums);
    let mut newton = ways <= MOST_CLASSES;
    while sweeps < stop.max_sweeps {
        sweeps += 1;
        if newton && sweeps > PLAIN_SWEEPS {
            sweeps += 1;
            newton = newton_step(&plan, columns, &mut column_factors);
            for (row, factor) in plan.iter_rows().zip(&mut row_factors) {
                *factor = 1.0 / dot(row, &column_factors).max(f64::MIN_POSITIVE);
            }
            column_sums_into(&plan, &row_factors, &mut sums);
        }
        for ((factor, wanted), sum) in column_factors.iter_mut().zip(columns).zip(&sums) {
            *factor = if *sum > 0.0 { wanted / sum } else { 0.0 };
        }
        // One pass: the row sums under the new column factors, the row factors, and the column sums under those.
        let mut worst: f64 = 0.0;
        sums.fill(0.0);
        for (row, factor) in plan.iter_rows().zip(&mut row_factors) {
            let sum = dot(row, &column_factors);
            worst = worst.max((*factor * sum - 1.0).abs());
            *factor = if sum > 0.0 { 1.0 / sum } else { 0.0 };
            sums.iter_mut().zip(row).for_each(|(to, value)| *to += *factor * value);
        }
        if worst <= stop.tolerance {
            break;
        }
    }
    for (row, factor) in plan.as_mut_slice().chunks_exact_mut(ways).zip(&row_factors) {
        row.iter_mut().zip(&column_factors).for_each(|(value, column)| *value *= factor * column);
    }
    // The factors make row sums of one up to rounding; a row that all columns gave up on becomes uniform.
    scale_rows(&mut plan);
    Plan { plan, sweeps }
}

/// Moves the column factors by a Newton step on the function of the module's first lines, the step halved until the
/// function rises; says whether it did.
fn newton_step(kernel: &Matrix<f64>, wanted: &[f64], factors: &mut [f64]) -> bool {
    let ways = factors.len();
    let mut gradient = DVector::from_column_slice(wanted);
    // Row sums of the curvature are zero, since factors count only relative to each other: any multiple of the matrix of
    // ones makes it definite and leaves the step as it is.
    let mut curvature = DMatrix::from_element(ways, ways, kernel.rows() as f64 / (ways * ways) as f64);
    let mut shares = vec![0.0; ways];
    for row in kernel.iter_rows() {
        let total = dot(row, factors);
        for ((share, value), factor) in shares.iter_mut().zip(row).zip(&*factors) {
            *share = value * factor / total;
        }
        for (a, share) in shares.iter().enumerate() {
            gradient[a] -= share;
            curvature[(a, a)] += share;
            shares.iter().enumerate().for_each(|(b, other)| curvature[(a, b)] -= share * other);
        }
    }
    let Some(solver) = Cholesky::new(curvature) else {
        return false;
    };
    let step = solver.solve(&gradient);
    let value = |factors: &[f64]| -> f64 {
        let gains: f64 = wanted.iter().zip(factors).map(|(wanted, factor)| wanted * factor.ln()).sum();
        gains - kernel.iter_rows().map(|row| dot(row, factors).ln()).sum::<f64>()
    };
    let start = value(factors);
    let mut length = 1.0;
    for _ in 0..HALVINGS {
        let moved: Vec<f64> =
            factors.iter().zip(step.iter()).map(|(factor, step)| factor * (length * step).exp()).collect();
        if value(&moved) > start {
            factors.copy_from_slice(&moved);
            return true;
        }
        length *= 0.5;
    }
    false
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Column sums of `diag(factors) plan`.
fn column_sums_into(plan: &Matrix<f64>, factors: &[f64], sums: &mut [f64]) {
    sums.fill(0.0);
    for (row, factor) in plan.iter_rows().zip(factors) {
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += factor * value);
    }
}

/// Column sums for `rows` unlabelled rows of `ways` classes of equal size.
pub(crate) fn equal_shares(rows: usize, ways: usize) -> Vec<f64> {
    vec![rows as f64 / ways as f64; ways]
}

/// Exponentials after shifting each row to a largest logit of zero, which changes no scaled result.
fn exponential(mut logits: Matrix<f64>) -> Matrix<f64> {
    let ways = logits.columns();
    for row in logits.as_mut_slice().chunks_exact_mut(ways) {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter_mut().for_each(|value| *value = (*value - top).exp().max(SMALLEST));
    }
    logits
}

fn scale_rows(plan: &mut Matrix<f64>) {
    let ways = plan.columns();
    for row in plan.as_mut_slice().chunks_exact_mut(ways) {
        let sum: f64 = row.iter().sum();
        if sum > 0.0 {
            row.iter_mut().for_each(|value| *value /= sum);
        } else {
            row.fill(1.0 / ways as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::common::feature_rows::column_sums;

    const STOP: Stop = Stop { tolerance: 1e-6, max_sweeps: 1000 };

    fn logits(rows: usize, ways: usize, scale: f64) -> Matrix<f64> {
        let value = |at: usize| ((at * 7919 % 1009) as f64 / 1009.0 - 0.5) * scale;
        Matrix::from_vec(rows, ways, (0..rows * ways).map(value).collect())
    }

    #[test]
    fn marginals_hold_and_it_stops_long_before_its_limit() {
        let plan = transport(logits(75, 5, 20.0), Some(&equal_shares(75, 5)), STOP);
        assert!(plan.sweeps > 1 && plan.sweeps < 200, "{} sweeps", plan.sweeps);
        for sum in column_sums(&plan.plan) {
            assert!((sum - 15.0).abs() < 1e-4, "{sum}");
        }
        assert!(plan.plan.iter_rows().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12));
    }

    #[test]
    fn a_wider_tolerance_takes_fewer_sweeps() {
        let sweeps = |tolerance: f64| {
            transport(logits(75, 5, 20.0), Some(&equal_shares(75, 5)), Stop { tolerance, ..STOP }).sweeps
        };
        assert!(sweeps(1e-2) < sweeps(1e-4) && sweeps(1e-4) < sweeps(1e-10));
    }

    #[test]
    fn near_certain_rows_take_few_sweeps_too() {
        // Eighty nats between classes, and not a fifth of the rows nearest to each.
        let mut given = logits(75, 5, 160.0);
        (0..75).for_each(|row| given.row_mut(row)[0] += 30.0);
        let plan = transport(given.clone(), Some(&equal_shares(75, 5)), STOP);
        assert!(plan.sweeps < 300, "{} sweeps", plan.sweeps);
        assert!(column_sums(&plan.plan).iter().all(|sum| (sum - 15.0).abs() < 1e-3));
        let plain = Stop { tolerance: 1e-6, max_sweeps: PLAIN_SWEEPS };
        assert!(column_sums(&transport(given, Some(&equal_shares(75, 5)), plain).plan)[0] > 15.1);
    }

    #[test]
    fn the_result_is_a_scaled_kernel() {
        // Cross ratios of a matrix do not change when rows and columns are scaled.
        let given = logits(6, 3, 4.0);
        let plan = transport(given.clone(), Some(&[1.0, 2.0, 3.0]), STOP).plan;
        for i in 1..6 {
            for c in 1..3 {
                let wanted = given.row(0)[0] + given.row(i)[c] - given.row(0)[c] - given.row(i)[0];
                let got = plan.row(0)[0] * plan.row(i)[c] / (plan.row(0)[c] * plan.row(i)[0]);
                assert!((got.ln() - wanted).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn free_columns_give_the_softmax() {
        let plan = transport(Matrix::from_vec(1, 2, vec![0.0, 3f64.ln()]), None, STOP);
        assert_eq!(plan.sweeps, 0);
        assert!((plan.plan.row(0)[1] - 0.75).abs() < 1e-12);
    }

    #[test]
    fn a_class_no_row_is_near_to_still_gets_its_share() {
        let far = Matrix::from_vec(4, 2, [0.0, -5000.0].repeat(4));
        let plan = transport(far, Some(&[2.0, 2.0]), STOP).plan;
        assert!((column_sums(&plan)[1] - 2.0).abs() < 1e-6);
    }
}
