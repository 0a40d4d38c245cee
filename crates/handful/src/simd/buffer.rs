//! Storage laid out for the kernels: every row starts on a cache line and is zero-padded to whole registers, so the
//! kernels have no tails along a row and no load crosses a line.

use crate::linalg::Matrix;
use crate::scalar::Scalar;

/// Row lengths are rounded up to this many elements: the widest register of single precision, one cache line.
pub const LANE_PADDING: usize = 16;

const CACHE_LINE: usize = 64;

/// Rounds a length up to whole registers of any instruction set.
pub fn padded(length: usize) -> usize {
    length.next_multiple_of(LANE_PADDING)
}

/// Distance between rows of some length.
fn stride_of(columns: usize) -> usize {
    let stride = padded(columns);
    // Walking down a column with a stride of whole pages would hit a single cache set again and again.
    if stride.is_multiple_of(1024) { stride + LANE_PADDING } else { stride }
}

/// Rows of equal length, each starting on a cache line and padded with zeros.
#[derive(Debug)]
pub struct PaddedRows<T> {
    storage: Vec<T>,
    offset: usize,
    rows: usize,
    columns: usize,
    stride: usize,
}

impl<T: Scalar> PaddedRows<T> {
    /// All zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        let stride = stride_of(columns);
        let storage = vec![T::ZERO; rows * stride + Self::SLACK];
        let offset = Self::offset_of(&storage);
        Self { storage, offset, rows, columns, stride }
    }

    /// A padded copy of a matrix.
    pub fn from_matrix(matrix: &Matrix<T>) -> Self {
        Self::from_rows(matrix.columns(), matrix.rows(), matrix.iter_rows())
    }

    /// A padded copy of `count` rows of `columns` values each; every value is written once.
    pub(crate) fn from_rows<'a>(columns: usize, count: usize, rows: impl Iterator<Item = &'a [T]>) -> Self {
        Self::from_rows_in(Vec::new(), columns, count, rows)
    }

    /// The same in storage that has served before.
    pub(crate) fn from_rows_in<'a>(
        mut storage: Vec<T>,
        columns: usize,
        count: usize,
        rows: impl Iterator<Item = &'a [T]>,
    ) -> Self {
        let stride = stride_of(columns);
        storage.clear();
        storage.reserve(count * stride + Self::SLACK);
        let offset = Self::offset_of(&storage);
        storage.resize(offset, T::ZERO);
        for (at, row) in rows.take(count).enumerate() {
            storage.extend_from_slice(&row[..columns]);
            storage.resize(offset + (at + 1) * stride, T::ZERO);
        }
        storage.resize(count * stride + Self::SLACK, T::ZERO);
        Self { storage, offset, rows: count, columns, stride }
    }

    /// The storage, for [`PaddedRows::from_rows_in`].
    pub(crate) fn into_storage(self) -> Vec<T> {
        self.storage
    }

    /// Room to start on a cache line.
    const SLACK: usize = CACHE_LINE / size_of::<T>();

    fn offset_of(storage: &[T]) -> usize {
        storage.as_ptr().align_offset(CACHE_LINE).min(Self::SLACK)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Length of a row without its padding.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Distance from one row to the next; at least the padded length.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// One row with its padding.
    pub fn row(&self, row: usize) -> &[T] {
        &self.as_slice()[row * self.stride..(row + 1) * self.stride]
    }

    /// One row with its padding, writable. The padding must stay zero.
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        let stride = self.stride;
        &mut self.as_mut_slice()[row * stride..(row + 1) * stride]
    }

    /// Everything, padding included.
    pub fn as_slice(&self) -> &[T] {
        &self.storage[self.offset..self.offset + self.rows * self.stride]
    }

    /// Everything, padding included, writable. The padding must stay zero.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.storage[self.offset..self.offset + self.rows * self.stride]
    }
}

/// Rows as the kernels read them, wherever they lie: whole registers long, padding zero.
#[derive(Clone, Copy, Debug)]
pub struct RowsView<'a, T> {
    values: &'a [T],
    rows: usize,
    columns: usize,
    stride: usize,
}

impl<'a, T: Scalar> RowsView<'a, T> {
    /// A matrix where it lies, if its rows are whole registers and their distance suits the caches; they need not start
    /// on a cache line, which costs less than a copy.
    pub(crate) fn of_matrix(matrix: &'a Matrix<T>) -> Option<Self> {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        (columns > 0 && stride_of(columns) == columns).then(|| Self {
            values: matrix.as_slice(),
            rows,
            columns,
            stride: columns,
        })
    }

    /// Some of the rows.
    pub(crate) fn part(self, rows: std::ops::Range<usize>) -> Self {
        let values = &self.values[rows.start * self.stride..rows.end * self.stride];
        Self { values, rows: rows.len(), ..self }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Length of a row without its padding.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Distance from one row to the next; at least the padded length.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// One row with its padding.
    pub fn row(&self, row: usize) -> &'a [T] {
        &self.values[row * self.stride..(row + 1) * self.stride]
    }

    /// Everything, padding included.
    pub fn as_slice(&self) -> &'a [T] {
        self.values
    }
}

impl<'a, T: Scalar> From<&'a PaddedRows<T>> for RowsView<'a, T> {
    fn from(rows: &'a PaddedRows<T>) -> Self {
        Self { values: rows.as_slice(), rows: rows.rows, columns: rows.columns, stride: rows.stride }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_of_whole_registers_are_read_where_they_lie() {
        for (columns, lies_well) in
            [(0, false), (15, false), (16, true), (640, true), (1024, false), (1280, true)]
        {
            let matrix = Matrix::from_vec(3, columns, vec![1.0f32; 3 * columns]);
            assert_eq!(RowsView::of_matrix(&matrix).is_some(), lies_well, "{columns}");
        }
        let matrix = Matrix::from_vec(3, 16, (0..48).map(|at| at as f64).collect());
        let last = RowsView::of_matrix(&matrix).expect("whole registers").part(2..3);
        assert_eq!((last.rows(), last.row(0)), (1, matrix.row(2)));
    }

    #[test]
    fn rows_start_on_cache_lines_and_padding_is_zero() {
        for columns in [1, 15, 16, 17, 640, 1024, 1280] {
            let matrix = Matrix::from_vec(3, columns, vec![1.0f32; 3 * columns]);
            let rows = PaddedRows::from_matrix(&matrix);
            for row in 0..3 {
                assert_eq!(rows.row(row).as_ptr() as usize % 64, 0);
                assert_eq!(rows.row(row).iter().sum::<f32>(), columns as f32);
            }
            assert_ne!(rows.stride() % 1024, 0);
        }
    }
}
