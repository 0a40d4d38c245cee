//! The results file: one JSON object a line, appended as cells finish, so that a run that is stopped goes on.
//!
//! A line names everything its numbers depend on: features by hash, complete parameters, setting, seed, number of
//! tasks, version, and the machine. A last line without its end (the run was killed while writing) is cut off; any
//! other line that cannot be read is an error. Results of another run (other features, preset, tasks, seed or
//! version) are never mixed with, or replaced by, those of this one: that is an error, or with `force` the old file is
//! set aside under another name.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::statistics::Estimate;

/// Name of the results file in its folder.
pub const RESULTS: &str = "results.jsonl";

/// A feature table by name, size and hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureStamp {
    /// File name, or a name in angle brackets.
    pub name: String,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub dim: usize,
    /// Classes.
    pub classes: usize,
    /// SHA-256 of the file.
    pub sha256: String,
}

/// What all cells of a run have in common. Two runs with equal stamps give equal numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStamp {
    /// SHA-256 of the run's main features.
    pub features_sha256: String,
    /// The preset.
    pub preset: String,
    /// The tasks asked for.
    pub tasks: usize,
    /// Seed of the tasks.
    pub seed: u64,
    /// Whether every cell gets all tasks.
    pub full: bool,
    /// The benchmark whose printed figures stand beside ours.
    pub benchmark: String,
    /// Version of the program.
    pub version: String,
}

/// Where the numbers were computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Operating system.
    pub os: String,
    /// Processor family.
    pub arch: String,
    /// Which kernels ran.
    pub simd: String,
    /// Cores.
    pub cores: usize,
}

impl Machine {
    /// This one.
    pub fn here() -> Self {
        Self {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            simd: <f32 as handful::scalar::Scalar>::kernels().path().to_string(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// The setting of a cell's tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingStamp {
    /// Classes of a task.
    pub ways: usize,
    /// Labelled rows per class.
    pub shots: usize,
    /// Scored rows per class.
    pub queries: usize,
    /// Rows per class of the pool; 0 when the queries are the pool.
    pub unlabeled: usize,
}

/// One finished cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The table or figure.
    pub table: String,
    /// The row's key.
    pub row: String,
    /// The column's key.
    pub column: String,
    /// The method.
    pub method: String,
    /// Its preset.
    pub preset: String,
    /// Its complete parameters.
    pub params: Value,
    /// Whether it learns from unlabelled rows.
    pub uses_unlabelled: bool,
    /// Whether it is told the class sizes.
    pub knows_class_sizes: bool,
    /// The setting.
    pub setting: SettingStamp,
    /// The features its tasks were drawn from.
    pub features: FeatureStamp,
    /// Seed of the tasks.
    pub seed: u64,
    /// Number of tasks.
    pub tasks: usize,
    /// What it shares with the other cells of its run.
    pub run: RunStamp,
    /// Where it was computed.
    pub machine: Machine,
    /// Mean accuracy.
    pub accuracy: f64,
    /// Half of its 95% interval.
    pub ci95: f64,
    /// Time in the method, divided by threads. Differs from run to run.
    pub seconds: f64,
    /// Right answers of each task.
    pub right: Vec<u32>,
    /// Answers of each task.
    pub of: u32,
    /// What a figure needs besides.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub extra: Value,
}

impl Record {
    /// Accuracy of each task.
    pub fn per_task(&self) -> Vec<f64> {
        self.right.iter().map(|&right| f64::from(right) / f64::from(self.of.max(1))).collect()
    }

    /// Paired difference to another cell over the tasks that both have; none if their tasks are not the same.
    pub fn minus(&self, other: &Self) -> Option<Estimate> {
        let same = self.setting == other.setting
            && self.seed == other.seed
            && self.features.sha256 == other.features.sha256;
        let count = self.right.len().min(other.right.len());
        (same && count > 0)
            .then(|| Estimate::of_difference(&self.per_task()[..count], &other.per_task()[..count]))
    }
}

/// What can be wrong with a results folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The system could not read or write.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A page of the report could not be written.
    #[error(transparent)]
    Write(#[from] handful_data::atomic::WriteError),
    /// A line is not a result.
    #[error("{}: line {line}: not a result of `handful reproduce`: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why it cannot be read.
        reason: String,
    },
    /// The folder has results of another run.
    #[error(
        "{} holds results of another run ({what} there is {there}, here {here}); give another --out, or --force to \
         set the old results aside", path.display()
    )]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// Its value in the file.
        there: String,
        /// Its value in this run.
        here: String,
    },
    /// The folder has a file that a report would replace, and no results.
    #[error(
        "{} exists and was not made from results in this folder; give another --out, or --force to replace it",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Another run is writing there.
    #[error("{} is being written by another run; wait for it or give another --out", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// There is nothing to report on.
    #[error("{} has no results; run `handful reproduce all --out` first", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl StoreError {
    /// Wraps what the system said about a path.
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// The open results of one run.
pub struct Store {
    path: PathBuf,
    file: File,
    records: Vec<Record>,
}

impl Store {
    /// Opens or starts the results of a run. With `force`, results of another run are set aside first.
    pub fn open(folder: &Path, run: &RunStamp, force: bool) -> Result<Self, StoreError> {
        std::fs::create_dir_all(folder).map_err(|error| StoreError::io(folder, error))?;
        let path = folder.join(RESULTS);
        // Before anything is read or moved: a run that is under way goes on undisturbed.
        let mut file = locked(&path)?;
        let records = match read(folder) {
            Err(StoreError::Empty { .. }) => Vec::new(),
            other => match (other, force) {
                (Ok(records), _) => records,
                (Err(StoreError::Line { .. }), true) => {
                    set_aside(&path)?;
                    file = locked(&path)?;
                    Vec::new()
                }
                (Err(error), _) => return Err(error),
            },
        };
        let other = records.iter().find_map(|record| difference(record, run));
        let records = match other {
            Some((what, there, here)) if !force => {
                return Err(StoreError::OtherRun { path, what, there, here });
            }
            Some(_) => {
                set_aside(&path)?;
                file = locked(&path)?;
                Vec::new()
            }
            None => records,
        };
        cut_torn_line(&mut file).map_err(|error| StoreError::io(&path, error))?;
        Ok(Self { path, file, records })
    }

    /// What is there.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The result of a cell, if it is there.
    pub fn find(&self, table: &str, row: &str, column: &str) -> Option<&Record> {
        self.records.iter().find(|r| r.table == table && r.row == row && r.column == column)
    }

    /// Refuses results of a table that came from other features than this run gives it.
    pub fn check_source(&self, table: &str, sha256: &str) -> Result<(), StoreError> {
        match self.records.iter().find(|r| r.table == table && r.features.sha256 != sha256) {
            Some(other) => Err(StoreError::OtherRun {
                path: self.path.clone(),
                what: "the SHA-256 of the cross-domain features",
                there: short(&other.features.sha256),
                here: short(sha256),
            }),
            None => Ok(()),
        }
    }

    /// Adds a finished cell; it is on its way to the disk when this returns.
    pub fn append(&mut self, record: Record) -> Result<(), StoreError> {
        let io = |error| StoreError::io(&self.path, error);
        let mut line = serde_json::to_vec(&record).map_err(|error| io(error.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).and_then(|()| self.file.sync_data()).map_err(io)?;
        self.records.push(record);
        Ok(())
    }
}

/// Opens the results file, new where there is none, unless another run has it.
fn locked(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).read(true).write(true).open(path);
    let file = file.map_err(|error| StoreError::io(path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err(StoreError::Busy { path: path.to_owned() }),
    }
}

/// Reads the results of a folder without changing anything.
pub fn read(folder: &Path) -> Result<Vec<Record>, StoreError> {
    let path = folder.join(RESULTS);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(StoreError::Empty { path }),
        Err(error) => return Err(StoreError::io(&path, error)),
    };
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut records = Vec::new();
    for (at, line) in text[..whole].lines().enumerate() {
        let record = serde_json::from_str(line).map_err(|error| StoreError::Line {
            path: path.clone(),
            line: at + 1,
            reason: error.to_string(),
        })?;
        records.push(record);
    }
    if records.is_empty() { Err(StoreError::Empty { path }) } else { Ok(records) }
}

/// Leaves the file ending in a newline, positioned at its end.
fn cut_torn_line(file: &mut File) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    file.set_len(whole as u64)?;
    file.seek(SeekFrom::End(0)).map(|_| ())
}

fn set_aside(path: &Path) -> Result<(), StoreError> {
    let free = (1..)
        .map(|number| path.with_file_name(format!("results.old-{number}.jsonl")))
        .find(|candidate| !candidate.exists());
    match free {
        Some(aside) => std::fs::rename(path, &aside).map_err(|error| StoreError::io(path, error)),
        None => Ok(()),
    }
}

fn difference(record: &Record, here: &RunStamp) -> Option<(&'static str, String, String)> {
    let there = &record.run;
    let pairs = [
        ("the SHA-256 of the features", short(&there.features_sha256), short(&here.features_sha256)),
        ("the preset", there.preset.clone(), here.preset.clone()),
        ("--tasks", there.tasks.to_string(), here.tasks.to_string()),
        ("--seed", there.seed.to_string(), here.seed.to_string()),
        ("--full", there.full.to_string(), here.full.to_string()),
        ("--benchmark", there.benchmark.clone(), here.benchmark.clone()),
        ("the version of handful", there.version.clone(), here.version.clone()),
        // Their sums are added in another order, which moves a few answers of a task.
        ("the instruction set", record.machine.simd.clone(), Machine::here().simd),
    ];
    pairs.into_iter().find(|(_, there, here)| there != here)
}

fn short(sha256: &str) -> String {
    format!("{}…", sha256.get(..12).unwrap_or(sha256))
}

#[cfg(test)]
mod tests;
