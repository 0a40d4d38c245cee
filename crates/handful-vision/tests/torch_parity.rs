//! The networks compute what PyTorch computes: fixtures of `fixtures/write_fixtures.py`, to 1e-5.

use std::path::{Path, PathBuf};

use burn::tensor::{Device, Int, Tensor, TensorData};
use handful_vision::layers::Linear;
use handful_vision::networks::Network;
use handful_vision::networks::conv4::Conv4;
use handful_vision::networks::resnet12::ResNet12;
use handful_vision::networks::resnet18::ResNet18;
use handful_vision::networks::wide_resnet::{S2m2WideResNet, TimWideResNet};
use handful_vision::tensors::{self, Array, Arrays, values_of};
use handful_vision::training::model::Model;
use handful_vision::training::sgd::Sgd;
use handful_vision::weights;

const SMALL: [usize; 4] = [4, 6, 8, 10];
const TOLERANCE: f32 = 1e-5;

fn fixture(name: &str) -> Arrays {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/{name}.safetensors"));
    weights::read(&path).expect("a committed fixture").arrays
}

fn with_prefix(arrays: &Arrays, prefix: &str) -> Arrays {
    let named = arrays.iter().filter_map(|(name, array)| Some((name.strip_prefix(prefix)?, array)));
    named.map(|(name, array)| (name.replace("convShortcut", "conv_shortcut"), array.clone())).collect()
}

fn images(array: &Array, device: &Device) -> Tensor<4> {
    let shape: [usize; 4] = array.shape.clone().try_into().expect("four axes");
    Tensor::from_data(TensorData::new(array.values.clone(), shape), device)
}

/// Differences beyond the tolerance, relative to the greatest value where that is above 1.
fn assert_close(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0f32, |scale, value| scale.max(value.abs()));
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= TOLERANCE * scale, "{what}[{at}]: {found} instead of {expected}");
    }
}

fn check(name: &str, network: Network) {
    let device = Device::flex();
    let arrays = fixture(name);
    let (network, misfits) = tensors::apply(network, &with_prefix(&arrays, "weights."));
    assert_eq!(misfits, [], "{name}");
    let features = network.forward(images(&arrays["input"], &device));
    assert_close(name, &values_of(&features), &arrays["output"].values);
}

#[test]
fn conv4_equals_pytorch() {
    check("conv4", Network::Conv4(Conv4::new(4, &Device::flex())));
}

#[test]
fn resnet12_equals_pytorch() {
    check("resnet12", Network::ResNet12(ResNet12::new(SMALL, &Device::flex())));
}

#[test]
fn resnet18_equals_pytorch() {
    check("resnet18", Network::ResNet18(ResNet18::new(SMALL, &Device::flex())));
}

#[test]
fn wrn_of_tim_equals_pytorch() {
    check("wrn_tim", Network::Wrn28Tim(TimWideResNet::new(SMALL, &Device::flex())));
}

#[test]
fn wrn_of_s2m2_equals_pytorch() {
    check("wrn_s2m2", Network::Wrn28S2m2(S2m2WideResNet::new(SMALL, &Device::flex())));
}

#[test]
fn two_steps_of_training_conv4_equal_pytorch() {
    let device = Device::flex().autodiff();
    let arrays = fixture("conv4_sgd");
    let model = Model::linear(Network::Conv4(Conv4::new(4, &device)), Linear::new(16, 5, &device));
    let (mut model, misfits) = tensors::apply(model, &with_prefix(&arrays, "weights."));
    assert_eq!(misfits, []);
    let mut sgd = Sgd::new(0.9, 5e-4);
    let labels: Vec<i64> = arrays["labels"].values.iter().map(|&label| label as i64).collect();
    for step in 0..2 {
        let images = images(&arrays["input"], &device);
        let classes = Tensor::<1, Int>::from_data(labels.as_slice(), &Device::flex());
        let (loss, _) = model.loss(images, classes, 0.0);
        assert_close("loss", &values_of(&loss), &arrays[&format!("loss{step}")].values);
        let mut gradients = loss.backward();
        model = sgd.step(model, &mut gradients, 0.1);
    }
    let after = with_prefix(&arrays, "after.");
    for named in tensors::collect(&model) {
        assert_close(&named.name, &named.array.values, &after[&named.name].values);
    }
}
