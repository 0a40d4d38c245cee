//! The end of a residual block, `y = act(a + b)`, in one pass each way.
//!
//! The gradient is the same for both sides. The output is all that it needs, and the pooling or convolution after the
//! block keeps that anyway.

use burn::backend::Autodiff;
use burn::backend::TensorMetadata;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::{Flex, FlexTensor};
use burn::tensor::Tensor;
use rayon::prelude::*;

use super::activation::Activation;
use super::host::{in_order, own_values, tensor, values};
use super::spare;
use super::wide::widened;

/// Numbers that one thread takes at a time.
const CHUNK: usize = 1 << 14;

widened! {
    fn add_and_rectify<const FUSED: bool>(y: &mut [f32], b: &[f32], activation: Activation) {
        y.iter_mut().zip(b).for_each(|(y, b)| *y = activation.apply(*y + b));
    }
}

widened! {
    fn way_back<const FUSED: bool>(grad: &mut [f32], y: &[f32], activation: Activation) {
        grad.iter_mut().zip(y).for_each(|(grad, &y)| *grad = activation.gradient(y, *grad));
    }
}

fn forward(mut a: FlexTensor, b: &FlexTensor, activation: Activation) -> FlexTensor {
    if let Some(y) = own_values(&mut a) {
        add_to(y, b, activation);
        return a;
    }
    let mut y = values(&a).to_vec();
    add_to(&mut y, b, activation);
    tensor(y, a.shape())
}

fn add_to(y: &mut [f32], b: &FlexTensor, activation: Activation) {
    y.par_chunks_mut(CHUNK).zip(values(b).par_chunks(CHUNK)).for_each(|(y, b)| {
        add_and_rectify(y, b, activation);
    });
}

fn gradient(y: &FlexTensor, grad: &FlexTensor, activation: Activation) -> FlexTensor {
    let mut out = values(grad).to_vec();
    out.par_chunks_mut(CHUNK).zip(values(y).par_chunks(CHUNK)).for_each(|(out, y)| {
        way_back(out, y, activation);
    });
    tensor(out, y.shape())
}

#[derive(Debug)]
struct ResidualBackward;

impl Backward<Flex, 2> for ResidualBackward {
    /// The output and the activation, where there is any.
    type State = Option<(FlexTensor, Activation)>;

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let mut grad = in_order(grads.consume::<Flex>(&ops.node));
        if let Some((y, activation)) = &ops.state {
            grad = gradient(y, &grad, *activation);
        }
        for node in ops.parents.into_iter().flatten() {
            grads.register::<Flex>(node.id, grad.clone());
        }
    }
}

/// Adds tensors of the same shape that live on burn's CPU backend.
pub(super) fn add(a: Tensor<4>, b: Tensor<4>, activation: Activation) -> Tensor<4> {
    if !a.is_autodiff() && !b.is_autodiff() {
        let (a, b) = (in_order(super::plain(a)), in_order(super::plain(b)));
        let y = forward(a, &b, activation);
        spare::give(b);
        return Tensor::from_primitive::<Flex>(y);
    }
    let (a, a_node) = super::tracked(a).into_parts();
    let (b, b_node) = super::tracked(b).into_parts();
    let prepared = ResidualBackward.prepare::<NoCheckpointing>([a_node, b_node]);
    let y = forward(in_order(a), &in_order(b), activation);
    let y = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let state = (!activation.is_none()).then(|| (y.clone(), activation));
            prepared.finish(state, y)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(y),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(y)
}
