//! The layers' arithmetic: our own kernels on the CPU, burn's on every other device.
//!
//! burn runs everywhere, but its CPU backend loses time in gradients, and takes longer to compile with optimisation than
//! all the rest of the program. The kernels here take over every operation whose time depends on the number of pixels or
//! weights, so that burn's need not be fast. They are the same functions, tested against burn's own.

mod activation;
mod average;
mod bias;
mod blend;
mod conv;
mod convolution;
mod depthwise;
mod descent;
mod ending;
mod geometry;
mod host;
#[cfg(target_arch = "x86_64")]
mod inverted;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod norm;
mod panels;
mod pool;
mod residual;
mod spare;
mod sums;
mod wide;
mod winograd;

use burn::backend::flex::{Flex, FlexTensor};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, DispatchDevice};
use burn::tensor::module as burn_ops;
use burn::tensor::ops::{ConvOptions, MaxPoolOptions};
use burn::tensor::{Device, Tensor};

use self::conv::Dense;
use self::convolution::{convolve, convolve_plain};
use self::depthwise::Depthwise;

pub use self::activation::Activation;
pub use self::descent::Descent;

/// Zeros around an image: before and after, for rows and columns.
pub type Padding = [(usize, usize); 2];

fn is_cpu(device: &Device) -> bool {
    matches!(device.clone().inner().as_dispatch(), DispatchDevice::Flex(_))
}

/// The CPU tensor inside a tensor that takes part in differentiation.
///
/// # Panics
/// If the tensor is on another device, which the callers have checked.
fn tracked<const D: usize>(tensor: Tensor<D>) -> FloatTensor<Autodiff<Flex>> {
    match tensor.autodiff().try_into_primitive::<Autodiff<Flex>>() {
        Ok(primitive) => primitive,
        Err(error) => unreachable!("a tensor on the CPU: {error:?}"),
    }
}

/// The CPU tensor inside a tensor that does not.
///
/// # Panics
/// As [`tracked`].
fn plain<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    match tensor.without_autodiff().try_into_primitive::<Flex>() {
        Ok(primitive) => primitive,
        Err(error) => unreachable!("a tensor on the CPU: {error:?}"),
    }
}

/// Convolution; `groups` is 1 or the number of channels.
pub fn conv2d(
    x: Tensor<4>,
    weight: Tensor<4>,
    bias: Option<Tensor<1>>,
    stride: usize,
    padding: Padding,
    groups: usize,
) -> Tensor<4> {
    let ([_, channels, ..], [filters, ..]) = (x.dims(), weight.dims());
    let is_depthwise = groups == channels && groups == filters;
    if (groups == 1 || is_depthwise) && is_cpu(&x.device()) {
        let y = if groups == 1 {
            convolve::<Dense>(x, weight, stride, padding)
        } else {
            convolve::<Depthwise>(x, weight, stride, padding)
        };
        return match bias {
            Some(bias) => bias::add(y, bias),
            None => y,
        };
    }
    let options = ConvOptions { stride: [stride, stride], padding, dilation: [1, 1], groups };
    burn_ops::conv2d(x, weight, bias, options)
}

/// Batch normalisation by running statistics, then an activation.
#[derive(Clone)]
pub struct FixedNorm {
    /// γ, β, mean and variance.
    pub parameters: [Tensor<1>; 4],
    /// ε.
    pub epsilon: f64,
    /// The activation.
    pub activation: Activation,
}

/// Convolution, then normalisation: one pass over memory on the CPU.
pub fn conv2d_norm(
    x: Tensor<4>,
    weight: Tensor<4>,
    bias: Option<Tensor<1>>,
    stride: usize,
    padding: Padding,
    groups: usize,
    norm: FixedNorm,
) -> Tensor<4> {
    let ([_, channels, ..], [filters, ..]) = (x.dims(), weight.dims());
    let is_depthwise = groups == channels && groups == filters;
    if !(groups == 1 || is_depthwise) || x.is_autodiff() || !is_cpu(&x.device()) {
        return batch_norm(conv2d(x, weight, bias, stride, padding, groups), norm);
    }
    let mut ending = norm::ending(norm.parameters, norm.epsilon, norm.activation);
    if let Some(bias) = bias {
        ending = ending.after_bias(host::values(&host::in_order(plain(bias))));
    }
    if groups == 1 {
        convolve_plain::<Dense>(x, weight, stride, padding, Some(&ending))
    } else {
        convolve_plain::<Depthwise>(x, weight, stride, padding, Some(&ending))
    }
}

/// A convolution without bias, padded as TensorFlow does, and the normalisation after it.
pub struct Layer {
    /// `[filters, channels / groups, kernel, kernel]`.
    pub weight: Tensor<4>,
    /// The stride.
    pub stride: usize,
    /// What follows.
    pub norm: FixedNorm,
}

/// An inverted residual block.
pub struct InvertedBlock {
    /// Widens by a kernel of one pixel, where the block does.
    pub expand: Option<Layer>,
    /// A kernel for each channel.
    pub depthwise: Layer,
    /// Narrows by a kernel of one pixel.
    pub project: Layer,
    /// Whether what comes in is added to what goes out.
    pub is_residual: bool,
}

/// A network of such blocks, without its pooling.
pub struct InvertedNetwork {
    /// The first convolution.
    pub stem: Layer,
    /// The blocks.
    pub blocks: Vec<InvertedBlock>,
    /// The last convolution, of one pixel.
    pub head: Layer,
}

/// The last maps of images, where all layers can be computed as one: on the CPU, if it has AVX2, and outside training.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
pub fn inverted_maps(images: &Tensor<4>, network: impl FnOnce() -> InvertedNetwork) -> Option<Tensor<4>> {
    #[cfg(target_arch = "x86_64")]
    if !images.is_autodiff() && is_cpu(&images.device()) {
        let instructions = wide::Instructions::here();
        let can = instructions != wide::Instructions::Plain;
        return can.then(|| inverted::maps(instructions, images.clone(), &network()));
    }
    None
}

/// What [`batch_norm_train`] gives.
pub struct Normalised {
    /// The output, after the activation.
    pub output: Tensor<4>,
    /// The batch's mean of each channel.
    pub mean: Tensor<1>,
    /// The batch's biased variance of each channel.
    pub variance: Tensor<1>,
}

/// Batch normalisation by the batch's own statistics, then an activation.
pub fn batch_norm_train(
    x: Tensor<4>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    epsilon: f64,
    activation: Activation,
) -> Normalised {
    let device = x.device();
    if is_cpu(&device) {
        let (output, mean, variance) = norm::train(x, gamma, beta, epsilon, activation);
        let inner = device.inner();
        let [mean, variance] = [mean, variance].map(|numbers| Tensor::from_data(numbers.as_slice(), &inner));
        return Normalised { output, mean, variance };
    }
    let result = burn_ops::batch_norm_train(x, gamma, beta, epsilon);
    Normalised {
        output: activation.of_tensor(result.output),
        mean: result.mean.inner(),
        variance: result.variance.inner(),
    }
}

/// Batch normalisation by running statistics, then an activation.
pub fn batch_norm(x: Tensor<4>, norm: FixedNorm) -> Tensor<4> {
    let FixedNorm { parameters, epsilon, activation } = norm;
    if is_cpu(&x.device()) && !x.is_autodiff() {
        return norm::infer(x, &norm::ending(parameters, epsilon, activation));
    }
    let [gamma, beta, mean, variance] = parameters;
    activation.of_tensor(burn_ops::batch_norm(x, gamma, beta, mean, variance, epsilon))
}

/// `act(a + b)` of tensors of the same shape.
pub fn residual(a: Tensor<4>, b: Tensor<4>, activation: Activation) -> Tensor<4> {
    if is_cpu(&a.device()) {
        return residual::add(a, b, activation);
    }
    activation.of_tensor(a + b)
}

/// Each image of a batch mixed with the one as far from the other end, which gets the rest: `s x[i] + (1 - s) x[n-1-i]`.
pub fn blend(x: Tensor<4>, share: f32) -> Tensor<4> {
    if is_cpu(&x.device()) {
        return blend::blend(x, share);
    }
    x.clone() * share + x.flip([0]) * (1.0 - share)
}

/// The greatest of each 2 x 2 window; an odd last row or column is dropped.
pub fn max_pool(x: Tensor<4>) -> Tensor<4> {
    if is_cpu(&x.device()) {
        return pool::max_pool(x);
    }
    burn_ops::max_pool2d(x, MaxPoolOptions::new([2, 2]))
}

/// The mean over rows and columns: `[images, channels]`.
pub fn global_average(x: Tensor<4>) -> Tensor<2> {
    if is_cpu(&x.device()) {
        return average::global_average(x);
    }
    let [images, channels, rows, columns] = x.dims();
    x.reshape([images, channels, rows * columns]).mean_dim(2).reshape([images, channels])
}

#[cfg(test)]
mod tests;
