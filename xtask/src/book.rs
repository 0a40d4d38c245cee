//! The book: the pages that come from the program, and mdBook, installed under `target/` unless it is there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::browser::found;
use crate::{cargo, root, run};

/// The mdBook that is installed where there is none.
const MDBOOK: &str = "0.5.4";

/// Makes the pages that come from the program anew, and builds the book.
///
/// # Errors
/// The command that failed.
pub fn write() -> Result<(), String> {
    // Features and profile of Rust's own tests: what those have compiled is not compiled again.
    let pages = ["test", "--workspace", "--locked", "--test", "documents", "pages_made_from_the_program"];
    run(cargo().args(pages).env("HANDFUL_BLESS", "1"))?;
    test()?;
    eprintln!("xtask: open {}", root().join("docs/book/index.html").display());
    Ok(())
}

/// Builds the book as it is; whether its pages are up to date is a test of Rust.
///
/// # Errors
/// The command that failed, or a page that would load something from a network.
pub fn test() -> Result<(), String> {
    let this = std::env::current_exe().map_err(|error| format!("cannot find myself: {error}"))?;
    run(Command::new(mdbook()?)
        .args(["build", "docs"])
        .env("MDBOOK_preprocessor__handful__command", format!("{} preprocess", this.display()))
        .current_dir(root()))?;
    let mut pages = Vec::new();
    collect(&root().join("docs/book"), &mut pages)?;
    for page in &pages {
        let text = std::fs::read_to_string(page).map_err(|error| format!("{}: {error}", page.display()))?;
        if let Some(address) = loads_from_outside(&text) {
            return Err(format!("{} would load {address}", page.display()));
        }
        if text.contains("```math") || text.contains("<merror") {
            return Err(format!("{} has a formula that was not understood", page.display()));
        }
    }
    eprintln!("xtask: {} pages, none of which loads anything from a network", pages.len());
    Ok(())
}

fn mdbook() -> Result<PathBuf, String> {
    if let Some(there) = found("mdbook") {
        return Ok(there);
    }
    let folder = root().join("target").join("mdbook");
    let program = folder.join("bin").join("mdbook").with_extension(std::env::consts::EXE_EXTENSION);
    if !program.is_file() {
        // Without its server, its watching of files and optimisation it takes a fraction of the time to build.
        let options = ["--locked", "--debug", "--no-default-features", "--features", "search"];
        run(cargo()
            .args(["install", "mdbook", "--version", MDBOOK])
            .args(options)
            .arg("--root")
            .arg(&folder)
            .env("CARGO_PROFILE_DEV_DEBUG", "0"))?;
    }
    Ok(program)
}

fn collect(folder: &Path, pages: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "html" || extension == "css") {
            pages.push(path);
        }
    }
    Ok(())
}

/// An address that a browser would fetch by itself: a script, a picture, a style sheet, a font; not a link.
fn loads_from_outside(text: &str) -> Option<&str> {
    let starts = [
        "src=\"http",
        "src=\"//",
        "url(http",
        "url(\"http",
        "@import \"http",
        "<link rel=\"stylesheet\" href=\"http",
    ];
    let at = starts.iter().find_map(|start| text.find(start))?;
    text[at..].split(['>', ';']).next()
}

#[cfg(test)]
mod tests {
    use super::loads_from_outside;

    #[test]
    fn links_may_lead_outside_and_scripts_may_not() {
        assert_eq!(loads_from_outside("<a href=\"https://example.org\">x</a> <img src=\"a.png\">"), None);
        assert_eq!(
            loads_from_outside("<script src=\"https://example.org/x.js\"></script>"),
            Some("src=\"https://example.org/x.js\"")
        );
    }
}
