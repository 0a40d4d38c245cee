//! Forward passes that carry along how everything changes when the parameters move: dual numbers.
//!
//! ```text
//! convolution     y = W * x + b              ẏ = W * ẋ + Ẇ * x + ḃ
//! normalisation   n = (x - mean x) / s       ṅ = (ẋ - mean ẋ - n mean(n ẋ)) / s        ẏ = [y > 0] (γ̇ n + γ ṅ + β̇)
//! pooling         y = x at its greatest      ẏ = ẋ at the same place
//! cross entropy   L = mean -log p[label]     L̇ = mean (Σ p ż - ż[label])
//! ```
//!
//! `L̇` is the slope of the loss along the direction. It is made of operations that can be differentiated once, as all of ours
//! on the CPU, and its gradient is the product of the loss's second derivatives with the direction: exact, at about three
//! times the cost of a gradient.
//!
//! The direction is a network of the same kind whose parameters are the numbers of the direction. Batch statistics normalise.

use burn::tensor::activation::softmax;
use burn::tensor::module::max_pool2d_with_indices;
use burn::tensor::ops::MaxPoolOptions;
use burn::tensor::{Int, Tensor};

use crate::layers::{BatchNorm, Conv, Linear};
use crate::ops;

/// A tensor, and how it changes; what does not depend on parameters does not change.
#[derive(Clone)]
pub(crate) struct Dual<const D: usize> {
    /// The tensor.
    pub value: Tensor<D>,
    /// Its change along the direction.
    pub change: Option<Tensor<D>>,
}

impl Dual<4> {
    /// What is given from outside.
    pub fn fixed(value: Tensor<4>) -> Self {
        Self { value, change: None }
    }

    /// The 2 x 2 max-pooling.
    pub fn max_pool(self) -> Self {
        let [images, channels, rows, columns] = self.value.dims();
        let change = self.change.map(|change| {
            let plain = self.value.clone().inner();
            let (_, places) = max_pool2d_with_indices(plain, MaxPoolOptions::new([2, 2]));
            let pooled = places.dims();
            let places: Tensor<3, Int> = places.reshape([images, channels, pooled[2] * pooled[3]]).autodiff();
            change.reshape([images, channels, rows * columns]).gather(2, places).reshape(pooled)
        });
        Self { value: ops::max_pool(self.value), change }
    }

    /// The sum of both.
    pub fn plus(self, other: Self) -> Self {
        let change = match (self.change, other.change) {
            (Some(one), Some(two)) => Some(one + two),
            (one, two) => one.or(two),
        };
        Self { value: self.value + other.value, change }
    }

    /// The same map of value and change; it must be linear.
    pub fn linear(self, map: impl Fn(Tensor<4>) -> Tensor<2>) -> Dual<2> {
        Dual { value: map(self.value), change: self.change.map(map) }
    }
}

impl Dual<2> {
    /// How the mean cross entropy of these scores changes; nothing of scores that do not.
    pub fn cross_entropy_change(self, labels: Tensor<1, Int>) -> Option<Tensor<1>> {
        let change = self.change?;
        let labels: Tensor<2, Int> = labels.reshape([change.dims()[0], 1]).autodiff();
        let expected = (softmax(self.value, 1) * change.clone()).sum_dim(1);
        Some((expected - change.gather(1, labels)).mean())
    }
}

/// Means over images and pixels: `[1, channels, 1, 1]`.
fn channel_means(x: Tensor<4>) -> Tensor<4> {
    x.mean_dim(3).mean_dim(2).mean_dim(0)
}

/// A convolution and its rectified normalisation, which change as `along` says.
pub(crate) fn unit(conv: (&Conv, &Conv), norm: (&BatchNorm, &BatchNorm), x: Dual<4>) -> Dual<4> {
    let own = conv.1.forward(x.value.clone());
    let change = match x.change {
        Some(change) => conv.0.without_bias(change) + own,
        None => own,
    };
    rectified_norm(norm, conv.0.forward(x.value), change)
}

fn rectified_norm((norm, along): (&BatchNorm, &BatchNorm), x: Tensor<4>, change: Tensor<4>) -> Dual<4> {
    let channels = x.dims()[1];
    let of_channels = |numbers: Tensor<1>| numbers.reshape([1, channels, 1, 1]).autodiff();
    let value = norm.forward(x.clone());
    let rising = value.clone().inner().greater_elem(0.0).float().autodiff();
    let centred = x.clone() - channel_means(x);
    let variance = channel_means(centred.clone() * centred.clone());
    let inverse = (variance + norm.epsilon()).sqrt().recip();
    let normal = centred * inverse.clone();
    let centred_change = change.clone() - channel_means(change);
    let common = channel_means(normal.clone() * centred_change.clone());
    let normal_change = (centred_change - normal.clone() * common) * inverse;
    let change = normal * of_channels(along.weight.val())
        + normal_change * of_channels(norm.weight.val())
        + of_channels(along.bias.val());
    Dual { value, change: Some(change * rising) }
}

/// A linear classifier, which changes as `along` says.
pub(crate) fn classifier(linear: &Linear, along: &Linear, x: Dual<2>) -> Dual<2> {
    let weight = along.weight.val().autodiff().transpose();
    let own = x.value.clone().matmul(weight) + along.bias.val().autodiff().unsqueeze();
    let change = match x.change {
        Some(change) => change.matmul(linear.weight.val().transpose()) + own,
        None => own,
    };
    Dual { value: linear.forward(x.value), change: Some(change) }
}
