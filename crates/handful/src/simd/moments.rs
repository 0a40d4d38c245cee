//! The sum of rows and the squared length of each, in one pass: rows of a task fill the second-level cache, and methods
//! that shift and compare them need both.

use super::lanes::Lanes;
use super::products::Strided;

/// Rows that share one pass over the sums.
const ROWS: usize = 4;

/// `sums[k] += sum_i rows[i][k]` and `squares[i] = sum_k rows[i][k]^2`, `columns` a multiple of the register width.
///
/// # Safety
/// The instruction set of `S` is present; `rows` holds `columns` elements per row, `sums` as many, and `squares` one
/// element per row.
#[inline(always)]
pub(crate) unsafe fn moments<S: Lanes>(
    columns: usize,
    rows: &Strided<*const S::Element>,
    sums: *mut S::Element,
    squares: *mut S::Element,
) {
    let mut row = 0;
    while row < rows.rows {
        let whole = row + ROWS <= rows.rows;
        // SAFETY: `row` and the rows of its block stay inside what the caller vouches for.
        unsafe {
            let (z, out) = (rows.start.add(row * rows.stride), squares.add(row));
            if whole {
                block::<S::Wide, ROWS>(columns, z, rows.stride, sums, out);
            } else {
                block::<S::Wide, 1>(columns, z, rows.stride, sums, out);
            }
        }
        row += if whole { ROWS } else { 1 };
    }
}

/// # Safety
/// As for [`moments`], with `COUNT` rows behind `z` and as many elements behind `squares`.
#[inline(always)]
unsafe fn block<S: Lanes, const COUNT: usize>(
    columns: usize,
    z: *const S::Element,
    stride: usize,
    sums: *mut S::Element,
    squares: *mut S::Element,
) {
    // SAFETY: every access is `row < COUNT`, `column < columns`.
    unsafe {
        let mut lengths = [S::splat(S::Element::default()); COUNT];
        let mut column = 0;
        while column < columns {
            let mut sum = S::load(sums.add(column));
            for (row, length) in lengths.iter_mut().enumerate() {
                let value = S::load(z.add(row * stride + column));
                sum = S::add(sum, value);
                *length = S::mul_add(value, value, *length);
            }
            S::store(sums.add(column), sum);
            column += S::WIDTH;
        }
        for (row, &length) in lengths.iter().enumerate() {
            *squares.add(row) = S::sum(length);
        }
    }
}
