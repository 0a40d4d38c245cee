//! Running the built binary as a person would, and making the files it is given.
#![allow(dead_code, reason = "every test file has its own copy of this module and uses a part of it")]

pub mod browser;
pub mod damage;
pub mod images;
pub mod pool;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a run of the binary gave.
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `handful` with these arguments, away from the caches and weights of whoever runs the tests.
pub fn handful(args: &[&str]) -> Run {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_handful"))
        .args(args)
        .env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/caches"))
        .env("HANDFUL_WEIGHTS", concat!(env!("CARGO_TARGET_TMPDIR"), "/no-weights"))
        .env_remove("VIRTUAL_ENV")
        .env_remove("CONDA_PREFIX")
        .output()
        .expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

impl Run {
    /// Exit code 2, nothing on stdout, one line on stderr that has all the given words.
    #[track_caller]
    pub fn refused(&self, words: &[&str]) {
        assert_eq!(self.code, Some(2), "stderr: {}", self.stderr);
        assert_eq!(self.stdout, "");
        assert_eq!(self.stderr.trim_end().lines().count(), 1, "more than one line: {}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in: {}", self.stderr);
        }
    }

    /// Exit code 2, nothing on stdout, and all the given words on stderr, where a notice may come before the error.
    #[track_caller]
    #[allow(dead_code, reason = "not every test file has a command with notices")]
    pub fn refused_with(&self, words: &[&str]) {
        assert_eq!(self.code, Some(2), "stderr: {}", self.stderr);
        assert_eq!(self.stdout, "");
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in: {}", self.stderr);
        }
    }

    /// Exit code 0.
    #[track_caller]
    pub fn succeeded(&self) -> &str {
        assert_eq!(self.code, Some(0), "stderr: {}", self.stderr);
        &self.stdout
    }
}

/// One array of an .npz.
pub struct Array {
    name: &'static str,
    descr: &'static str,
    shape: String,
    bytes: Vec<u8>,
}

impl Array {
    pub fn f32(name: &'static str, shape: &[usize], values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { name, descr: "<f4", shape: tuple(shape), bytes }
    }

    pub fn i64(name: &'static str, values: &[i64]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { name, descr: "<i8", shape: tuple(&[values.len()]), bytes }
    }

    pub fn raw(name: &'static str, descr: &'static str, shape: &[usize], bytes: Vec<u8>) -> Self {
        Self { name, descr, shape: tuple(shape), bytes }
    }
}

fn tuple(shape: &[usize]) -> String {
    shape.iter().map(|length| format!("{length},")).collect()
}

/// Writes an .npz (a stored zip of .npy files) and returns its path.
pub fn npz(folder: &Path, name: &str, arrays: &[Array]) -> PathBuf {
    use std::io::Write;
    let path = folder.join(name);
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).expect("a temporary file"));
    for array in arrays {
        let options =
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        archive.start_file(format!("{}.npy", array.name), options).expect("a new entry");
        let mut header =
            format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", array.descr, array.shape);
        while (10 + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        archive.write_all(b"\x93NUMPY\x01\x00").expect("written");
        archive.write_all(&(header.len() as u16).to_le_bytes()).expect("written");
        archive.write_all(header.as_bytes()).expect("written");
        archive.write_all(&array.bytes).expect("written");
    }
    archive.finish().expect("a finished archive");
    path
}

/// Six classes of thirty rows in eight dimensions, each class around its own axis.
pub fn features(folder: &Path) -> PathBuf {
    let (values, labels) = clusters();
    npz(folder, "features.npz", &[Array::f32("features", &[180, 8], &values), Array::i64("labels", &labels)])
}

/// The values behind [`features`].
pub fn clusters() -> (Vec<f32>, Vec<i64>) {
    let mut values = Vec::new();
    let mut labels = Vec::new();
    for row in 0..180usize {
        let class = row / 30;
        labels.push(class as i64);
        for column in 0..8 {
            let noise = ((row * 31 + column * 17) * 2654435761 % 1000) as f32 / 1000.0;
            values.push(if column == class { 1.0 } else { 0.0 } + 0.6 * noise);
        }
    }
    (values, labels)
}
