//! `maml`: a start from which a few steps on the labelled images are enough (Finn, Abbeel and Levine 2017).
//!
//! ```text
//! theta_0 = theta,   theta_(i+1) = theta_i - alpha grad L_support(theta_i),   loss = L_query(theta_K)
//! g_K = grad L_query(theta_K),   g_i = g_(i+1) - alpha H_support(theta_i) g_(i+1),   d loss / d theta = g_0
//! ```
//!
//! theta is the network with a linear classifier. cbfinn/maml (`main.py`) and wyharveychen/CloserLookFewShot
//! (`methods/maml.py`): K = 5 steps of alpha = 0.01 in training, cross entropy, Adam on the start. Labelled images and queries
//! each go through the network as a batch of their own whose statistics normalise it, also in use: what is said of one query
//! depends on the others.
//!
//! H is the matrix of second derivatives; its products with a vector are exact (see [`dual`](crate::dual)). The first order takes
//! g_K for the gradient, an approximation that loses little by both papers and saves those products; it goes through every
//! network, the second order through `conv4` and `compact`.

use std::ops::Range;

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use handful::Matrix;
use handful::methods::trained::{Start, TensorSpec, Tensors};
use serde::{Deserialize, Serialize};

use super::TaskGradients;
use super::images::{ImageTasks, TaskImages};
use crate::dual;
use crate::error::VisionError;
use crate::layers::Linear;
use crate::networks::{Architecture, Network};
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
    /// Whether the gradient goes through the steps; without that it is of the first order.
    pub second_order: bool,
}

impl Default for Maml {
    fn default() -> Self {
        Self { inner_steps: 5, test_steps: 10, inner_rate: 0.01, second_order: true }
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
        tensors::apply(Model::linear(self.network.clone(), classifier), theta).0
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

    /// The second derivatives of the loss on the labelled images, times a direction.
    fn curvature(&self, theta: &Arrays, direction: &Arrays) -> Arrays {
        let model = self.model(theta);
        // Running statistics are no part of the direction; whatever they are counts for nothing here.
        let (along, _) = tensors::apply(model.valid(), direction);
        let numbers: Vec<i64> = self.task.labels.iter().map(|&label| label as i64).collect();
        let labels = Tensor::<1, Int>::from_data(numbers.as_slice(), &self.device.clone().inner());
        let images = self.task.tensor(0..numbers.len(), &self.device);
        let features = model.network.dual(&along.network, images);
        let scores = features.map(|rows| dual::classifier(&model.classifier, &along.classifier, rows));
        let Some(change) = scores.and_then(|scores| scores.cross_entropy_change(labels)) else {
            return Arrays::new();
        };
        tensors::differentiated(&model, &change.backward()).0
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
        if self.inner_rate.is_finite() && self.inner_rate > 0.0 {
            return Ok(());
        }
        let (value, requirement) = (self.inner_rate.to_string(), "it must be a number above 0".to_owned());
        Err(VisionError::Setting { setting: "inner rate", value, requirement })
    }

    /// Refuses a network that its gradient does not go through.
    pub(super) fn check_network(&self, backbone: Architecture) -> Result<(), VisionError> {
        if !self.second_order || backbone.has_second_order() {
            return Ok(());
        }
        let requirement = "the second order goes through conv4 and compact only; --set second_order=false";
        let (value, requirement) = (backbone.to_string(), requirement.to_owned());
        Err(VisionError::Setting { setting: "backbone", value, requirement })
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
        let (mut passed, mut statistics) = (Vec::new(), Arrays::new());
        for step in 0..self.inner_steps {
            let slope = learning.support(&theta);
            let next = moved(&theta, -self.inner_rate, &slope.gradients);
            passed.push(std::mem::replace(&mut theta, next));
            if step == 0 {
                statistics = of_network(&slope.statistics);
            }
        }
        let Slope { loss, mut gradients, .. } = learning.query(&theta);
        for theta in passed.iter().rev().filter(|_| self.second_order) {
            gradients = moved(&gradients, -self.inner_rate, &learning.curvature(theta, &gradients));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::networks::compact::Compact;
    use crate::networks::conv4::Conv4;

    const FEATURES: usize = 6;

    /// Numbers that look drawn, all over the place.
    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|at| ((at * 7919 + seed * 104_729 + 31) % 1009) as f32 / 504.5 - 1.0).collect()
    }

    fn product(a: &Arrays, b: &Arrays) -> f64 {
        let pairs = a.iter().flat_map(|(name, a)| a.values.iter().zip(&b[name].values));
        pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    #[test]
    fn second_derivatives_are_symmetric() {
        let device = Device::flex().autodiff();
        let labels = vec![0, 0, 1, 1, 2, 2];
        let pixels = numbers(labels.len() * 3 * 256, 1);
        let task = TaskImages { pixels, labels, query_labels: Vec::new(), ways: 3, size: 16 };
        let conv4 = Network::Conv4(Conv4::new(FEATURES, &device));
        let compact = Network::Compact(Compact::new([4, 5, 6, FEATURES], &device));
        for (name, network) in [("conv4", conv4), ("compact", compact)] {
            let network = tensors::draw(network, 3);
            let head = [("weight", 3, FEATURES), ("bias", 1, 3)].map(|(name, rows, columns)| {
                (name.to_owned(), Matrix::from_vec(rows, columns, numbers(rows * columns, rows)))
            });
            let theta = start(&network, &head.into());
            let learning = Learning { network: &network, device: device.clone(), task: &task };
            let parameters = learning.support(&theta).gradients;
            let [one, other] = [5, 6].map(|seed| -> Arrays {
                let drawn = |(at, (name, array)): (usize, (&String, &Array))| {
                    let values = numbers(array.values.len(), seed * 100 + at);
                    (name.clone(), Array { values, shape: array.shape.clone() })
                };
                parameters.iter().enumerate().map(drawn).collect()
            });
            let [of_one, of_other] = [&one, &other].map(|direction| learning.curvature(&theta, direction));
            let (there, back) = (product(&other, &of_one), product(&one, &of_other));
            let scale = product(&one, &of_one).abs() + product(&other, &of_other).abs();
            assert!((there - back).abs() < 1e-3 * scale, "{name}: {there} and {back}");
            assert!(scale > 1e-3, "{name}: {scale}");
        }
    }
}
