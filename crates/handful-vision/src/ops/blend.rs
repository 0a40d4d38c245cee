//! Each image of a batch mixed with the one that is as far from the end of the batch: `y[i] = s x[i] + (1 - s) x[n-1-i]`.
//!
//! The map is its own transpose, so the gradient is the same mixture of the output's gradients.

use burn::backend::Autodiff;
use burn::backend::TensorMetadata;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::{Flex, FlexTensor};
use burn::tensor::Tensor;
use rayon::prelude::*;

use super::host::{in_order, tensor, values};

fn mixed(x: &FlexTensor, share: f32) -> FlexTensor {
    let (from, images) = (values(x), x.shape()[0].max(1));
    let length = (from.len() / images).max(1);
    let mut out = vec![0.0; from.len()];
    out.par_chunks_mut(length).zip(from.par_chunks(length)).enumerate().for_each(|(at, (out, own))| {
        let other = &from[(images - 1 - at) * length..][..length];
        for ((out, own), other) in out.iter_mut().zip(own).zip(other) {
            *out = share * own + (1.0 - share) * other;
        }
    });
    tensor(out, x.shape())
}

#[derive(Debug)]
struct BlendBackward;

impl Backward<Flex, 1> for BlendBackward {
    type State = f32;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad = in_order(grads.consume::<Flex>(&ops.node));
        if let [Some(node)] = ops.parents {
            grads.register::<Flex>(node.id, mixed(&grad, ops.state));
        }
    }
}

/// Mixes the images of a batch that lives on burn's CPU backend.
pub(super) fn blend(x: Tensor<4>, share: f32) -> Tensor<4> {
    if !x.is_autodiff() {
        return Tensor::from_primitive::<Flex>(mixed(&in_order(super::plain(x)), share));
    }
    let (x, node) = super::tracked(x).into_parts();
    let y = mixed(&in_order(x), share);
    let y = match BlendBackward.prepare::<NoCheckpointing>([node]).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(share, y),
        OpsKind::UnTracked(prepared) => prepared.finish(y),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(y)
}
