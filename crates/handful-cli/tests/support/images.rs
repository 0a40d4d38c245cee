//! Images to train a small network on.

use std::path::{Path, PathBuf};

use super::pool::text;
use super::{Run, handful};

/// A BMP of 16 x 16 pixels: stripes whose width tells the class, shifted by the number of the image.
pub fn bitmap(class: usize, image: usize) -> Vec<u8> {
    const SIDE: usize = 16;
    let mut bytes = b"BM".to_vec();
    bytes.extend((54 + 3 * SIDE as u32 * SIDE as u32).to_le_bytes());
    bytes.extend([0; 4]);
    for number in [54u32, 40, SIDE as u32, SIDE as u32] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend([1, 0, 24, 0]);
    bytes.extend([0; 24]);
    for y in 0..SIDE {
        for x in 0..SIDE {
            let bright = ((x + y * (class % 2) + image) / (class + 1)).is_multiple_of(2);
            bytes.extend([if bright { 230 } else { 20 }, (40 * class) as u8, (7 * image) as u8]);
        }
    }
    bytes
}

/// Class folders: four to train on and three to validate on, 12 images each.
pub fn class_folders(root: &Path) -> PathBuf {
    let folder = root.join("images");
    for (part, classes) in [("train", 0..4), ("val", 4..7)] {
        for class in classes {
            let place = folder.join(part).join(format!("c{class}"));
            std::fs::create_dir_all(&place).expect("a folder");
            for image in 0..12 {
                std::fs::write(place.join(format!("{image:02}.bmp")), bitmap(class, image))
                    .expect("an image");
            }
        }
    }
    folder
}

/// The arguments of a short training that goes on where an earlier one was.
pub fn train_args<'a>(images: &'a str, output: &'a str) -> Vec<&'a str> {
    let fixed = [
        "--backbone",
        "conv4",
        "--size",
        "16",
        "--epochs",
        "6",
        "--batch",
        "8",
        "--save-every",
        "0",
        "--resume",
    ];
    [&["train", images, "-o", output][..], &fixed].concat()
}

/// Trains a small network.
pub fn train(images: &Path, output: &Path, more: &[&str]) -> Run {
    let mut args = train_args(text(images), text(output));
    // What is said twice would be refused.
    for name in more.iter().filter(|word| word.starts_with("--")) {
        if let Some(at) = args.iter().position(|word| word == name) {
            args.drain(at..at + 2);
        }
    }
    handful(&[&args, more].concat())
}
