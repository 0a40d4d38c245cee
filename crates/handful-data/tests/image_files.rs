//! Image files of every kind that people have, written by Pillow (`fixtures/make_images.py`), give the picture that was
//! put into them; broken ones are refused by name.
#![cfg(feature = "images")]

use std::path::{Path, PathBuf};

use handful_data::datasets::{Image, open_images};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/images").join(name)
}

fn load(path: &Path) -> Result<Image, String> {
    open_images(&[path.to_owned()]).and_then(|images| images.load(0)).map_err(|error| error.to_string())
}

fn fixture(name: &str) -> Image {
    load(&path(name)).expect(name)
}

/// The pictures agree up to `most` in every channel of every pixel.
#[track_caller]
fn assert_same(name: &str, expected: &Image, most: u8) {
    let found = fixture(name);
    assert_eq!((found.width, found.height), (expected.width, expected.height), "{name}");
    let difference = found.pixels.iter().zip(&expected.pixels).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(difference <= Some(most), "{name}: pixels differ by {difference:?}");
}

#[test]
fn photographs_are_upright_whichever_way_they_are_stored() {
    let upright = fixture("upright.png");
    assert_eq!((upright.width, upright.height), (48, 32));
    for orientation in 1..=8 {
        assert_same(&format!("orientation-{orientation}.jpg"), &upright, 24);
    }
    for name in ["orientation-6.png", "orientation-6.webp", "orientation-6.tiff"] {
        assert_same(name, &upright, 0);
    }
}

#[test]
fn every_kind_of_pixels_becomes_red_green_and_blue() {
    let upright = fixture("upright.png");
    assert_same("plain.bmp", &upright, 0);
    assert_same("progressive.jpg", &upright, 24);
    assert_same("cmyk.jpg", &upright, 24);
    assert_same("cmyk.tiff", &upright, 1);
    // Colours under full transparency are those that the file holds.
    assert_same("transparent.png", &upright, 0);
    assert_same("palette.png", &fixture("palette-as-rgb.png"), 0);
    assert_same("animated.gif", &fixture("animated-first-frame.png"), 0);
    let grey = |image: &Image| {
        let pixels = image.pixels.chunks_exact(3).flat_map(|pixel| [pixel[0]; 3]).collect();
        Image { pixels, ..image.clone() }
    };
    assert_same("rgb-16-bit.png", &grey(&upright), 0);
    assert_same("grey-16-bit.tiff", &grey(&upright), 0);
    let grey_photograph = fixture("grey.jpg");
    assert_eq!(grey_photograph, grey(&grey_photograph));
}

#[test]
fn a_truncated_file_is_refused_by_name_wherever_it_was_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let kinds =
        ["orientation-6.jpg", "progressive.jpg", "cmyk.jpg", "upright.png", "animated.gif", "plain.bmp"];
    for name in kinds.into_iter().chain(["orientation-6.webp", "cmyk.tiff", "rgb-16-bit.png"]) {
        let whole = std::fs::read(path(name)).expect("a fixture");
        let cut = folder.path().join(name);
        // The first frame of the animation ends in the middle of the file, and the others are not wanted.
        let shares: &[usize] = if name == "animated.gif" { &[10, 20, 30] } else { &[10, 30, 50, 70, 90] };
        for share in shares {
            std::fs::write(&cut, &whole[..whole.len() * share / 100]).expect("written");
            let error = load(&cut).err().unwrap_or_else(|| panic!("{name}: {share}% of it is accepted"));
            assert!(error.contains(name), "{error}");
        }
    }
    let whole = std::fs::read(path("orientation-1.jpg")).expect("a fixture");
    let cut = folder.path().join("cut.jpg");
    std::fs::write(&cut, &whole[..whole.len() - 2]).expect("written");
    assert!(load(&cut).expect_err("no end").contains("truncated"));
    // A second picture, or the film of a phone, behind the end of the first.
    std::fs::write(&cut, [&whole[..], b"ftypmp42"].concat()).expect("written");
    load(&cut).expect("whole");
}

#[test]
fn photographs_of_phones_are_named_with_what_to_do() {
    let error = load(&path("phone.heic")).expect_err("no decoder");
    assert!(error.contains("phone.heic") && error.contains("HEIC") && error.contains("JPEG"), "{error}");
}
