//! The layers that networks are made of. Their parameters have PyTorch's names and shapes, so that files of weights
//! need no translation beyond the names of the networks themselves.

use burn::module::{Module, Param, ParamId, RunningState};
use burn::tensor::{Device, Tensor};

use crate::ops::{self, Activation, FixedNorm, Layer};

/// PyTorch's defaults.
const EPSILON: f64 = 1e-5;
const MOMENTUM: f64 = 0.1;

/// Learnt where the device differentiates, fixed elsewhere.
fn parameter<const D: usize>(value: Tensor<D>) -> Param<Tensor<D>> {
    let value = if value.is_autodiff() { value.require_grad() } else { value };
    Param::initialized(ParamId::new(), value)
}

/// A convolution with the same padding on all sides.
#[derive(Module, Debug)]
pub struct Conv {
    /// `[filters, channels / groups, kernel, kernel]`.
    pub weight: Param<Tensor<4>>,
    /// One number for each filter.
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    stride: usize,
    #[module(skip)]
    padding: Padded,
    #[module(skip)]
    groups: usize,
}

/// How an image is padded.
#[derive(Clone, Copy, Debug)]
enum Padded {
    /// By the same number of zeros on all sides.
    Sides(usize),
    /// As TensorFlow's SAME: `ceil(size / stride)` outputs, an odd zero after.
    Same,
}

impl Conv {
    /// A convolution of `channels` to `filters` without bias, padded to keep the size at stride 1. Weights are zero
    /// until they are drawn or read.
    pub fn new(channels: usize, filters: usize, kernel: usize, stride: usize, device: &Device) -> Self {
        Self {
            weight: parameter(Tensor::zeros([filters, channels, kernel, kernel], device)),
            bias: None,
            stride,
            padding: Padded::Sides(kernel / 2),
            groups: 1,
        }
    }

    /// With a bias.
    #[must_use]
    pub fn with_bias(mut self) -> Self {
        let [filters, ..] = self.weight.dims();
        self.bias = Some(parameter(Tensor::zeros([filters], &self.weight.device())));
        self
    }

    /// Without padding.
    #[must_use]
    pub fn unpadded(mut self) -> Self {
        self.padding = Padded::Sides(0);
        self
    }

    /// Padded as TensorFlow does.
    #[must_use]
    pub fn same(mut self) -> Self {
        self.padding = Padded::Same;
        self
    }

    /// A convolution of each channel by itself.
    pub fn depthwise(channels: usize, kernel: usize, stride: usize, device: &Device) -> Self {
        Self { groups: channels, ..Self::new(1, channels, kernel, stride, device) }
    }

    /// Applies the layer.
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let (padding, bias) = (self.zeros(&x), self.bias.as_ref().map(|bias| bias.val()));
        ops::conv2d(x, self.weight.val(), bias, self.stride, padding, self.groups)
    }

    /// Applies the layer without its bias: how its output changes with its input.
    pub fn without_bias(&self, x: Tensor<4>) -> Tensor<4> {
        let padding = self.zeros(&x);
        ops::conv2d(x, self.weight.val(), None, self.stride, padding, self.groups)
    }

    /// Applies the layer and the normalisation after it.
    pub fn normalised(&self, x: Tensor<4>, norm: &BatchNorm) -> Tensor<4> {
        if x.is_autodiff() {
            return norm.forward(self.forward(x));
        }
        let (padding, bias) = (self.zeros(&x), self.bias.as_ref().map(|bias| bias.val()));
        ops::conv2d_norm(x, self.weight.val(), bias, self.stride, padding, self.groups, norm.fixed())
    }

    /// The layer and the normalisation after it, for a network that is computed as one.
    pub fn with_norm(&self, norm: &BatchNorm) -> Layer {
        Layer { weight: self.weight.val(), stride: self.stride, norm: norm.fixed() }
    }

    /// The zeros around an image.
    fn zeros(&self, x: &Tensor<4>) -> ops::Padding {
        let [.., kernel] = self.weight.dims();
        let [_, _, rows, columns] = x.dims();
        [rows, columns].map(|size| match self.padding {
            Padded::Sides(zeros) => (zeros, zeros),
            Padded::Same => {
                let needed = (size.div_ceil(self.stride).max(1) - 1) * self.stride + kernel;
                let zeros = needed.saturating_sub(size);
                (zeros / 2, zeros - zeros / 2)
            }
        })
    }
}

/// Batch normalisation followed by an activation.
///
/// The running variance is updated by the unbiased variance of the batch, as in PyTorch (burn's own layer uses the
/// biased one).
#[derive(Module, Debug)]
pub struct BatchNorm {
    /// γ.
    pub weight: Param<Tensor<1>>,
    /// β.
    pub bias: Param<Tensor<1>>,
    /// Mean over past batches.
    pub running_mean: RunningState<Tensor<1>>,
    /// Variance over past batches.
    pub running_var: RunningState<Tensor<1>>,
    #[module(skip)]
    momentum: f64,
    #[module(skip)]
    epsilon: f64,
    #[module(skip)]
    activation: Activation,
}

impl BatchNorm {
    /// γ = 1, β = 0, and no activation.
    pub fn new(channels: usize, device: &Device) -> Self {
        let inner = device.clone().inner();
        Self {
            weight: parameter(Tensor::ones([channels], device)),
            bias: parameter(Tensor::zeros([channels], device)),
            running_mean: RunningState::new(Tensor::zeros([channels], &inner)),
            running_var: RunningState::new(Tensor::ones([channels], &inner)),
            momentum: MOMENTUM,
            epsilon: EPSILON,
            activation: Activation::NONE,
        }
    }

    /// Followed by an activation.
    #[must_use]
    pub fn then(mut self, activation: Activation) -> Self {
        self.activation = activation;
        self
    }

    /// Followed by ReLU.
    #[must_use]
    pub fn relu(self) -> Self {
        self.then(Activation::RELU)
    }

    /// With another weight for the present batch in the running statistics.
    #[must_use]
    pub fn with_momentum(mut self, momentum: f64) -> Self {
        self.momentum = momentum;
        self
    }

    /// With another ε.
    #[must_use]
    pub fn with_epsilon(mut self, epsilon: f64) -> Self {
        self.epsilon = epsilon;
        self
    }

    /// ε.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// What the layer does outside training.
    fn fixed(&self) -> FixedNorm {
        let (mean, variance) = (self.running_mean.value(), self.running_var.value());
        let parameters = [self.weight.val(), self.bias.val(), mean, variance];
        FixedNorm { parameters, epsilon: self.epsilon, activation: self.activation }
    }

    /// Applies the layer: by the batch's statistics where the input is being differentiated, by the running ones
    /// elsewhere.
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        if !x.is_autodiff() {
            return ops::batch_norm(x, self.fixed());
        }
        let (gamma, beta) = (self.weight.val(), self.bias.val());
        let [images, _, rows, columns] = x.dims();
        let count = (images * rows * columns) as f64;
        let batch = ops::batch_norm_train(x, gamma, beta, self.epsilon, self.activation);
        let unbiased = batch.variance * (count / (count - 1.0).max(1.0));
        for (running, new) in [(&self.running_mean, batch.mean), (&self.running_var, unbiased)] {
            let old = running.value().inner();
            running.update(old * (1.0 - self.momentum) + new * self.momentum);
            // The state keeps updates of several threads apart until it is asked; there is only this one.
            running.value_sync();
        }
        batch.output
    }
}

/// A linear classifier over features, used while training.
#[derive(Module, Debug)]
pub struct Linear {
    /// `[classes, features]`.
    pub weight: Param<Tensor<2>>,
    /// One number for each class.
    pub bias: Param<Tensor<1>>,
}

impl Linear {
    /// A classifier whose numbers are zero until they are drawn or read.
    pub fn new(features: usize, classes: usize, device: &Device) -> Self {
        Self {
            weight: parameter(Tensor::zeros([classes, features], device)),
            bias: parameter(Tensor::zeros([classes], device)),
        }
    }

    /// Applies the layer.
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        x.matmul(self.weight.val().transpose()) + self.bias.val().unsqueeze()
    }
}
