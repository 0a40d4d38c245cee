//! Every relative link of every page leads to a file that is there, every anchor to a heading.

use std::path::{Component, Path, PathBuf};

use crate::markdown::{Page, root};

/// What is wrong with the links of a page.
pub fn broken(page: &Page, pages: &[Page]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (line, target) in page.links() {
        let outside = ["http://", "https://", "mailto:"].iter().any(|start| target.starts_with(start));
        if !outside && let Some(reason) = reason(page, &target, pages) {
            wrong.push(format!("{}:{line}: {target}: {reason}", page.path.display()));
        }
    }
    wrong
}

fn reason(page: &Page, target: &str, pages: &[Page]) -> Option<&'static str> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = page.path.parent().unwrap_or(Path::new(""));
    let full = if path.is_empty() { page.path.clone() } else { plain(&folder.join(path)) };
    if !root().join(&full).exists() {
        return Some("there is no such file");
    }
    if anchor.is_empty() {
        return None;
    }
    match pages.iter().find(|other| other.path == full) {
        Some(other) if other.anchors().iter().any(|there| there == anchor) => None,
        Some(_) => Some("there is no such heading"),
        None => Some("only pages have headings"),
    }
}

/// A path without `..`.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}
