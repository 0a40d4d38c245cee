//! What the program computed when these files were written, number by number.
//!
//! A change that moves code must leave them alone; a change that means to move numbers writes them anew with
//! `HANDFUL_FREEZE=1 cargo test -p handful-cli --test frozen` and says why. The portable kernels are forced, whose
//! bits are those of every other path.

mod support;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

/// Rows of an output that are kept as they are, so that a difference can be looked at.
const KEPT_ROWS: usize = 40;
const LABELS_PER_CLASS: usize = 5;

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-data/assets/cifar-fs-novel.compact.npz")
}

fn handful(args: &[&str]) -> Result<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_handful"))
        .args(args)
        .env("HANDFUL_SIMD", "portable")
        .output()
        .expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[track_caller]
fn hold(name: &str, now: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frozen").join(name);
    if std::env::var_os("HANDFUL_FREEZE").is_some() {
        std::fs::create_dir_all(path.parent().expect("inside a folder")).expect("made");
        std::fs::write(&path, now).expect("written");
        return;
    }
    let frozen = std::fs::read_to_string(&path).expect("frozen earlier");
    for (line, (frozen, now)) in frozen.lines().zip(now.lines()).enumerate() {
        assert_eq!(frozen, now, "{name}, line {}", line + 1);
    }
    assert_eq!(frozen.lines().count(), now.lines().count(), "{name}: another number of lines");
}

/// The first rows of a file and the digest of all of it.
fn digest(text: &str) -> String {
    let mut out = text.lines().take(KEPT_ROWS).fold(String::new(), |out, line| out + line + "\n");
    let digest: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(out, "{} lines, sha256 {digest}", text.lines().count()).expect("a string");
    out
}

/// Labels the first rows of each class of a table that `data convert` can write as text.
fn label(name: &str, pool: &Path, more: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let pool = pool.to_str().expect("UTF-8");
    handful(&["data", "convert", pool, &path("pool.csv")]).expect("converted");
    let table = std::fs::read_to_string(path("pool.csv")).expect("written");
    let mut rows = table.lines();
    let header: Vec<&str> = rows.next().expect("a header").split(',').collect();
    let class = header.iter().position(|name| *name == "label").expect("classes");
    let id = header.iter().position(|name| *name == "id");
    let mut labels = String::from("id,label\n");
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    for (row, line) in rows.enumerate() {
        let cell = |at: usize| line.split(',').nth(at);
        let name = cell(class).expect("a class").to_owned();
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count <= LABELS_PER_CLASS {
            let id = id.and_then(cell).map_or(row.to_string(), str::to_owned);
            writeln!(labels, "{id},{name}").expect("a string");
        }
    }
    std::fs::write(path("labels.csv"), labels).expect("written");
    let (output, labels) = (path("out.csv"), path("labels.csv"));
    let rule = "pool:smoothing";
    let mut args =
        vec!["label", pool, "--labels", &labels, "-o", &output, "--max-error", "0.05", "--method", rule];
    args.extend(more);
    handful(&args).expect("labelled");
    let read = |name: &str| digest(&std::fs::read_to_string(path(name)).expect("written"));
    // The order of the review is another rule's business; what it says about each row is this one's.
    let review = read("review.csv");
    let mut lines: Vec<&str> = review.lines().skip(1).collect();
    lines.sort_unstable();
    hold(name, &format!("labelled.csv\n{}review.csv\n{}\n", read("out.csv"), lines.join("\n")));
}

#[test]
fn labels_of_the_shipped_features_with_the_exact_kernel() {
    label("label-shipped-exact.txt", &shipped(), &[]);
}

#[test]
fn labels_of_the_shipped_features_through_landmarks() {
    label("label-shipped-landmarks.txt", &shipped(), &["--set", "exact_rows=1000", "--set", "landmarks=512"]);
}

#[test]
fn labels_of_a_made_up_pool() {
    let folder = tempfile::tempdir().expect("a folder");
    label("label-made-up.txt", &support::features(folder.path()), &[]);
}

/// Every method with every preset, task by task; a method that could not do these tasks still cannot.
#[test]
fn accuracies_of_every_method_and_preset() {
    let features = shipped();
    let features = features.to_str().expect("UTF-8");
    let mut now = String::new();
    // The systems after the empty line need a head of their own.
    for line in handful(&["params"]).expect("a list").lines().take_while(|line| !line.is_empty()) {
        let (method, presets) = line.split_once(' ').expect("a name and presets");
        for preset in presets.trim().split(", ") {
            let entry = format!("{method}:{preset}");
            let args =
                ["bench", features, "--method", &entry, "--tasks", "20", "--per-task", "--format", "json"];
            match handful(&args) {
                Ok(json) => {
                    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
                    let per_task = &json["methods"][0]["per_task"];
                    assert_eq!(per_task.as_array().map(Vec::len), Some(20), "{entry}");
                    writeln!(now, "{entry} {per_task}").expect("a string");
                }
                Err(_) => writeln!(now, "{entry} cannot").expect("a string"),
            }
        }
    }
    hold("bench.txt", &now);
}

#[test]
fn table_5_of_the_paper() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    handful(&["reproduce", "table5", "--tasks", "20", "--out", out.to_str().expect("UTF-8")])
        .expect("reproduced");
    let csv = std::fs::read_to_string(out.join("table5.csv")).expect("written");
    hold("table5.txt", &csv);
}
