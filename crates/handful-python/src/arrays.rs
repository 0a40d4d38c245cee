//! Matrices of the engine to arrays of numpy and back.

use handful::Matrix;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A matrix as an array.
///
/// # Errors
/// None that a matrix could cause.
pub fn to_numpy<'py>(py: Python<'py>, matrix: &Matrix<f32>) -> PyResult<Bound<'py, PyArray2<f32>>> {
    PyArray1::from_slice(py, matrix.as_slice()).reshape([matrix.rows(), matrix.columns()])
}

/// A copy of an array as a matrix.
///
/// # Errors
/// An array that is not C-contiguous.
pub fn to_matrix(array: &PyReadonlyArray2<'_, f32>) -> PyResult<Matrix<f32>> {
    Ok(Matrix::from_vec(array.shape()[0], array.shape()[1], row_major(array)?.to_vec()))
}

/// The values of an array row by row.
///
/// # Errors
/// An array that is not C-contiguous. numpy's own slice is of Fortran's order, too, in which rows are columns.
pub fn row_major<'a>(array: &'a PyReadonlyArray2<'_, f32>) -> PyResult<&'a [f32]> {
    if !array.is_c_contiguous() {
        return Err(PyValueError::new_err(
            "the array is not C-contiguous; numpy.ascontiguousarray makes it so",
        ));
    }
    Ok(array.as_slice()?)
}
