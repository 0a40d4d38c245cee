//! Methods as a study of Python runs them: those of Rust, which can be interrupted, and those written in Python.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use handful::Matrix;
use handful::error::TaskError;
use handful::methods::{Method, PriorKnowledge, Setting};
use handful::solution::Solution;
use handful::task::Task;
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods, ToPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::arrays::to_numpy;
use crate::work::Interrupt;

/// A method that refuses further tasks once nobody waits for the study.
pub struct Interruptible {
    /// The method.
    pub method: Box<dyn Method>,
    /// Raised when nobody waits.
    pub interrupt: Interrupt,
}

impl Method for Interruptible {
    fn name(&self) -> &'static str {
        self.method.name()
    }

    fn prior(&self) -> PriorKnowledge {
        self.method.prior()
    }

    fn params(&self) -> Value {
        self.method.params()
    }

    fn solve(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        if self.interrupt.is_raised() {
            return Err(unsupported(self.name(), "interrupted"));
        }
        self.method.solve(task)
    }
}

/// A method written in Python.
pub struct WrittenMethod {
    name: &'static str,
    object: Py<PyAny>,
    raised: Raised,
}

/// The first exception of a study, which is raised again when it has ended.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

impl WrittenMethod {
    /// Takes an object with `name` and `solve_arrays`.
    ///
    /// # Errors
    /// No name.
    pub fn new(py: Python<'_>, object: Py<PyAny>, raised: Raised) -> PyResult<Self> {
        let name: String = object.getattr(py, "name")?.extract(py)?;
        Ok(Self { name: kept(name), object, raised })
    }

    fn call(&self, py: Python<'_>, task: &Task<f32>) -> PyResult<Matrix<f32>> {
        let arrays = PyDict::new(py);
        arrays.set_item("support", to_numpy(py, task.support())?)?;
        let labels: Vec<i64> = task.support_labels().iter().map(|&label| label as i64).collect();
        arrays.set_item("support_labels", labels.to_pyarray(py))?;
        let unlabeled = if task.is_transductive() { None } else { Some(to_numpy(py, task.pool())?) };
        arrays.set_item("unlabeled", unlabeled)?;
        arrays.set_item("query", to_numpy(py, task.query())?)?;
        arrays.set_item("ways", task.ways())?;
        arrays.set_item("id", task.id())?;
        let answer = self.object.call_method1(py, "solve_arrays", (arrays,))?;
        let answer: PyReadonlyArray2<'_, f32> = answer.extract(py)?;
        let (wanted, found) = ([task.query().rows(), task.ways()], answer.shape());
        if found != wanted {
            return Err(PyValueError::new_err(format!(
                "{}: the probabilities have the shape {found:?} and should have {wanted:?} (queries, classes)",
                self.name
            )));
        }
        let values: Vec<f32> = answer.as_array().iter().copied().collect();
        let matrix = Matrix::from_vec(wanted[0], wanted[1], values);
        match matrix.first_non_finite() {
            Some((row, column, value)) => Err(PyValueError::new_err(format!(
                "{}: the probability of class {column} for query {row} is {value}",
                self.name
            ))),
            None => Ok(matrix),
        }
    }
}

impl Method for WrittenMethod {
    fn name(&self) -> &'static str {
        self.name
    }

    fn prior(&self) -> PriorKnowledge {
        let flag = |name: &str| {
            Python::attach(|py| self.object.getattr(py, name)?.extract::<bool>(py)).unwrap_or(true)
        };
        let setting = if flag("uses_unlabeled") { Setting::UsesUnlabeled } else { Setting::Inductive };
        PriorKnowledge { setting, knows_class_sizes: flag("knows_class_sizes") }
    }

    fn params(&self) -> Value {
        Value::Object(serde_json::Map::new())
    }

    fn solve(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let answer = Python::attach(|py| self.call(py, task));
        match answer {
            Ok(query) => {
                let unlabeled = if task.is_transductive() {
                    query.clone()
                } else {
                    Matrix::from_vec(
                        task.pool().rows(),
                        task.ways(),
                        vec![1.0 / task.ways() as f32; task.pool().rows() * task.ways()],
                    )
                };
                Ok(Solution::from_probabilities(query, unlabeled))
            }
            Err(error) => {
                let reason = error.to_string();
                self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                Err(unsupported(self.name, &reason))
            }
        }
    }
}

fn unsupported(method: &'static str, reason: &str) -> TaskError {
    TaskError::Unsupported { method, reason: reason.to_owned() }
}

/// Names of methods live as long as the program; each is kept once.
fn kept(name: String) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = name.leak();
    names.insert(name);
    name
}
