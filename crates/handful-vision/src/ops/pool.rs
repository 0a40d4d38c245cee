//! The 2 x 2 max-pooling of every network here, on the CPU. Of equal values the first counts, as in PyTorch.

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
use super::spare;
use super::wide::widened;

/// Places of the window's four pixels relative to its first.
fn corners(columns: usize) -> [usize; 4] {
    [0, 1, columns, columns + 1]
}

fn greatest(plane: &[f32], start: usize, corners: [usize; 4]) -> usize {
    let mut best = start;
    for corner in &corners[1..] {
        if plane[start + corner] > plane[best] {
            best = start + corner;
        }
    }
    best
}

widened! {
    fn pool_plane<const FUSED: bool>(x: &[f32], columns: usize, y: &mut [f32], out_columns: usize) {
        for (row, y) in y.chunks_exact_mut(out_columns).enumerate() {
            let (upper, lower) = x[2 * row * columns..][..2 * columns].split_at(columns);
            for ((y, upper), lower) in y.iter_mut().zip(upper.chunks_exact(2)).zip(lower.chunks_exact(2)) {
                *y = upper[0].max(upper[1]).max(lower[0].max(lower[1]));
            }
        }
    }
}

fn forward(x: &FlexTensor) -> FlexTensor {
    let [batch, channels, rows, columns] = dims4(x);
    let (out_rows, out_columns) = (rows / 2, columns / 2);
    let mut y = spare::take(batch * channels * out_rows * out_columns);
    let planes = values(x).par_chunks(rows * columns);
    let planes = y.par_chunks_mut(out_rows * out_columns).zip(planes).with_min_len(8);
    planes.for_each(|(y, x)| pool_plane(x, columns, y, out_columns));
    tensor(y, [batch, channels, out_rows, out_columns])
}

fn gradient(x: &FlexTensor, grad: &[f32]) -> Vec<f32> {
    let [batch, channels, rows, columns] = dims4(x);
    let (out_rows, out_columns) = (rows / 2, columns / 2);
    let mut out = vec![0.0; batch * channels * rows * columns];
    let inputs = values(x).par_chunks(rows * columns).zip(grad.par_chunks(out_rows * out_columns));
    out.par_chunks_mut(rows * columns).zip(inputs).with_min_len(8).for_each(|(out, (x, grad))| {
        for (place, &grad) in grad.iter().enumerate() {
            let start = 2 * (place / out_columns) * columns + 2 * (place % out_columns);
            out[greatest(x, start, corners(columns))] = grad;
        }
    });
    out
}

#[derive(Debug)]
struct PoolBackward;

impl Backward<Flex, 1> for PoolBackward {
    type State = FlexTensor;

    fn backward(self, ops: Ops<FlexTensor, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad = in_order(grads.consume::<Flex>(&ops.node));
        let [parent] = ops.parents;
        if let Some(node) = parent {
            let gradient = gradient(&ops.state, values(&grad));
            grads.register::<Flex>(node.id, tensor(gradient, ops.state.shape()));
        }
    }
}

/// The greatest of each 2 x 2 window; an odd last row or column is dropped.
pub(super) fn max_pool(x: Tensor<4>) -> Tensor<4> {
    if !x.is_autodiff() {
        let x = in_order(super::plain(x));
        let y = forward(&x);
        spare::give(x);
        return Tensor::from_primitive::<Flex>(y);
    }
    let (x, node) = super::tracked(x).into_parts();
    let prepared = PoolBackward.prepare::<NoCheckpointing>([node]);
    let x = in_order(x);
    let y = forward(&x);
    let y = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(x, y),
        OpsKind::UnTracked(prepared) => prepared.finish(y),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(y)
}
