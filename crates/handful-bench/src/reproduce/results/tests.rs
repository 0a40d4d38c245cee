//! Appending, resuming, tearing and refusing.

use super::*;

fn run(features: &str) -> RunStamp {
    RunStamp {
        features_sha256: features.repeat(16),
        preset: "default".into(),
        tasks: 10,
        seed: 1,
        full: false,
        benchmark: "cifar-fs".into(),
        version: "0".into(),
    }
}

fn record(row: &str, right: Vec<u32>) -> Record {
    Record {
        table: "table5".into(),
        row: row.into(),
        column: "1-shot".into(),
        method: "dm".into(),
        preset: "default".into(),
        params: serde_json::json!({"steps": 1}),
        uses_unlabelled: true,
        knows_class_sizes: false,
        setting: SettingStamp { ways: 5, shots: 1, queries: 15, unlabeled: 0 },
        features: FeatureStamp { name: "x".into(), rows: 1, dim: 1, classes: 1, sha256: "ab".repeat(16) },
        seed: 1,
        tasks: right.len(),
        run: run("abcd"),
        machine: Machine::here(),
        accuracy: 0.1 + 0.2,
        ci95: 1.0 / 3.0,
        seconds: 0.5,
        right,
        of: 75,
        extra: Value::Null,
    }
}

#[test]
fn what_was_appended_is_found_again_bit_for_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let written = record("a", vec![3, 75]);
    Store::open(folder.path(), &run("abcd"), false).expect("new").append(written.clone()).expect("written");
    let store = Store::open(folder.path(), &run("abcd"), false).expect("there");
    assert_eq!(store.find("table5", "a", "1-shot"), Some(&written));
    assert_eq!(store.find("table5", "b", "1-shot"), None);
}

#[test]
fn a_torn_last_line_is_cut_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Store::open(folder.path(), &run("abcd"), false).expect("new");
    store.append(record("a", vec![1])).expect("written");
    store.append(record("b", vec![2])).expect("written");
    drop(store);
    let path = folder.path().join(RESULTS);
    let whole = std::fs::read(&path).expect("read");
    std::fs::write(&path, &whole[..whole.len() - 7]).expect("torn");
    assert_eq!(read(folder.path()).expect("still readable").len(), 1);
    let mut store = Store::open(folder.path(), &run("abcd"), false).expect("resumed");
    assert_eq!(store.records().len(), 1);
    store.append(record("b", vec![2])).expect("written");
    drop(store);
    assert_eq!(std::fs::read(&path).expect("read"), whole);
}

#[test]
fn a_broken_line_in_the_middle_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(RESULTS), "{}\n{}\n").expect("written");
    let error = read(folder.path()).expect_err("no results").to_string();
    assert!(error.contains("line 1"), "{error}");
}

#[test]
fn another_run_is_refused_or_set_aside_but_never_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    Store::open(folder.path(), &run("abcd"), false)
        .expect("new")
        .append(record("a", vec![1]))
        .expect("written");
    let error = Store::open(folder.path(), &run("efgh"), false).err().expect("other features").to_string();
    assert!(error.contains("abcd") && error.contains("efgh") && error.contains("--force"), "{error}");
    let more = RunStamp { tasks: 20, ..run("abcd") };
    assert!(Store::open(folder.path(), &more, false).err().expect("other tasks").to_string().contains("20"));
    let store = Store::open(folder.path(), &run("efgh"), true).expect("forced");
    assert!(store.records().is_empty());
    assert!(folder.path().join("results.old-1.jsonl").exists());
}

#[test]
fn two_runs_do_not_write_the_same_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let _first = Store::open(folder.path(), &run("abcd"), false).expect("new");
    let second = Store::open(folder.path(), &run("abcd"), false);
    assert!(matches!(second, Err(StoreError::Busy { .. })));
}

#[test]
fn differences_pair_the_tasks_that_both_have() {
    let (a, b) = (record("a", vec![75, 0, 75]), record("b", vec![0, 0]));
    assert_eq!(a.minus(&b).map(|estimate| estimate.mean), Some(0.5));
    let mut other = b;
    other.setting.shots = 5;
    assert_eq!(a.minus(&other), None);
}

#[test]
fn a_run_under_way_keeps_its_results_whatever_is_forced() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Store::open(folder.path(), &run("abcd"), false).expect("new");
    store.append(record("a", vec![1])).expect("written");
    let error = Store::open(folder.path(), &run("other"), true).err().expect("busy");
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    store.append(record("b", vec![2])).expect("written");
    drop(store);
    assert_eq!(read(folder.path()).expect("whole").len(), 2);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing was set aside");
}

#[test]
fn results_of_another_instruction_set_are_not_mixed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut other = record("a", vec![1]);
    other.machine.simd = "another".into();
    Store::open(folder.path(), &run("abcd"), false).expect("new").append(other).expect("written");
    let error = Store::open(folder.path(), &run("abcd"), false).err().expect("refused").to_string();
    assert!(error.contains("the instruction set there is another"), "{error}");
}
