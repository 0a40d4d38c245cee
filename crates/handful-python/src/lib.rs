//! The extension module `handful._handful`: the calls of the Rust crates, for arrays of Python.
//!
//! Nothing is computed here. The package in `python/handful` gives these calls the shape of estimators; this crate only
//! carries arrays and errors across, releases the interpreter while Rust works, and listens for Ctrl-C meanwhile.

mod arrays;
mod command;
mod errors;
mod labelling;
mod methods;
mod pool;
mod rows;
mod study;
mod table;
mod work;
mod written;

use pyo3::prelude::*;

/// The extension module.
#[pymodule]
mod _handful {
    #[pymodule_export]
    use super::command::run_command;
    #[pymodule_export]
    use super::labelling::Labelling;
    #[pymodule_export]
    use super::methods::{method_params, methods, solve};
    #[pymodule_export]
    use super::pool::{Model, Pool};
    #[pymodule_export]
    use super::study::{Scores, run_study, sample_tasks};
    #[pymodule_export]
    use super::table::Table;
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
