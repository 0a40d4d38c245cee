//! Studies: methods of Rust and of Python on identical tasks.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use handful::Matrix;
use handful::error::TaskError;
use handful::methods::{self, Change, Method, PriorKnowledge, Setting};
use handful::solution::Solution;
use handful::task::Task;
use handful_bench::study::{Entrant, Score, Study, Tasks, compare};
use handful_bench::table;
use handful_data::{EpisodeSampler, EpisodeSpec, parse_task_list, write_task_list};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods, ToPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::arrays::to_numpy;
use crate::errors::{of_data, of_params, of_study};
use crate::table::Table;
use crate::work::{Interrupt, run, run_watched};

/// Draws tasks of a setting (JSON) and returns the text of their list.
#[pyfunction]
pub fn sample_tasks(
    py: Python<'_>,
    table: &Table,
    setting: &str,
    count: usize,
    seed: u64,
) -> PyResult<String> {
    let sampler = sampler(table, setting, seed)?;
    let (rows, dim) = (table.inner.rows(), table.inner.dim());
    let text = run(py, &Interrupt::default(), move || {
        let mut text = Vec::new();
        let episodes = (0..count as u64).map(|index| sampler.episode(index));
        write_task_list(&mut text, rows, dim, episodes).map(|()| text)
    })??;
    String::from_utf8(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn sampler(table: &Table, setting: &str, seed: u64) -> PyResult<EpisodeSampler> {
    let spec: EpisodeSpec =
        serde_json::from_str(setting).map_err(|error| PyValueError::new_err(format!("setting: {error}")))?;
    EpisodeSampler::new(&table.inner, spec, seed).map_err(of_data)
}

/// A method in a study.
#[derive(FromPyObject)]
pub enum Contender {
    /// Of Rust: name, preset and changes.
    Registered(String, Option<String>, Vec<Change>),
    /// Of Python: an object with `name` and `solve`.
    Written(Py<PyAny>),
}

/// Runs every method on every task: those of a list's text, or `count` of a setting.
#[pyfunction]
#[pyo3(signature = (table, contenders, *, tasks=None, setting="{}", count=1000, seed=1, threads=0, progress=None))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn run_study(
    py: Python<'_>,
    table: &Table,
    contenders: Vec<Contender>,
    tasks: Option<String>,
    setting: &str,
    count: usize,
    seed: u64,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Scores> {
    let interrupt = Interrupt::default();
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let entrants = contenders
        .into_iter()
        .map(|contender| entrant(py, contender, &interrupt, &raised))
        .collect::<PyResult<Vec<Entrant>>>()?;
    let tasks = match tasks {
        Some(text) => Tasks::Listed(
            parse_task_list(Path::new("<tasks>"), text.as_bytes(), &table.inner).map_err(of_data)?,
        ),
        None => Tasks::Sampled { sampler: sampler(table, setting, seed)?, count },
    };
    if tasks.is_empty() || entrants.is_empty() {
        return Err(PyValueError::new_err("a study needs at least one task and one method"));
    }
    let (done, total) = (Arc::new(AtomicUsize::new(0)), entrants.len() * tasks.len());
    let (counted, table) = (Arc::clone(&done), Arc::clone(&table.inner));
    let work = move || {
        let study = Study { table: &table, tasks: &tasks, threads };
        study.run(&entrants, &|_| {
            counted.fetch_add(1, Ordering::Relaxed);
        })
    };
    let report = |py: Python<'_>| match &progress {
        Some(call) => call.call1(py, (done.load(Ordering::Relaxed), total)).map(drop),
        None => Ok(()),
    };
    let scores = run_watched(py, &interrupt, work, report)?;
    if let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    let scores = scores.map_err(of_study)?;
    report(py)?;
    Ok(Scores { scores })
}

fn entrant(
    py: Python<'_>,
    contender: Contender,
    interrupt: &Interrupt,
    raised: &Arc<Mutex<Option<PyErr>>>,
) -> PyResult<Entrant> {
    let interrupt = interrupt.clone();
    match contender {
        Contender::Registered(name, preset, changes) => {
            let method = methods::build(&name, preset.as_deref(), &changes).map_err(of_params)?;
            let changed: Vec<String> = changes.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let preset = preset.unwrap_or_else(|| "default".into());
            let preset = if changed.is_empty() { preset } else { format!("{preset}[{}]", changed.join(" ")) };
            Ok(Entrant { preset, method: Box::new(Interruptible { method, interrupt }) })
        }
        Contender::Written(object) => {
            let name: String = object.getattr(py, "name")?.extract(py)?;
            let raised = Arc::clone(raised);
            let method = Box::new(WrittenMethod { name: kept(name), object, raised });
            Ok(Entrant { preset: "default".into(), method: Box::new(Interruptible { method, interrupt }) })
        }
    }
}

/// A method that refuses further tasks once nobody waits for the study.
struct Interruptible {
    method: Box<dyn Method>,
    interrupt: Interrupt,
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
struct WrittenMethod {
    name: &'static str,
    object: Py<PyAny>,
    /// The first exception, which is raised again when the study has ended.
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl WrittenMethod {
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
        let setting = if flag("uses_unlabeled") { Setting::UsesUnlabelled } else { Setting::Inductive };
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

/// What every method reached.
#[pyclass(frozen, module = "handful._handful")]
pub struct Scores {
    scores: Vec<Score>,
}

#[pymethods]
impl Scores {
    /// As the JSON of `handful bench --format json --per-task` has them.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.scores).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// An aligned table.
    fn table(&self) -> String {
        table::render(&self.scores)
    }

    /// A Markdown table.
    fn markdown(&self) -> String {
        table::markdown(&self.scores)
    }

    /// Comma-separated values.
    fn csv(&self) -> String {
        table::csv(&self.scores)
    }

    /// The name of each method, with what sets it apart from its default.
    fn labels(&self) -> Vec<String> {
        self.scores.iter().map(|score| table::label(score.name, &score.preset)).collect()
    }

    /// The same scores with differences to another method.
    fn compared(&self, reference: usize) -> PyResult<Self> {
        if reference >= self.scores.len() {
            return Err(PyValueError::new_err(format!(
                "method {reference}, but there are {}",
                self.scores.len()
            )));
        }
        let mut scores = self.scores.clone();
        compare(&mut scores, reference);
        Ok(Self { scores })
    }
}
