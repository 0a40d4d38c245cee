//! `handful train DATASET --system NAME`: networks trained on tasks, interrupted, on several threads, and given bad input.
#![cfg(feature = "vision")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use support::images::class_folders as images;
use support::pool::text;
use support::{features, handful};
use tempfile::tempdir;

const BEST: &str = "best.safetensors";
const HEAD: &str = "head.safetensors";

/// The arguments of a short training of a system on images.
fn args<'a>(system: &'a str, images: &'a str, output: &'a str) -> Vec<&'a str> {
    let fixed = "--backbone conv4 --size 16 --ways 3 --shots 2 --queries 3 --batch 2 --steps 6 --validate-every 2 \
                 --validation-tasks 4 --save-every 0 --resume --system";
    ["train", images, "-o", output].into_iter().chain(fixed.split_whitespace()).chain([system]).collect()
}

/// A training into the folder `run` of another, so that every command line is the same: heads keep it.
fn command(system: &str, images: &Path, folder: &Path, threads: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_handful"));
    let args = args(system, text(images), "run");
    command.current_dir(folder);
    command.args(args).env("RAYON_NUM_THREADS", threads).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn files(folder: &Path) -> [Vec<u8>; 2] {
    [BEST, HEAD].map(|name| std::fs::read(folder.join("run").join(name)).expect("a file"))
}

#[test]
fn a_training_killed_and_resumed_ends_with_the_same_bits_on_any_number_of_threads() {
    let folder = tempdir().expect("a folder");
    let images = images(folder.path());
    for system in ["protonet", "maml"] {
        let [whole, broken] = [(); 2].map(|()| tempdir().expect("a folder"));
        let run = |folder: &Path, threads| command(system, &images, folder, threads);
        assert!(run(whole.path(), "1").status().expect("it runs").success());
        for kill in 0..4u64 {
            let mut run = run(broken.path(), "2").spawn().expect("it runs");
            std::thread::sleep(Duration::from_millis(10 + kill * 7919 % 60));
            // SIGKILL on Unix; an error only says that it has ended by itself.
            let _ = run.kill();
            run.wait().expect("an end");
        }
        assert!(run(broken.path(), "2").status().expect("it runs").success());
        assert!(files(whole.path()) == files(broken.path()), "{system}: the weights differ");
    }
}

#[test]
fn what_was_trained_embeds_and_solves_tasks_and_nothing_else() {
    let folder = tempdir().expect("a folder");
    let images = images(folder.path());
    let run = folder.path().join("run");
    handful(&args("r2d2", text(&images), text(&run))).succeeded();
    let table = folder.path().join("table.npz");
    let weights = run.join(BEST);
    handful(&["embed", text(&images), "--part", "val", "--weights", text(&weights), "-o", text(&table)])
        .succeeded();
    let head = run.join(HEAD);
    let method = format!("r2d2:{}", text(&head));
    let bench = |table: &Path, method: &str| {
        let fixed =
            ["bench", text(table), "--ways", "3", "--queries", "3", "--tasks", "5", "--method", method];
        handful(&fixed)
    };
    assert!(bench(&table, &method).succeeded().contains("r2d2"));
    bench(&features(folder.path()), &method).refused_with(&["trained on features of 64 dimensions, not 8"]);
    bench(&table, &format!("protonet:{}", text(&head))).refused_with(&["is a head of r2d2"]);
}

#[test]
fn a_head_refuses_features_of_another_network_that_have_its_dimensions() {
    let folder = tempdir().expect("a folder");
    let images = images(folder.path());
    let of = |name: &str| folder.path().join(name);
    let short = ["--backbone", "conv4", "--size", "16", "--epochs", "1", "--batch", "4"];
    for seed in ["1", "2"] {
        let run = of(&format!("network-{seed}"));
        handful(&[&["train", text(&images), "-o", text(&run), "--seed", seed][..], &short].concat())
            .succeeded();
        for (part, extension) in [("base", "npz"), ("val", "npz"), ("val", "safetensors"), ("val", "csv")] {
            let (table, weights) = (of(&format!("{part}-{seed}.{extension}")), run.join(BEST));
            let embed =
                ["embed", text(&images), "--part", part, "--weights", text(&weights), "-o", text(&table)];
            handful(&embed).succeeded();
        }
    }
    let train = |validation: &Path, output: &Path| {
        let small = "--system r2d2 --ways 3 --queries 3 --steps 2 --validation-tasks 4".split(' ');
        let base = of("base-1.npz");
        let paths = ["train", text(&base), "--validation", text(validation), "-o", text(output)];
        handful(&paths.into_iter().chain(small).collect::<Vec<_>>())
    };
    train(&of("val-2.npz"), &of("mixed")).refused(&["conv4 at 16 px", "from the same network"]);
    train(&of("val-1.npz"), &of("head")).succeeded();
    let frozen = format!("r2d2:{}", text(&of("head").join(BEST)));
    handful(&args("r2d2", text(&images), text(&of("run")))).succeeded();
    let through = format!("r2d2:{}", text(&of("run").join(HEAD)));
    let bench = |table: &str, method: &str| {
        let fixed = "--ways 3 --queries 3 --tasks 5 --method".split(' ');
        let table = of(table);
        handful(&["bench", text(&table)].into_iter().chain(fixed).chain([method]).collect::<Vec<_>>())
    };
    bench("val-1.npz", &frozen).succeeded();
    for table in ["val-2.npz", "val-2.safetensors"] {
        bench(table, &frozen).refused(&[
            "r2d2",
            "its head is for features of conv4 at 16 px",
            "these are of",
        ]);
    }
    bench("val-1.npz", &through).refused(&["its head is for features of the network trained with it"]);
    // What does not say where it is from is taken as it is.
    bench("val-2.csv", &frozen).succeeded();
}

#[test]
fn rotations_come_before_mixup_and_go_on_where_they_were() {
    let folder = tempdir().expect("a folder");
    let images = images(folder.path());
    let of = |name: &str| folder.path().join(name);
    let train = |output: &Path, more: &str| {
        let fixed = "--backbone conv4 --size 16 --batch 4 --cosine 2".split(' ').chain(more.split(' '));
        handful(&["train", text(&images), "-o", text(output)].into_iter().chain(fixed).collect::<Vec<_>>())
    };
    train(&of("whole"), "--rotations --epochs 2").succeeded();
    train(&of("parts"), "--rotations --epochs 1").succeeded();
    train(&of("parts"), "--rotations --epochs 2 --resume --schedule cosine").succeeded();
    let weights = text(&of("whole").join(BEST)).to_owned();
    train(&of("mixed"), &format!("--mixup 2 --epochs 1 --begin-with {weights}")).succeeded();
    let [rotated, mixed] = ["whole", "mixed"].map(|run| std::fs::read(of(run).join(BEST)).expect("weights"));
    assert!(rotated != mixed);
    train(&of("both"), "--rotations --mixup 2 --epochs 1").refused(&["rotations", "--begin-with"]);
    train(&of("turned"), "--rotations --turns 0.5 --epochs 1").refused(&["neither mixup nor turns"]);
}

/// Class folders without any to validate on.
fn base_only(root: &Path) -> PathBuf {
    let images = images(root);
    std::fs::remove_dir_all(images.join("val")).expect("removed");
    images
}

#[test]
fn wrong_arguments_are_one_sentence() {
    let folder = tempdir().expect("a folder");
    let whole = images(folder.path());
    let output = folder.path().join("run");
    let run = |system: &str, images: &Path, more: &[&str]| {
        handful(&[&args(system, text(images), text(&output))[..], more].concat())
    };
    run("nonsense", &whole, &[]).refused(&["nonsense", "protonet", "maml"]);
    run("maml", &whole, &["--set", "inner_rate=0"]).refused(&["inner rate is 0", "above 0"]);
    let mut wide = args("maml", text(&whole), text(&output));
    wide[5] = "resnet12";
    handful(&wide).refused_with(&["backbone is resnet12", "second_order=false"]);
    run("maml", &whole, &["--set", "depth=3"]).refused(&["depth", "inner_steps"]);
    run("protonet", &whole, &["--evaluate-tasks", "5"]).refused(&["novel"]);
    let bare = folder.path().join("bare");
    std::fs::create_dir(&bare).expect("a folder");
    run("protonet", &base_only(&bare), &[]).refused(&["validation"]);
    let many = ["--set", "scale=2", "--begin-with", "compact"];
    run("protonet", &whole, &many).refused(&["of the backbone compact"]);
}
