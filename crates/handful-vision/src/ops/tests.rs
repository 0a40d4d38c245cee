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
    let cases: [(usize, usize, usize, usize, usize, usize, Padding); 5] = [
        (3, 2, 4, 7, 3, 1, [(1, 1), (1, 1)]),
        (9, 3, 5, 8, 3, 2, [(1, 1), (1, 1)]),
        (2, 4, 3, 6, 1, 2, [(0, 0), (0, 0)]),
        (2, 3, 4, 9, 3, 2, [(0, 1), (0, 1)]),
        (1, 1, 2, 30, 5, 1, [(2, 2), (2, 2)]),
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
    for (shape, slope) in [([4, 3, 5, 5], 0.1f32), ([7, 2, 1, 1], 1.0), ([2, 5, 8, 3], 0.5)] {
        let x = random(shape, 3, &device);
        let gamma = random([1, shape[1], 1, 1], 4, &device);
        let beta = random([1, shape[1], 1, 1], 5, &device);
        let flat = |tensor: Tensor<4>| tensor.reshape([shape[1]]);
        let expected = differentiate([x.clone(), gamma.clone(), beta.clone()], |[x, gamma, beta]| {
            activate(burn_ops::batch_norm_train(x, flat(gamma), flat(beta), 1e-5).output, slope)
        });
        let found = differentiate([x, gamma, beta], |[x, gamma, beta]| {
            batch_norm_train(x, flat(gamma), flat(beta), 1e-5, slope).output
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

#[test]
fn running_statistics_and_slopes_at_inference_are_those_of_burn() {
    let device = Device::flex();
    let x = random([3, 4, 5, 2], 7, &device);
    let parameters = [8, 9, 10, 11].map(|seed| random([4], seed, &device).abs());
    let [gamma, beta, mean, variance] = parameters.clone();
    let expected = activate(burn_ops::batch_norm(x.clone(), gamma, beta, mean, variance, 1e-3), 0.0);
    assert_close("output", &values_of(&batch_norm(x, parameters, 1e-3, 0.0)), &values_of(&expected));
}
