//! A pool made ready, and the model that a fit of it leaves behind.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use handful::Matrix;
use handful::methods::Change;
use handful_label::{LabelError, LabelModel, LabelParams, POOL, PoolRows, PreparedPool};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::to_numpy;
use crate::errors::{of_label, of_model, of_params};
use crate::labelling::Labelling;
use crate::rows::NumpyRows;
use crate::work::{Interrupt, run_watched};

/// A pool with all that does not depend on labels.
#[pyclass(frozen, module = "handful._handful")]
pub struct Pool {
    prepared: Arc<PreparedPool>,
    watch: Watch,
}

/// How far the reading of rows is, and who is told.
struct Watch {
    interrupt: Interrupt,
    rows: usize,
    read: Arc<AtomicUsize>,
    progress: Option<Py<PyAny>>,
}

impl Watch {
    fn of(rows: &NumpyRows, interrupt: Interrupt, progress: Option<Py<PyAny>>) -> Self {
        Self { interrupt, rows: rows.rows(), read: rows.progress(), progress }
    }

    /// Runs work that reads all rows once.
    fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> PyResult<T> {
        self.read.store(0, Ordering::Relaxed);
        run_watched(py, &self.interrupt, work, |py| match &self.progress {
            Some(call) => call.call1(py, (self.read.load(Ordering::Relaxed), self.rows)).map(drop),
            None => Ok(()),
        })
    }
}

#[pymethods]
impl Pool {
    /// Prepares the rows of an array for a rule, `pool` or `NAME[:PRESET]` of any method.
    #[new]
    #[pyo3(signature = (rows, method, changes, look_for_strangers, progress=None))]
    fn new(
        py: Python<'_>,
        rows: PyReadonlyArray2<'_, f32>,
        method: &str,
        changes: Vec<Change>,
        look_for_strangers: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let (name, preset) = split_preset(method);
        let interrupt = Interrupt::default();
        let rows = Arc::new(NumpyRows::new(rows, interrupt.clone())?);
        let watch = Watch::of(&rows, interrupt, progress);
        if rows.rows() == 0 || rows.dim() == 0 {
            let shape = format!("{} rows and {} columns", rows.rows(), rows.dim());
            return Err(PyValueError::new_err(format!(
                "the pool has {shape}; at least one of each is needed"
            )));
        }
        let prepared = if name == POOL {
            let params = LabelParams::changed(preset, &changes).map_err(of_params)?;
            let params =
                LabelParams { look_for_strangers: look_for_strangers || params.look_for_strangers, ..params };
            watch.run(py, move || PreparedPool::new(rows, &params))?
        } else {
            let method = handful::methods::build(name, preset, &changes).map_err(of_params)?;
            let params = LabelParams { look_for_strangers, ..LabelParams::default() };
            watch.run(py, move || PreparedPool::for_method(rows, method, &params))?
        };
        Ok(Self { prepared: Arc::new(prepared.map_err(of_label)?), watch })
    }

    /// Labels the pool: classes (numbers below `names`' length) of some rows, the names of the classes, and those of the
    /// rows that were drawn by chance.
    fn fit(
        &self,
        py: Python<'_>,
        rows: PyReadonlyArray1<'_, i64>,
        classes: PyReadonlyArray1<'_, i64>,
        names: Vec<String>,
        audit: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<(Model, Labelling)> {
        let (rows, classes) = (row_numbers(&rows, "row")?, row_numbers(&classes, "class")?);
        if rows.len() != classes.len() {
            let sentence = format!("{} classes for {} rows", classes.len(), rows.len());
            return Err(PyValueError::new_err(sentence));
        }
        let labels: Vec<(usize, usize)> = rows.into_iter().zip(classes).collect();
        let (prepared, ways, audit) = (Arc::clone(&self.prepared), names.len(), row_numbers(&audit, "row")?);
        let fit =
            self.watch.run(py, move || prepared.fit_audited(&labels, ways, &audit))?.map_err(of_label)?;
        Ok((Model { model: Arc::new(fit.model.with_classes(&names)) }, fit.labelling.into()))
    }

    /// Rows to label next beside those that are, and the coverage once each is.
    #[allow(clippy::type_complexity, reason = "a tuple of Python")]
    fn choose<'py>(
        &self,
        py: Python<'py>,
        labelled: PyReadonlyArray1<'py, i64>,
        count: usize,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>)> {
        let (prepared, labelled) = (Arc::clone(&self.prepared), row_numbers(&labelled, "row")?);
        let choice = self.watch.run(py, move || prepared.choose(&labelled, count))?.map_err(of_label)?;
        let (rows, coverage): (Vec<i64>, Vec<f64>) =
            choice.rows.iter().map(|chosen| (chosen.row as i64, chosen.coverage)).unzip();
        Ok((rows.into_pyarray(py), coverage.into_pyarray(py)))
    }

    /// The rows that `may` be asked about, in the order of checking.
    fn review_order<'py>(
        &self,
        py: Python<'py>,
        labelling: &Labelling,
        may: PyReadonlyArray1<'py, bool>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let may = labelling.check_flags(&may)?;
        if may.len() != self.prepared.rows() {
            return Err(PyValueError::new_err(format!(
                "a labelling of {} rows for a pool of {}",
                may.len(),
                self.prepared.rows()
            )));
        }
        let (prepared, labelling) = (Arc::clone(&self.prepared), Arc::clone(&labelling.inner));
        let order = self.watch.run(py, move || prepared.review_order(&labelling, &may))?;
        let order = order.map_err(of_label)?.into_iter().map(|row| row as i64).collect::<Vec<_>>();
        Ok(order.into_pyarray(py))
    }
}

/// Everything that is needed to label new rows.
#[pyclass(frozen, module = "handful._handful")]
pub struct Model {
    model: Arc<LabelModel>,
}

#[pymethods]
impl Model {
    /// Names of the classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.model.header().classes.clone()
    }

    /// Columns of the features.
    #[getter]
    fn dim(&self) -> usize {
        self.model.header().dim
    }

    /// What made the features, where it is known.
    #[getter]
    fn network(&self) -> Option<String> {
        self.model.header().network.clone()
    }

    /// Familiarity below which a row is of no class.
    #[getter]
    fn familiarity_limit(&self) -> Option<f32> {
        self.model.familiarity_limit()
    }

    /// Labels rows.
    #[pyo3(signature = (rows, progress=None))]
    fn predict(
        &self,
        py: Python<'_>,
        rows: PyReadonlyArray2<'_, f32>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Labelling> {
        let interrupt = Interrupt::default();
        let rows = NumpyRows::new(rows, interrupt.clone())?;
        let watch = Watch::of(&rows, interrupt, progress);
        let model = Arc::clone(&self.model);
        let labelling = watch.run(py, move || model.predict(&rows))?;
        Ok(labelling.map_err(of_label)?.into())
    }

    /// Probability of every class for every row.
    #[pyo3(signature = (rows, progress=None))]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray2<'py, f32>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let interrupt = Interrupt::default();
        let rows = NumpyRows::new(rows, interrupt.clone())?;
        let watch = Watch::of(&rows, interrupt, progress);
        let model = Arc::clone(&self.model);
        let found = watch.run(py, move || all_probabilities(&model, &rows))?;
        to_numpy(py, &found.map_err(of_label)?)
    }

    /// Writes the file that `handful predict` reads.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.model.save(&path)).map_err(of_model)
    }

    /// Reads a file of `handful label --save`.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = py.detach(|| LabelModel::load(&path)).map_err(of_model)?;
        Ok(Self { model: Arc::new(model) })
    }

    /// The bytes of the file, for pickles.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.model.to_bytes()).map_err(PyValueError::new_err)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// From the bytes of a file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let model = LabelModel::from_bytes(bytes, Path::new("<bytes>")).map_err(of_model)?;
        Ok(Self { model: Arc::new(model) })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((make, (self.to_bytes(py)?,)))
    }
}

fn all_probabilities(model: &LabelModel, rows: &NumpyRows) -> Result<Matrix<f32>, LabelError> {
    if rows.dim() != model.header().dim {
        return Err(LabelError::Columns { expected: model.header().dim, found: rows.dim() });
    }
    let mut values = Vec::with_capacity(rows.rows() * model.ways());
    let mut bad = None;
    let mut add = |first: usize, block: &[f32]| {
        if bad.is_some() {
            return;
        }
        let block = Matrix::from_vec(block.len() / rows.dim().max(1), rows.dim(), block.to_vec());
        match model.probabilities(&block) {
            Ok(found) => values.extend_from_slice(found.as_slice()),
            // The model counts rows from the start of what it was given.
            Err(LabelError::NotFinite { row, column, value }) => {
                bad = Some(LabelError::NotFinite { row: first + row, column, value });
            }
            Err(error) => bad = Some(error),
        }
    };
    rows.for_each_block(&mut add).map_err(LabelError::Read)?;
    match bad {
        Some(error) => Err(error),
        None => Ok(Matrix::from_vec(rows.rows(), model.ways(), values)),
    }
}

/// `NAME[:PRESET]`.
pub fn split_preset(text: &str) -> (&str, Option<&str>) {
    text.split_once(':').map_or((text, None), |(name, preset)| (name, Some(preset)))
}

/// Numbers of rows or classes, none of them negative.
///
/// # Errors
/// The first that is.
pub fn row_numbers(numbers: &PyReadonlyArray1<'_, i64>, what: &str) -> PyResult<Vec<usize>> {
    let number = |&value: &i64| {
        usize::try_from(value).map_err(|_| PyValueError::new_err(format!("there is no {what} {value}")))
    };
    numbers.as_array().iter().map(number).collect()
}
