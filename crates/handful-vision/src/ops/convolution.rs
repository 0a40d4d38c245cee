//! What the two kinds of convolution share: how burn differentiates them.
//!
//! [`conv`](super::conv) and [`depthwise`](super::depthwise) do the arithmetic; this makes an operation of burn of it, on
//! tensors that live on its CPU backend.

use std::fmt::Debug;
use std::marker::PhantomData;

use burn::backend::Autodiff;
use burn::backend::TensorMetadata;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::{Flex, FlexTensor};
use burn::tensor::Tensor;

use super::ending::Ending;
use super::host::{in_order, tensor, values};
use super::{Padding, spare};

/// A convolution without bias, of sizes that are known.
pub(super) trait Convolution: Debug + Send + Sync + 'static {
    /// The layer of these tensors.
    fn of(x: &FlexTensor, weight: &FlexTensor, stride: usize, padding: Padding) -> Self;

    /// Images, channels, rows and columns of the output.
    fn output(&self) -> [usize; 4];

    /// The output, with what follows.
    fn forward(&self, x: &[f32], weight: &[f32], ending: Option<&Ending>) -> Vec<f32>;

    /// The gradient of the input from that of the output.
    fn input_gradient(&self, weight: &[f32], grad: &[f32]) -> Vec<f32>;

    /// The gradient of the weights from that of the output.
    fn weight_gradient(&self, x: &[f32], grad: &[f32]) -> Vec<f32>;
}

#[derive(Debug)]
struct ConvolutionBackward<L>(PhantomData<L>);

impl<L: Convolution> Backward<Flex, 2> for ConvolutionBackward<L> {
    type State = (FlexTensor, FlexTensor, usize, Padding);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [input, weights] = ops.parents;
        let grad = in_order(grads.consume::<Flex>(&ops.node));
        let (x, weight, stride, padding) = ops.state;
        let layer = L::of(&x, &weight, stride, padding);
        if let Some(node) = weights {
            let gradient = layer.weight_gradient(values(&x), values(&grad));
            grads.register::<Flex>(node.id, tensor(gradient, weight.shape()));
        }
        if let Some(node) = input {
            let gradient = layer.input_gradient(values(&weight), values(&grad));
            grads.register::<Flex>(node.id, tensor(gradient, x.shape()));
        }
        spare::give(grad);
        spare::give(x);
    }
}

fn forward<L: Convolution>(
    x: &FlexTensor,
    weight: &FlexTensor,
    stride: usize,
    padding: Padding,
    ending: Option<&Ending>,
) -> FlexTensor {
    let layer = L::of(x, weight, stride, padding);
    tensor(layer.forward(values(x), values(weight), ending), layer.output())
}

/// The convolution and what follows, of tensors on the CPU that take no part in differentiation.
pub(super) fn convolve_plain<L: Convolution>(
    x: Tensor<4>,
    weight: Tensor<4>,
    stride: usize,
    padding: Padding,
    ending: Option<&Ending>,
) -> Tensor<4> {
    let (x, weight) = (in_order(super::plain(x)), in_order(super::plain(weight)));
    let y = forward::<L>(&x, &weight, stride, padding, ending);
    spare::give(x);
    Tensor::from_primitive::<Flex>(y)
}

/// The convolution of tensors on the CPU, tracked if either of them is.
pub(super) fn convolve<L: Convolution>(
    x: Tensor<4>,
    weight: Tensor<4>,
    stride: usize,
    padding: Padding,
) -> Tensor<4> {
    if !x.is_autodiff() && !weight.is_autodiff() {
        return convolve_plain::<L>(x, weight, stride, padding, None);
    }
    let (x, x_node) = super::tracked(x).into_parts();
    let (weight, weight_node) = super::tracked(weight).into_parts();
    let prepared = ConvolutionBackward::<L>(PhantomData).prepare::<NoCheckpointing>([x_node, weight_node]);
    let (x, weight) = (in_order(x), in_order(weight));
    let y = forward::<L>(&x, &weight, stride, padding, None);
    let y = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish((x, weight, stride, padding), y),
        OpsKind::UnTracked(prepared) => prepared.finish(y),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(y)
}
