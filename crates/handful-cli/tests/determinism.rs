//! The same bytes on every instruction set of this machine and for any number of threads: the table of `docs/src/results/robustness.md`.

mod support;

use std::path::Path;
use std::process::Command;

use support::pool::{Pool, text};

/// Instruction sets that this machine has.
fn paths() -> Vec<&'static str> {
    let mut paths = vec!["portable"];
    #[cfg(target_arch = "x86_64")]
    {
        paths.extend(std::is_x86_feature_detected!("fma").then_some("avx2"));
        paths.extend(std::is_x86_feature_detected!("avx512f").then_some("avx512"));
    }
    #[cfg(target_arch = "aarch64")]
    paths.push("neon");
    paths
}

/// Runs the binary and returns what it printed.
fn run(path: &str, threads: &str, args: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_handful"))
        .args(args)
        .env("HANDFUL_SIMD", path)
        .env("RAYON_NUM_THREADS", threads)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Runs a command on every path and with several numbers of threads; `OUT` stands for a new folder. Everything it writes must
/// be the same.
#[track_caller]
fn the_same_everywhere(line: &[&str]) {
    let written = |path: &str, threads: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let args: Vec<String> = line.iter().map(|word| word.replace("OUT", text(folder.path()))).collect();
        run(path, threads, &args.iter().map(String::as_str).collect::<Vec<_>>());
        let mut files: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").flatten().collect();
        files.sort_by_key(|file| file.file_name());
        assert!(!files.is_empty(), "{line:?} wrote nothing");
        let read = |file: &std::fs::DirEntry| std::fs::read(file.path()).expect("a file");
        files.iter().map(|file| (file.file_name(), read(file))).collect::<Vec<_>>()
    };
    let expected = written("portable", "1");
    for path in paths() {
        assert!(written(path, "3") == expected, "{line:?}: {path} with three threads differs");
    }
}

/// Features with as many columns as real ones have, so that sums are long: those that come with the program.
fn shipped() -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-data/assets/cifar-fs-novel.compact.npz");
    text(&path).to_owned()
}

/// Three rows of each of a few classes of the shipped features.
fn shipped_labels(pool: &Pool) -> String {
    let converted = pool.path("shipped.csv");
    support::handful(&["data", "convert", &shipped(), text(&converted)]).succeeded();
    let table = pool.read("shipped.csv");
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let label = header.iter().position(|name| *name == "label").expect("classes");
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    let mut labels = "id,label\n".to_owned();
    for (row, line) in lines.enumerate() {
        let class = line.split(',').nth(label).expect("a class").to_owned();
        let count = seen.entry(class.clone()).or_default();
        *count += 1;
        if *count <= 3 {
            let id = header.iter().position(|name| *name == "id").and_then(|at| line.split(',').nth(at));
            labels += &format!("{},{class}\n", id.map_or(row.to_string(), str::to_owned));
        }
    }
    text(&pool.write("shipped-labels.csv", &labels)).to_owned()
}

#[test]
fn label_predict_and_choose_write_the_same_bytes() {
    let pool = Pool::new();
    let (features, labels) = (shipped(), shipped_labels(&pool));
    let label = ["label", &features, "--labels", &labels, "-o", "OUT/l.csv", "--save", "OUT/m.safetensors"];
    the_same_everywhere(&label);
    the_same_everywhere(&[&label[..6], &["--method", "pool:smoothing"]].concat());
    let model = pool.path("m.safetensors");
    let (out, labels) = (pool.path("l.csv"), pool.labels(3));
    let args =
        ["label", text(&pool.pool), "--labels", text(&labels), "-o", text(&out), "--save", text(&model)];
    support::handful(&args).succeeded();
    the_same_everywhere(&["predict", text(&model), text(&pool.pool), "-o", "OUT/p.csv"]);
    the_same_everywhere(&["choose", &features, "-n", "20", "-o", "OUT/c.csv"]);
}

#[test]
fn every_method_gives_the_same_accuracies() {
    let listed = support::handful(&["params"]);
    // Behind the methods, after an empty line, come systems that need a head; DeepEMD needs maps, which no table here has.
    let names = listed.succeeded().lines().map_while(|line| line.split_whitespace().next());
    let methods: Vec<&str> = names.filter(|&name| name != "deepemd").collect();
    assert!(methods.len() > 20, "{methods:?}");
    let (features, methods) = (shipped(), methods.join(","));
    let args = [
        "bench",
        &features,
        "--method",
        &methods,
        "--shots",
        "2",
        "--tasks",
        "2",
        "--per-task",
        "--format",
        "json",
    ];
    let accuracies = |path: &str, threads: &str| {
        let document: serde_json::Value =
            serde_json::from_slice(&run(path, threads, &args)).expect("a JSON document");
        let methods = document["methods"].as_array().expect("a list").clone();
        methods
            .iter()
            .map(|method| (method["method"].to_string(), method["per_task"].to_string()))
            .collect::<Vec<_>>()
    };
    let expected = accuracies("portable", "1");
    for path in paths() {
        assert_eq!(accuracies(path, "2"), expected, "{path}");
    }
}
