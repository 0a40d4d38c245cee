//! Feature tables of every format the program reads and writes.

use std::path::PathBuf;
use std::sync::Arc;

use handful::Matrix;
use handful_data::{ClassIndex, FeatureTable, OpenOptions, open_table, write_table};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{to_matrix, to_numpy};
use crate::errors::of_data;
use crate::work::{Interrupt, run};

/// Rows of features with ids and classes.
#[pyclass(frozen, module = "handful._handful")]
pub struct Table {
    /// What Rust holds.
    pub inner: Arc<FeatureTable>,
}

#[pymethods]
impl Table {
    /// Reads a file and checks every feature; a `labels.csv` replaces its classes. The first line of a text table and
    /// the column of the rows' names are recognised unless they are said.
    #[staticmethod]
    #[pyo3(signature = (path, labels=None, header=None, id_column=None))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        labels: Option<PathBuf>,
        header: Option<bool>,
        id_column: Option<String>,
    ) -> PyResult<Self> {
        let table = run(py, &Interrupt::default(), move || {
            let table = open_table(&path, &OpenOptions { labels, header, id_column })?;
            table.check_finite()?;
            Ok(table)
        })?;
        Ok(Self { inner: Arc::new(table.map_err(of_data)?) })
    }

    /// The features that come with the program.
    #[staticmethod]
    fn shipped() -> PyResult<Self> {
        Ok(Self { inner: Arc::new(handful_data::shipped::features().map_err(of_data)?) })
    }

    /// A table of arrays: the class of each row as a number below the length of `names`, -1 for none.
    #[staticmethod]
    #[pyo3(signature = (features, classes, names, ids=None))]
    fn from_arrays(
        features: PyReadonlyArray2<'_, f32>,
        classes: PyReadonlyArray1<'_, i64>,
        names: Vec<String>,
        ids: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let features: Matrix<f32> = to_matrix(&features)?;
        if let Some((row, column, value)) = features.first_non_finite() {
            return Err(PyValueError::new_err(format!(
                "row {row}, column {column} is {value}; features must be finite"
            )));
        }
        let class = |&class: &i64| match usize::try_from(class) {
            Ok(class) => names.get(class).map(|name| Some(name.as_str())).ok_or_else(|| {
                PyValueError::new_err(format!("class {class}, but there are {} names", names.len()))
            }),
            Err(_) => Ok(None),
        };
        let of_row = classes.as_array().iter().map(class).collect::<PyResult<Vec<_>>>()?;
        let classes = ClassIndex::from_names_in_order(&of_row, &names);
        let table = FeatureTable::from_memory("arrays", features, ids, classes).map_err(of_data)?;
        Ok(Self { inner: Arc::new(table) })
    }

    /// Rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.inner.rows(), self.inner.dim())
    }

    /// The file, or what stands for it.
    #[getter]
    fn path(&self) -> PathBuf {
        self.inner.path().to_owned()
    }

    /// What kind of file it was.
    #[getter]
    fn format(&self) -> &'static str {
        self.inner.format()
    }

    /// What was decided or left out while reading.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.inner.notes().to_vec()
    }

    /// The classes in their order.
    #[getter]
    fn class_names(&self) -> Vec<String> {
        self.inner.class_names().to_vec()
    }

    /// The ids, where the file has any.
    #[getter]
    fn ids(&self) -> Option<Vec<String>> {
        self.inner.ids().map(<[String]>::to_vec)
    }

    /// The class of each row, -1 for none.
    fn classes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let class = |row| self.inner.class_of_row(row).map_or(-1, |class| class as i64);
        (0..self.inner.rows()).map(class).collect::<Vec<_>>().into_pyarray(py)
    }

    /// All features.
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let rows: Vec<usize> = (0..self.inner.rows()).collect();
        let features = py.detach(|| self.inner.gather(&rows));
        to_numpy(py, &features)
    }

    /// SHA-256 of the file, or of the features.
    fn sha256(&self, py: Python<'_>) -> String {
        py.detach(|| self.inner.sha256())
    }

    /// Writes a file; the extension says the format.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let table = Arc::clone(&self.inner);
        run(py, &Interrupt::default(), move || write_table(&path, &table))?.map_err(of_data)
    }
}
