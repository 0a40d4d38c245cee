//! A number added to every pixel of a channel; its gradient is the sum over images and pixels.

use burn::backend::Autodiff;
use burn::backend::TensorMetadata;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::{Flex, FlexTensor};
use burn::tensor::Tensor;
use rayon::prelude::*;

use super::host::{dims4, in_order, tensor, values};

fn forward(x: &FlexTensor, bias: &FlexTensor) -> FlexTensor {
    let [_, channels, rows, columns] = dims4(x);
    let (plane, bias) = ((rows * columns).max(1), values(bias));
    let mut y = values(x).to_vec();
    y.par_chunks_mut(plane).with_min_len(8).enumerate().for_each(|(place, y)| {
        let bias = bias[place % channels];
        y.iter_mut().for_each(|y| *y += bias);
    });
    tensor(y, x.shape())
}

/// Sums of each channel; each is one thread's, so that they do not depend on how many there are.
fn channel_sums(grad: &FlexTensor) -> Vec<f32> {
    let [_, channels, rows, columns] = dims4(grad);
    let (plane, grad) = ((rows * columns).max(1), values(grad));
    let sum = |channel: usize| {
        let planes = grad.chunks_exact(plane).skip(channel).step_by(channels);
        planes.map(|plane| f64::from(plane.iter().sum::<f32>())).sum::<f64>() as f32
    };
    (0..channels).into_par_iter().map(sum).collect()
}

#[derive(Debug)]
struct BiasBackward;

impl Backward<Flex, 2> for BiasBackward {
    type State = ();

    fn backward(self, ops: Ops<(), 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [input, bias] = ops.parents;
        let grad = in_order(grads.consume::<Flex>(&ops.node));
        if let Some(node) = bias {
            let sums = channel_sums(&grad);
            let channels = sums.len();
            grads.register::<Flex>(node.id, tensor(sums, [channels]));
        }
        if let Some(node) = input {
            grads.register::<Flex>(node.id, grad);
        }
    }
}

/// Adds to tensors that live on burn's CPU backend.
pub(super) fn add(x: Tensor<4>, bias: Tensor<1>) -> Tensor<4> {
    if !x.is_autodiff() && !bias.is_autodiff() {
        let (x, bias) = (in_order(super::plain(x)), in_order(super::plain(bias)));
        return Tensor::from_primitive::<Flex>(forward(&x, &bias));
    }
    let (x, x_node) = super::tracked(x).into_parts();
    let (bias, bias_node) = super::tracked(bias).into_parts();
    let prepared = BiasBackward.prepare::<NoCheckpointing>([x_node, bias_node]);
    let y = forward(&in_order(x), &in_order(bias));
    let y = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish((), y),
        OpsKind::UnTracked(prepared) => prepared.finish(y),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(y)
}
