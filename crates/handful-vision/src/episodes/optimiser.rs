//! From gradients to steps, as PyTorch takes them.

use handful::Matrix;
use serde::{Deserialize, Serialize};

/// How a tensor follows its gradient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimiser {
    /// Stochastic gradient descent with Nesterov's momentum.
    Sgd {
        /// How much of the velocity stays.
        momentum: f64,
    },
    /// Adam with its usual constants; weight decay is added to the gradient.
    Adam,
}

/// What is remembered of a tensor's gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// Velocity, or the mean gradient.
    pub first: Matrix<f32>,
    /// The mean squared gradient.
    pub second: Matrix<f32>,
}

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

impl Moments {
    /// Nothing yet.
    pub fn new(rows: usize, columns: usize) -> Self {
        Self { first: Matrix::zeros(rows, columns), second: Matrix::zeros(rows, columns) }
    }
}

impl Optimiser {
    /// Takes step number `step`, from 0.
    pub fn step(
        self,
        tensor: &mut Matrix<f32>,
        gradient: &Matrix<f64>,
        moments: &mut Moments,
        rate: f64,
        weight_decay: f64,
        step: usize,
    ) {
        let correct = |beta: f64| 1.0 - beta.powi(step as i32 + 1);
        let (correct1, correct2) = (correct(BETA1), correct(BETA2));
        let places = tensor.as_mut_slice().iter_mut().zip(gradient.as_slice());
        let moments = moments.first.as_mut_slice().iter_mut().zip(moments.second.as_mut_slice());
        for ((value, gradient), (first, second)) in places.zip(moments) {
            let gradient = gradient + weight_decay * f64::from(*value);
            let change = match self {
                Self::Sgd { momentum } => {
                    let velocity = momentum * f64::from(*first) + gradient;
                    *first = velocity as f32;
                    gradient + momentum * velocity
                }
                Self::Adam => {
                    let mean = BETA1 * f64::from(*first) + (1.0 - BETA1) * gradient;
                    let square = BETA2 * f64::from(*second) + (1.0 - BETA2) * gradient * gradient;
                    (*first, *second) = (mean as f32, square as f32);
                    mean / correct1 / ((square / correct2).sqrt() + EPSILON)
                }
            };
            *value = (f64::from(*value) - rate * change) as f32;
        }
    }
}
