//! Minimises `1/2 |Xt (Y - G)|_F^2 + t sum_i |g_i|_2` over G along falling thresholds t, each start where the last ended.
//!
//! Coordinate descent over rows: Xt = I - U U^T with k orthonormal columns, so `C = U^T (Y - G)` is all that has to be
//! kept up to date, and a row costs O(kN) instead of O(nN). Where most rows are active the columns of U are directions
//! that single rows descend slowly. Between sweeps a step of Newton over the active rows takes care of those: their
//! Hessian is a block of N x N for each row, whose inverse is known, minus a term of rank kN, so a system of kN unknowns
//! solves for all of them. Where that step does not descend, or has too many unknowns, another one bounds each |g_i| by a
//! quadratic instead, which always descends.

use nalgebra::{Cholesky, DMatrix};

use crate::linalg::Matrix;
use crate::linalg::sums::dot_by_lanes;

/// Largest change of an entry of G to stop at (Y has entries of one), and the most sweeps per threshold.
const TOLERANCE: f64 = 1e-7;
const MAX_SWEEPS: usize = 10_000;
/// The most unknowns of a step of Newton: the cost of setting it up grows with their square.
const MOST_UNKNOWNS: usize = 128;
/// Lengths of the step that are tried.
const STEP_LENGTHS: [f64; 4] = [1.0, 0.5, 0.25, 0.125];

/// See the module. Thresholds are n alpha.
pub(super) struct Descent<'a> {
    scores: &'a Matrix<f64>,
    targets: Matrix<f64>,
    pub parameters: Matrix<f64>,
    pub active: Vec<bool>,
    /// U^T (Y - G), k x N.
    explained: Matrix<f64>,
    residual: Vec<f64>,
}

impl<'a> Descent<'a> {
    pub fn new(scores: &'a Matrix<f64>, targets: Matrix<f64>) -> Self {
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

    pub fn largest_residual(&mut self) -> f64 {
        let mut largest: f64 = 0.0;
        for row in 0..self.targets.rows() {
            self.refresh_residual(row);
            largest = largest.max(length(&self.residual));
        }
        largest
    }

    /// Minimises at one threshold: all rows, then the active ones until they settle, until a pass over all changes nothing.
    pub fn solve(&mut self, threshold: f64) {
        for _ in 0..MAX_SWEEPS {
            if self.sweep(threshold, false) <= TOLERANCE {
                return;
            }
            for _ in 0..MAX_SWEEPS {
                if !self.newton_step(threshold) {
                    self.bounded_step(threshold);
                }
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

    /// A step of Newton over the active rows; false where it was not taken.
    ///
    /// With r_i the gradient at row i, e_i the direction of g_i and `M_i = I + t / |g_i| (I - e_i e_i^T)`, the step D has
    /// `M_i d_i - V^T u_i = -r_i` with `V = U^T D`, so V solves
    /// `V - sum_i u_i (M_i^-1 V^T u_i)^T = -sum_i u_i (M_i^-1 r_i)^T`, and `M_i^-1 = a_i I + (1 - a_i) e_i e_i^T`.
    fn newton_step(&mut self, threshold: f64) -> bool {
        let (rank, ways) = (self.scores.columns(), self.targets.columns());
        let active: Vec<usize> = (0..self.active.len()).filter(|&row| self.active[row]).collect();
        if active.is_empty() || rank * ways > MOST_UNKNOWNS {
            return false;
        }
        let blocks: Vec<Block> = active.iter().map(|&row| self.block(row, threshold)).collect();
        let Some(shared) = self.shared_part(&blocks) else {
            return false;
        };
        let mut steps = Matrix::zeros(active.len(), ways);
        let mut pull = vec![0.0; ways];
        for (at, block) in blocks.iter().enumerate() {
            pull.fill(0.0);
            for (k, score) in self.scores.row(block.row).iter().enumerate() {
                pull.iter_mut().zip(shared.row(k)).for_each(|(to, value)| *to += score * value);
            }
            let pulled = block.inverse_times(&pull);
            let own = steps.row_mut(at).iter_mut();
            own.zip(pulled.iter().zip(&block.newton)).for_each(|(to, (pulled, own))| *to = pulled - own);
        }
        self.take_step(threshold, &active, &steps, &shared)
    }

    /// What a step of Newton needs to know of an active row.
    fn block(&mut self, row: usize, threshold: f64) -> Block {
        self.refresh_residual(row);
        let parameters = self.parameters.row(row);
        let norm = length(parameters);
        let direction: Vec<f64> = parameters.iter().map(|g| g / norm).collect();
        let mut block = Block { row, across: 1.0 / (1.0 + threshold / norm), direction, newton: Vec::new() };
        let gradient: Vec<f64> =
            self.residual.iter().zip(&block.direction).map(|(r, e)| threshold * e - r).collect();
        block.newton = block.inverse_times(&gradient);
        block
    }

    /// V; none where rounding leaves the system without a solution.
    fn shared_part(&self, blocks: &[Block]) -> Option<Matrix<f64>> {
        let (rank, ways) = (self.scores.columns(), self.targets.columns());
        let unknowns = rank * ways;
        let mut system = Matrix::zeros(unknowns, unknowns);
        let mut right = vec![0.0; unknowns];
        let mut along = vec![0.0; unknowns];
        for block in blocks {
            let scores = self.scores.row(block.row);
            for (k, &score) in scores.iter().enumerate() {
                let part = k * ways..(k + 1) * ways;
                along[part.clone()].iter_mut().zip(&block.direction).for_each(|(to, e)| *to = score * e);
                right[part].iter_mut().zip(&block.newton).for_each(|(to, own)| *to -= score * own);
            }
            let lengthwise = 1.0 - block.across;
            for (at, &weight) in along.iter().enumerate() {
                let to = &mut system.row_mut(at)[..=at];
                to.iter_mut().zip(&along).for_each(|(to, other)| *to -= lengthwise * weight * other);
            }
            for (k, score) in scores.iter().enumerate() {
                for (other, second) in scores[..=k].iter().enumerate() {
                    let by = block.across * score * second;
                    (0..ways).for_each(|class| system.row_mut(k * ways + class)[other * ways + class] -= by);
                }
            }
        }
        (0..unknowns).for_each(|at| system.row_mut(at)[at] += 1.0);
        // Only the lower triangle is read.
        let factor = Cholesky::new(DMatrix::from_row_slice(unknowns, unknowns, system.as_slice()))?;
        let solved = factor.solve(&DMatrix::from_vec(unknowns, 1, right));
        Some(Matrix::from_vec(rank, ways, solved.as_slice().to_vec()))
    }

    /// Goes as far along the step as descends; false where no length does. U^T G changes by `shared` with all of it.
    fn take_step(
        &mut self,
        threshold: f64,
        active: &[usize],
        steps: &Matrix<f64>,
        shared: &Matrix<f64>,
    ) -> bool {
        let value = |by: f64| {
            let mut total = 0.0;
            for (at, &row) in active.iter().enumerate() {
                let (mut square, mut norm) = (0.0, 0.0);
                let pairs = self.parameters.row(row).iter().zip(steps.row(at));
                for ((g, d), y) in pairs.zip(self.targets.row(row)) {
                    let g = g + by * d;
                    square += (y - g) * (y - g);
                    norm += g * g;
                }
                total += 0.5 * square + threshold * norm.sqrt();
            }
            let explained = self.explained.as_slice().iter().zip(shared.as_slice());
            total - 0.5 * explained.map(|(c, v)| (c - by * v).powi(2)).sum::<f64>()
        };
        let now = value(0.0);
        let Some(&by) = STEP_LENGTHS.iter().find(|&&by| value(by) < now) else {
            return false;
        };
        for (at, &row) in active.iter().enumerate() {
            let own = self.parameters.row_mut(row).iter_mut();
            own.zip(steps.row(at)).for_each(|(g, d)| *g += by * d);
        }
        let explained = self.explained.as_mut_slice().iter_mut();
        explained.zip(shared.as_slice()).for_each(|(c, v)| *c -= by * v);
        true
    }

    /// Minimises the bound `|g_i| <= |g_i|^2 / (2 |g'_i|) + |g'_i| / 2` around the current g' over all active rows:
    /// `(M - U U^T) G = B` with `M = 1 + threshold / |g'_i|` on the diagonal and B the active rows of Xt Y.
    fn bounded_step(&mut self, threshold: f64) {
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
    pub fn slack(&mut self, row: usize, threshold: f64) -> Option<f64> {
        if self.active[row] {
            return None;
        }
        self.refresh_residual(row);
        let pull = if threshold > 0.0 { length(&self.residual) / threshold } else { 0.0 };
        Some(1.0 - pull.clamp(0.0, 1.0))
    }
}

/// An active row in a step of Newton.
struct Block {
    row: usize,
    /// a, the inverse of M across g: along it M is one.
    across: f64,
    direction: Vec<f64>,
    /// M^-1 times the gradient.
    newton: Vec<f64>,
}

impl Block {
    fn inverse_times(&self, values: &[f64]) -> Vec<f64> {
        let along = (1.0 - self.across) * dot_by_lanes(&self.direction, values);
        values.iter().zip(&self.direction).map(|(value, e)| self.across * value + along * e).collect()
    }
}

pub(super) fn length(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}
