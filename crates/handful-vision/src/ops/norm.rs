//! Batch normalisation and the activation after it, in one pass over memory each way.
//!
//! ```text
//! ẑ = (x - mean) / sqrt(variance + ε)      z = γ ẑ + β      y = act(z)
//! ```
//!
//! Statistics are those of the batch (biased variance) while training, the running ones otherwise.

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
use super::ending::Ending;
use super::host::{dims4, in_order, own_values, tensor, values};
use super::spare;
use super::sums::{sum, two_sums};
use super::wide::widened;

/// The planes of channel `c` of each image.
fn channel(x: &[f32], [batch, channels, plane]: [usize; 3], c: usize) -> impl Iterator<Item = &[f32]> {
    (0..batch).map(move |image| &x[(image * channels + c) * plane..][..plane])
}

/// The planes of a new tensor, by channel.
fn planes_by_channel(out: &mut [f32], [_, channels, plane]: [usize; 3]) -> Vec<Vec<&mut [f32]>> {
    let mut planes: Vec<Vec<&mut [f32]>> = (0..channels).map(|_| Vec::new()).collect();
    for (place, slice) in out.chunks_exact_mut(plane).enumerate() {
        planes[place % channels].push(slice);
    }
    planes
}

fn sizes(x: &FlexTensor) -> [usize; 3] {
    let [batch, channels, rows, columns] = dims4(x);
    [batch, channels, rows * columns]
}

/// Mean and biased variance of each channel.
fn statistics(x: &[f32], sizes: [usize; 3]) -> (Vec<f32>, Vec<f32>) {
    let count = (sizes[0] * sizes[2]) as f64;
    (0..sizes[1])
        .into_par_iter()
        .map(|c| {
            let mean = channel(x, sizes, c).map(sum).sum::<f64>() / count;
            let centre = mean as f32;
            let (off, squares) = channel(x, sizes, c)
                .map(|plane| deviations(plane, centre))
                .fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
            (mean as f32, (squares / count - (off / count).powi(2)) as f32)
        })
        .unzip()
}

/// What the pixels become.
fn affine(x: &[f32], sizes: [usize; 3], ending: &Ending) -> Vec<f32> {
    let mut y = spare::take(x.len());
    y.par_chunks_mut(sizes[2])
        .zip(x.par_chunks(sizes[2]))
        .with_min_len(8)
        .enumerate()
        .for_each(|(place, (y, x))| ending.of_plane(place % sizes[1], x, y));
    y
}

/// The numbers of one channel.
struct Channel {
    mean: f32,
    inverse: f32,
    gamma: f32,
    beta: f32,
    activation: Activation,
}

impl Channel {
    /// The gradient by z, and ẑ.
    #[inline(always)]
    fn before_activation(&self, x: f32, grad: f32) -> (f32, f32) {
        let normal = (x - self.mean) * self.inverse;
        (self.activation.gradient(self.gamma * normal + self.beta, grad), normal)
    }
}

widened! {
    /// `Σ (x - centre)` and `Σ (x - centre)²`.
    fn deviations<const FUSED: bool>(x: &[f32], centre: f32) -> (f64, f64) {
        two_sums(x, x, |v, _| (v - centre, (v - centre) * (v - centre)))
    }
}

widened! {
    /// `Σ dz` and `Σ dz ẑ`.
    fn gradient_sums<const FUSED: bool>(channel: &Channel, x: &[f32], grad: &[f32]) -> (f64, f64) {
        two_sums(x, grad, |x, grad| {
            let (grad, normal) = channel.before_activation(x, grad);
            (grad, grad * normal)
        })
    }
}

widened! {
    /// `γ / sqrt(variance + ε) (dz - mean(dz) - ẑ mean(dz ẑ))`.
    fn input_gradient<const FUSED: bool>(
        channel: &Channel,
        means: [f32; 2],
        x: &[f32],
        grad: &[f32],
        out: &mut [f32],
    ) {
        let scale = channel.gamma * channel.inverse;
        for ((out, &x), &grad) in out.iter_mut().zip(x).zip(grad) {
            let (grad, normal) = channel.before_activation(x, grad);
            *out = scale * (grad - means[0] - normal * means[1]);
        }
    }
}

#[derive(Clone, Debug)]
struct Saved {
    x: FlexTensor,
    gamma: FlexTensor,
    beta: FlexTensor,
    mean: Vec<f32>,
    variance: Vec<f32>,
    epsilon: f64,
    activation: Activation,
}

impl Saved {
    /// Gradients of the input, γ and β.
    fn gradients(&self, grad: &[f32]) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
        let (x, gamma, beta) = (values(&self.x), values(&self.gamma), values(&self.beta));
        let sizes = sizes(&self.x);
        let count = (sizes[0] * sizes[2]) as f64;
        let mut out = spare::take(x.len());
        let parameters: Vec<(f32, f32)> = planes_by_channel(&mut out, sizes)
            .into_par_iter()
            .enumerate()
            .map(|(c, planes)| {
                let inverse = 1.0 / (f64::from(self.variance[c]) + self.epsilon).sqrt();
                let channel_of = Channel {
                    mean: self.mean[c],
                    inverse: inverse as f32,
                    gamma: gamma[c],
                    beta: beta[c],
                    activation: self.activation,
                };
                let (sum, product) = channel(x, sizes, c)
                    .zip(channel(grad, sizes, c))
                    .map(|(x, grad)| gradient_sums(&channel_of, x, grad))
                    .fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
                let (mean_grad, mean_product) = ((sum / count) as f32, (product / count) as f32);
                let planes = planes.into_iter().zip(channel(x, sizes, c)).zip(channel(grad, sizes, c));
                for ((out, x), grad) in planes {
                    input_gradient(&channel_of, [mean_grad, mean_product], x, grad, out);
                }
                (product as f32, sum as f32)
            })
            .collect();
        let (gamma, beta) = parameters.into_iter().unzip();
        (out, gamma, beta)
    }
}

#[derive(Debug)]
struct NormBackward;

impl Backward<Flex, 3> for NormBackward {
    type State = Saved;

    fn backward(self, ops: Ops<Saved, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad = in_order(grads.consume::<Flex>(&ops.node));
        let saved = ops.state;
        let (x, gamma, beta) = saved.gradients(values(&grad));
        let shapes = [saved.x.shape(), saved.gamma.shape(), saved.beta.shape()];
        for ((parent, gradient), shape) in ops.parents.into_iter().zip([x, gamma, beta]).zip(shapes) {
            if let Some(node) = parent {
                grads.register::<Flex>(node.id, tensor(gradient, shape));
            }
        }
        spare::give(grad);
        spare::give(saved.x);
    }
}

/// Normalises by the batch's statistics; gives the output, the mean and the biased variance.
pub(super) fn train(
    x: Tensor<4>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    epsilon: f64,
    activation: Activation,
) -> (Tensor<4>, Vec<f32>, Vec<f32>) {
    let (x, x_node) = super::tracked(x).into_parts();
    let (gamma, gamma_node) = super::tracked(gamma).into_parts();
    let (beta, beta_node) = super::tracked(beta).into_parts();
    let prepared = NormBackward.prepare::<NoCheckpointing>([x_node, gamma_node, beta_node]);
    let (x, gamma, beta) = (in_order(x), in_order(gamma), in_order(beta));
    let sizes = sizes(&x);
    let (mean, variance) = statistics(values(&x), sizes);
    let ending = Ending::of_norm([values(&gamma), values(&beta), &mean, &variance], epsilon, activation);
    let y = tensor(affine(values(&x), sizes, &ending), x.shape());
    let y = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let saved =
                Saved { x, gamma, beta, mean: mean.clone(), variance: variance.clone(), epsilon, activation };
            prepared.finish(saved, y)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(y),
    };
    (Tensor::from_primitive::<Autodiff<Flex>>(y), mean, variance)
}

/// What normalising by given statistics does to a channel.
pub(super) fn ending(parameters: [Tensor<1>; 4], epsilon: f64, activation: Activation) -> Ending {
    let parameters = parameters.map(|tensor| in_order(super::plain(tensor)));
    Ending::of_norm(parameters.each_ref().map(values), epsilon, activation)
}

/// Normalises by given statistics, outside training.
pub(super) fn infer(x: Tensor<4>, ending: &Ending) -> Tensor<4> {
    let mut x = in_order(super::plain(x));
    let sizes = sizes(&x);
    if let Some(x) = own_values(&mut x) {
        let planes = x.par_chunks_mut(sizes[2]).with_min_len(8).enumerate();
        planes.for_each(|(place, plane)| ending.apply(place % sizes[1], plane));
    } else {
        x = tensor(affine(values(&x), sizes, ending), x.shape());
    }
    Tensor::from_primitive::<Flex>(x)
}
