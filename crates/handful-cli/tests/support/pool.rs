//! A pool to label, and the files around it.

use std::path::{Path, PathBuf};

use super::{Run, features, handful};

/// A folder with the features of [`clusters`](super::clusters) to label.
pub struct Pool {
    pub folder: tempfile::TempDir,
    pub pool: PathBuf,
}

impl Pool {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let pool = features(folder.path());
        Self { folder, pool }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("written");
        path
    }

    /// Labels the first `each` rows of the six classes.
    pub fn labels(&self, each: usize) -> PathBuf {
        let line = |at: usize| format!("{},class {}\n", at / each * 30 + at % each, at / each);
        self.write("labels.csv", &format!("id,label\n{}", (0..6 * each).map(line).collect::<String>()))
    }

    pub fn label(&self, labels: &[&Path], output: &str, more: &[&str]) -> Run {
        let output = self.path(output);
        let mut args = vec!["label", text(&self.pool), "-o", text(&output)];
        for labels in labels {
            args.extend(["--labels", text(labels)]);
        }
        args.extend(more);
        handful(&args)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("written")
    }

    /// Names of everything in the folder.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}
