//! The pool as the labelling job reads it: some rows at random, or all of them once, in order.

use handful::Matrix;
use handful_data::FeatureTable;

use crate::prototypes::Prototypes;

/// Why a pool could not be read to its end.
pub type ReadError = Box<dyn std::error::Error + Send + Sync>;

/// Rows of features that need not fit in memory.
pub trait PoolRows: Send + Sync {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// Number of columns.
    fn dim(&self) -> usize;
    /// A copy of some rows, in the order asked for.
    fn gather(&self, rows: &[usize]) -> Matrix<f32>;
    /// Hands over all rows in order: the number of a block's first row, and its values row by row.
    ///
    /// # Errors
    /// What the source says when it cannot be read.
    fn for_each_block(&self, visit: &mut dyn FnMut(usize, &[f32])) -> Result<(), ReadError>;
    /// Vectors of classes, which are its last rows.
    fn prototypes(&self) -> Option<&Prototypes> {
        None
    }
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

/// Floats of a table handed over at once: enough rows for every thread to have work.
const FLOATS: usize = 8 << 20;

impl PoolRows for FeatureTable {
    fn rows(&self) -> usize {
        self.rows()
    }

    fn dim(&self) -> usize {
        self.dim()
    }

    fn gather(&self, rows: &[usize]) -> Matrix<f32> {
        self.gather(rows)
    }

    fn for_each_block(&self, visit: &mut dyn FnMut(usize, &[f32])) -> Result<(), ReadError> {
        let mut buffer: Vec<f32> = Vec::new();
        let mut first = 0;
        self.for_each_block(|row, values| {
            if buffer.is_empty() {
                first = row;
                if values.len() >= FLOATS {
                    visit(row, values);
                    return Ok(());
                }
            }
            buffer.extend_from_slice(values);
            if buffer.len() >= FLOATS {
                visit(first, &buffer);
                buffer.clear();
            }
            Ok(())
        })?;
        if !buffer.is_empty() {
            visit(first, &buffer);
        }
        Ok(())
    }
}
