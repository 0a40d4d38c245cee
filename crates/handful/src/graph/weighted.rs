//! The symmetric neighbour graph with Gaussian weights, and what spreads along it.
//!
//! ```text
//! w_ij = exp(-4 |z_i - z_j|^2 / |z_i - z_k(i)|^2)   for the k nearest j of i (k(i) the furthest of them),  W = (w + w') / 2
//! ```
//!
//! as in the package GraphLearning (Calder et al. 2020). Laplace learning (Zhu et al. 2003) is the harmonic extension of the
//! labels, Poisson learning (Calder et al. 2020) puts them in as sources:
//!
//! ```text
//! Laplace:  (D - W) u = 0 at unlabelled rows, u = one-hot at labelled ones
//! Poisson:  ((1 + e) I - D^-1/2 W D^-1/2) D^1/2 u = D^-1/2 (one-hot - mean)     e = 0.01 keeps unconnected parts apart
//! ```
//!
//! Both are solved by a dozen steps of conjugate gradients and no more: to stop early regularises, and at one label per
//! class is worth up to 20 points to Laplace learning, whose exact solution is flat away from the labels.

use rayon::prelude::*;

use super::neighbours::Neighbours;
use crate::fit::head::Example;
use crate::linalg::Matrix;
use crate::linalg::conjugate_gradients::{CgStop, conjugate_gradients};
use crate::linalg::sums::dot_by_lanes;

/// Rows handled at a time by one thread.
const BLOCK: usize = 256;
/// A dozen steps of conjugate gradients, however good the solution is by then.
const STEPS: CgStop = CgStop { tolerance: 0.0, max_steps: 12 };
/// e of Poisson learning.
const POISSON_SHIFT: f32 = 1e-2;
/// What the degree of an isolated row is taken as.
const LEAST_DEGREE: f32 = 1e-6;

/// A sparse symmetric graph, its rows one after the other.
#[derive(Clone, Debug)]
pub struct WeightedGraph {
    starts: Vec<usize>,
    columns: Vec<u32>,
    weights: Vec<f32>,
    degrees: Vec<f32>,
}

impl WeightedGraph {
    /// Weighs and symmetrises the nearest neighbours of unit rows.
    pub fn new(rows: &Matrix<f32>, neighbours: &Neighbours) -> Self {
        let count = rows.rows();
        let one_way = |row: usize| -> Vec<(u32, f32)> {
            if neighbours.per_row == 0 {
                return Vec::new();
            }
            let distance =
                |&other: &u32| (2.0 - 2.0 * dot_by_lanes(rows.row(row), rows.row(other as usize))).max(0.0);
            let distances: Vec<f32> = neighbours.of_row(row).iter().map(distance).collect();
            let furthest = distances.iter().copied().fold(1e-9, f32::max);
            let weight = |(&other, distance): (&u32, f32)| (other, (-4.0 * distance / furthest).exp());
            neighbours.of_row(row).iter().zip(distances).map(weight).collect()
        };
        let one_way: Vec<Vec<(u32, f32)>> = (0..count).into_par_iter().map(one_way).collect();
        let mut both: Vec<Vec<(u32, f32)>> = vec![Vec::new(); count];
        for (row, list) in one_way.iter().enumerate() {
            for &(other, weight) in list {
                both[row].push((other, 0.5 * weight));
                both[other as usize].push((row as u32, 0.5 * weight));
            }
        }
        both.par_iter_mut().for_each(|list| {
            list.sort_by_key(|&(other, _)| other);
            list.dedup_by(|later, earlier| {
                let same = later.0 == earlier.0;
                if same {
                    earlier.1 += later.1;
                }
                same
            });
        });
        let mut starts = Vec::with_capacity(count + 1);
        starts.push(0);
        let (mut columns, mut weights) = (Vec::new(), Vec::new());
        for list in &both {
            columns.extend(list.iter().map(|&(other, _)| other));
            weights.extend(list.iter().map(|&(_, weight)| weight));
            starts.push(columns.len());
        }
        let degree = |list: &Vec<(u32, f32)>| list.iter().map(|&(_, weight)| weight).sum::<f32>();
        let degrees = both.iter().map(degree).collect();
        Self { starts, columns, weights, degrees }
    }

    /// Returns the neighbours of a row and their weights.
    pub fn of_row(&self, row: usize) -> impl Iterator<Item = (usize, f32)> {
        let range = self.starts[row]..self.starts[row + 1];
        self.columns[range.clone()]
            .iter()
            .map(|&other| other as usize)
            .zip(self.weights[range].iter().copied())
    }

    /// Writes for every row `own(row)` times itself plus `weigh(row, other)` times each neighbour.
    fn combine(
        &self,
        values: &Matrix<f32>,
        out: &mut Matrix<f32>,
        own: impl Fn(usize) -> f32 + Sync,
        weigh: impl Fn(usize, usize, f32) -> f32 + Sync,
    ) {
        let columns = values.columns();
        out.as_mut_slice().par_chunks_mut((BLOCK * columns).max(1)).enumerate().for_each(|(block, out)| {
            for (at, out) in out.chunks_exact_mut(columns.max(1)).enumerate() {
                let row = block * BLOCK + at;
                let scale = own(row);
                out.iter_mut().zip(values.row(row)).for_each(|(out, value)| *out = scale * value);
                for (other, weight) in self.of_row(row) {
                    let weight = weigh(row, other, weight);
                    if weight != 0.0 {
                        out.iter_mut().zip(values.row(other)).for_each(|(out, value)| *out += weight * value);
                    }
                }
            }
        });
    }

    /// Replaces x by `(1 - share) x + share D^-1 W x`, several times.
    pub fn smooth(&self, values: &Matrix<f32>, share: f32, rounds: usize) -> Matrix<f32> {
        let mut current = values.clone();
        let mut next = Matrix::zeros(values.rows(), values.columns());
        for _ in 0..rounds {
            let own = |row: usize| if self.degrees[row] > 0.0 { 1.0 - share } else { 1.0 };
            self.combine(&current, &mut next, own, |row, _, weight| {
                share * weight / self.degrees[row].max(LEAST_DEGREE)
            });
            std::mem::swap(&mut current, &mut next);
        }
        current
    }

    /// Runs Laplace learning; one distribution over the classes for every row.
    pub fn laplace(&self, given: &[Example], ways: usize) -> Matrix<f32> {
        let count = self.degrees.len();
        let mut labelled = vec![false; count];
        let mut fixed = Matrix::zeros(count, ways);
        for example in given {
            labelled[example.row] = true;
            fixed.row_mut(example.row)[example.class] = 1.0;
        }
        let degree = |row: usize| self.degrees[row] + LEAST_DEGREE;
        let mut right = Matrix::zeros(count, ways);
        self.combine(
            &fixed,
            &mut right,
            |_| 0.0,
            |row, other, weight| {
                if labelled[other] && !labelled[row] { weight } else { 0.0 }
            },
        );
        let system = |x: &Matrix<f32>, out: &mut Matrix<f32>| {
            let own = |row: usize| if labelled[row] { 1.0 } else { degree(row) };
            self.combine(
                x,
                out,
                own,
                |row, other, weight| {
                    if labelled[row] || labelled[other] { 0.0 } else { -weight }
                },
            );
        };
        let precondition: Vec<f32> = (0..count).map(|row| 1.0 / degree(row)).collect();
        let mut solved = conjugate_gradients(system, &right, Some(&precondition), STEPS);
        let floor = 1e-4 / ways as f32;
        for (row, &labelled) in labelled.iter().enumerate() {
            let values = solved.row_mut(row);
            if labelled {
                values.copy_from_slice(fixed.row(row));
            }
            values.iter_mut().for_each(|value| *value = value.max(0.0) + floor);
            let total: f32 = values.iter().sum();
            values.iter_mut().for_each(|value| *value /= total);
        }
        solved
    }

    /// Runs Poisson learning; scores whose rows have mean zero, of unit size over the unlabelled rows.
    pub fn poisson(&self, given: &[Example], ways: usize) -> Matrix<f32> {
        let count = self.degrees.len();
        let mut of_class = vec![0.0f32; ways];
        given.iter().for_each(|example| of_class[example.class] += 1.0);
        let total = given.len().max(1) as f32;
        let root = |row: usize| 1.0 / self.degrees[row].max(LEAST_DEGREE).sqrt();
        let mut source = Matrix::zeros(count, ways);
        for example in given {
            let scale = root(example.row);
            let values = source.row_mut(example.row);
            values.iter_mut().zip(&of_class).for_each(|(value, count)| *value -= scale * count / total);
            values[example.class] += scale;
        }
        let roots: Vec<f32> = (0..count).map(root).collect();
        let system = |x: &Matrix<f32>, out: &mut Matrix<f32>| {
            let weigh = |row: usize, other: usize, weight: f32| -weight * roots[row] * roots[other];
            self.combine(x, out, |_| 1.0 + POISSON_SHIFT, weigh);
        };
        let mut scores = conjugate_gradients(system, &source, None, STEPS);
        let mut mean = vec![0.0f64; ways];
        let mut volume = 0.0f64;
        for row in 0..count {
            let scale = root(row);
            scores.row_mut(row).iter_mut().for_each(|value| *value *= scale);
            let degree = f64::from(self.degrees[row]);
            volume += degree;
            mean.iter_mut()
                .zip(scores.row(row))
                .for_each(|(mean, value)| *mean += degree * f64::from(*value));
        }
        let mut labelled = vec![false; count];
        given.iter().for_each(|example| labelled[example.row] = true);
        let (mut square, mut entries) = (0.0f64, 0usize);
        for (row, &labelled) in labelled.iter().enumerate() {
            let values = scores.row_mut(row);
            for (class, value) in values.iter_mut().enumerate() {
                *value -= (mean[class] / volume.max(f64::MIN_POSITIVE)) as f32;
                *value /= of_class[class].max(1.0);
            }
            let row_mean = values.iter().sum::<f32>() / ways as f32;
            values.iter_mut().for_each(|value| *value -= row_mean);
            if !labelled {
                square += values.iter().map(|value| f64::from(value * value)).sum::<f64>();
                entries += ways;
            }
        }
        let scale = (1.0 / ((square / entries.max(1) as f64).sqrt() + 1e-12)) as f32;
        scores.as_mut_slice().iter_mut().for_each(|value| *value *= scale);
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve rows on a circle, two neighbours each: the ring graph with equal weights.
    fn ring() -> (Matrix<f32>, WeightedGraph) {
        let angle = |row: usize| row as f32 / 12.0 * std::f32::consts::TAU;
        let rows =
            Matrix::from_vec(12, 2, (0..12).flat_map(|row| [angle(row).cos(), angle(row).sin()]).collect());
        let graph = WeightedGraph::new(&rows, &Neighbours::among(&rows, 2));
        (rows, graph)
    }

    fn given(labels: &[(usize, usize)]) -> Vec<Example> {
        labels.iter().map(|&(row, class)| Example { row, class, weight: 1.0 }).collect()
    }

    #[test]
    fn weights_are_symmetric_and_those_of_the_formula() {
        let (_, graph) = ring();
        for row in 0..12 {
            let list: Vec<(usize, f32)> = graph.of_row(row).collect();
            assert_eq!(list.len(), 2);
            for (other, weight) in list {
                assert!((weight - (-4.0f32).exp()).abs() < 1e-3 * weight, "both neighbours are the furthest");
                assert!(graph.of_row(other).any(|(back, same)| back == row && same == weight));
            }
        }
    }

    #[test]
    fn laplace_on_a_ring_is_the_line_between_the_labels() {
        let (_, graph) = ring();
        let solved = graph.laplace(&given(&[(0, 0), (6, 1)]), 2);
        // Six steps lie between the labels: a dozen steps of conjugate gradients are exact there.
        for step in 0..=6 {
            let expected = 1.0 - step as f32 / 6.0;
            assert!((solved.row(step)[0] - expected).abs() < 2e-3, "{step}: {:?}", solved.row(step));
        }
    }

    #[test]
    fn poisson_on_a_ring_is_odd_around_the_middle_and_largest_at_its_source() {
        let (_, graph) = ring();
        let scores = graph.poisson(&given(&[(0, 0), (6, 1)]), 2);
        assert!((1..12).all(|row| scores.row(row)[0] < scores.row(0)[0]));
        for row in 0..12 {
            assert!((scores.row(row)[0] + scores.row(row)[1]).abs() < 1e-5);
            let mirrored = scores.row((6 + 12 - row) % 12)[1];
            assert!((scores.row(row)[0] - mirrored).abs() < 1e-3, "{row}");
        }
    }

    #[test]
    fn smoothing_keeps_the_mean_of_a_regular_graph_and_rows_without_neighbours() {
        let (_, graph) = ring();
        let values = Matrix::from_vec(12, 1, (0..12).map(|row| (row * row % 7) as f32).collect());
        let smoothed = graph.smooth(&values, 0.6, 3);
        assert!((smoothed.mean_row()[0] - values.mean_row()[0]).abs() < 1e-5);
        let alone = Matrix::from_vec(1, 2, vec![1.0, 0.0]);
        let graph = WeightedGraph::new(&alone, &Neighbours::among(&alone, 3));
        assert_eq!(graph.smooth(&alone, 0.8, 2), alone);
    }
}
