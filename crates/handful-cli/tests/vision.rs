//! `handful train` and `handful embed` end to end: interruptions, and every kind of bad input.
#![cfg(feature = "vision")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use support::handful;
use tempfile::tempdir;

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// A BMP of 16 x 16 pixels: stripes whose width tells the class, shifted by the number of the image.
fn bitmap(class: usize, image: usize) -> Vec<u8> {
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
fn images(root: &Path) -> PathBuf {
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

fn train_args<'a>(images: &'a str, output: &'a str) -> Vec<&'a str> {
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

/// Kills a training again and again, at moments that a counter spreads over its length; then lets it end.
fn killed_and_resumed(images: &str, output: &str, kills: u64, more: &[&str]) {
    let mut killed = 0;
    for kill in 0..kills {
        let mut run = Command::new(env!("CARGO_BIN_EXE_handful"))
            .args(train_args(images, output))
            .args(more)
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        std::thread::sleep(Duration::from_millis(15 + kill * 7919 % 90));
        if run.try_wait().expect("a state").is_none() {
            killed += 1;
        }
        // SIGKILL on Unix; an error only says that it has ended by itself.
        let _ = run.kill();
        run.wait().expect("an end");
    }
    assert!(killed > 0, "every run was over before it was killed");
    handful(&[&train_args(images, output), more].concat()).succeeded();
}

fn the_same_weights_after(kills: u64, more: &[&str]) {
    let folder = tempdir().expect("a folder");
    let images = images(folder.path());
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    handful(&[&train_args(text(&images), text(&whole)), more].concat()).succeeded();
    killed_and_resumed(text(&images), text(&broken), kills, more);
    let weights = |run: &Path| std::fs::read(run.join("best.safetensors")).expect("weights");
    assert!(weights(&whole) == weights(&broken), "the weights differ");
    let rows = |run: &Path| {
        let table = std::fs::read_to_string(run.join("metrics.csv")).expect("metrics");
        // All but the seconds.
        table
            .lines()
            .map(|line| line.rsplit_once(',').map_or("", |(facts, _)| facts).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(rows(&whole), rows(&broken));
    assert_eq!(rows(&whole).len(), 1 + 6);
    assert!(whole.join("metrics.svg").is_file());
}

#[test]
fn a_training_killed_and_resumed_ends_with_the_same_weights() {
    the_same_weights_after(4, &[]);
}

#[test]
fn averages_and_turned_images_survive_being_killed() {
    the_same_weights_after(3, &["--turns", "0.5", "--averaging", "0.9"]);
}

#[test]
#[ignore = "slow; run with --ignored"]
fn a_training_killed_twenty_times_ends_with_the_same_weights() {
    the_same_weights_after(20, &[]);
}

#[test]
fn a_trained_network_embeds_a_dataset_and_loose_images() {
    let folder = tempdir().expect("a folder");
    let images = images(folder.path());
    let run = folder.path().join("run");
    handful(&train_args(text(&images), text(&run))).succeeded();
    let weights = run.join("best.safetensors");
    let table = folder.path().join("table.npz");
    let args = ["embed", text(&images), "--part", "val", "--weights", text(&weights), "-o", text(&table)];
    handful(&args).succeeded();
    let facts = handful(&["data", "inspect", text(&table), "--format", "json"]);
    let facts: serde_json::Value = serde_json::from_str(facts.succeeded()).expect("one JSON document");
    assert_eq!((&facts["rows"], &facts["dim"]), (&36.into(), &64.into()));
    assert_eq!(facts["classes"][0]["name"], "c4");

    let list = folder.path().join("list.txt");
    let named = [images.join("train/c0/03.bmp"), images.join("val/c5/00.bmp")];
    std::fs::write(&list, format!("{}\n{}\n", text(&named[0]), text(&named[1]))).expect("a list");
    let csv = folder.path().join("two.csv");
    handful(&["embed", text(&list), "--weights", text(&weights), "-o", text(&csv)]).succeeded();
    let rows = std::fs::read_to_string(&csv).expect("a table");
    assert_eq!(rows.lines().count(), 3);
    assert!(rows.contains(text(&named[1])), "{rows}");
}

#[test]
fn an_image_that_cannot_be_read_is_named_or_skipped() {
    let folder = tempdir().expect("a folder");
    let images = images(folder.path());
    let bad = images.join("val/c5/03.bmp");
    std::fs::write(&bad, b"BM, but no picture").expect("a file");
    let table = folder.path().join("table.npz");
    let args = ["embed", text(&images), "--part", "val", "-o", text(&table)];
    handful(&args).refused(&["val/c5/03.bmp", "image"]);
    assert!(!table.exists());
    let run = handful(&[&args[..], &["--skip-bad"]].concat());
    run.succeeded();
    assert!(run.stderr.contains("skipped val/c5/03.bmp"), "{}", run.stderr);
    assert!(run.stderr.contains("35 rows"), "{}", run.stderr);
}

#[test]
fn a_folder_is_labelled_with_any_network_and_features_of_another_layer_are_not_mixed_up() {
    let folder = tempdir().expect("a folder");
    let photos = folder.path().join("photos");
    for class in 0..2 {
        let place = photos.join(format!("support/c{class}"));
        std::fs::create_dir_all(&place).expect("a folder");
        std::fs::write(place.join("0.bmp"), bitmap(class, 0)).expect("an image");
        std::fs::write(photos.join(format!("loose{class}.bmp")), bitmap(class, 1)).expect("an image");
    }
    let network = Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-vision/fixtures/pooled.onnx");
    let cache = folder.path().join("cache");
    let kept = || {
        let networks = std::fs::read_dir(&cache).expect("a cache");
        let files =
            networks.flat_map(|network| std::fs::read_dir(network.expect("there").path()).expect("a folder"));
        files.count()
    };
    let output = folder.path().join("labelled.csv");
    let args =
        ["label", text(&photos), "-o", text(&output), "--cache", text(&cache), "--weights", text(&network)];
    let label = |more: &[&str]| handful(&[&args[..], &["--size", "16"], more].concat());
    label(&[]).succeeded();
    assert_eq!(kept(), 1, "one batch");
    let rows = std::fs::read_to_string(&output).expect("labels");
    assert!(rows.lines().any(|line| line.starts_with("loose1.bmp,")), "{rows}");
    label(&[]).succeeded();
    assert_eq!(kept(), 1, "a second run embeds nothing");
    label(&["--layer", "logits"]).succeeded();
    assert_eq!(kept(), 2, "features of another layer are kept apart");
    label(&["--layer", "logit"]).refused(&["no layer `logit`"]);
    label(&["--backbone", "resnet12"]).refused(&["says itself"]);
}

#[test]
fn wrong_arguments_are_one_sentence() {
    let folder = tempdir().expect("a folder");
    let images = images(folder.path());
    let run = folder.path().join("run");
    let train = |more: &[&str]| handful(&[&["train", text(&images), "-o", text(&run)][..], more].concat());
    train(&["--backbone", "resnet13"]).refused(&["resnet13", "resnet12", "compact"]);
    train(&["--preset", "best"]).refused(&["best", "tim"]);
    train(&["--size", "2"]).refused(&["image size is 2", "8 to 1024"]);
    train(&["--epochs", "0"]).refused(&["epochs is 0"]);
    train(&["--turns", "2"]).refused(&["turned images is 2", "0 to 1"]);
    train(&["--averaging", "1"]).refused(&["averaging is 1"]);
    train(&["--begin-with", "compact", "--backbone", "conv4"]).refused(&["compact"]);
    train(&["--schedule", "sometimes"]).refused(&["sometimes", "cosine"]);
    train(&["--device", "cuda:0"]).refused(&["cuda:0", "--features cuda"]);
    train(&["--device", "abacus"]).refused(&["abacus", "cpu"]);
    assert!(!run.exists());

    let table = folder.path().join("table.npz");
    let embed = |more: &[&str]| handful(&[&["embed", text(&images), "-o", text(&table)][..], more].concat());
    embed(&["--weights", "nowhere.safetensors"]).refused(&["nowhere.safetensors"]);
    let text_file = folder.path().join("weights.pth");
    std::fs::write(&text_file, "no weights").expect("a file");
    embed(&["--weights", text(&text_file), "--backbone", "resnet18"])
        .refused(&["weights.pth", "cannot be read"]);
    let elsewhere = folder.path().join("missing/table.npz");
    handful(&["embed", text(&images), "-o", text(&elsewhere)]).refused(&["missing"]);
    handful(&["embed", text(&images), "-o", text(&folder.path().join("table.xls"))]).refused(&["table.xls"]);
}

#[test]
fn weights_of_another_network_are_refused_by_tensor() {
    let folder = tempdir().expect("a folder");
    let images = images(folder.path());
    let weights =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-vision/fixtures/resnet18.safetensors");
    let table = folder.path().join("table.npz");
    let embed = |backbone: &str| {
        handful(&[
            "embed",
            text(&images),
            "-o",
            text(&table),
            "--weights",
            text(&weights),
            "--backbone",
            backbone,
        ])
    };
    embed("resnet12").refused(&["resnet18.safetensors", "layer1.0.conv1.weight", "missing"]);
}

/// Conv-4 from Omniglot's background characters, 20-way 1-shot on its evaluation characters.
#[test]
fn conv4_learns_omniglot() {
    let data = std::env::var_os("HANDFUL_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let omniglot = data.join("omniglot");
    if !omniglot.is_dir() {
        println!("skipped: {} is not there", omniglot.display());
        return;
    }
    let folder = tempdir().expect("a folder");
    let (run, table) = (folder.path().join("run"), folder.path().join("novel.npz"));
    let train = [
        "train",
        text(&omniglot),
        "-o",
        text(&run),
        "--backbone",
        "conv4",
        "--size",
        "28",
        "--epochs",
        "2",
        "--no-flip",
        "--smoothing",
        "0",
    ];
    handful(&train).succeeded();
    let best = run.join("best.safetensors");
    let embed = ["embed", text(&omniglot), "--part", "novel", "--weights", text(&best), "-o", text(&table)];
    handful(&embed).succeeded();
    let bench = [
        "bench",
        text(&table),
        "--method",
        "protonet",
        "--ways",
        "20",
        "--shots",
        "1",
        "--tasks",
        "500",
        "--format",
        "json",
    ];
    let scores = handful(&bench);
    let scores: serde_json::Value = serde_json::from_str(scores.succeeded()).expect("one JSON document");
    let accuracy = scores["methods"][0]["accuracy"].as_f64().expect("a number");
    println!("20-way 1-shot accuracy {accuracy:.4}");
    assert!(accuracy > 0.6, "{accuracy}");
}
