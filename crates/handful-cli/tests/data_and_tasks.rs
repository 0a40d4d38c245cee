//! `handful data` and `handful tasks` on the built binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-data/tests/fixtures").join(name)
}

fn handful(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_handful")).args(arguments).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output of a command that must succeed.
fn succeed(arguments: &[&str]) -> String {
    let output = handful(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The one sentence of a command that must end with exit code 2.
fn refuse(arguments: &[&str]) -> String {
    let output = handful(arguments);
    let sentence = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {sentence}");
    assert_eq!(sentence.lines().count(), 1, "{sentence}");
    assert!(text(&output.stdout).is_empty());
    sentence
}

fn path(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

#[test]
fn inspect_shows_shape_classes_and_trouble() {
    let table = fixture("numpy/stored.npz");
    let shown = succeed(&["data", "inspect", path(&table)]);
    for expected in [
        "6 rows x 4 columns, 3 classes",
        "ant  2",
        "0 values not finite",
        "0 duplicate rows",
        "row-0 ant: 0.0 0.25",
    ] {
        assert!(shown.contains(expected), "expected `{expected}` in\n{shown}");
    }
    // Suspicious values are shown, not refused: that is what inspecting is for.
    let shown = succeed(&["data", "inspect", path(&fixture("bad/infinite.npy"))]);
    assert!(shown.contains("1 values not finite (first: row 5, column 2)"), "{shown}");
    let shown = succeed(&["data", "inspect", path(&fixture("bad/nan.npz"))]);
    assert!(shown.contains("1 values not finite (first: row 3, column 2)"), "{shown}");
    let json = succeed(&["data", "inspect", "--quick", "--format", "json", path(&table)]);
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&document["rows"], &document["classes"][2]["name"]), (&6.into(), &"cat".into()));
    let shown = succeed(&["data", "inspect", path(&fixture("datasets/cifar-100-python.tar.gz"))]);
    assert!(shown.contains("300 images, 100 classes"), "{shown}");
}

#[test]
fn convert_goes_through_every_format_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut from = fixture("pickle/easyfsl-protocol4.pickle");
    for extension in ["npz", "npy", "safetensors", "parquet", "csv", "tsv"] {
        let to = folder.path().join(format!("table.{extension}"));
        succeed(&["data", "convert", path(&from), path(&to)]);
        from = to;
    }
    let shown = succeed(&["data", "inspect", path(&from)]);
    assert!(shown.contains("6 rows x 4 columns, 3 classes"), "{shown}");

    let labels = folder.path().join("labels.csv");
    let out = folder.path().join("out.npz");
    std::fs::write(&labels, "id,label\n0,x\n99,y\n").unwrap();
    let arguments = ["data", "convert", path(&from), path(&out), "--labels", path(&labels)];
    assert!(refuse(&arguments).contains("labels.csv: line 3: the id `99` is not in"));
    assert!(!out.exists());
}

#[test]
fn split_lists_a_part() {
    let dataset = fixture("datasets/cifar-100-python.tar.gz");
    let listed = succeed(&["data", "split", path(&dataset), "--part", "novel"]);
    let mut lines = listed.lines();
    assert_eq!((lines.next(), lines.next(), lines.count()), (Some("id,label"), Some("train/2,baby"), 59));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("val.csv");
    assert!(
        succeed(&["data", "split", path(&dataset), "--part", "validation", "-o", path(&file)]).is_empty()
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 49);
}

#[test]
fn bad_input_is_one_sentence_and_exit_code_2() {
    for (arguments, expected) in [
        (["data", "inspect", path(&fixture("malicious/os-system-4.pickle"))], "`posix.system`"),
        (["data", "inspect", path(&fixture("bad/truncated.npz"))], "not a zip archive"),
        (["data", "inspect", path(&fixture("bad/bomb.npz"))], "beyond the limit"),
        (["data", "inspect", path(&fixture("bad/duplicate-ids.npz"))], "row 3: the id `a`"),
        (["data", "inspect", "absent.npz"], "absent.npz"),
        (["data", "inspect", path(&fixture("made-with.json"))], "not a valid image list"),
        (["data", "split", path(&fixture("bad/traversal.zip"))], "not a dataset that is known"),
    ] {
        let sentence = refuse(&arguments);
        assert!(sentence.contains(expected), "expected `{expected}` in `{sentence}`");
    }
    let out = fixture("bad/never-written.npz");
    assert!(
        refuse(&["data", "convert", path(&fixture("bad/nan.npz")), path(&out)]).contains("row 3, column 2")
    );
    assert!(
        refuse(&["data", "split", path(&fixture("bad")), "--dataset", "imagenet"])
            .contains("cifar-fs, fc100")
    );
}

#[test]
fn sampled_tasks_are_shown_and_repeat() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.csv");
    let rows: String = (0..120).map(|row| format!("{row},c{},{}\n", row / 20, row)).collect();
    std::fs::write(&table, format!("id,label,f\n{rows}")).unwrap();
    let tasks = folder.path().join("tasks.jsonl");
    let sample = [
        "tasks",
        "sample",
        path(&table),
        "--tasks",
        "50",
        "--ways",
        "3",
        "--shots",
        "1",
        "--most-shots",
        "3",
        "--queries",
        "2",
        "--unlabeled",
        "3",
        "--query-imbalance",
        "2",
        "--distractor-classes",
        "1",
        "--distractor-rows",
        "2",
        "--open-classes",
        "1",
        "--open-rows",
        "4",
    ];
    let printed = succeed(&sample);
    assert!(succeed(&[&sample[..], &["-o", path(&tasks)]].concat()).is_empty());
    assert_eq!(std::fs::read_to_string(&tasks).unwrap(), printed);
    assert_eq!(printed.lines().next(), Some("{\"handful_tasks\":1,\"rows\":120,\"dim\":1}"));

    let shown = succeed(&["tasks", "show", path(&tasks), path(&table)]);
    assert!(shown.contains("50 tasks over 6 classes"), "{shown}");
    assert!(shown.contains("3 ways; per class 1 to 3 shots"), "{shown}");
    assert!(shown.contains("per task 2 distractors, 4 open-set queries"), "{shown}");
    let one = succeed(&["tasks", "show", path(&tasks), path(&table), "--task", "7"]);
    assert!(one.starts_with("task 7\n") && one.contains("    support: "), "{one}");
    let json = succeed(&["tasks", "show", path(&tasks), path(&table), "--format", "json"]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap()["shots"], serde_json::json!([1, 3]));

    assert!(refuse(&["tasks", "show", path(&tasks), path(&table), "--task", "50"]).contains("tasks 0 to 49"));
    assert!(
        refuse(&["tasks", "show", path(&tasks), path(&fixture("numpy/stored.npz"))])
            .contains("line 1: the list is for")
    );
    assert!(
        refuse(&["tasks", "sample", path(&table), "--ways", "7"])
            .contains("has 6 classes, but a task needs 7")
    );
    assert!(
        refuse(&["tasks", "sample", path(&table), "--queries", "20"])
            .contains("class `c0` has 20 rows, but a task needs 21")
    );
}
