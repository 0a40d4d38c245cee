//! Small sample data for the blocks of a page, by the names that its `setup` comment gives.

use std::path::Path;

use crate::datasets;
use crate::support::{Array, images, npz};

/// Classes, rows of each and columns of the made-up features: enough for 20-way tasks and for unequal class sizes.
const CLASSES: usize = 24;
const ROWS: usize = 150;
const COLUMNS: usize = 24;
/// A pool to label: fewer classes, so that one column of it can be filled in by hand.
const POOL_CLASSES: usize = 6;
const POOL_ROWS: usize = 60;
const KINDS: [&str; 4] = ["cat", "dog", "fox", "owl"];

/// Puts what a name stands for into the folder.
///
/// # Panics
/// On a name that nobody knows.
pub fn put(name: &str, folder: &Path) {
    match name {
        "features" => features(folder, &["features.npz", "val.npz", "novel.npz"]),
        "pool" => pool(folder),
        "photos" => photos(folder),
        "texts" => texts(folder),
        "shards" => shards(folder),
        "images" => class_folders(folder),
        "network" => network(folder),
        "cifar" => datasets::cifar(folder),
        "birds" => datasets::birds(folder),
        "characters" => datasets::characters(folder),
        "fixtures" => fixtures(folder),
        other => panic!("no setup is called {other:?}"),
    }
}

fn features(folder: &Path, names: &[&str]) {
    let (values, labels) = clusters(CLASSES, ROWS, 0);
    for name in names {
        let shape = [CLASSES * ROWS, COLUMNS];
        npz(folder, name, &[Array::f32("features", &shape, &values), Array::i64("labels", &labels)]);
    }
}

/// `pool.npy` and `more.npy` without labels, the same as `pool.npz`, and five labels of each class.
fn pool(folder: &Path) {
    let (values, labels) = clusters(POOL_CLASSES, POOL_ROWS, 0);
    let more = clusters(POOL_CLASSES, 10, 7).0;
    write_npy(&folder.join("pool.npy"), &values);
    write_npy(&folder.join("more.npy"), &more);
    npz(folder, "pool.npz", &[Array::f32("features", &[labels.len(), COLUMNS], &values)]);
    let lines = labels.iter().enumerate().map(|(row, class)| format!("{row},class {class}\n"));
    add_truth(folder, &lines.collect::<String>());
    let given = (0..POOL_CLASSES * 5).map(|at| format!("{},class {}\n", at / 5 * POOL_ROWS + at % 5, at / 5));
    write(folder, "labels.csv", &format!("id,label\n{}", given.collect::<String>()));
}

/// Photographs of four kinds in `photos/`, some more in `new-photos/`, and their truth.
fn photos(folder: &Path) {
    let mut truth = String::new();
    for (place, count) in [("photos", 20), ("new-photos", 4)] {
        std::fs::create_dir_all(folder.join(place)).expect("a folder");
        for at in 0..count * KINDS.len() {
            let (class, name) = (at % KINDS.len(), format!("IMG_{at:04}.bmp"));
            std::fs::write(folder.join(place).join(&name), images::bitmap(class, at)).expect("an image");
            if place == "photos" {
                truth += &format!("{name},{}\n", KINDS[class]);
            }
        }
    }
    add_truth(folder, &truth);
}

/// `images/` to train a network on, with classes of its own for each part.
fn class_folders(folder: &Path) {
    let images = images::class_folders(folder);
    std::fs::rename(images.join("val/c6"), folder.join("c6")).expect("moved");
    std::fs::create_dir(images.join("test")).expect("a folder");
    std::fs::rename(folder.join("c6"), images.join("test/c6")).expect("moved");
}

/// A network of another program: any of the small ones that handful-vision is tested with.
fn network(folder: &Path) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-vision/fixtures");
    std::fs::copy(fixtures.join("pooled.onnx"), folder.join("network.onnx")).expect("a copy");
}

/// Reviews, and the sentence encoder of eight words that handful-vision is tested with.
fn texts(folder: &Path) {
    let reviews = "id,text,label\na,good food,happy\nb,very good friendly service,\nc,bad slow food,\n\
        d,friendly service,happy\ne,slow service,angry\nf,bad food,angry\ng,very bad,\nh,good friendly,\n";
    write(folder, "texts.csv", reviews);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-vision/fixtures");
    for (from, to) in [("words.onnx", "model.onnx"), ("words.json", "tokenizer.json")] {
        std::fs::copy(fixtures.join(from), folder.join(to)).expect("a copy");
    }
}

/// Eight tables to label one by one.
fn shards(folder: &Path) {
    std::fs::create_dir_all(folder.join("shards")).expect("a folder");
    for shard in 0..8 {
        let rows = clusters(POOL_CLASSES, 5, shard).0;
        write_npy(&folder.join(format!("shards/rows-{shard:05}-of-00008.npy")), &rows);
    }
}

/// The committed files of other programs.
fn fixtures(folder: &Path) {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-data/tests/fixtures");
    for (from, to) in
        [("malicious/os-system-2.pickle", "evil.pickle"), ("pickle/s2m2-protocol2.plk", "features.plk")]
    {
        std::fs::copy(place.join(from), folder.join(to)).unwrap_or_else(|error| panic!("{from}: {error}"));
    }
}

/// Rows around an axis for each class, in the order of the classes.
fn clusters(classes: usize, rows: usize, shift: usize) -> (Vec<f32>, Vec<i64>) {
    let mut values = Vec::with_capacity(classes * rows * COLUMNS);
    let mut labels = Vec::with_capacity(classes * rows);
    for row in 0..classes * rows {
        labels.push((row / rows) as i64);
        for column in 0..COLUMNS {
            let hash = ((row + shift * 977) * 31 + column * 17) * 2_654_435_761 % 1000;
            values.push(if column == row / rows { 1.0 } else { 0.0 } + 0.8 * hash as f32 / 1000.0);
        }
    }
    (values, labels)
}

fn write_npy(path: &Path, values: &[f32]) {
    let mut header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {COLUMNS}), }}",
        values.len() / COLUMNS
    );
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    std::fs::write(path, bytes).expect("written");
}

/// Adds to the file that `fill-in` looks labels up in.
fn add_truth(folder: &Path, lines: &str) {
    let there = std::fs::read_to_string(folder.join("truth.csv")).unwrap_or_default();
    write(folder, "truth.csv", &(there + lines));
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("written");
}
