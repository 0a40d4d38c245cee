//! The random numbers of one task of a training.

use handful::Matrix;
use handful::methods::trained::{Draws, Start, TensorSpec};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Noise and dropout, a function of seed and number of the task.
pub struct TaskDraws(ChaCha12Rng);

impl TaskDraws {
    /// The numbers of a task.
    pub fn new(seed: u64, task: u64) -> Self {
        let mut generator = ChaCha12Rng::seed_from_u64(seed);
        generator.set_stream(task);
        Self(generator)
    }

    /// A number above 0, up to 1.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }

    fn standard_normal(&mut self) -> f64 {
        // Box and Muller.
        let (radius, angle) = ((-2.0 * self.uniform().ln()).sqrt(), self.uniform());
        radius * (std::f64::consts::TAU * angle).cos()
    }

    /// A tensor as it is before training.
    pub(super) fn first(&mut self, spec: &TensorSpec) -> Matrix<f32> {
        let mut matrix = Matrix::zeros(spec.rows, spec.columns);
        for row in 0..spec.rows {
            for (column, value) in matrix.row_mut(row).iter_mut().enumerate() {
                *value = match spec.start {
                    Start::Constant(value) => value as f32,
                    Start::Identity => f32::from(u8::from(row == column)),
                    Start::Normal(deviation) => (deviation * self.standard_normal()) as f32,
                    Start::Uniform(bound) => (bound * (2.0 * self.uniform() - 1.0)) as f32,
                };
            }
        }
        matrix
    }
}

impl Draws for TaskDraws {
    fn normal(&mut self, rows: usize, columns: usize) -> Matrix<f64> {
        Matrix::from_vec(rows, columns, (0..rows * columns).map(|_| self.standard_normal()).collect())
    }

    fn kept(&mut self, rows: usize, columns: usize, rate: f64) -> Matrix<f64> {
        let mut kept = || if self.uniform() <= rate { 0.0 } else { 1.0 / (1.0 - rate) };
        Matrix::from_vec(rows, columns, (0..rows * columns).map(|_| kept()).collect())
    }
}
