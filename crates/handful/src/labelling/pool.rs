//! The pool as the labelling job reads it: some rows at random, or all of them once, in order.

use crate::linalg::Matrix;

/// Why a pool could not be read to its end.
pub type ReadError = Box<dyn std::error::Error + Send + Sync>;

/// Rows of features that need not fit in memory.
pub trait PoolRows {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// Number of columns.
    fn dim(&self) -> usize;
    /// A copy of some rows, in the order asked for.
    fn gather(&self, rows: &[usize]) -> Matrix<f32>;
    /// Hands over all rows in order: the number of a block's first row, and its values row by row.
    fn for_each_block(&self, visit: &mut dyn FnMut(usize, &[f32])) -> Result<(), ReadError>;
}

impl PoolRows for Matrix<f32> {
    fn rows(&self) -> usize {
        self.rows()
    }

    fn dim(&self) -> usize {
        self.columns()
    }

    fn gather(&self, rows: &[usize]) -> Matrix<f32> {
        self.gather(rows)
    }

    fn for_each_block(&self, visit: &mut dyn FnMut(usize, &[f32])) -> Result<(), ReadError> {
        visit(0, self.as_slice());
        Ok(())
    }
}
