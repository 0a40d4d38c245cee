//! Single-precision matrix products on slices, for matrices with more than a few columns.
//!
//! Few-shot tasks have five classes, for which `simd` is made; pools have hundreds, for which a blocked
//! product is. Sizes are checked here before the kernel behind it is trusted with pointers. One thread each: callers
//! spread fixed blocks of rows over threads, so that no sum depends on how many there are.

use gemm::Parallelism;

/// A matrix in a slice: element `(row, column)` is at `row * row_step + column * column_step`.
#[derive(Clone, Copy)]
pub struct View<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_step: usize,
    column_step: usize,
}

impl<'a> View<'a> {
    /// Rows one after the other.
    ///
    /// # Panics
    /// If the slice is too short.
    pub fn new(values: &'a [f32], rows: usize, columns: usize) -> Self {
        Self::with_stride(values, rows, columns, columns)
    }

    /// Rows that begin `stride` numbers apart.
    ///
    /// # Panics
    /// If the slice is too short or rows overlap.
    pub fn with_stride(values: &'a [f32], rows: usize, columns: usize, stride: usize) -> Self {
        assert!(
            stride >= columns && values.len() >= span(rows, columns, stride),
            "a slice too short for its matrix"
        );
        Self { values, rows, columns, row_step: stride, column_step: 1 }
    }

    /// Exchanges rows and columns.
    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }
}

/// Numbers from the first to the last of a matrix.
fn span(rows: usize, columns: usize, stride: usize) -> usize {
    if rows == 0 { 0 } else { (rows - 1) * stride + columns }
}

/// Computes `out = a b`, or `out += a b` with `add`; rows of `out` begin `stride` numbers apart.
///
/// # Panics
/// If the matrices do not fit each other or `out`.
pub fn product(out: &mut [f32], stride: usize, a: View<'_>, b: View<'_>, add: bool) {
    assert_eq!(a.columns, b.rows, "matrices that do not fit");
    let (rows, columns) = (a.rows, b.columns);
    assert!(
        stride >= columns && out.len() >= span(rows, columns, stride),
        "a slice too short for the product"
    );
    if rows == 0 || columns == 0 {
        return;
    }
    // SAFETY: every element that the kernel reads or writes is at `row * row_step + column * column_step` with row and
    // column in range, which `View` and the assertions above have checked against the lengths of the slices; `out` is
    // borrowed mutably, so it overlaps neither `a` nor `b`.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            a.columns,
            out.as_mut_ptr(),
            1,
            stride as isize,
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
    fn products_of_plain_transposed_and_spaced_matrices() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let b = [1.0, 0.0, 2.0, 1.0, 0.0, 3.0];
        let mut out = [0.0; 4];
        product(&mut out, 2, View::new(&a, 2, 3), View::new(&b, 3, 2), false);
        assert_eq!(out, [5.0, 11.0, 14.0, 23.0]);
        product(&mut out, 2, View::new(&a, 3, 2).transposed(), View::new(&b, 3, 2), true);
        assert_eq!(out, [5.0 + 7.0, 11.0 + 18.0, 14.0 + 10.0, 23.0 + 22.0]);
        let mut spaced = [9.0; 5];
        product(&mut spaced, 3, View::with_stride(&a, 2, 2, 3), View::new(&b[..4], 2, 2), false);
        assert_eq!(spaced, [5.0, 2.0, 9.0, 14.0, 5.0]);
    }
}
