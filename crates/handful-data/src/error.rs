//! Everything that can be wrong with a file, a dataset or a task setting, in one place.
//!
//! A person with a broken file wants to know which file, which row and which value, and what would have been
//! right: every variant carries that, so that the binary can print it as one sentence and exit.

use std::path::{Path, PathBuf};

use crate::atomic::WriteError;

/// What went wrong while reading, writing or sampling.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The operating system could not read the file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),

    /// The name of the file says nothing about a format that can be read or written.
    #[error("{}: unknown kind of file; expected one of {expected}", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The kinds that are known.
        expected: &'static str,
    },

    /// This build leaves out the libraries for the format.
    #[error(
        "{}: this program was built without {format}; build it with its default features, or convert the file",
        path.display()
    )]
    NotBuilt {
        /// The file.
        path: PathBuf,
        /// The format.
        format: &'static str,
    },

    /// The bytes are not what the format demands: truncated, corrupt or another format altogether.
    #[error("{}: not a valid {format} file: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The format that was expected.
        format: &'static str,
        /// What is wrong with it.
        reason: String,
    },

    /// The file is sound, but does not hold what a feature table or dataset needs.
    #[error("{}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is missing or unusable, and what would be right.
        reason: String,
    },

    /// One row of the file is wrong.
    #[error("{}: row {row}: {reason}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The row, from 0.
        row: usize,
        /// What is wrong with it.
        reason: String,
    },

    /// One line of a text file is wrong.
    #[error("{}: line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },

    /// A feature is not a finite number.
    #[error("{}: row {row}, column {column}: the feature is {value}, not a finite 32-bit number", path.display())]
    NonFinite {
        /// The file.
        path: PathBuf,
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// NaN or an infinity.
        value: f64,
    },

    /// Features and labels (or ids) do not belong together.
    #[error("{}: {features} rows of features but {other} {what}", path.display())]
    LengthMismatch {
        /// The file.
        path: PathBuf,
        /// Rows of the feature array.
        features: usize,
        /// What was counted against them.
        what: &'static str,
        /// Its count.
        other: usize,
    },

    /// A table without a single row (or without a single column).
    #[error("{}: the table has {rows} rows and {columns} columns; at least one of each is needed", path.display())]
    EmptyTable {
        /// The file.
        path: PathBuf,
        /// Rows found.
        rows: usize,
        /// Columns found.
        columns: usize,
    },

    /// A pickle asked for code that is not on the list of harmless constructors.
    #[error("{}: the pickle asks for `{name}`, which is not data and is refused", path.display())]
    RefusedGlobal {
        /// The file.
        path: PathBuf,
        /// `module.name` as the pickle spells it.
        name: String,
    },

    /// The file would need more memory or nesting than an honest file of its size.
    #[error("{}: {what} is beyond the limit of {limit}; the file is corrupt or hostile", path.display())]
    Limit {
        /// The file.
        path: PathBuf,
        /// What grew too large.
        what: String,
        /// The limit that it met.
        limit: u64,
    },

    /// A task setting that no table could serve.
    #[error("{setting} is {value}, but {requirement}")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: String,
        /// What is required of it.
        requirement: String,
    },

    /// A class cannot serve the task setting.
    #[error("class `{class}` has {available} rows, but a task needs {needed} ({breakdown})")]
    TooFewRows {
        /// The class.
        class: String,
        /// Its rows.
        available: usize,
        /// The rows one task may draw from it.
        needed: usize,
        /// How that number comes about.
        breakdown: String,
    },

    /// The table has fewer classes than a task draws.
    #[error("the table has {available} classes, but a task needs {needed} ({breakdown})")]
    TooFewClasses {
        /// Classes of the table.
        available: usize,
        /// Classes one task draws.
        needed: usize,
        /// How that number comes about.
        breakdown: String,
    },
}

impl DataError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn write(path: &Path, source: std::io::Error) -> Self {
        Self::Write(WriteError::new(path, source))
    }

    #[cfg(not(feature = "tables"))]
    pub(crate) fn not_built(path: &Path, format: &'static str) -> Self {
        Self::NotBuilt { path: path.to_owned(), format }
    }

    pub(crate) fn malformed(path: &Path, format: &'static str, reason: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), format, reason: reason.into() }
    }

    pub(crate) fn content(path: &Path, reason: impl Into<String>) -> Self {
        Self::Content { path: path.to_owned(), reason: reason.into() }
    }

    pub(crate) fn row(path: &Path, row: usize, reason: impl Into<String>) -> Self {
        Self::Row { path: path.to_owned(), row, reason: reason.into() }
    }

    pub(crate) fn line(path: &Path, line: usize, reason: impl Into<String>) -> Self {
        Self::Line { path: path.to_owned(), line, reason: reason.into() }
    }

    pub(crate) fn setting(setting: &'static str, value: String, requirement: impl Into<String>) -> Self {
        Self::Setting { setting, value, requirement: requirement.into() }
    }
}
