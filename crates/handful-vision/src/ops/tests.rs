//! Our kernels against burn's own operations: values and gradients.

use burn::tensor::ops::{ConvOptions, MaxPoolOptions};
use burn::tensor::{Device, Tensor, TensorData, module as burn_ops};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;
use crate::tensors::values_of;

fn random<const D: usize>(shape: [usize; D], seed: u64, device: &Device) -> Tensor<D> {
    let mut random = ChaCha12Rng::seed_from_u64(seed);
    let count = shape.iter().product();
    let values: Vec<f32> =
        (0..count).map(|_| random.next_u32() as f32 / u32::MAX as f32 * 2.0 - 1.0).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn assert_close(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0f32, |scale, value| scale.max(value.abs()));
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 2e-5 * scale, "{what}[{at}]: {found} instead of {expected}");
    }
}

/// The output, and the gradients of a random weighted sum of it by each of the inputs.
fn differentiate<const N: usize>(
    inputs: [Tensor<4>; N],
    f: impl Fn([Tensor<4>; N]) -> Tensor<4>,
) -> (Vec<f32>, [Vec<f32>; N]) {
    let inputs = inputs.map(|input| input.require_grad());
    let output = f(inputs.clone());
    let weights = random(output.dims(), 99, &output.device());
    let gradients = (output.clone() * weights).sum().backward();
    (
        values_of(&output),
        inputs.map(|input| input.grad(&gradients).map(|grad| values_of(&grad)).unwrap_or_default()),
    )
}

#[test]
fn convolutions_and_their_gradients_are_those_of_burn() {
    let device = Device::flex().autodiff();
    // Sizes that are odd, that need several images in a group, strides, and lopsided padding.
    // The last four are wide enough for Winograd's way: groups of images, bands of rows, lopsided and no padding.
    let cases: [(usize, usize, usize, usize, usize, usize, Padding); 9] = [
        (3, 2, 4, 7, 3, 1, [(1, 1), (1, 1)]),
        (9, 3, 5, 8, 3, 2, [(1, 1), (1, 1)]),
        (2, 4, 3, 6, 1, 2, [(0, 0), (0, 0)]),
        (2, 3, 4, 9, 3, 2, [(0, 1), (0, 1)]),
        (1, 1, 2, 30, 5, 1, [(2, 2), (2, 2)]),
        (7, 33, 40, 9, 3, 1, [(1, 1), (1, 1)]),
        (1, 32, 32, 51, 3, 1, [(1, 1), (1, 1)]),
        (2, 36, 32, 6, 3, 1, [(0, 1), (2, 0)]),
        (3, 32, 34, 3, 3, 1, [(0, 0), (0, 0)]),
    ];
    for (batch, channels, filters, size, kernel, stride, padding) in cases {
        let x = random([batch, channels, size, size + 1], 1, &device);
        let weight = random([filters, channels, kernel, kernel], 2, &device);
        let options = ConvOptions { stride: [stride; 2], padding, dilation: [1, 1], groups: 1 };
        let bias = random([1, filters, 1, 1], 12, &device);
        let flat = |bias: Tensor<4>| Some(bias.reshape([filters]));
        let inputs = [x, weight, bias];
        let expected = differentiate(inputs.clone(), |[x, weight, bias]| {
            burn_ops::conv2d(x, weight, flat(bias), options.clone())
        });
        let found =
            differentiate(inputs, |[x, weight, bias]| conv2d(x, weight, flat(bias), stride, padding, 1));
        assert_close("output", &found.0, &expected.0);
        assert_close("gradient of the image", &found.1[0], &expected.1[0]);
        assert_close("gradient of the weights", &found.1[1], &expected.1[1]);
        assert_close("gradient of the bias", &found.1[2], &expected.1[2]);
    }
}

#[test]
fn normalisation_and_its_gradients_are_those_of_burn() {
    let device = Device::flex().autodiff();
    let cases = [
        ([4, 3, 5, 5], Activation::leaky(0.1)),
        ([7, 2, 1, 1], Activation::NONE),
        ([2, 5, 8, 3], Activation::leaky(0.5)),
        ([5, 4, 3, 3], Activation::RELU6),
    ];
    for (shape, activation) in cases {
        let x = random(shape, 3, &device);
        // Large enough to reach the ceiling of ReLU6.
        let gamma = random([1, shape[1], 1, 1], 4, &device) * 8.0;
        let beta = random([1, shape[1], 1, 1], 5, &device);
        let flat = |tensor: Tensor<4>| tensor.reshape([shape[1]]);
        let expected = differentiate([x.clone(), gamma.clone(), beta.clone()], |[x, gamma, beta]| {
            activation.of_tensor(burn_ops::batch_norm_train(x, flat(gamma), flat(beta), 1e-5).output)
        });
        let found = differentiate([x, gamma, beta], |[x, gamma, beta]| {
            batch_norm_train(x, flat(gamma), flat(beta), 1e-5, activation).output
        });
        assert_close("output", &found.0, &expected.0);
        for (found, expected) in found.1.iter().zip(&expected.1) {
            assert_close("gradient", found, expected);
        }
    }
}

#[test]
fn pooling_and_its_gradient_are_those_of_burn() {
    let device = Device::flex().autodiff();
    let x = random([2, 3, 7, 6], 6, &device);
    let expected = differentiate([x.clone()], |[x]| burn_ops::max_pool2d(x, MaxPoolOptions::new([2, 2])));
    let found = differentiate([x], |[x]| max_pool(x));
    assert_close("output", &found.0, &expected.0);
    assert_close("gradient", &found.1[0], &expected.1[0]);
}

fn fixed_norm(channels: usize, device: &Device) -> FixedNorm {
    let parameters = [8, 9, 10, 11].map(|seed| random([channels], seed, device).abs());
    FixedNorm { parameters, epsilon: 1e-3, activation: Activation::RELU }
}

#[test]
fn running_statistics_and_slopes_at_inference_are_those_of_burn() {
    let device = Device::flex();
    let x = random([3, 4, 5, 2], 7, &device);
    let before = values_of(&x);
    let norm = fixed_norm(4, &device);
    let ([gamma, beta, mean, variance], relu) = (norm.parameters.clone(), norm.activation);
    let expected = relu.of_tensor(burn_ops::batch_norm(x.clone(), gamma, beta, mean, variance, 1e-3));
    let found = batch_norm(x.clone(), norm);
    assert_close("output", &values_of(&found), &values_of(&expected));
    assert_eq!(values_of(&x), before, "what somebody holds is not written over");
    let alone = batch_norm(x, fixed_norm(4, &device));
    assert_eq!(values_of(&alone), values_of(&found));
}

#[test]
fn a_convolution_with_its_normalisation_is_one_after_the_other() {
    let device = Device::flex();
    // Kernel, stride, padding, groups, side: pointwise on large and on small images, several of which go together.
    for (kernel, stride, padding, groups, side) in [
        (3, 1, 1, 1, 9),
        (3, 2, 1, 1, 30),
        (1, 1, 0, 1, 30),
        (1, 1, 0, 1, 4),
        (1, 2, 0, 1, 8),
        (3, 1, 1, 6, 12),
        (3, 2, 1, 6, 7),
    ] {
        let x = random([5, 6, side, side], 1, &device);
        let weight = random([6, 6 / groups, kernel, kernel], 2, &device);
        let padding = [(padding, padding); 2];
        for bias in [None, Some(random([6], 3, &device))] {
            let layer = || (x.clone(), weight.clone(), bias.clone());
            let (image, filters, shifts) = layer();
            let plain = conv2d(image, filters, shifts, stride, padding, groups);
            let expected = batch_norm(plain, fixed_norm(6, &device));
            let (image, filters, shifts) = layer();
            let found = conv2d_norm(image, filters, shifts, stride, padding, groups, fixed_norm(6, &device));
            assert_eq!(found.dims(), expected.dims());
            assert_close("output", &values_of(&found), &values_of(&expected));
        }
    }
}

#[test]
fn depthwise_convolutions_and_their_gradients_are_those_of_burn() {
    let device = Device::flex().autodiff();
    // The last has a kernel as large as the image and no padding: a single output.
    let cases: [(usize, usize, usize, usize, usize, Padding); 6] = [
        (2, 3, 7, 3, 1, [(1, 1), (1, 1)]),
        (3, 5, 8, 5, 1, [(2, 2), (2, 2)]),
        (2, 4, 9, 3, 2, [(0, 1), (1, 1)]),
        (1, 2, 16, 5, 2, [(1, 2), (2, 2)]),
        (2, 2, 11, 2, 3, [(0, 0), (1, 0)]),
        (2, 3, 4, 4, 2, [(0, 0), (0, 0)]),
    ];
    for (batch, channels, size, kernel, stride, padding) in cases {
        let x = random([batch, channels, size, size + 1], 21, &device);
        let weight = random([channels, 1, kernel, kernel], 22, &device);
        let bias = random([1, channels, 1, 1], 23, &device);
        let flat = |bias: Tensor<4>| Some(bias.reshape([channels]));
        let options = ConvOptions { stride: [stride; 2], padding, dilation: [1, 1], groups: channels };
        let inputs = [x, weight, bias];
        let expected = differentiate(inputs.clone(), |[x, weight, bias]| {
            burn_ops::conv2d(x, weight, flat(bias), options.clone())
        });
        let found = differentiate(inputs, |[x, weight, bias]| {
            conv2d(x, weight, flat(bias), stride, padding, channels)
        });
        assert_close("output", &found.0, &expected.0);
        assert_close("gradient of the image", &found.1[0], &expected.1[0]);
        assert_close("gradient of the weights", &found.1[1], &expected.1[1]);
        assert_close("gradient of the bias", &found.1[2], &expected.1[2]);
    }
}

#[test]
fn sums_of_residual_blocks_and_their_gradients_are_those_of_burn() {
    let device = Device::flex().autodiff();
    for activation in [Activation::NONE, Activation::RELU, Activation::leaky(0.1), Activation::RELU6] {
        let [a, b] = [31, 32].map(|seed| random([2, 3, 5, 4], seed, &device) * 5.0);
        let expected = differentiate([a.clone(), b.clone()], |[a, b]| activation.of_tensor(a + b));
        let found = differentiate([a.clone(), b], |[a, b]| residual(a, b, activation));
        assert_close("output", &found.0, &expected.0);
        assert_close("gradient of the first", &found.1[0], &expected.1[0]);
        assert_close("gradient of the second", &found.1[1], &expected.1[1]);
        // A tensor added to itself has the gradients of both places.
        let expected = differentiate([a.clone()], |[a]| activation.of_tensor(a.clone() + a));
        let found = differentiate([a], |[a]| residual(a.clone(), a, activation));
        assert_close("gradient of a double", &found.1[0], &expected.1[0]);
    }
}

#[test]
fn mixtures_of_a_batch_and_their_gradients_are_those_of_burn() {
    let device = Device::flex().autodiff();
    // The middle image of an odd batch is mixed with itself.
    for shape in [[4, 3, 5, 7], [5, 2, 3, 3], [1, 2, 2, 2]] {
        let x = random(shape, 61, &device);
        let expected = differentiate([x.clone()], |[x]| x.clone() * 0.7 + x.flip([0]) * 0.3);
        let found = differentiate([x.clone()], |[x]| blend(x, 0.7));
        assert_close("output", &found.0, &expected.0);
        assert_close("gradient", &found.1[0], &expected.1[0]);
        assert_close("outside training", &values_of(&blend(x.inner(), 0.7)), &expected.0);
    }
}

#[test]
fn activations_keep_what_is_not_a_number() {
    for activation in [Activation::NONE, Activation::RELU, Activation::RELU6] {
        assert!(activation.apply(f32::NAN).is_nan(), "{activation:?}");
    }
    assert_eq!([-1.0, 0.5, 7.0].map(|z| Activation::RELU6.apply(z)), [0.0, 0.5, 6.0]);
}

#[test]
fn global_averages_and_their_gradients_are_those_of_burn() {
    let device = Device::flex().autodiff();
    for shape in [[2, 3, 5, 7], [3, 70, 1, 1], [1, 2, 8, 8]] {
        let x = random(shape, 41, &device);
        let [images, channels, rows, columns] = shape;
        let square = |x: Tensor<2>| x.reshape([images, channels, 1, 1]);
        let expected = differentiate([x.clone()], |[x]| {
            square(x.reshape([images, channels, rows * columns]).mean_dim(2).reshape([images, channels]))
        });
        let found = differentiate([x], |[x]| square(global_average(x)));
        assert_close("output", &found.0, &expected.0);
        assert_close("gradient", &found.1[0], &expected.1[0]);
    }
}

#[test]
fn steps_of_descent_are_those_of_burn_to_the_bit() {
    let device = Device::flex();
    let descent = Descent { momentum: 0.9, weight_decay: 5e-4, rate: 0.037 };
    // More numbers than one thread takes at a time.
    let start = random([5, 3, 37, 41], 51, &device);
    let (mut found, mut expected) = ((start.clone(), None), (start, None));
    for seed in 52..55 {
        let gradient = random([5, 3, 37, 41], seed, &device);
        let (value, velocity) = descent.step(found.0, gradient.clone(), found.1);
        found = (value, Some(velocity));
        let (value, velocity) = descent.by_tensors(expected.0, gradient, expected.1);
        expected = (value, Some(velocity));
        assert_eq!(values_of(&found.0), values_of(&expected.0), "step {seed}");
        assert_eq!(found.1.as_ref().map(values_of), expected.1.as_ref().map(values_of), "velocity {seed}");
    }
}
