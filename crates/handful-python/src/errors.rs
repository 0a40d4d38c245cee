//! Errors of the Rust crates as Python's own: `ValueError` for what was given, `OSError` for files.

use std::io::ErrorKind;

use handful::error::{ParamError, TaskError};
use handful_bench::study::StudyError;
use handful_data::DataError;
use handful_data::atomic::WriteError;
use handful_label::{LabelError, ModelError};
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyPermissionError, PyRuntimeError, PyValueError};

/// Parameters that do not fit, with the nearest known name.
pub fn of_params(error: ParamError) -> PyErr {
    PyValueError::new_err(handful_cli::worded(error))
}

/// Labels or rows that do not fit.
pub fn of_label(error: LabelError) -> PyErr {
    match error {
        LabelError::Parameter(error) => of_params(error),
        LabelError::Read(error) => PyOSError::new_err(error.to_string()),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// A task that does not fit.
pub fn of_task(error: TaskError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A file or a setting that does not fit.
pub fn of_data(error: DataError) -> PyErr {
    match error {
        DataError::Io { ref source, .. } => of_io(source.kind(), error.to_string()),
        DataError::Write(error) => of_write(&error),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// A model that cannot be read or written.
pub fn of_model(error: ModelError) -> PyErr {
    match error {
        ModelError::Read { ref source, .. } => of_io(source.kind(), error.to_string()),
        ModelError::Write(error) => of_write(&error),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// A study that ended early.
pub fn of_study(error: StudyError) -> PyErr {
    match error {
        StudyError::Task { .. } | StudyError::Features(_) => PyValueError::new_err(error.to_string()),
        other => PyRuntimeError::new_err(other.to_string()),
    }
}

fn of_write(error: &WriteError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

fn of_io(kind: ErrorKind, sentence: String) -> PyErr {
    match kind {
        ErrorKind::NotFound => PyFileNotFoundError::new_err(sentence),
        ErrorKind::PermissionDenied => PyPermissionError::new_err(sentence),
        _ => PyOSError::new_err(sentence),
    }
}
