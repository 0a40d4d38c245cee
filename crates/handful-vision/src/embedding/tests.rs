use std::cell::Cell;
use std::path::Path;

use handful_data::datasets::open_images;

use super::*;
use crate::backbone::Wanted;
use crate::device::device;

fn network(wanted: Wanted) -> Backbone {
    Backbone::shipped(wanted, &device("cpu").expect("always there")).expect("whole")
}

/// A BMP of 8 x 8 pixels of one colour.
fn bitmap(colour: [u8; 3]) -> Vec<u8> {
    let mut bytes = b"BM".to_vec();
    bytes.extend((54u32 + 192).to_le_bytes());
    bytes.extend([0; 4]);
    [54u32, 40, 8, 8].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    bytes.extend([1, 0, 24, 0]);
    bytes.extend([0; 24]);
    (0..64).for_each(|_| bytes.extend(colour));
    bytes
}

fn folder(images: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in images {
        std::fs::write(folder.path().join(name), bytes).expect("written");
    }
    folder
}

fn embed(images: &Path, networks: &[Backbone], options: &EmbedOptions<'_>) -> Result<Embedding, VisionError> {
    embed_images(&open_images(&[images.to_owned()]).expect("images"), networks, options)
}

#[test]
fn a_second_run_computes_only_what_has_changed() {
    let images = folder(&[("a.bmp", bitmap([9, 90, 200])), ("b.bmp", bitmap([200, 9, 9]))]);
    let cache = tempfile::tempdir().expect("a folder");
    let networks = [network(Wanted::default())];
    let seen = Cell::new(0);
    let progress = |count: usize| seen.set(seen.get() + count);
    let options =
        EmbedOptions { cache: Some(cache.path()), progress: Some(&progress), ..EmbedOptions::default() };
    let first = embed(images.path(), &networks, &options).expect("features");
    assert_eq!((first.kept, seen.get()), (0, 2));
    assert_eq!((first.table.id(0), first.table.dim()), ("a.bmp".to_owned(), 256));
    let second = embed(images.path(), &networks, &options).expect("features");
    assert_eq!((second.kept, second.table.gather(&[0, 1])), (2, first.table.gather(&[0, 1])));
    std::fs::write(images.path().join("b.bmp"), bitmap([1, 2, 3])).expect("written");
    assert_eq!(embed(images.path(), &networks, &options).expect("features").kept, 1);
    let mirrored = [network(Wanted { mirrored: true, ..Wanted::default() })];
    assert_eq!(embed(images.path(), &mirrored, &options).expect("features").kept, 0);
    let without = embed(images.path(), &networks, &EmbedOptions::default()).expect("features");
    assert_eq!(without.table.gather(&[0]), first.table.gather(&[0]));
}

#[test]
fn what_was_done_before_an_image_that_cannot_be_read_is_kept() {
    let mut images: Vec<(String, Vec<u8>)> =
        (0..70u8).map(|image| (format!("{image:02}.bmp"), bitmap([image, 3 * image, 90]))).collect();
    images[68].1 = b"BM, but no picture".to_vec();
    let images: Vec<(&str, Vec<u8>)> =
        images.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
    let images = folder(&images);
    let cache = tempfile::tempdir().expect("a folder");
    let networks = [network(Wanted::default())];
    let strict = EmbedOptions { cache: Some(cache.path()), ..EmbedOptions::default() };
    let error = embed(images.path(), &networks, &strict).expect_err("a broken image");
    assert!(error.to_string().contains("68.bmp"), "{error}");
    let lenient = EmbedOptions { skip_bad: true, ..strict };
    let embedding = embed(images.path(), &networks, &lenient).expect("features");
    assert_eq!((embedding.table.rows(), embedding.kept), (69, 64));
    assert_eq!(embedding.bad.len(), 1);
    assert_eq!(embedding.bad[0].id, "68.bmp");
}

#[test]
fn several_networks_stand_side_by_side_and_crops_are_averaged() {
    let images = folder(&[("a.bmp", bitmap([9, 90, 200])), ("b.bmp", b"no picture".to_vec())]);
    let options = EmbedOptions { skip_bad: true, ..EmbedOptions::default() };
    let networks = [network(Wanted::default()), network(Wanted { size: Some(16), ..Wanted::default() })];
    let both = embed(images.path(), &networks, &options).expect("features");
    assert_eq!((both.table.rows(), both.table.dim(), both.bad.len()), (1, 512, 1));
    let row = both.table.gather(&[0]);
    let length = |part: &[f32]| part.iter().map(|value| value * value).sum::<f32>();
    assert!((length(&row.as_slice()[..256]) - 1.0).abs() < 1e-5);
    assert!((length(&row.as_slice()[256..]) - 1.0).abs() < 1e-5);
    // Every window of an image of one colour is the same, and so is their mean.
    let one = embed(images.path(), &networks[..1], &options).expect("features");
    let crops = [network(Wanted { crops: Some(5), ..Wanted::default() })];
    let five = embed(images.path(), &crops, &options).expect("features");
    let (one, five) = (one.table.gather(&[0]), five.table.gather(&[0]));
    assert!(one.as_slice().iter().zip(five.as_slice()).all(|(a, b)| (a - b).abs() < 1e-5));
    let cpu = device("cpu").expect("always there");
    assert!(Backbone::shipped(Wanted { crops: Some(0), ..Wanted::default() }, &cpu).is_err());
}
