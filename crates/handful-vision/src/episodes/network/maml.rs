//! `maml`: a start from which a few steps on the labelled images are enough (Finn, Abbeel and Levine 2017).
//!
//! ```text
//! theta_0 = theta,   theta_(i+1) = theta_i - alpha grad L_support(theta_i),   loss = L_query(theta_K)
//! d loss / d theta  is taken as  grad L_query(theta_K)
//! ```
//!
//! theta is the network with a linear classifier. cbfinn/maml (`main.py`) and wyharveychen/CloserLookFewShot
//! (`methods/maml.py`): K = 5 steps of alpha = 0.01 in training, cross entropy, Adam on the start. Labelled images and queries
//! each go through the network as a batch of their own whose statistics normalise it, also in use: what is said of one query
//! depends on the others.
//!
//! The gradient is that of the first order, which their papers and code have as an approximation that loses little. The second
//! order needs products with second derivatives: our kernels on the CPU are differentiated once, and central differences of
//! gradients, at the one step size tried, were off by 1.3 times what the second order adds.

use std::ops::Range;

use burn::tensor::{Device, Int, Tensor};
use handful::Matrix;
use handful::methods::trained::{Start, TensorSpec, Tensors};
use serde::{Deserialize, Serialize};

use super::TaskGradients;
use super::images::{ImageTasks, TaskImages};
use crate::error::VisionError;
use crate::layers::Linear;
use crate::networks::Network;
use crate::tensors::{self, Array, Arrays, values_of};
use crate::training::model::Model;

/// Constants of MAML.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Maml {
    /// K, steps on the labelled images in training.
    pub inner_steps: usize,
    /// The same in use.
    pub test_steps: usize,
    /// alpha.
    pub inner_rate: f64,
}

impl Default for Maml {
    fn default() -> Self {
        Self { inner_steps: 5, test_steps: 10, inner_rate: 0.01 }
    }
}

/// Names of the classifier among the parameters.
const WEIGHT: &str = "classifier.weight";
const BIAS: &str = "classifier.bias";
/// What the names of the network's parameters begin with.
const NETWORK: &str = "network.";

/// A task, and the network whose numbers change.
struct Learning<'a> {
    network: &'a Network,
    device: Device,
    task: &'a TaskImages,
}

/// A loss and what it changes with.
struct Slope {
    loss: f64,
    gradients: Arrays,
    statistics: Arrays,
}

impl Learning<'_> {
    /// The network and its classifier with these numbers. Running statistics are among them: those that the network itself
    /// shares with its copies count for nothing.
    fn model(&self, theta: &Arrays) -> Model {
        let shape = &theta[WEIGHT].shape;
        let classifier = Linear::new(shape[1], shape[0], &self.device);
        tensors::apply(Model { network: self.network.clone(), classifier }, theta).0
    }

    fn slope(&self, theta: &Arrays, images: Range<usize>, labels: &[usize]) -> Slope {
        let model = self.model(theta);
        let numbers: Vec<i64> = labels.iter().map(|&label| label as i64).collect();
        let classes = Tensor::<1, Int>::from_data(numbers.as_slice(), &self.device.clone().inner());
        let (loss, _) = model.loss(self.task.tensor(images, &self.device), classes, 0.0);
        let value = f64::from(loss.clone().into_scalar::<f32>());
        let (gradients, statistics) = tensors::differentiated(&model, &loss.backward());
        Slope { loss: value, gradients, statistics }
    }

    /// The slope on the labelled images.
    fn support(&self, theta: &Arrays) -> Slope {
        self.slope(theta, 0..self.task.labels.len(), &self.task.labels)
    }

    /// The slope on the queries.
    fn query(&self, theta: &Arrays) -> Slope {
        self.slope(theta, self.task.labels.len()..self.task.count(), &self.task.query_labels)
    }
}

/// Numbers moved by so much of a vector; what the vector does not have stays.
fn moved(theta: &Arrays, by: f64, vector: &Arrays) -> Arrays {
    let mut moved = theta.clone();
    for (name, direction) in vector {
        let Some(array) = moved.get_mut(name) else { continue };
        for (value, direction) in array.values.iter_mut().zip(&direction.values) {
            *value = (f64::from(*value) + by * f64::from(*direction)) as f32;
        }
    }
    moved
}

/// The numbers of a network and of its classifier, as a model names them.
fn start(network: &Network, head: &Tensors) -> Arrays {
    let mut theta: Arrays = tensors::collect(network)
        .into_iter()
        .map(|named| (format!("{NETWORK}{}", named.name), named.array))
        .collect();
    let (weight, bias) = (&head["weight"], &head["bias"]);
    let values = |matrix: &Matrix<f32>| matrix.as_slice().to_vec();
    theta.insert(
        WEIGHT.into(),
        Array { shape: vec![weight.rows(), weight.columns()], values: values(weight) },
    );
    theta.insert(BIAS.into(), Array { shape: vec![bias.columns()], values: values(bias) });
    theta
}

/// What belongs to the network, under its own names.
fn of_network(arrays: &Arrays) -> Arrays {
    arrays
        .iter()
        .filter_map(|(name, array)| Some((name.strip_prefix(NETWORK)?.into(), array.clone())))
        .collect()
}

impl Maml {
    /// The name of the system.
    pub const NAME: &'static str = "maml";

    /// Refuses constants that mean nothing.
    ///
    /// # Errors
    /// [`VisionError::Setting`] names the constant.
    pub fn check(&self) -> Result<(), VisionError> {
        let refuse = |setting, value: String, requirement: &str| {
            Err(VisionError::Setting { setting, value, requirement: requirement.to_owned() })
        };
        if !(self.inner_rate.is_finite() && self.inner_rate > 0.0) {
            return refuse("inner rate", self.inner_rate.to_string(), "it must be a number above 0");
        }
        Ok(())
    }

    /// The classifier that a task begins with.
    pub(super) fn tensors(&self, dim: usize, ways: usize) -> Vec<TensorSpec> {
        let bound = Start::Uniform(1.0 / (dim as f64).sqrt());
        vec![
            TensorSpec { name: "weight", rows: ways, columns: dim, start: bound },
            TensorSpec { name: "bias", rows: 1, columns: ways, start: Start::Constant(0.0) },
        ]
    }

    /// What a task says of the start.
    pub(super) fn gradients(&self, network: &Network, head: &Tensors, task: &TaskImages) -> TaskGradients {
        let learning = Learning { network, device: tensors::device_of(network), task };
        let mut theta = start(network, head);
        let mut statistics = Arrays::new();
        for step in 0..self.inner_steps {
            let slope = learning.support(&theta);
            theta = moved(&theta, -self.inner_rate, &slope.gradients);
            if step == 0 {
                statistics = of_network(&slope.statistics);
            }
        }
        let Slope { loss, gradients, .. } = learning.query(&theta);
        let matrix = |(name, key): (&str, &str)| {
            let Array { shape, values } = &gradients[key];
            let rows = if shape.len() == 2 { shape[0] } else { 1 };
            let values = values.iter().map(|&value| f64::from(value)).collect::<Vec<f64>>();
            (name.to_owned(), Matrix::from_vec(rows, values.len() / rows, values))
        };
        let head = [("weight", WEIGHT), ("bias", BIAS)].map(matrix).to_vec();
        TaskGradients { loss, head, network: of_network(&gradients), statistics }
    }

    /// The share of a task's queries that are labelled rightly after the steps of use.
    fn accuracy(&self, network: &Network, head: &Tensors, task: &TaskImages) -> f64 {
        let learning = Learning { network, device: tensors::device_of(network), task };
        let steps = 0..self.test_steps;
        let adapted = steps.fold(start(network, head), |theta, _| {
            moved(&theta, -self.inner_rate, &learning.support(&theta).gradients)
        });
        let model = learning.model(&adapted);
        let queries = task.tensor(task.labels.len()..task.count(), &learning.device);
        let scores = values_of(&model.classifier.forward(model.network.forward(queries)));
        let best = |scores: &[f32]| (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        let labels = scores.chunks(task.ways).map(best);
        let right = labels.zip(&task.query_labels).filter(|(label, truth)| *label == Some(**truth)).count();
        right as f64 / task.query_labels.len().max(1) as f64
    }

    /// The accuracy on tasks, one by one. The head must be for as many classes as they have.
    pub(super) fn accuracies(
        &self,
        network: &Network,
        head: &Tensors,
        tasks: &ImageTasks<'_>,
        count: usize,
    ) -> Result<Vec<f64>, VisionError> {
        // Tasks share the running statistics of the network, which its forward pass changes and nothing reads.
        (0..count as u64).map(|number| Ok(self.accuracy(network, head, &tasks.task(number)?))).collect()
    }
}
