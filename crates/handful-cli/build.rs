//! Puts the commit into the version, where the sources are a repository.
//!
//! From a package there is none; then the file that `cargo package` leaves beside the manifest says it, and if that is
//! not there either, nothing does.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HANDFUL_COMMIT");
    if let Some(commit) = given().or_else(packaged).or_else(checked_out) {
        println!("cargo::rustc-env=HANDFUL_COMMIT={commit}");
    }
    println!("cargo::rustc-env=HANDFUL_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}

/// What a packager says.
fn given() -> Option<String> {
    short(&std::env::var("HANDFUL_COMMIT").ok()?)
}

/// What `cargo package` wrote down.
fn packaged() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    short(text.split("\"sha1\"").nth(1)?.split('"').nth(1)?)
}

/// What git says, if this is a repository of ours and not one that a package was unpacked into.
fn checked_out() -> Option<String> {
    let head = git(&["rev-parse", "--git-path", "HEAD"])?;
    if !Path::new("../../Cargo.lock").is_file() {
        return None;
    }
    // A new commit moves what HEAD names, which the log of HEAD records for every branch.
    for file in [head, git(&["rev-parse", "--git-path", "logs/HEAD"])?] {
        if Path::new(&file).is_file() {
            println!("cargo::rerun-if-changed={file}");
        }
    }
    short(&git(&["rev-parse", "HEAD"])?)
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Ten digits are enough to find a commit.
fn short(commit: &str) -> Option<String> {
    let valid = commit.len() >= 7 && commit.chars().all(|digit| digit.is_ascii_hexdigit());
    valid.then(|| commit.chars().take(10).collect())
}
