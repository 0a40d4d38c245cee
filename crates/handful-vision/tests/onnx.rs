//! ONNX files give the features that PyTorch gives: fixtures of `fixtures/write_onnx.py`.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use handful_vision::backbone::{Backbone, Wanted};
use handful_vision::error::VisionError;
use handful_vision::tensors::Array;
use handful_vision::weights;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn open(name: &str, wanted: Wanted) -> Result<Backbone, VisionError> {
    Backbone::open(&path(name), wanted, &Device::flex())
}

fn layer(name: &str) -> Wanted {
    Wanted { layer: Some(name.to_owned()), size: Some(16), ..Wanted::default() }
}

fn size_16() -> Wanted {
    Wanted { size: Some(16), ..Wanted::default() }
}

fn fixture(name: &str) -> Array {
    weights::read(&path("onnx.safetensors")).expect("a committed fixture").arrays[name].clone()
}

fn images() -> Vec<Vec<f32>> {
    fixture("input").values.chunks_exact(3 * 16 * 16).map(<[f32]>::to_vec).collect()
}

fn assert_features(backbone: &Backbone, expected: &str) {
    let found = backbone.embed(&images()).expect("features");
    let expected = fixture(expected).values;
    assert_eq!(found.len(), expected.len());
    assert_eq!(backbone.features(), expected.len() / 3);
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-5, "{found} instead of {expected}");
    }
}

fn refusal(name: &str, wanted: Wanted) -> String {
    open(name, wanted).expect_err("a refusal").to_string()
}

#[test]
fn the_last_pooled_layer_is_the_default_whichever_way_it_is_exported() {
    for name in ["pooled.onnx", "pooled_new.onnx", "outside.onnx"] {
        assert_features(&open(name, size_16()).expect(name), "features");
    }
}

#[test]
fn channels_may_stand_last_and_images_may_have_to_come_four_at_a_time() {
    assert_features(&open("channels_last.onnx", Wanted::default()).expect("a network"), "features");
}

#[test]
fn a_layer_is_taken_by_its_own_name_or_by_that_of_its_node() {
    assert_features(&open("pooled.onnx", layer("logits")).expect("a network"), "logits");
    assert_features(&open("pooled.onnx", layer("/Flatten")).expect("a network"), "features");
}

#[test]
fn an_open_size_is_224_unless_told() {
    assert_eq!(open("pooled.onnx", Wanted::default()).expect("a network").preparation().size, 224);
    let wanted = Wanted { size: Some(40), ..Wanted::default() };
    assert_eq!(open("pooled.onnx", wanted).expect("a network").preparation().size, 40);
}

#[test]
fn refusals_say_what_to_do() {
    assert!(refusal("unpooled.onnx", size_16()).contains("no pooled layer; name the layer"));
    assert!(refusal("pooled.onnx", layer("logit")).contains("no layer `logit`; near its end are logits"));
    let map = refusal("pooled.onnx", layer("/body/body.0/Conv"));
    assert!(map.contains("pooled.onnx") && map.contains("gives 4 x 16 x 16 numbers for an image"), "{map}");
    let other_size = Wanted { size: Some(84), ..Wanted::default() };
    assert!(refusal("pooled_new.onnx", other_size).contains("16 x 16, which --size 84 cannot change"));
    let named = Wanted { backbone: Some("resnet12".parse().expect("a backbone")), ..size_16() };
    assert!(refusal("pooled.onnx", named).contains("says itself"));
    assert!(refusal("conv4.safetensors", layer("x")).contains("ONNX file only"));
}

#[test]
fn damaged_files_are_refused_wherever_they_break() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = std::fs::read(path("pooled.onnx")).expect("a fixture");
    let broken = folder.path().join("broken.onnx");
    for length in (0..whole.len() - 1).step_by(97) {
        std::fs::write(&broken, &whole[..length]).expect("a file");
        let found = Backbone::open(&broken, size_16(), &Device::flex());
        assert!(found.is_err(), "{length} bytes of {} gave a network", whole.len());
    }
}

#[test]
fn weights_outside_the_folder_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = std::fs::read(path("outside.onnx")).expect("a fixture");
    // A name of the same length, so that the lengths in the file stay right.
    let (from, to) = (b"outside.weights".as_slice(), b"../../o.weights".as_slice());
    let mut bytes = whole.clone();
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(from.len()).position(|window| window == from) {
        bytes[at + found..][..to.len()].copy_from_slice(to);
        at += found + to.len();
    }
    assert_ne!(bytes, whole);
    let file = folder.path().join("escaping.onnx");
    std::fs::write(&file, bytes).expect("a file");
    let error = Backbone::open(&file, size_16(), &Device::flex()).expect_err("a refusal");
    assert!(error.to_string().contains("outside its own folder"), "{error}");
}
