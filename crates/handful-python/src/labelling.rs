//! What came out: a label for every row and what it is worth, as columns.

use std::sync::Arc;

use handful_label::{LeftOut, Promise, RowLabel};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Labels of rows.
#[pyclass(frozen, module = "handful._handful")]
pub struct Labelling {
    /// What Rust gave.
    pub inner: Arc<handful_label::Labelling>,
}

impl From<handful_label::Labelling> for Labelling {
    fn from(labelling: handful_label::Labelling) -> Self {
        Self { inner: Arc::new(labelling) }
    }
}

impl Labelling {
    /// One flag for every row, or none of it.
    ///
    /// # Errors
    /// Another number of flags.
    pub fn check_flags(&self, flags: &PyReadonlyArray1<'_, bool>) -> PyResult<Vec<bool>> {
        let flags: Vec<bool> = flags.as_array().iter().copied().collect();
        if flags.len() != self.inner.rows.len() {
            let (found, rows) = (flags.len(), self.inner.rows.len());
            return Err(PyValueError::new_err(format!("{found} flags for {rows} rows")));
        }
        Ok(flags)
    }
}

/// A number of a row.
type Number = fn(&RowLabel) -> f32;

#[pymethods]
impl Labelling {
    fn __len__(&self) -> usize {
        self.inner.rows.len()
    }

    /// The columns by name.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = &self.inner.rows;
        let columns = PyDict::new(py);
        let classes: Vec<i64> = rows.iter().map(|row| row.class as i64).collect();
        columns.set_item("class", classes.into_pyarray(py))?;
        columns.set_item("given", rows.iter().map(|row| row.given).collect::<Vec<_>>().into_pyarray(py))?;
        let numbers: [(&str, Number); 6] = [
            ("probability", |row| row.probability),
            ("credibility", |row| row.credibility),
            ("margin", |row| row.margin),
            ("agreement", |row| row.agreement),
            ("familiarity", |row| row.familiarity),
            ("error", |row| row.error),
        ];
        for (name, number) in numbers {
            columns.set_item(name, rows.iter().map(number).collect::<Vec<_>>().into_pyarray(py))?;
        }
        Ok(columns)
    }

    /// Temperature, labels left out, and whether those were enough to fit it.
    #[getter]
    fn calibration(&self) -> (f64, usize, bool) {
        let calibration = self.inner.calibration;
        (calibration.temperature, calibration.labels_left_out, calibration.fitted)
    }

    /// Rows that the rule itself saw, where it did not see all.
    #[getter]
    fn sampled_rows(&self) -> Option<usize> {
        self.inner.sampled_rows
    }

    /// Row, class, predicted class and its probability of every label left out.
    #[getter]
    fn left_out(&self) -> Vec<(usize, usize, usize, f32)> {
        self.inner.left_out.iter().map(outcome).collect()
    }

    /// The same of the given labels that the rest contradicts, the most doubtful first.
    #[getter]
    fn doubtful(&self) -> Vec<(usize, usize, usize, f32)> {
        self.inner.doubtful_labels().iter().map(outcome).collect()
    }

    /// Flags of the accepted rows, how many, their estimated error, and the smallest promise that could be kept.
    #[allow(clippy::type_complexity, reason = "a tuple of Python")]
    fn accept<'py>(
        &self,
        py: Python<'py>,
        max_error: f64,
        promise: &str,
        may: PyReadonlyArray1<'py, bool>,
    ) -> PyResult<(Bound<'py, PyArray1<bool>>, usize, f64, Option<f64>)> {
        if !(max_error > 0.0 && max_error < 1.0) {
            return Err(PyValueError::new_err(format!(
                "max_error = {max_error}: give a share above 0 and below 1"
            )));
        }
        let promise = match promise {
            "high-probability" => Promise::HighProbability,
            "expected" => Promise::Expected,
            other => {
                return Err(PyValueError::new_err(format!(
                    "promise = {other:?}: must be 'high-probability' or 'expected'"
                )));
            }
        };
        let may = self.check_flags(&may)?;
        let found = py.detach(|| self.inner.accept(max_error, promise, &may));
        Ok((found.accepted.into_pyarray(py), found.count, found.estimated_error, found.smallest_promise))
    }

    /// Flags of the rows of no class; nothing where too few labels were left out to know.
    fn reject<'py>(&self, py: Python<'py>, miss: f64) -> Option<Bound<'py, PyArray1<bool>>> {
        self.inner.reject(miss).map(|rejected| rejected.into_pyarray(py))
    }

    /// As bytes, for pickles.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = postcard::to_stdvec(self.inner.as_ref());
        let bytes = bytes.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// From the bytes of a pickle.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let labelling: handful_label::Labelling = postcard::from_bytes(bytes)
            .map_err(|error| PyValueError::new_err(format!("not a labelling: {error}")))?;
        Ok(labelling.into())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((make, (self.to_bytes(py)?,)))
    }
}

fn outcome(out: &LeftOut) -> (usize, usize, usize, f32) {
    (out.row, out.class, out.predicted, out.probability)
}
