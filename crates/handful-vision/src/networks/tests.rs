//! Every architecture has the parameters and features it should have.

use burn::tensor::{Device, Tensor};

use super::*;
use crate::tensors;

/// Learnable numbers: running statistics are not.
fn parameters(network: &Network) -> usize {
    let named = tensors::collect(network).into_iter().filter(|named| !named.name.contains("running_"));
    named.map(|named| named.array.values.len()).sum()
}

#[test]
fn parameter_counts_are_those_of_the_sources() {
    let device = Device::flex();
    // Counted in PyTorch by fixtures/write_fixtures.py, classifiers left out.
    let expected = [
        (Architecture::Compact, 1_864_992),
        (Architecture::Conv4, 113_088),
        (Architecture::ResNet12, 12_424_320),
        (Architecture::ResNet12Narrow, 7_996_800),
        (Architecture::ResNet18, 11_168_832),
        (Architecture::Wrn28Tim, 36_482_880),
        (Architecture::Wrn28S2m2, 36_472_784),
        (Architecture::EfficientNetLite0, 3_371_008),
    ];
    for (architecture, count) in expected {
        assert_eq!(parameters(&architecture.build(&device)), count, "{architecture}");
    }
}

#[test]
fn features_have_the_announced_size_for_any_image() {
    let device = Device::flex();
    let cheap = [
        Architecture::Compact,
        Architecture::Conv4,
        Architecture::ResNet12Narrow,
        Architecture::EfficientNetLite0,
    ];
    for architecture in cheap {
        let network = tensors::draw(architecture.build(&device), 1);
        for size in [architecture.smallest_image(), 37] {
            let images = Tensor::ones([2, 3, size, size], &device);
            let features = network.forward(images);
            assert_eq!(features.dims(), [2, architecture.features(size)], "{architecture} at {size} px");
            assert!(tensors::values_of(&features).iter().all(|value| value.is_finite()));
        }
    }
}

#[test]
fn names_read_back() {
    for (name, architecture) in Architecture::NAMES {
        assert_eq!(name.parse::<Architecture>().expect("known"), architecture);
        assert_eq!(architecture.to_string(), name);
    }
    let error = "resnet13".parse::<Architecture>().expect_err("unknown").to_string();
    assert!(error.contains("resnet13") && error.contains("resnet12-narrow"), "{error}");
}
