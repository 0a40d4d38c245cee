//! ICI: how late on the path of incidental parameters a pseudo-label becomes suspicious (Wang et al. 2020).
//!
//! ```text
//! Y = X B + G + noise, one row g_i of G per example; X the leading principal scores of all rows, Xt = I - X (X^T X)^-1 X^T
//! G(alpha) = argmin  1/(2n) |Xt (Y - G)|_F^2 + alpha sum_i |g_i|_2
//! ```
//!
//! A row whose g_i stays zero down to a small alpha agrees with the linear model of the others. The path runs over 100
//! values of alpha, from the largest that has any g_i down to a thousandth of it (Yikai-Wang/ICI-FSL,
//! `V1-CVPR20/models/ici.py`). They take rows with g_i = 0 from the smallest alpha upwards, rows that become zero at the same
//! alpha in the order of their numbers; here those are told apart by how close they are to leaving zero.

mod descent;

use descent::Descent;

use crate::linalg::Matrix;
use crate::linalg::dense::inner_products;
use crate::linalg::subspace::principal_vectors;
use crate::scalar::Scalar;

/// Values of alpha, and the last one as a part of the first.
const PATH_LENGTH: usize = 100;
const PATH_END: f64 = 1e-3;

/// The projector of a task's rows: labelled first, then the pool.
pub(crate) struct IncidentalPath {
    /// Orthonormal principal scores (rows x k).
    scores: Matrix<f64>,
    labelled: usize,
}

impl IncidentalPath {
    /// `dimensions` principal scores of all rows.
    pub fn new<T: Scalar>(labelled: &Matrix<T>, pool: &Matrix<T>, dimensions: usize) -> Self {
        let rows = labelled.stack(pool);
        let mut gram: Matrix<f64> = inner_products(&rows, &rows).cast();
        centre(&mut gram);
        let (_, vectors, rank) = principal_vectors(&gram, dimensions);
        let mut scores = Matrix::zeros(rows.rows(), rank);
        for row in 0..rows.rows() {
            scores.row_mut(row).iter_mut().enumerate().for_each(|(k, value)| *value = vectors[(row, k)]);
        }
        Self { scores, labelled: labelled.rows() }
    }

    /// Credibility of each pool row under the given and the pseudo-labels: its place on the path, from 0 up to 100.
    pub fn credibility(&self, given: &[usize], pseudo: &[usize], ways: usize) -> Vec<f64> {
        let count = self.scores.rows();
        let mut targets = Matrix::zeros(count, ways);
        for (row, &label) in given.iter().chain(pseudo).enumerate() {
            targets.row_mut(row)[label] = 1.0;
        }
        let mut descent = Descent::new(&self.scores, targets);
        let largest = descent.largest_residual();
        let ratio = PATH_END.powf(1.0 / (PATH_LENGTH - 1) as f64);
        let mut credibility = vec![0.0; count];
        let mut threshold = largest;
        for place in 0..PATH_LENGTH {
            descent.solve(threshold);
            for (row, credibility) in credibility.iter_mut().enumerate() {
                if let Some(slack) = descent.slack(row, threshold) {
                    *credibility = place as f64 + slack;
                }
            }
            threshold *= ratio;
        }
        credibility.split_off(self.labelled)
    }
}

/// H G H with H = I - 11^T/n.
fn centre(gram: &mut Matrix<f64>) {
    let count = gram.rows().max(1) as f64;
    let means: Vec<f64> = gram.iter_rows().map(|row| row.iter().sum::<f64>() / count).collect();
    let total = means.iter().sum::<f64>() / count;
    for (row, own) in means.iter().enumerate() {
        gram.row_mut(row).iter_mut().zip(&means).for_each(|(value, mean)| *value += total - own - mean);
    }
}

#[cfg(test)]
mod tests {
    use super::descent::length;
    use super::*;

    /// Two clouds along the first axis; the label of pool row 3 is wrong.
    fn rows() -> (Matrix<f64>, Matrix<f64>) {
        let labelled = Matrix::from_vec(2, 2, vec![-2.0, 0.1, 2.0, -0.1]);
        let value = |at: usize| ((at * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5;
        let mut pool = Matrix::zeros(8, 2);
        for row in 0..8 {
            pool.row_mut(row)[0] = if row < 4 { -2.0 } else { 2.0 } + 0.5 * value(row);
            pool.row_mut(row)[1] = value(row + 50);
        }
        (labelled, pool)
    }

    const GIVEN: [usize; 2] = [0, 1];
    const PSEUDO: [usize; 8] = [0, 0, 0, 1, 1, 1, 1, 1];

    fn targets() -> Matrix<f64> {
        let mut targets = Matrix::zeros(10, 2);
        for (row, &label) in GIVEN.iter().chain(&PSEUDO).enumerate() {
            targets.row_mut(row)[label] = 1.0;
        }
        targets
    }

    /// The group lasso by proximal gradient steps on the n x n projector (whose norm is one).
    fn slow(scores: &Matrix<f64>, threshold: f64) -> Matrix<f64> {
        let y = targets();
        let project = |i: usize, j: usize| -> f64 {
            let hat: f64 = scores.row(i).iter().zip(scores.row(j)).map(|(a, b)| a * b).sum();
            f64::from(u8::from(i == j)) - hat
        };
        let mut g: Matrix<f64> = Matrix::zeros(10, 2);
        for _ in 0..20_000 {
            let mut next = g.clone();
            for i in 0..10 {
                for c in 0..2 {
                    let pull: f64 = (0..10).map(|j| project(i, j) * (y.row(j)[c] - g.row(j)[c])).sum();
                    next.row_mut(i)[c] += pull;
                }
                let norm = length(next.row(i));
                let shrink = if norm > threshold { 1.0 - threshold / norm } else { 0.0 };
                next.row_mut(i).iter_mut().for_each(|value| *value *= shrink);
            }
            g = next;
        }
        g
    }

    #[test]
    fn the_path_agrees_with_proximal_gradient_steps() {
        let (labelled, pool) = rows();
        let path = IncidentalPath::new(&labelled, &pool, 1);
        let mut descent = Descent::new(&path.scores, targets());
        let largest = descent.largest_residual();
        for part in [0.9, 0.5, 0.1, 0.01] {
            descent.solve(part * largest);
            let wanted = slow(&path.scores, part * largest);
            for (got, wanted) in descent.parameters.as_slice().iter().zip(wanted.as_slice()) {
                assert!((got - wanted).abs() < 1e-5, "at {part}: {got} {wanted}");
            }
        }
    }

    #[test]
    fn nothing_is_active_at_the_start_of_the_path() {
        let (labelled, pool) = rows();
        let path = IncidentalPath::new(&labelled, &pool, 1);
        let mut descent = Descent::new(&path.scores, targets());
        let largest = descent.largest_residual();
        descent.solve(largest * (1.0 + 1e-9));
        assert!(descent.active.iter().all(|&active| !active));
        descent.solve(largest * 0.99);
        assert!(descent.active.iter().any(|&active| active));
    }

    #[test]
    fn the_wrong_label_is_the_least_credible() {
        let (labelled, pool) = rows();
        let credibility = IncidentalPath::new(&labelled, &pool, 1).credibility(&GIVEN, &PSEUDO, 2);
        assert_eq!(credibility.len(), 8);
        assert!((0..8).all(|row| row == 3 || credibility[row] > credibility[3]), "{credibility:?}");
    }

    #[test]
    fn equal_rows_have_no_scores_and_still_an_answer() {
        let same = Matrix::from_vec(2, 2, vec![1.0, 2.0, 1.0, 2.0]);
        let credibility = IncidentalPath::new(&same, &same, 5).credibility(&[0, 1], &[0, 1], 2);
        assert!(credibility.iter().all(|value| value.is_finite()));
    }
}
