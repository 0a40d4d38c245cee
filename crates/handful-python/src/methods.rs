//! The methods of few-shot tasks: which there are, and one task solved by one of them.

use handful::methods::{Change, METHODS, build};
use handful::task::{Task, Unlabeled};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::arrays::{to_matrix, to_numpy};
use crate::errors::{of_params, of_task};
use crate::pool::row_numbers;
use crate::work::{Interrupt, run};

/// The names of all methods, each with its presets, the default one first.
#[pyfunction]
#[pyo3(name = "methods")]
pub fn methods() -> Vec<(&'static str, Vec<&'static str>)> {
    METHODS.iter().map(|entry| (entry.name, entry.presets.to_vec())).collect()
}

/// The complete parameters of a method as JSON.
#[pyfunction]
pub fn method_params(name: &str, preset: Option<&str>, changes: Vec<Change>) -> PyResult<String> {
    Ok(build(name, preset, &changes).map_err(of_params)?.params().to_string())
}

/// What a task is made of.
#[derive(FromPyObject)]
pub struct TaskArrays<'py> {
    #[pyo3(item)]
    support: PyReadonlyArray2<'py, f32>,
    #[pyo3(item)]
    support_labels: PyReadonlyArray1<'py, i64>,
    #[pyo3(item)]
    unlabeled: Option<PyReadonlyArray2<'py, f32>>,
    #[pyo3(item)]
    query: PyReadonlyArray2<'py, f32>,
    #[pyo3(item)]
    ways: usize,
    #[pyo3(item)]
    id: u64,
}

/// Probabilities of the query, of the unlabelled rows, and the credibility of the latter.
type Solved<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f64>>);

/// Solves one task.
#[pyfunction]
pub fn solve<'py>(
    py: Python<'py>,
    name: &str,
    preset: Option<&str>,
    changes: Vec<Change>,
    task: TaskArrays<'py>,
) -> PyResult<Solved<'py>> {
    let method = build(name, preset, &changes).map_err(of_params)?;
    let unlabeled = match &task.unlabeled {
        Some(rows) => Unlabeled::Pool(to_matrix(rows)?),
        None => Unlabeled::Query,
    };
    let labels = row_numbers(&task.support_labels, "class")?;
    let (support, query) = (to_matrix(&task.support)?, to_matrix(&task.query)?);
    let (id, ways) = (task.id, task.ways);
    let solution = run(py, &Interrupt::default(), move || {
        let task = Task::new(id, ways, support, labels, unlabeled, query)?;
        method.solve(&task)
    })?
    .map_err(of_task)?;
    let (query, unlabeled) = (to_numpy(py, &solution.query)?, to_numpy(py, &solution.unlabeled)?);
    Ok((query, unlabeled, solution.credibility.into_pyarray(py)))
}
