//! The command line, as the wheel carries it.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs `handful` with these arguments, the program's name first, and returns the exit code.
#[pyfunction]
pub fn run_command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| handful_cli::run_from_args(args))
}
