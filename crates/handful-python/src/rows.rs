//! Rows of a numpy array as a pool, read where they lie: no copy, whether they are in memory or in a mapped file.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use handful::Matrix;
use handful_label::{PoolRows, ReadError};
use numpy::{PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::row_major;
use crate::work::Interrupt;

/// Rows handed over at a time: what the labelling job itself works on at once.
const BLOCK: usize = 8192;

/// A C-contiguous array of 32-bit floats.
pub struct NumpyRows {
    /// Keeps the memory.
    _owner: Py<PyArray2<f32>>,
    first: *const f32,
    rows: usize,
    columns: usize,
    interrupt: Interrupt,
    read: Arc<AtomicUsize>,
}

// SAFETY: the pointer is only read, and what it points to lives as long as the array that `_owner` keeps. That somebody
// writes to the array while it is read cannot be excluded, as with every library that works on numpy's arrays without the
// interpreter; such a caller gets labels of a mixture of old and new numbers.
unsafe impl Send for NumpyRows {}
// SAFETY: as above.
unsafe impl Sync for NumpyRows {}

impl NumpyRows {
    /// Takes hold of an array.
    ///
    /// # Errors
    /// An array that is not C-contiguous.
    pub fn new(array: PyReadonlyArray2<'_, f32>, interrupt: Interrupt) -> PyResult<Self> {
        let (first, rows, columns) = (row_major(&array)?.as_ptr(), array.shape()[0], array.shape()[1]);
        let read = Arc::default();
        Ok(Self { _owner: (*array).clone().unbind(), first, rows, columns, interrupt, read })
    }

    /// How many rows have been handed over so far, for a bar.
    pub fn progress(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.read)
    }

    fn values(&self) -> &[f32] {
        // SAFETY: `new` got the pointer from a slice of this length, and `_owner` keeps its memory; numpy never moves the
        // data of an array that somebody else holds a reference to.
        unsafe { std::slice::from_raw_parts(self.first, self.rows * self.columns) }
    }
}

impl PoolRows for NumpyRows {
    fn rows(&self) -> usize {
        self.rows
    }

    fn dim(&self) -> usize {
        self.columns
    }

    fn gather(&self, rows: &[usize]) -> Matrix<f32> {
        let mut values = Vec::with_capacity(rows.len() * self.columns);
        for &row in rows {
            values.extend_from_slice(&self.values()[row * self.columns..][..self.columns]);
        }
        Matrix::from_vec(rows.len(), self.columns, values)
    }

    fn for_each_block(&self, visit: &mut dyn FnMut(usize, &[f32])) -> Result<(), ReadError> {
        for (at, block) in self.values().chunks(BLOCK * self.columns.max(1)).enumerate() {
            if self.interrupt.is_raised() {
                return Err("interrupted".into());
            }
            visit(at * BLOCK, block);
            self.read.fetch_add(block.len() / self.columns.max(1), Ordering::Relaxed);
        }
        Ok(())
    }
}
