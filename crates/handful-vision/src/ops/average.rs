//! The mean of each channel of each image; its gradient is shared equally by the pixels.

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::{Flex, FlexTensor};
use burn::tensor::Tensor;
use rayon::prelude::*;

use super::host::{dims4, in_order, tensor, values};
use super::spare;
use super::sums::sum;

fn forward(x: &FlexTensor) -> FlexTensor {
    let [images, channels, rows, columns] = dims4(x);
    let plane = (rows * columns).max(1);
    let mean = |plane: &[f32]| (sum(plane) / plane.len() as f64) as f32;
    let means: Vec<f32> = values(x).par_chunks(plane).with_min_len(64).map(mean).collect();
    tensor(means, [images, channels])
}

fn gradient(grad: &[f32], shape: [usize; 4]) -> FlexTensor {
    let plane = (shape[2] * shape[3]).max(1);
    let mut out = spare::take(grad.len() * plane);
    out.par_chunks_mut(plane)
        .zip(grad)
        .with_min_len(64)
        .for_each(|(out, grad)| out.fill(grad / plane as f32));
    tensor(out, shape)
}

#[derive(Debug)]
struct AverageBackward;

impl Backward<Flex, 1> for AverageBackward {
    type State = [usize; 4];

    fn backward(self, ops: Ops<[usize; 4], 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad = in_order(grads.consume::<Flex>(&ops.node));
        let [parent] = ops.parents;
        if let Some(node) = parent {
            grads.register::<Flex>(node.id, gradient(values(&grad), ops.state));
        }
    }
}

/// The means of a tensor that lives on burn's CPU backend.
pub(super) fn global_average(x: Tensor<4>) -> Tensor<2> {
    if !x.is_autodiff() {
        let x = in_order(super::plain(x));
        let y = forward(&x);
        spare::give(x);
        return Tensor::from_primitive::<Flex>(y);
    }
    let shape = x.dims();
    let (x, node) = super::tracked(x).into_parts();
    let prepared = AverageBackward.prepare::<NoCheckpointing>([node]);
    let y = forward(&in_order(x));
    let y = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(shape, y),
        OpsKind::UnTracked(prepared) => prepared.finish(y),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(y)
}
