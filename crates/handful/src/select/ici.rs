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
//!
//! Solved by coordinate descent over rows. Xt = I - U U^T with k orthonormal columns, so `C = U^T (Y - G)` is all that
//! has to be kept up to date, and a row costs O(kN) instead of O(nN). Where most rows are active the columns of U are
//! directions that single rows descend slowly; between sweeps a joint step over the active rows, which bounds each
//! |g_i| by a quadratic and solves for all of them through a k x k system, takes care of those.

use nalgebra::{Cholesky, DMatrix};

use crate::linalg::{inner_products, symmetric_eigen};
use crate::matrix::Matrix;
use crate::scalar::Scalar;

/// Values of alpha, and the last one as a part of the first.
const PATH_LENGTH: usize = 100;
const PATH_END: f64 = 1e-3;
/// Largest change of an entry of G to stop at (Y has entries of one), and the most sweeps per alpha.
const TOLERANCE: f64 = 1e-7;
const MAX_SWEEPS: usize = 10_000;

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
        let (values, vectors) = symmetric_eigen(&gram);
        let floor = values.first().copied().unwrap_or(0.0) * 1e-6;
        let rank = values.iter().take(dimensions).filter(|&&value| value > floor).count();
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

/// Coordinate descent with warm starts along the path. Thresholds are n alpha.
struct Descent<'a> {
    scores: &'a Matrix<f64>,
    targets: Matrix<f64>,
    parameters: Matrix<f64>,
    active: Vec<bool>,
    /// U^T (Y - G), k x N.
    explained: Matrix<f64>,
    residual: Vec<f64>,
}

impl<'a> Descent<'a> {
    fn new(scores: &'a Matrix<f64>, targets: Matrix<f64>) -> Self {
        let ways = targets.columns();
        let mut explained = Matrix::zeros(scores.columns(), ways);
        for (score, target) in scores.iter_rows().zip(targets.iter_rows()) {
            for (k, value) in score.iter().enumerate() {
                explained.row_mut(k).iter_mut().zip(target).for_each(|(to, y)| *to += value * y);
            }
        }
        let count = targets.rows();
        let parameters = Matrix::zeros(count, ways);
        Self { scores, targets, parameters, active: vec![false; count], explained, residual: vec![0.0; ways] }
    }

    /// Writes row i of Xt (Y - G) into `residual`.
    fn refresh_residual(&mut self, row: usize) {
        let pairs = self.targets.row(row).iter().zip(self.parameters.row(row));
        self.residual.iter_mut().zip(pairs).for_each(|(to, (y, g))| *to = y - g);
        for (k, score) in self.scores.row(row).iter().enumerate() {
            let explained = self.explained.row(k);
            self.residual.iter_mut().zip(explained).for_each(|(to, value)| *to -= score * value);
        }
    }

    fn largest_residual(&mut self) -> f64 {
        let mut largest: f64 = 0.0;
        for row in 0..self.targets.rows() {
            self.refresh_residual(row);
            largest = largest.max(length(&self.residual));
        }
        largest
    }

    /// Minimises at one threshold: all rows, then the active ones until they settle, until a pass over all changes nothing.
    fn solve(&mut self, threshold: f64) {
        for _ in 0..MAX_SWEEPS {
            if self.sweep(threshold, false) <= TOLERANCE {
                return;
            }
            for _ in 0..MAX_SWEEPS {
                self.joint_step(threshold);
                if self.sweep(threshold, true) <= TOLERANCE {
                    break;
                }
            }
        }
    }

    /// Updates rows in turn; returns the largest change.
    fn sweep(&mut self, threshold: f64, only_active: bool) -> f64 {
        let mut largest: f64 = 0.0;
        for row in 0..self.targets.rows() {
            if only_active && !self.active[row] {
                continue;
            }
            self.refresh_residual(row);
            let own = 1.0 - self.scores.row(row).iter().map(|score| score * score).sum::<f64>();
            if own <= f64::EPSILON {
                // The principal scores fit this row whatever its label.
                continue;
            }
            let parameters = self.parameters.row_mut(row);
            self.residual.iter_mut().zip(&*parameters).for_each(|(to, g)| *to += own * g);
            let norm = length(&self.residual);
            let shrink = if norm > threshold { (1.0 - threshold / norm) / own } else { 0.0 };
            self.active[row] = shrink > 0.0;
            for (parameter, residual) in parameters.iter_mut().zip(&mut self.residual) {
                let change = shrink * *residual - *parameter;
                *parameter += change;
                *residual = change;
                largest = largest.max(change.abs());
            }
            for (k, score) in self.scores.row(row).iter().enumerate() {
                let explained = self.explained.row_mut(k).iter_mut();
                explained.zip(&self.residual).for_each(|(to, change)| *to -= score * change);
            }
        }
        largest
    }

    /// Minimises the bound `|g_i| <= |g_i|^2 / (2 |g'_i|) + |g'_i| / 2` around the current g' over all active rows:
    /// `(M - U U^T) G = B` with `M = 1 + threshold / |g'_i|` on the diagonal and B the active rows of Xt Y.
    fn joint_step(&mut self, threshold: f64) {
        let active: Vec<usize> = (0..self.active.len()).filter(|&row| self.active[row]).collect();
        let (rank, ways) = (self.scores.columns(), self.targets.columns());
        if active.is_empty() || rank == 0 {
            return;
        }
        let inverse: Vec<f64> =
            active.iter().map(|&row| 1.0 / (1.0 + threshold / length(self.parameters.row(row)))).collect();
        // Xt Y = Y - U (U^T Y), and U^T Y = C + U^T G.
        let mut whole = self.explained.clone();
        for &row in &active {
            for (k, score) in self.scores.row(row).iter().enumerate() {
                let parameters = self.parameters.row(row);
                whole.row_mut(k).iter_mut().zip(parameters).for_each(|(to, g)| *to += score * g);
            }
        }
        let mut system = DMatrix::<f64>::identity(rank, rank);
        let mut right = DMatrix::<f64>::zeros(rank, ways);
        let mut wanted = Matrix::zeros(active.len(), ways);
        for (at, &row) in active.iter().enumerate() {
            let scores = self.scores.row(row);
            let own = wanted.row_mut(at);
            own.copy_from_slice(self.targets.row(row));
            for (k, score) in scores.iter().enumerate() {
                own.iter_mut().zip(whole.row(k)).for_each(|(to, value)| *to -= score * value);
            }
            for (k, score) in scores.iter().enumerate() {
                let scaled = score * inverse[at];
                (0..rank).for_each(|other| system[(k, other)] -= scaled * scores[other]);
                (0..ways).for_each(|class| right[(k, class)] += scaled * own[class]);
            }
        }
        let Some(factor) = Cholesky::new(system) else {
            return;
        };
        let joint = factor.solve(&right);
        self.explained = whole;
        for (at, &row) in active.iter().enumerate() {
            let scores = self.scores.row(row);
            let parameters = self.parameters.row_mut(row);
            for (class, parameter) in parameters.iter_mut().enumerate() {
                let shared: f64 = scores.iter().enumerate().map(|(k, score)| score * joint[(k, class)]).sum();
                *parameter = inverse[at] * (wanted.row(at)[class] + shared);
            }
            for (k, score) in scores.iter().enumerate() {
                let explained = self.explained.row_mut(k).iter_mut();
                explained.zip(&*parameters).for_each(|(to, g)| *to -= score * g);
            }
        }
    }

    /// For a row at zero, how far it is from leaving: one minus the part of the threshold that pulls at it.
    fn slack(&mut self, row: usize, threshold: f64) -> Option<f64> {
        if self.active[row] {
            return None;
        }
        self.refresh_residual(row);
        let pull = if threshold > 0.0 { length(&self.residual) / threshold } else { 0.0 };
        Some(1.0 - pull.clamp(0.0, 1.0))
    }
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
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
