//! The tests of the studio's page: the program they meet is built first, the page's tools come from npm, and the browser is
//! the machine's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{cargo, root, run};

/// Names that the browser has on different systems.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Builds the program, installs the tools, compares the page with its sources and runs its tests.
///
/// # Errors
/// What is missing, or the command that failed.
pub fn test() -> Result<(), String> {
    let browser = browser()?;
    if found("npm").is_none() || found("node").is_none() {
        return Err("the tests of the page need node and npm (Debian: apt-get install nodejs npm); \
                    `cargo xtask test rust python` goes without"
            .to_owned());
    }
    // Features and profile of Rust's own tests: what those have compiled is not compiled again.
    run(cargo().args(["build", "--workspace", "--locked", "--bin", "handful"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let program =
        root().join(target).join("debug").join("handful").with_extension(std::env::consts::EXE_EXTENSION);
    let web = root().join("web");
    run(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&web))?;
    run(Command::new("npm")
        .arg("test")
        .env("HANDFUL_BINARY", program)
        .env("CHROMIUM", browser)
        .current_dir(&web))
}

/// The browser: one that was named, one that is there, or Debian's, installed where that is allowed.
fn browser() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Ok(PathBuf::from(named));
    }
    let there = || BROWSERS.iter().find_map(|name| found(name));
    if let Some(browser) = there() {
        return Ok(browser);
    }
    if found("apt-get").is_some() {
        // Somebody who may not install it is told below what to do.
        let _ = run(Command::new("apt-get").arg("update")).and_then(|()| {
            run(Command::new("apt-get").args(["install", "-y", "--no-install-recommends", "chromium"]))
        });
    }
    there().ok_or_else(|| {
        "the tests of the page need Chromium (Debian: apt-get install chromium), or name a browser of its kind in CHROMIUM; \
         `cargo xtask test rust python` goes without"
            .to_owned()
    })
}

/// Where a program is.
pub fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file: &PathBuf| Path::is_file(file))
}
