//! From the gradient of a head's rows to that of the network that gave them.

use burn::tensor::{Tensor, TensorData};
use handful::Matrix;
use handful::methods::trained::System;

use super::TaskGradients;
use super::images::TaskImages;
use crate::episodes::TaskDraws;
use crate::episodes::lesson::{Leaves, Rows, lesson};
use crate::networks::Network;
use crate::tensors::{self, values_of};

/// What a task says of a network, which must be on a device that differentiates, and of the head above it.
pub(super) fn gradients(
    system: &dyn System,
    network: &Network,
    leaves: &Leaves,
    task: &TaskImages,
    draws: &mut TaskDraws,
) -> TaskGradients {
    let device = tensors::device_of(network);
    let embeddings = network.forward(task.tensor(0..task.count(), &device));
    let [count, dim] = embeddings.dims();
    let rows = Rows {
        all: Matrix::from_vec(count, dim, values_of(&embeddings)).cast(),
        labels: task.labels.clone(),
        query_labels: task.query_labels.clone(),
        ways: task.ways,
    };
    let lesson = lesson(system, leaves, rows, draws);
    let pull: Matrix<f32> = lesson.rows.cast();
    let pull = TensorData::new(pull.as_slice().to_vec(), [count, dim]);
    let pull = Tensor::<2>::from_data(pull, &device.inner()).autodiff();
    let (network, statistics) = tensors::differentiated(network, &(embeddings * pull).sum().backward());
    let head = leaves.keys().map(|name| (*name).to_owned()).zip(lesson.tensors).collect();
    TaskGradients { loss: lesson.loss, head, network, statistics }
}
