//! The two skinny products of a fit: scores (rows x weights) and their transpose, the weight gradient.
//!
//! With five classes neither is shaped for a matrix library: the output has five columns. Both keep a block of
//! accumulators in registers, at most [`CLASS_BLOCK`] classes by a few rows (scores) or strips (gradient), so each
//! loaded value is used several times.

use super::lanes::Lanes;

/// Most classes handled by one register block.
const CLASS_BLOCK: usize = 6;

/// A matrix as the kernels see it: `rows` rows, `stride` elements apart.
pub(crate) struct Strided<T> {
    pub start: T,
    pub rows: usize,
    pub stride: usize,
}

/// Splits `classes` into blocks of nearly equal size, none above `most`.
fn class_blocks(classes: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let blocks = classes.div_ceil(most);
    (0..blocks).map(move |block| {
        let (start, end) = (block * classes / blocks, (block + 1) * classes / blocks);
        (start, end - start)
    })
}

/// `scores[c][i] = bias[c] + sum_k weights[c][k] rows[i][k]`, `columns` a multiple of the register width.
///
/// # Safety
/// The instruction set of `S` is present; `rows` and `weights` hold `columns` elements per row, `bias` one per weight
/// row, and `scores` one row per weight row with at least `rows.rows` elements.
#[inline(always)]
pub(crate) unsafe fn scores<S: Lanes>(
    columns: usize,
    rows: &Strided<*const S::Element>,
    weights: &Strided<*const S::Element>,
    bias: *const S::Element,
    scores: &Strided<*mut S::Element>,
) {
    // SAFETY: forwarded; two rows per block fill sixteen registers, four thirty-two.
    unsafe {
        if <S::Wide as Lanes>::REGISTERS <= 16 {
            score_rows::<S::Wide, 2>(columns, rows, weights, bias, scores);
        } else {
            score_rows::<S::Wide, 4>(columns, rows, weights, bias, scores);
        }
    }
}

/// # Safety
/// As for [`scores`].
#[inline(always)]
unsafe fn score_rows<S: Lanes, const ROWS: usize>(
    columns: usize,
    rows: &Strided<*const S::Element>,
    weights: &Strided<*const S::Element>,
    bias: *const S::Element,
    scores: &Strided<*mut S::Element>,
) {
    // Classes outside: the weights of a block stay in the nearest cache while the rows pass by.
    let most = if S::REGISTERS < 16 { CLASS_BLOCK / 2 } else { CLASS_BLOCK };
    for (class, width) in class_blocks(weights.rows, most) {
        let mut row = 0;
        while row < rows.rows {
            let whole = row + ROWS <= rows.rows;
            // SAFETY: `row` and `class` stay inside the matrices the caller vouches for.
            unsafe {
                let z = rows.start.add(row * rows.stride);
                let w = weights.start.add(class * weights.stride);
                let out = scores.start.add(class * scores.stride + row);
                let b = bias.add(class);
                macro_rules! block {
                    ($($classes:literal)*) => {
                        match (whole, width) {
                            $((true, $classes) => score_block::<S, ROWS, $classes>(
                                columns, z, rows.stride, w, weights.stride, b, out, scores.stride,
                            ),
                            (false, $classes) => score_block::<S, 1, $classes>(
                                columns, z, rows.stride, w, weights.stride, b, out, scores.stride,
                            ),)*
                            _ => unreachable!("class blocks hold one to six classes"),
                        }
                    };
                }
                block!(1 2 3 4 5 6);
            }
            row += if whole { ROWS } else { 1 };
        }
    }
}

// Indices rather than iterators in the inner loops: with constant bounds they unroll into registers.
/// # Safety
/// As for [`scores`], with `ROWS` rows behind `z` and `CLASSES` behind `w`.
#[inline(always)]
#[allow(clippy::too_many_arguments, clippy::needless_range_loop)]
unsafe fn score_block<S: Lanes, const ROWS: usize, const CLASSES: usize>(
    columns: usize,
    z: *const S::Element,
    z_stride: usize,
    w: *const S::Element,
    w_stride: usize,
    bias: *const S::Element,
    out: *mut S::Element,
    out_stride: usize,
) {
    // SAFETY: every access is `row < ROWS`, `class < CLASSES`, `column < columns`.
    unsafe {
        let mut sums = [[S::splat(S::Element::default()); CLASSES]; ROWS];
        let mut column = 0;
        while column < columns {
            let mut values = [S::splat(S::Element::default()); ROWS];
            for (row, value) in values.iter_mut().enumerate() {
                *value = S::load(z.add(row * z_stride + column));
            }
            // Indices rather than iterators: both are constants here, and the sums stay in registers.
            #[allow(clippy::needless_range_loop)]
            for class in 0..CLASSES {
                let weight = S::load(w.add(class * w_stride + column));
                for row in 0..ROWS {
                    sums[row][class] = S::mul_add(values[row], weight, sums[row][class]);
                }
            }
            column += S::WIDTH;
        }
        for (row, sums) in sums.iter().enumerate() {
            for (class, &sum) in sums.iter().enumerate() {
                *out.add(class * out_stride + row) = *bias.add(class) + S::sum(sum);
            }
        }
    }
}

/// `gradient[c][k] = sum_i residuals[c][i] rows[i][k]`, added to what is there when `add`.
///
/// # Safety
/// The instruction set of `S` is present; `rows` and `gradient` hold `columns` elements per row, `residuals` one row
/// per gradient row with `rows.rows` elements.
#[inline(always)]
pub(crate) unsafe fn weight_gradient<S: Lanes>(
    add: bool,
    columns: usize,
    rows: &Strided<*const S::Element>,
    residuals: &Strided<*const S::Element>,
    gradient: &Strided<*mut S::Element>,
) {
    // SAFETY: forwarded; the strips of a block fill the registers.
    unsafe {
        match S::REGISTERS {
            ..16 => gradient_strips::<S, 1>(add, columns, rows, residuals, gradient),
            16 => gradient_strips::<S, 2>(add, columns, rows, residuals, gradient),
            _ => gradient_strips::<S, 4>(add, columns, rows, residuals, gradient),
        }
    }
}

/// # Safety
/// As for [`weight_gradient`].
#[inline(always)]
unsafe fn gradient_strips<S: Lanes, const STRIPS: usize>(
    add: bool,
    columns: usize,
    rows: &Strided<*const S::Element>,
    residuals: &Strided<*const S::Element>,
    gradient: &Strided<*mut S::Element>,
) {
    let mut column = 0;
    while column < columns {
        let whole = column + STRIPS * S::WIDTH <= columns;
        for (class, width) in class_blocks(gradient.rows, CLASS_BLOCK) {
            // SAFETY: `column` and `class` stay inside the matrices the caller vouches for.
            unsafe {
                let z = rows.start.add(column);
                let g = residuals.start.add(class * residuals.stride);
                let out = gradient.start.add(class * gradient.stride + column);
                macro_rules! block {
                    ($($classes:literal)*) => {
                        match (whole, width) {
                            $((true, $classes) => gradient_block::<S, STRIPS, $classes>(
                                add, z, rows.rows, rows.stride, g, residuals.stride, out, gradient.stride,
                            ),
                            (false, $classes) => gradient_block::<S, 1, $classes>(
                                add, z, rows.rows, rows.stride, g, residuals.stride, out, gradient.stride,
                            ),)*
                            _ => unreachable!("class blocks hold one to six classes"),
                        }
                    };
                }
                block!(1 2 3 4 5 6);
            }
        }
        column += if whole { STRIPS * S::WIDTH } else { S::WIDTH };
    }
}

/// # Safety
/// As for [`weight_gradient`], with `STRIPS` registers behind each row of `z` and `CLASSES` rows behind `residuals`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn gradient_block<S: Lanes, const STRIPS: usize, const CLASSES: usize>(
    add: bool,
    z: *const S::Element,
    rows: usize,
    z_stride: usize,
    residuals: *const S::Element,
    residual_stride: usize,
    out: *mut S::Element,
    out_stride: usize,
) {
    // SAFETY: every access is `row < rows`, `class < CLASSES`, `strip < STRIPS`.
    unsafe {
        let mut sums = [[S::splat(S::Element::default()); STRIPS]; CLASSES];
        if add {
            for (class, sums) in sums.iter_mut().enumerate() {
                for (strip, sum) in sums.iter_mut().enumerate() {
                    *sum = S::load(out.add(class * out_stride + strip * S::WIDTH));
                }
            }
        }
        for row in 0..rows {
            let mut values = [S::splat(S::Element::default()); STRIPS];
            for (strip, value) in values.iter_mut().enumerate() {
                *value = S::load(z.add(row * z_stride + strip * S::WIDTH));
            }
            for (class, sums) in sums.iter_mut().enumerate() {
                let residual = S::splat(*residuals.add(class * residual_stride + row));
                for strip in 0..STRIPS {
                    sums[strip] = S::mul_add(residual, values[strip], sums[strip]);
                }
            }
        }
        for (class, sums) in sums.iter().enumerate() {
            for (strip, &sum) in sums.iter().enumerate() {
                S::store(out.add(class * out_stride + strip * S::WIDTH), sum);
            }
        }
    }
}
