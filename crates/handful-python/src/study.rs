//! Studies: methods of Rust and of Python on identical tasks.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use handful::methods::{self, Change};
use handful_bench::part::{Part, merge};
use handful_bench::study::{Entrant, Score, Solved, Study, Tasks, compare, scores};
use handful_bench::table;
use handful_data::{EpisodeSampler, EpisodeSpec, content_digest, parse_task_list, write_task_list};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::{of_data, of_params, of_study};
use crate::table::Table;
use crate::work::{Interrupt, run, run_watched};
use crate::written::{Interruptible, Raised, WrittenMethod};

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
    let ((_, solved), _) =
        solve(py, table, contenders, tasks, setting, count, seed, threads, None, progress)?;
    Ok(Scores { scores: scores(&solved, 0) })
}

/// Runs every method on a range of the tasks, and returns what `merge_parts` makes the scores of all of.
#[pyfunction]
#[pyo3(signature = (table, contenders, from_task, to_task, *, tasks=None, setting="{}", count=1000, seed=1, threads=0, progress=None))]
#[allow(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn run_part(
    py: Python<'_>,
    table: &Table,
    contenders: Vec<Contender>,
    from_task: usize,
    to_task: usize,
    tasks: Option<String>,
    setting: &str,
    count: usize,
    seed: u64,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let spec: Value =
        serde_json::from_str(setting).map_err(|error| PyValueError::new_err(format!("setting: {error}")))?;
    let identity = json!({
        "features": {"sha256": table.inner.sha256(), "rows": table.inner.rows(), "dim": table.inner.dim()},
        "setting": spec,
        "seed": seed,
        "tasks": tasks.as_ref().map(|text| content_digest(text.as_bytes())),
    });
    let range = Some((from_task, to_task));
    let ((total, solved), from) =
        solve(py, table, contenders, tasks, setting, count, seed, threads, range, progress)?;
    let part = Part::new(identity, Value::Null, total, from, 0, solved);
    serde_json::to_string(&part).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The scores of a study whose parts several processes made.
#[pyfunction]
pub fn merge_parts(py: Python<'_>, parts: Vec<String>) -> PyResult<Scores> {
    let merged = py.detach(|| {
        let parts = parts.iter().enumerate().map(|(at, text)| {
            let name = format!("part {at}");
            Part::read(&name, text.as_bytes()).map(|part| (name, part))
        });
        merge(parts.collect::<Result<_, _>>()?)
    });
    let merged = merged.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Scores { scores: merged.scores })
}

/// All tasks, or a range of them: how many there are, what was solved, and the first.
#[allow(clippy::too_many_arguments, reason = "those of the two functions above")]
fn solve(
    py: Python<'_>,
    table: &Table,
    contenders: Vec<Contender>,
    tasks: Option<String>,
    setting: &str,
    count: usize,
    seed: u64,
    threads: usize,
    range: Option<(usize, usize)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<((usize, Vec<Solved>), usize)> {
    let interrupt = Interrupt::default();
    let raised = Raised::default();
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
    let all = tasks.len();
    let (from, to) = range.unwrap_or((0, all));
    if from >= to || to > all {
        return Err(PyValueError::new_err(format!("tasks {from}..{to}, but there are {all}")));
    }
    let (done, total) = (Arc::new(AtomicUsize::new(0)), entrants.len() * (to - from));
    let (counted, table) = (Arc::clone(&done), Arc::clone(&table.inner));
    let work = move || {
        let study = Study::new(&table, &tasks).threads(threads);
        study.solve_range(&entrants, from..to, &|_| {
            counted.fetch_add(1, Ordering::Relaxed);
        })
    };
    let report = |py: Python<'_>| match &progress {
        Some(call) => call.call1(py, (done.load(Ordering::Relaxed), total)).map(drop),
        None => Ok(()),
    };
    let solved = run_watched(py, &interrupt, work, report)?;
    if let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    let solved = solved.map_err(of_study)?;
    report(py)?;
    Ok(((all, solved), from))
}

fn entrant(
    py: Python<'_>,
    contender: Contender,
    interrupt: &Interrupt,
    raised: &Raised,
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
            let method = Box::new(WrittenMethod::new(py, object, Arc::clone(raised))?);
            Ok(Entrant { preset: "default".into(), method: Box::new(Interruptible { method, interrupt }) })
        }
    }
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
        table::markdown(&[table::Group::alone(&self.scores)])
    }

    /// Comma-separated values.
    fn csv(&self) -> String {
        table::csv(&[table::Group::alone(&self.scores)])
    }

    /// The name of each method, with what sets it apart from its default.
    fn labels(&self) -> Vec<String> {
        self.scores.iter().map(|score| table::label(&score.name, &score.preset)).collect()
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
