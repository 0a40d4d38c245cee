//! `cargo xtask test`: every test of every language, installing what it needs under `target/`.
//!
//! `cargo xtask test rust`, `python`, `browser` or `book` runs one of them. `cargo xtask book` makes the pages that come from
//! the program and builds the book.

mod book;
mod browser;
mod preprocess;
mod python;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "cargo xtask test [rust | python | browser | book]…, or cargo xtask book";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let asked: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match asked.as_slice() {
        ["test"] => test(&["rust", "python", "browser", "book"]),
        ["test", parts @ ..] => test(parts),
        ["book"] => book::write(),
        // mdBook asks whether a renderer is supported, then sends the book.
        ["preprocess", "supports", _] => Ok(()),
        ["preprocess"] => preprocess::run(),
        _ => Err(format!("usage: {USAGE}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("xtask: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn test(parts: &[&str]) -> Result<(), String> {
    for part in parts {
        match *part {
            "rust" => rust()?,
            "python" => python::test()?,
            "browser" => browser::test()?,
            "book" => book::test()?,
            other => return Err(format!("there are no tests of {other:?}; usage: {USAGE}")),
        }
    }
    Ok(())
}

fn rust() -> Result<(), String> {
    run(cargo().args(["test", "--workspace", "--locked"]))
}

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_owned)
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Says what is run, and runs it.
fn run(command: &mut Command) -> Result<(), String> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    eprintln!("xtask: {line}");
    let status = command.status().map_err(|error| format!("cannot run {line}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{line}: {status}")) }
}
