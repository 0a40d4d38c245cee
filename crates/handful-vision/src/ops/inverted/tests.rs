//! Networks as one operation against their layers one after the other, on every set of instructions that this machine has.

use burn::tensor::{Device, Distribution};

use super::super::{Activation, conv2d_norm, residual};
use super::*;
use crate::tensors::values_of;

fn here() -> Vec<Instructions> {
    match Instructions::here() {
        Instructions::Plain => Vec::new(),
        Instructions::Avx2 => vec![Instructions::Avx2],
        Instructions::Avx512 => vec![Instructions::Avx2, Instructions::Avx512],
    }
}

fn random<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), &Device::flex())
}

fn layer(shape: [usize; 4], stride: usize, activation: Activation) -> Layer {
    let [filters, ..] = shape;
    let [gamma, beta, mean, variance] = [0; 4].map(|_| random([filters]));
    let parameters = [gamma, beta, mean, variance.abs()];
    Layer { weight: random(shape), stride, norm: FixedNorm { parameters, epsilon: 1e-3, activation } }
}

/// A block without an expansion, and blocks with sides and channels that fill neither vectors nor panels.
fn network() -> InvertedNetwork {
    let block = |channels: usize, wide: usize, filters: usize, kernel: usize, stride: usize| InvertedBlock {
        expand: (wide != channels).then(|| layer([wide, channels, 1, 1], 1, Activation::RELU6)),
        depthwise: layer([wide, 1, kernel, kernel], stride, Activation::RELU6),
        project: layer([filters, wide, 1, 1], 1, Activation::NONE),
        is_residual: stride == 1 && channels == filters,
    };
    InvertedNetwork {
        stem: layer([10, 3, 3, 3], 2, Activation::RELU6),
        blocks: vec![
            block(10, 10, 9, 3, 1),
            block(9, 70, 24, 3, 2),
            block(24, 144, 24, 5, 1),
            block(24, 101, 33, 5, 2),
            block(33, 33, 33, 2, 1),
        ],
        head: layer([61, 33, 1, 1], 1, Activation::RELU6),
    }
}

fn by_layer(network: &InvertedNetwork, images: Tensor<4>) -> Tensor<4> {
    let apply = |layer: &Layer, x: Tensor<4>| {
        let ([_, channels, ..], [_, depth, kernel, _]) = (x.dims(), layer.weight.dims());
        let [_, _, rows, columns] = x.dims();
        let padding = [rows, columns].map(|size| {
            let zeros = ((size.div_ceil(layer.stride) - 1) * layer.stride + kernel).saturating_sub(size);
            (zeros / 2, zeros - zeros / 2)
        });
        let norm = layer.norm.clone();
        conv2d_norm(x, layer.weight.clone(), None, layer.stride, padding, channels / depth, norm)
    };
    let mut x = apply(&network.stem, images);
    for block in &network.blocks {
        let wide = block.expand.iter().fold(x.clone(), |x, expand| apply(expand, x));
        let y = apply(&block.project, apply(&block.depthwise, wide));
        x = if block.is_residual { residual(y, x, Activation::NONE) } else { y };
    }
    apply(&network.head, x)
}

#[test]
fn all_layers_as_one_have_the_bits_of_one_after_the_other() {
    // Bands of a large image; odd sides, of several images that go together; a single last pixel.
    for [count, rows, columns] in [[2, 230, 201], [19, 37, 20], [3, 8, 8]] {
        let images = random([count, 3, rows, columns]);
        let network = network();
        let expected = by_layer(&network, images.clone());
        assert!(values_of(&expected).iter().any(|&value| value > 0.0 && value < 6.0), "nothing to compare");
        for instructions in here() {
            let found = maps(instructions, images.clone(), &network);
            assert_eq!(found.dims(), expected.dims());
            assert_eq!(values_of(&found), values_of(&expected), "{instructions:?} {rows} x {columns}");
        }
    }
}
