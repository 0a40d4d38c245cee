//! What every command owes its output: files whole or untouched, pipes that may close.
#![cfg(unix)]

mod support;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::features;

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-data/tests/fixtures").join(name)
}

/// Runs the binary where no file may grow beyond nothing, which is what a full disk looks like.
fn on_a_full_disk(args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 0; trap '' XFSZ; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_handful")])
        .args(args)
        .output()
        .expect("the shell runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_full_disk_is_exit_code_1_and_keeps_the_earlier_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let pool = features(folder.path());
    let labels = folder.path().join("labels.csv");
    std::fs::write(&labels, "id,label\n0,a\n1,a\n30,b\n31,b\n").expect("written");
    let cifar = fixture("datasets/cifar-100-python.tar.gz");
    let (pool, labels, cifar) = (text(&pool), text(&labels), text(&cifar));
    let commands: [(&[&str], &str); 8] = [
        (&["tasks", "sample", pool, "--tasks", "3", "-o"], "tasks.jsonl"),
        (&["data", "split", cifar, "-o"], "split.csv"),
        (&["data", "convert", pool], "copy.csv"),
        (&["data", "convert", pool], "copy.npz"),
        (&["data", "convert", pool], "copy.parquet"),
        (
            &["bench", "tune", pool, "--tasks", "2", "--method", "tim-gd", "--grid", "steps=1,2", "-o"],
            "p.toml",
        ),
        (&["label", pool, "--labels", labels, "-o"], "labelled.csv"),
        (&["label", pool, "--labels", labels, "-o"], "labelled.parquet"),
    ];
    for (command, name) in commands {
        let output = folder.path().join(name);
        std::fs::write(&output, "id,label\nearlier,x\n").expect("written");
        let (code, said) = on_a_full_disk(&[command, &[text(&output)]].concat());
        assert_eq!(code, Some(1), "{command:?}: {said}");
        let complaints: Vec<&str> = said.lines().filter(|line| line.starts_with("handful: ")).collect();
        assert_eq!(complaints.len(), 1, "{command:?}: {said}");
        assert!(complaints[0].contains(&format!("{name}: cannot write it")), "{command:?}: {said}");
        assert_eq!(
            std::fs::read_to_string(&output).expect("still there"),
            "id,label\nearlier,x\n",
            "{command:?}"
        );
        std::fs::remove_file(&output).expect("removed");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").collect();
    assert_eq!(left.len(), 2, "only the pool and its labels are left: {left:?}");
}

/// The first line of a command whose reader closes the pipe after it, and how the command ended.
fn first_line(args: &[&str]) -> (String, Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_handful"))
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut line = String::new();
    // A buffer of one byte: nothing more than the line is taken out of the pipe.
    let mut reader = BufReader::with_capacity(1, child.stdout.take().expect("a pipe"));
    reader.read_line(&mut line).expect("a line");
    drop(reader);
    let output = child.wait_with_output().expect("it ended");
    (line, output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    // Longer than any pipe holds, so that the reader is gone before the last byte is written.
    for class in ["a", "b"] {
        std::fs::create_dir(folder.path().join(class)).expect("made");
        for image in 0..4000 {
            let name = format!("{class}/a-name-that-takes-some-room-in-the-pipe-{image}.png");
            std::fs::write(folder.path().join(name), "").expect("written");
        }
    }
    let pool = features(folder.path());
    let commands: [&[&str]; 3] = [
        &["data", "split", text(folder.path()), "--dataset", "folder"],
        &["tasks", "sample", text(&pool), "--tasks", "5000"],
        &["params", "dm-ida"],
    ];
    for command in commands {
        let (line, code, said) = first_line(command);
        assert!(
            !line.is_empty() && code == Some(0) && !said.contains("panicked"),
            "{command:?}: {code:?}: {said}"
        );
    }
}

#[test]
fn help_into_a_closed_pipe_does_not_panic() {
    // Closed before the first byte: a help text fits into any pipe.
    for args in [&["bench", "--help"][..], &["--version"], &["label", "--help"]] {
        let output = Command::new("sh")
            .args(["-c", "exec 3>&1; { \"$@\" 2>&3; echo \"code $?\" >&3; } | true", "sh"])
            .arg("sh")
            .args(["-c", "sleep 0.2; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_handful")])
            .args(args)
            .output()
            .expect("the shell runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "code 0\n", "{args:?}");
    }
}
