//! Matrix products on slices, checked before the kernel behind them is trusted with pointers.

use gemm::Parallelism;

/// A matrix in a slice: element `(row, column)` is at `row * row_step + column * column_step`.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_step: usize,
    column_step: usize,
}

impl<'a> Matrix<'a> {
    /// Rows one after the other.
    pub(super) fn new(values: &'a [f32], rows: usize, columns: usize) -> Self {
        assert!(values.len() >= rows * columns, "a slice too short for its matrix");
        Self { values, rows, columns, row_step: columns, column_step: 1 }
    }

    /// The same numbers with rows and columns exchanged.
    pub(super) fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }
}

/// `out = a b`, or `out += a b`; `out` holds its rows one after the other.
pub(super) fn product(out: &mut [f32], a: Matrix<'_>, b: Matrix<'_>, add: bool) {
    assert_eq!(a.columns, b.rows, "matrices that do not fit");
    let (rows, columns) = (a.rows, b.columns);
    assert!(out.len() >= rows * columns, "a slice too short for the product");
    // SAFETY: every element that the kernel reads or writes is at `row * row_step + column * column_step` with row and
    // column in range, which `Matrix::new` and the assertion above have checked against the lengths of the slices;
    // `out` is borrowed mutably, so it overlaps neither `a` nor `b`.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            a.columns,
            out.as_mut_ptr(),
            1,
            columns as isize,
            add,
            a.values.as_ptr(),
            a.column_step as isize,
            a.row_step as isize,
            b.values.as_ptr(),
            b.column_step as isize,
            b.row_step as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_plain_and_transposed_matrices() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let b = [1.0, 0.0, 2.0, 1.0, 0.0, 3.0];
        let mut out = [0.0; 4];
        product(&mut out, Matrix::new(&a, 2, 3), Matrix::new(&b, 3, 2), false);
        assert_eq!(out, [5.0, 11.0, 14.0, 23.0]);
        product(&mut out, Matrix::new(&a, 3, 2).transposed(), Matrix::new(&b, 3, 2), true);
        assert_eq!(out, [5.0 + 7.0, 11.0 + 18.0, 14.0 + 10.0, 23.0 + 22.0]);
    }
}
