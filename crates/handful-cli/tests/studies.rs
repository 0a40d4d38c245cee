//! Studies end to end: output formats, grids, references, tuning, uneven tasks and rows of unknown classes.

mod support;

use support::{Array, features, handful, npz};
use tempfile::tempdir;

fn path(path: &std::path::Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn markdown_and_csv_hold_the_same_methods_as_the_table() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    let args = ["bench", path(&file), "--tasks", "8", "--method", "protonet,tim-gd", "--format"];
    let markdown = handful(&[&args[..], &["markdown"]].concat());
    let lines: Vec<&str> = markdown.succeeded().lines().collect();
    assert!(lines[1].starts_with("|---|---:|") && lines[3].starts_with("| tim-gd | "), "{lines:?}");
    let csv = handful(&[&args[..], &["csv"]].concat());
    let lines: Vec<Vec<&str>> = csv.succeeded().lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((lines.len(), lines[0][0], lines[2][0]), (3, "method", "tim-gd"));
    assert!(lines.iter().all(|line| line.len() == lines[0].len()));
    let column = |name: &str| lines[0].iter().position(|heading| *heading == name).expect("a column");
    let tally: usize = ["wins", "ties", "losses"]
        .iter()
        .map(|name| lines[2][column(name)].parse::<usize>().expect("a count"))
        .sum();
    assert_eq!(tally, 8, "every task is won, tied or lost");
}

#[test]
fn a_grid_enters_once_per_combination_and_the_reference_can_be_chosen() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    let args = [
        "bench",
        path(&file),
        "--tasks",
        "4",
        "--method",
        "protonet,dm",
        "--grid",
        "dm.steps=5,10",
        "--grid",
        "dm.temperature=0.1,0.2",
    ];
    let run =
        handful(&[&args[..], &["--reference", "dm[steps=10 temperature=0.2]", "--format", "json"]].concat());
    let document: serde_json::Value = serde_json::from_str(run.succeeded()).expect("one JSON document");
    let methods = document["methods"].as_array().expect("a list");
    assert_eq!(methods.len(), 5);
    assert_eq!(
        (&methods[4]["params"]["steps"], &methods[4]["params"]["temperature"]),
        (&10.into(), &0.2.into())
    );
    assert!(methods[4]["difference"].is_null() && methods[0]["significance"]["p_sign_flip"].is_number());

    handful(&[&args[..], &["--reference", "svm"]].concat()).refused(&["--reference svm", "protonet"]);
    handful(&["bench", path(&file), "--method", "protonet,dm", "--grid", "warp=1,2"])
        .refused(&["--grid warp"]);
    handful(&["bench", path(&file), "--method", "dm", "--grid", "steps"])
        .refused(&["--grid steps", "key=value"]);
}

#[test]
fn tuning_writes_a_preset_file_that_bench_takes() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    let presets = folder.path().join("tuned.toml");
    let tune = ["bench", "tune", path(&file), "--tasks", "6", "--method", "tim-gd", "--grid", "steps=3,7"];
    for search in ["grid", "coordinate"] {
        handful(&[&tune[..], &["--search", search, "-o", path(&presets)]].concat()).succeeded();
    }
    let text = std::fs::read_to_string(&presets).expect("the preset file");
    assert!(text.starts_with("# handful ") && text.contains("\n[tim-gd]\n"), "{text}");
    for method in [format!("tim-gd:{}", path(&presets)), "tim-gd".to_owned()] {
        let mut args = vec!["bench", path(&file), "--tasks", "3", "--method", &method, "--format", "json"];
        if method == "tim-gd" {
            args.extend(["--preset", path(&presets)]);
        }
        let document: serde_json::Value =
            serde_json::from_str(handful(&args).succeeded()).expect("one JSON document");
        let steps = document["methods"][0]["params"]["steps"].as_u64().expect("a number");
        assert!(text.contains(&format!("\nsteps = {steps}\n")) && [3, 7].contains(&steps), "{text}");
    }
    let other = format!("svm:{}", path(&presets));
    handful(&["bench", path(&file), "--method", &other]).refused(&["no [svm]", "tim-gd"]);
    handful(&["bench", "tune", path(&file), "--method", "tim-gd"]).refused(&["--grid"]);
    std::fs::write(&presets, "[tim-gd]\nsteps = many\n").expect("written");
    handful(&["bench", path(&file), "--method", "tim-gd", "--preset", path(&presets)]).refused(&["line 2"]);
}

#[test]
fn novel_classes_cannot_be_tuned_on_and_mixed_tables_are_restricted() {
    let folder = tempdir().expect("a folder");
    let table = |name: &str, classes: &[&str]| {
        let rows = 40 * classes.len();
        let features: Vec<f32> = (0..rows * 2).map(|at| ((at * 37 % 101) + at / 80) as f32).collect();
        let labels: Vec<i64> = (0..rows).map(|row| (row / 40) as i64).collect();
        let arrays = [Array::f32("features", &[rows, 2], &features), Array::i64("labels", &labels)];
        let file = npz(folder.path(), name, &arrays);
        let names = serde_json::to_string(classes).expect("names");
        std::fs::write(file.with_extension("classes.json"), names).expect("written");
        file
    };
    let tune = |file: &std::path::Path| {
        handful(&[
            "bench",
            "tune",
            path(file),
            "--tasks",
            "2",
            "--ways",
            "2",
            "--method",
            "svm",
            "--grid",
            "c=0.1,1",
        ])
    };
    let novel = table("novel.npz", &["whale", "poppy", "rose"]);
    tune(&novel).refused(&["validation class of CIFAR-FS", "whale is a novel class"]);
    let mixed = table("mixed.npz", &["whale", "otter", "shark", "bee"]);
    let run = tune(&mixed);
    assert!(run.succeeded().contains("on 2 classes of mixed.npz"), "{}", run.stdout);
}

#[test]
fn uneven_and_open_tasks_get_the_measures_they_need() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    let args = [
        "bench",
        path(&file),
        "--tasks",
        "5",
        "--ways",
        "3",
        "--queries",
        "4",
        "--method",
        "protonet,dm-ida",
    ];
    let even = handful(&args);
    assert!(!even.succeeded().contains("macro"), "{}", even.stdout);
    let uneven = handful(&[&args[..], &["--query-imbalance", "2"]].concat());
    assert!(uneven.succeeded().contains("macro %"), "{}", uneven.stdout);
    let open = [
        "--unlabeled",
        "4",
        "--distractor-classes",
        "1",
        "--distractor-rows",
        "4",
        "--open-classes",
        "1",
        "--open-rows",
        "4",
        "--format",
        "json",
    ];
    let run = handful(&[&args[..], &open].concat());
    let document: serde_json::Value = serde_json::from_str(run.succeeded()).expect("one JSON document");
    assert_eq!(document["setting"]["distractor_rows"], 4);
    for method in document["methods"].as_array().expect("a list") {
        for measure in ["open_set_auroc", "distractor_auroc"] {
            let value = method[measure]["mean"].as_f64().expect("an AUROC");
            assert!((0.0..=1.0).contains(&value), "{measure} {value}");
        }
    }
}
