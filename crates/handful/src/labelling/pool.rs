//! The pool as the labelling job reads it: some rows at random, or all of them once, in order.

use crate::matrix::Matrix;

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

/// `count` of `rows` row numbers, evenly spread, rising.
pub(crate) fn evenly_spread(rows: usize, count: usize) -> Vec<usize> {
    let count = count.min(rows);
    (0..count).map(|at| at * rows / count.max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_rows_are_different_and_within() {
        for (rows, count) in [(10, 3), (10, 10), (3, 10), (1, 1), (0, 4), (1_000_003, 4096)] {
            let spread = evenly_spread(rows, count);
            assert_eq!(spread.len(), count.min(rows));
            assert!(spread.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(spread.iter().all(|&row| row < rows));
        }
    }
}
