//! The graph of `am` at given parameters, and the gradient of its loss by hand; the formulas are those of the module above.

use nalgebra::{DMatrix, LU};

use super::AmParams;
use crate::fit::adam::{Parameters, StepScale};
use crate::fit::classifier::softmax_rows;
use crate::graph::dense::{nearest, squared_distances};
use crate::linalg::Matrix;
use crate::linalg::dense::inner_products;
use crate::scalar::Scalar;
use crate::simd::AdamStep;

/// Added to a degree, as the authors do.
const DEGREE_FLOOR: f64 = 1e-12;

/// What is learnt of one task.
pub(super) struct Manifold<'a> {
    params: &'a AmParams,
    neighbours: usize,
    alpha: f64,
    exponent: f64,
    /// Labelled and unlabelled rows.
    rows: Matrix<f64>,
    labels: &'a [usize],
    ways: usize,
    centroids: Parameters<f64>,
    /// G.
    rates: Parameters<f64>,
    /// B.
    gates: Parameters<f64>,
}

/// The graph at the current parameters, and what spread along it.
struct Spread {
    /// |x_i - x_j|.
    distances: Matrix<f64>,
    deviation: f64,
    /// A, after the mask.
    kernel: Matrix<f64>,
    /// S and D.
    normalised: Matrix<f64>,
    degrees: Vec<f64>,
    system: LU<f64, nalgebra::Dyn, nalgebra::Dyn>,
    /// F.
    scores: DMatrix<f64>,
}

impl<'a> Manifold<'a> {
    pub(super) fn new(
        params: &'a AmParams,
        many_shots: bool,
        rows: Matrix<f64>,
        labels: &'a [usize],
        start: &Matrix<f64>,
    ) -> Self {
        let pick = |few: f64, many: f64| if many_shots { many } else { few };
        let alpha = pick(params.alpha, params.alpha_five_shot);
        let size = rows.rows() + start.rows();
        let constant = |value: f64| {
            let mut parameters = Parameters::zeros(size, size);
            parameters.start(&Matrix::from_vec(size, size, vec![value; size * size]));
            parameters
        };
        let mut centroids = Parameters::zeros(start.rows(), start.columns());
        centroids.start(start);
        Self {
            params,
            neighbours: if many_shots { params.neighbours_five_shot } else { params.neighbours },
            alpha,
            exponent: pick(params.entropy_exponent, params.entropy_exponent_five_shot),
            ways: start.rows(),
            rows,
            labels,
            centroids,
            rates: constant(1.0),
            gates: constant(alpha),
        }
    }

    fn size(&self) -> usize {
        self.ways + self.rows.rows()
    }

    /// A node's features.
    fn node(&self, node: usize) -> &[f64] {
        if node < self.ways {
            &self.centroids.values.row(node)[..self.rows.columns()]
        } else {
            self.rows.row(node - self.ways)
        }
    }

    fn spread(&self) -> Spread {
        let size = self.size();
        let values = (0..size).flat_map(|node| self.node(node).iter().copied()).collect();
        let nodes = Matrix::from_vec(size, self.rows.columns(), values);
        let mut distances = squared_distances(&inner_products(&nodes, &nodes));
        distances.as_mut_slice().iter_mut().for_each(|value| *value = value.sqrt());
        let count = (size * size) as f64;
        let mean = distances.as_slice().iter().sum::<f64>() / count;
        let squares: f64 = distances.as_slice().iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
        let deviation = if deviation > 0.0 { deviation } else { 1.0 };
        let mut full = Matrix::zeros(size, size);
        for i in self.ways..size {
            for j in (0..size).filter(|&j| j != i) {
                full.row_mut(i)[j] = (-self.rates.values.row(i)[j] * distances.row(i)[j] / deviation).exp();
            }
        }
        let mut kernel = Matrix::zeros(size, size);
        for i in self.ways..size {
            for j in nearest(full.row(i), i, self.neighbours) {
                kernel.row_mut(i)[j] = full.row(i)[j];
            }
        }
        let mut normalised = Matrix::zeros(size, size);
        for i in 0..size {
            for j in 0..size {
                let both = 0.5 * (kernel.row(i)[j] + kernel.row(j)[i]);
                normalised.row_mut(i)[j] = self.gates.values.row(i)[j] * both;
            }
        }
        let degrees: Vec<f64> =
            normalised.iter_rows().map(|row| row.iter().sum::<f64>() + DEGREE_FLOOR).collect();
        for i in 0..size {
            for (j, value) in normalised.row_mut(i).iter_mut().enumerate() {
                *value /= (degrees[i] * degrees[j]).sqrt();
            }
        }
        let system = DMatrix::from_fn(size, size, |i, j| {
            f64::from(u8::from(i == j)) - self.alpha * normalised.row(i)[j]
        });
        let system = LU::new(system);
        let source = DMatrix::from_fn(size, self.ways, |i, c| f64::from(u8::from(i == c)));
        // The system is regular: S has no eigenvalue above one.
        let scores = system.solve(&source).unwrap_or(source);
        Spread { distances, deviation, kernel, normalised, degrees, system, scores }
    }

    /// Predictions of labelled and unlabelled rows.
    fn probabilities(&self, scores: &DMatrix<f64>) -> Matrix<f64> {
        let mut out = Matrix::zeros(self.rows.rows(), self.ways);
        for row in 0..self.rows.rows() {
            for (class, value) in out.row_mut(row).iter_mut().enumerate() {
                *value = self.params.inverse_temperature * scores[(row + self.ways, class)];
            }
        }
        softmax_rows(&mut out);
        out
    }

    pub(super) fn predictions(&self) -> Matrix<f64> {
        let all = self.probabilities(&self.spread().scores);
        all.gather(&(self.labels.len()..all.rows()).collect::<Vec<_>>())
    }

    /// dL/dF, rows of centroids zero.
    fn score_gradient(&self, p: &Matrix<f64>) -> DMatrix<f64> {
        let given = self.labels.len();
        let unlabelled = p.rows() - given;
        let mut out = DMatrix::zeros(self.size(), self.ways);
        let scale = self.params.inverse_temperature;
        for (row, &label) in self.labels.iter().enumerate() {
            for class in 0..self.ways {
                let wanted = f64::from(u8::from(class == label));
                let weight = self.params.cross_entropy_weight / given as f64;
                out[(row + self.ways, class)] = scale * weight * (p.row(row)[class] - wanted);
            }
        }
        let mean: Vec<f64> = (0..self.ways)
            .map(|class| {
                (given..p.rows()).map(|row| p.row(row)[class]).sum::<f64>() / unlabelled.max(1) as f64
            })
            .collect();
        for row in given..p.rows() {
            let slope = |class: usize| {
                (self.params.conditional_weight * self.entropy_slope(p.row(row)[class])
                    - self.params.marginal_weight * self.entropy_slope(mean[class]))
                    / unlabelled as f64
            };
            let along: f64 = (0..self.ways).map(|class| p.row(row)[class] * slope(class)).sum();
            for class in 0..self.ways {
                out[(row + self.ways, class)] = scale * p.row(row)[class] * (slope(class) - along);
            }
        }
        out
    }

    /// Derivative of a class's part of the entropy: -log p, or -a p^(a-1) / (a - 1), up to a constant.
    fn entropy_slope(&self, p: f64) -> f64 {
        let a = self.exponent;
        if (a - 1.0).abs() < 1e-6 { -p.max(1e-30).ln() } else { -a / (a - 1.0) * p.max(0.0).powf(a - 1.0) }
    }

    /// Writes the gradient of all parameters.
    fn gradient(&mut self) {
        let spread = self.spread();
        let (size, ways) = (self.size(), self.ways);
        let upstream = self.score_gradient(&self.probabilities(&spread.scores));
        // dL/dS = a (M^-T dL/dF) F'.
        let mut adjoint = upstream;
        if !spread.system.solve_transpose_mut_or_keep(&mut adjoint) {
            return;
        }
        let mut graph = (&adjoint * spread.scores.transpose()) * self.alpha;
        let mut through_degree = vec![0.0; size];
        for i in 0..size {
            for j in 0..size {
                let product = graph[(i, j)] * spread.normalised.row(i)[j];
                through_degree[i] -= 0.5 * product / spread.degrees[i];
                through_degree[j] -= 0.5 * product / spread.degrees[j];
            }
        }
        for i in 0..size {
            for j in 0..size {
                let direct = graph[(i, j)] / (spread.degrees[i] * spread.degrees[j]).sqrt();
                graph[(i, j)] = direct + through_degree[i];
            }
        }
        self.centroids.gradient.as_mut_slice().fill(0.0);
        self.rates.gradient.as_mut_slice().fill(0.0);
        for i in 0..size {
            for j in 0..size {
                let both = 0.5 * (spread.kernel.row(i)[j] + spread.kernel.row(j)[i]);
                self.gates.gradient.row_mut(i)[j] = graph[(i, j)] * both;
                let kernel = spread.kernel.row(i)[j];
                if kernel == 0.0 {
                    continue;
                }
                let (one, other) = (self.gates.values.row(i)[j], self.gates.values.row(j)[i]);
                let pull = 0.5 * (graph[(i, j)] * one + graph[(j, i)] * other) * kernel / spread.deviation;
                let distance = spread.distances.row(i)[j];
                self.rates.gradient.row_mut(i)[j] = -pull * distance;
                if j < ways && distance > 0.0 {
                    let scale = -pull * self.rates.values.row(i)[j] / distance;
                    let from = self.rows.row(i - ways);
                    let pulled = self.centroids.gradient.row_mut(j).iter_mut();
                    for ((pulled, own), from) in pulled.zip(self.centroids.values.row(j)).zip(from) {
                        *pulled += scale * (own - from);
                    }
                }
            }
        }
    }

    pub(super) fn step(&mut self, step: usize) {
        self.gradient();
        let step = AdamStep::usual(step, self.params.learning_rate);
        for parameters in [&mut self.centroids, &mut self.rates, &mut self.gates] {
            parameters.step(f64::kernels(), step, StepScale::Coordinate);
        }
    }
}

/// Solving with the transposed system in place.
trait SolveTransposed {
    /// Says whether it could.
    fn solve_transpose_mut_or_keep(&self, right: &mut DMatrix<f64>) -> bool;
}

impl SolveTransposed for LU<f64, nalgebra::Dyn, nalgebra::Dyn> {
    fn solve_transpose_mut_or_keep(&self, right: &mut DMatrix<f64>) -> bool {
        // P M = L U, so M' = U' L' P.
        self.u().tr_solve_upper_triangular_mut(right) && self.l().tr_solve_lower_triangular_mut(right) && {
            self.p().inv_permute_rows(right);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pick = for<'a, 'b> fn(&'a mut Manifold<'b>) -> &'a mut Parameters<f64>;

    /// The loss by its definition, the mask and the deviation held at what they are.
    fn loss(manifold: &Manifold<'_>, mask: &Matrix<f64>, deviation: f64) -> f64 {
        let (size, ways) = (manifold.size(), manifold.ways);
        let distance = |i: usize, j: usize| -> f64 {
            manifold.node(i).iter().zip(manifold.node(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        let kernel = |i: usize, j: usize| -> f64 {
            let rate = manifold.rates.values.row(i)[j];
            if mask.row(i)[j] > 0.0 { (-rate * distance(i, j) / deviation).exp() } else { 0.0 }
        };
        let weights = DMatrix::from_fn(size, size, |i, j| {
            manifold.gates.values.row(i)[j] * 0.5 * (kernel(i, j) + kernel(j, i))
        });
        let degrees: Vec<f64> = (0..size).map(|i| weights.row(i).sum() + DEGREE_FLOOR).collect();
        let system = DMatrix::from_fn(size, size, |i, j| {
            f64::from(u8::from(i == j)) - manifold.alpha * weights[(i, j)] / (degrees[i] * degrees[j]).sqrt()
        });
        let inverse = system.try_inverse().expect("regular");
        let p = manifold.probabilities(&inverse.columns(0, ways).into_owned());
        let given = manifold.labels.len();
        let entropy = |p: &[f64]| -> f64 {
            let a = manifold.exponent;
            if a == 1.0 {
                -p.iter().map(|p| p * p.ln()).sum::<f64>()
            } else {
                (1.0 - p.iter().map(|p| p.powf(a)).sum::<f64>()) / (a - 1.0)
            }
        };
        let cross = manifold.labels.iter().enumerate().map(|(row, &y)| -p.row(row)[y].ln()).sum::<f64>();
        let query = p.gather(&(given..p.rows()).collect::<Vec<_>>());
        let conditional = query.iter_rows().map(entropy).sum::<f64>() / query.rows() as f64;
        let params = manifold.params;
        params.cross_entropy_weight * cross / given as f64
            - params.marginal_weight * entropy(&query.mean_row())
            + params.conditional_weight * conditional
    }

    #[test]
    fn gradient_is_that_of_finite_differences() {
        for exponent in [1.0, 2.0] {
            let params = AmParams { neighbours: 4, entropy_exponent: exponent, ..AmParams::authors() };
            let value = |at: usize| ((at * 7919 % 101) as f64 / 50.0 - 1.0).sin();
            let rows = Matrix::from_vec(8, 3, (0..24).map(value).collect());
            let start = Matrix::from_vec(2, 3, (40..46).map(value).collect());
            let labels = [0, 1];
            let mut manifold = Manifold::new(&params, false, rows, &labels, &start);
            // Away from the start, where all gates are equal and cancel.
            for at in 0..100 {
                manifold.gates.values.row_mut(at / 10)[at % 10] += 0.2 * value(at + 7);
                manifold.rates.values.row_mut(at / 10)[at % 10] += 0.2 * value(at + 3);
            }
            let spread = manifold.spread();
            let (mask, deviation) = (spread.kernel, spread.deviation);
            manifold.gradient();
            let mut check = |pick: Pick, row: usize, column: usize| {
                let got = pick(&mut manifold).gradient.row(row)[column];
                let mut at = |by: f64| {
                    pick(&mut manifold).values.row_mut(row)[column] += by;
                    let value = loss(&manifold, &mask, deviation);
                    pick(&mut manifold).values.row_mut(row)[column] -= by;
                    value
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((got - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{row} {column}: {got} {slope}");
            };
            for row in 0..10 {
                for column in 0..10 {
                    check(|manifold| &mut manifold.rates, row, column);
                    check(|manifold| &mut manifold.gates, row, column);
                }
            }
            (0..6).for_each(|at| check(|manifold| &mut manifold.centroids, at / 3, at % 3));
        }
    }
}
