//! The one dense matrix of the product: row-major, contiguous, owned.
//!
//! Few-shot tasks are gathered from a table row by row and then walked row by row, so row-major storage without
//! strides is all that is needed; it also lets every other crate hand rows over as plain slices.

use crate::scalar::Scalar;

/// A dense row-major matrix; each row is one example.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<T> {
    rows: usize,
    columns: usize,
    values: Vec<T>,
}

impl<T: Scalar> Matrix<T> {
    /// Makes a matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, values: vec![T::ZERO; rows * columns] }
    }

    /// Wraps row-major values.
    ///
    /// # Panics
    /// If `values` does not hold `rows * columns` numbers; readers of foreign files check that first.
    pub fn from_vec(rows: usize, columns: usize, values: Vec<T>) -> Self {
        assert_eq!(
            values.len(),
            rows * columns,
            "a {rows} x {columns} matrix needs {} values",
            rows * columns
        );
        Self { rows, columns, values }
    }

    /// Returns the number of rows (examples).
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns (dimensions).
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns one row.
    pub fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// Returns one row, writable.
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        &mut self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// Iterates over the rows. A matrix without columns still yields each of its rows, as empty slices.
    pub fn iter_rows(&self) -> impl ExactSizeIterator<Item = &[T]> {
        (0..self.rows).map(|row| self.row(row))
    }

    /// Returns the values, row by row.
    pub fn as_slice(&self) -> &[T] {
        &self.values
    }

    /// Returns the values, row by row, writable.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Copies the given rows, in the given order; a row may be named more than once.
    pub fn gather(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.columns);
        for &row in rows {
            values.extend_from_slice(self.row(row));
        }
        Self { rows: rows.len(), columns: self.columns, values }
    }

    /// Puts the rows of `below` under those of `self`.
    ///
    /// # Panics
    /// If both have rows and differ in their number of columns.
    pub fn stack(&self, below: &Self) -> Self {
        if below.rows == 0 {
            return self.clone();
        }
        assert_eq!(self.columns, below.columns, "stacked matrices need the same number of columns");
        let values = [self.as_slice(), below.as_slice()].concat();
        Self { rows: self.rows + below.rows, columns: self.columns, values }
    }

    /// Converts to another precision.
    pub fn cast<U: Scalar>(&self) -> Matrix<U> {
        Matrix {
            rows: self.rows,
            columns: self.columns,
            values: self.values.iter().map(|value| U::from_f64(value.to_f64())).collect(),
        }
    }

    /// Finds the first NaN or infinity, row by row: its position and value.
    pub fn first_non_finite(&self) -> Option<(usize, usize, f64)> {
        // Blocks without an early exit are tested by the register; only the one with the number is searched.
        const BLOCK: usize = 1024;
        let all_finite = |block: &[T]| block.iter().fold(true, |finite, value| finite & value.is_finite());
        let start = BLOCK * self.values.chunks(BLOCK).position(|block| !all_finite(block))?;
        let at = start + self.values[start..].iter().position(|value| !value.is_finite())?;
        Some((at / self.columns, at % self.columns, self.values[at].to_f64()))
    }

    /// Subtracts the mean of all rows from each.
    pub fn centre(&mut self) {
        let (mean, columns) = (self.mean_row(), self.columns.max(1));
        for row in self.as_mut_slice().chunks_exact_mut(columns) {
            row.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= *mean);
        }
    }

    /// Returns the mean of all rows; zeros for an empty matrix.
    pub fn mean_row(&self) -> Vec<T> {
        let mut sums = vec![0.0f64; self.columns];
        for row in self.iter_rows() {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += value.to_f64();
            }
        }
        let count = self.rows.max(1) as f64;
        sums.into_iter().map(|sum| T::from_f64(sum / count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gather_repeats_and_reorders() {
        let matrix = Matrix::from_vec(3, 2, vec![0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(matrix.gather(&[2, 0, 2]).as_slice(), &[4.0, 5.0, 0.0, 1.0, 4.0, 5.0]);
    }

    #[test]
    fn non_finite_value_is_located() {
        let mut matrix = Matrix::<f32>::zeros(3, 4);
        assert_eq!(matrix.first_non_finite(), None);
        matrix.row_mut(1)[2] = f32::INFINITY;
        assert_eq!(matrix.first_non_finite(), Some((1, 2, f64::INFINITY)));
    }

    #[test]
    fn mean_of_no_rows_is_zero() {
        assert_eq!(Matrix::<f64>::zeros(0, 3).mean_row(), vec![0.0; 3]);
    }
}
