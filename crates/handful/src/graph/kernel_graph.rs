//! The kernel on features that carries the dependence, as an operator on values per row.
//!
//! Maximising the dependence `tr(K Y Y')` between features (kernel K) and predictions Y (linear kernel), while Y stays
//! near what a classifier said (Y0), has the solution `Y = (1 - a)(I - a K)^-1 Y0`, reached by repeating
//! `Y <- (1 - a) Y0 + a K Y`. K is a neighbourhood kernel with rows that sum to one:
//!
//! - small pools, exact: K averages over the k nearest rows;
//! - large pools, landmarks (Nystrom): `K = Z L^-1 Z'` with Z the share of each row's k nearest landmarks and L its
//!   column sums. A product costs O(U k) and every row of the pool still takes part, through its landmarks.

use rayon::prelude::*;

use super::evenly_spread;
use super::neighbours::Neighbours;
use crate::linalg::Matrix;
use crate::linalg::sums::unit;

/// Rows that the landmarks are moved by.
const LANDMARK_SAMPLE: usize = 40_000;
/// Steps of k-means on the sphere from evenly spread rows; two bring most of what many would.
const LANDMARK_STEPS: usize = 2;
/// Rows handled at a time by one thread.
const BLOCK: usize = 256;

/// The kernel; see the module.
#[derive(Clone, Debug)]
pub enum KernelGraph {
    /// Averages over the nearest rows.
    Exact(Neighbours),
    /// Averages through the nearest landmarks.
    Landmarks {
        /// The landmarks of each row.
        of_row: Neighbours,
        /// Where each landmark's list of rows begins.
        starts: Vec<usize>,
        /// Those lists.
        rows: Vec<u32>,
    },
}

impl KernelGraph {
    /// Makes the kernel of unit rows with every row compared with every other.
    pub fn exact(rows: &Matrix<f32>, neighbours: usize) -> Self {
        Self::Exact(Neighbours::among(rows, neighbours))
    }

    /// Makes the kernel of unit rows through `count` landmarks.
    pub fn landmarks(rows: &Matrix<f32>, count: usize, neighbours: usize) -> Self {
        let landmarks = choose_landmarks(rows, count);
        Self::from_landmark_neighbours(Neighbours::find(rows, &landmarks, neighbours), landmarks.rows())
    }

    fn from_landmark_neighbours(of_row: Neighbours, landmarks: usize) -> Self {
        let (starts, rows) = of_row.reversed(landmarks);
        Self::Landmarks { of_row, starts, rows }
    }

    /// Makes the kernel of some rows alone. An exact one becomes the whole of itself: it is only restricted when large.
    pub fn restricted(&self, rows: &[usize]) -> Option<Self> {
        match self {
            Self::Exact(_) => None,
            Self::Landmarks { of_row, starts, .. } => {
                Some(Self::from_landmark_neighbours(of_row.of_rows(rows), starts.len() - 1))
            }
        }
    }

    /// Mixes `start` with its kernel average: one round of `Y <- (1 - share) Y0 + share K Y`.
    pub fn round(&self, start: &Matrix<f32>, current: &Matrix<f32>, share: f32) -> Matrix<f32> {
        let columns = start.columns();
        let (lists, source) = match self {
            Self::Exact(neighbours) => (neighbours, None),
            Self::Landmarks { of_row, starts, rows } => (of_row, Some(landmark_means(starts, rows, current))),
        };
        let source = source.as_ref().unwrap_or(current);
        if lists.per_row == 0 || columns == 0 {
            return start.clone();
        }
        let each = share / lists.per_row as f32;
        let mut out = Matrix::zeros(start.rows(), columns);
        out.as_mut_slice().par_chunks_mut(BLOCK * columns).enumerate().for_each(|(block, out)| {
            for (at, out) in out.chunks_exact_mut(columns).enumerate() {
                let row = block * BLOCK + at;
                for &neighbour in lists.of_row(row) {
                    let values = source.row(neighbour as usize);
                    out.iter_mut().zip(values).for_each(|(out, value)| *out += value);
                }
                let own = start.row(row);
                out.iter_mut().zip(own).for_each(|(out, own)| *out = *out * each + own * (1.0 - share));
            }
        });
        out
    }

    /// Runs several rounds.
    pub fn smooth(&self, start: &Matrix<f32>, share: f64, rounds: usize) -> Matrix<f32> {
        let first = (rounds > 0).then(|| self.round(start, start, share as f32));
        let Some(first) = first else { return start.clone() };
        (1..rounds).fold(first, |current, _| self.round(start, &current, share as f32))
    }
}

/// The mean of the rows that have each landmark; zeros for a landmark that none has.
fn landmark_means(starts: &[usize], lists: &[u32], values: &Matrix<f32>) -> Matrix<f32> {
    let columns = values.columns();
    let mut means = Matrix::zeros(starts.len() - 1, columns);
    means.as_mut_slice().par_chunks_mut(columns.max(1)).enumerate().for_each(|(landmark, mean)| {
        let rows = &lists[starts[landmark]..starts[landmark + 1]];
        for &row in rows {
            mean.iter_mut().zip(values.row(row as usize)).for_each(|(mean, value)| *mean += value);
        }
        let scale = 1.0 / rows.len().max(1) as f32;
        mean.iter_mut().for_each(|mean| *mean *= scale);
    });
    means
}

/// Evenly spread rows, moved by a few steps of k-means.
fn choose_landmarks(rows: &Matrix<f32>, count: usize) -> Matrix<f32> {
    let sample = rows.gather(&evenly_spread(rows.rows(), LANDMARK_SAMPLE));
    spherical_means(&sample, count, LANDMARK_STEPS)
}

/// Finds means by k-means on the sphere, from evenly spread rows.
pub fn spherical_means(rows: &Matrix<f32>, count: usize, steps: usize) -> Matrix<f32> {
    let mut centres = rows.gather(&evenly_spread(rows.rows(), count));
    for _ in 0..steps {
        let nearest = Neighbours::find(rows, &centres, 1);
        let (starts, lists) = nearest.reversed(centres.rows());
        let mut means = landmark_means(&starts, &lists, rows);
        for centre in 0..centres.rows() {
            if starts[centre + 1] > starts[centre] {
                unit(means.row_mut(centre));
                centres.row_mut(centre).copy_from_slice(means.row(centre));
            }
        }
    }
    centres
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(count: usize) -> Matrix<f32> {
        let angle = |row: usize| row as f32 / count as f32 * std::f32::consts::TAU;
        Matrix::from_vec(count, 2, (0..count).flat_map(|row| [angle(row).cos(), angle(row).sin()]).collect())
    }

    #[test]
    fn exact_rounds_converge_to_the_solution_of_the_linear_system() {
        let rows = circle(12);
        let graph = KernelGraph::exact(&rows, 2);
        let start = Matrix::from_vec(12, 1, (0..12).map(|row| (row % 5) as f32).collect());
        let solved = graph.smooth(&start, 0.6, 200);
        // On a circle the two nearest rows are the two beside: (I - aK) y = (1 - a) y0, entry by entry.
        for row in 0..12 {
            let beside = solved.row((row + 1) % 12)[0] + solved.row((row + 11) % 12)[0];
            let left = solved.row(row)[0] - 0.3 * beside;
            assert!((left - 0.4 * start.row(row)[0]).abs() < 1e-4);
        }
    }

    #[test]
    fn landmark_kernel_is_the_product_of_its_parts() {
        let rows = circle(60);
        let graph = KernelGraph::landmarks(&rows, 10, 3);
        let KernelGraph::Landmarks { of_row, .. } = &graph else { panic!("asked for landmarks") };
        let start = Matrix::from_vec(60, 1, (0..60).map(|row| (row as f32).sin()).collect());
        let once = graph.round(&start, &start, 1.0);
        let mut degree = [0.0f64; 10];
        (0..60).for_each(|row| of_row.of_row(row).iter().for_each(|&at| degree[at as usize] += 1.0));
        for row in 0..60 {
            let mut slow = 0.0;
            for other in 0..60 {
                let shared = of_row.of_row(row).iter().filter(|at| of_row.of_row(other).contains(at));
                let kernel: f64 = shared.map(|&at| 1.0 / degree[at as usize] / 3.0).sum();
                slow += kernel * f64::from(start.row(other)[0]);
            }
            assert!((f64::from(once.row(row)[0]) - slow).abs() < 1e-5);
        }
    }
}
