//! Small image datasets in the layouts of their archives: enough images for five-way tasks, of a few hundred bytes each.

use std::path::Path;
use std::process::Command;

use crate::support::images::bitmap;

/// Images of a class: five labelled ones and fifteen to ask about, and some more.
const IMAGES: usize = 24;
/// The names of the 100 classes of CIFAR-100, by which its readers know the splits.
const CIFAR_100: &str = include_str!("cifar-100.txt");

/// `cifar-100-binary/` as the archive unpacks: a record is a coarse label, a fine one and three planes of 32 x 32.
pub fn cifar(folder: &Path) {
    let folder = made(folder, "cifar-100-binary");
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for image in 0..IMAGES {
        let file = if image == 0 { &mut test } else { &mut train };
        for class in 0..CIFAR_100.lines().count() {
            file.extend([class as u8 / 5, class as u8]);
            file.extend(planes(class, image));
        }
    }
    write(&folder.join("train.bin"), &train);
    write(&folder.join("test.bin"), &test);
    write(&folder.join("fine_label_names.txt"), CIFAR_100.as_bytes());
}

/// The pixels of a bitmap, each four times, colour by colour.
fn planes(class: usize, image: usize) -> Vec<u8> {
    let bytes = bitmap(class, image);
    let pixels = &bytes[bytes.len() - 3 * 16 * 16..];
    let place = |at: usize| 3 * (at / 64 * 16 + at % 32 / 2);
    (0..3).flat_map(|colour| (0..32 * 32).map(move |at| pixels[place(at) + colour])).collect()
}

/// `CUB_200_2011.tar`, with all its 200 classes.
pub fn birds(folder: &Path) {
    for class in 0..200 {
        let place = made(folder, &format!("CUB_200_2011/images/{:03}.Bird_{class}", class + 1));
        for image in 0..IMAGES {
            write(&place.join(format!("{image:02}.bmp")), &bitmap(class, image));
        }
    }
    let packed =
        Command::new("tar").args(["-cf", "CUB_200_2011.tar", "CUB_200_2011"]).current_dir(folder).status();
    assert!(packed.expect("tar runs").success());
}

/// `omniglot/` with six characters to evaluate on.
pub fn characters(folder: &Path) {
    for class in 0..6 {
        let place = made(folder, &format!("omniglot/images_evaluation/Letters/character{:02}", class + 1));
        for image in 0..20 {
            write(&place.join(format!("{class:04}_{image:02}.bmp")), &bitmap(class, image));
        }
    }
}

fn made(folder: &Path, name: &str) -> std::path::PathBuf {
    let place = folder.join(name);
    std::fs::create_dir_all(&place).expect("a folder");
    place
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("written");
}
