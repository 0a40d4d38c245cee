//! The inner loop: some rows of weights by some vectors of columns, all sums in registers.

use super::super::lanes::{Avx2, Avx512, Lanes};

/// Rows and vectors of a tile: with the vectors of a row of `x` and one weight, as many as there are registers.
pub(super) const AVX2: (usize, usize) = (6, 2);
pub(super) const AVX512: (usize, usize) = (8, 3);

/// What becomes of the sums of a row: `act(scale x + shift)`.
pub(in super::super) struct Finish<'a> {
    pub scale: &'a [f32],
    pub shift: &'a [f32],
    /// From 0 to 1.
    pub slope: f32,
    pub ceiling: f32,
}

/// A product. Weights are packed: blocks of as many rows as a tile has, the last filled up with zeros; in each, the
/// weights of all its rows for one depth lie together.
pub(super) struct Job<'a> {
    pub rows: usize,
    pub depth: usize,
    pub columns: usize,
    pub weights: *const f32,
    pub x: *const f32,
    /// Numbers from one row of `x` to the next.
    pub step: usize,
    pub out: *mut f32,
    pub out_step: usize,
    pub finish: Option<Finish<'a>>,
}

/// Computes a product.
///
/// # Safety
/// AVX2 and FMA are present; the matrices of the job have the sizes it says, and `finish` a number for each row.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn avx2(job: &Job<'_>) {
    // SAFETY: the caller's.
    unsafe { strips::<Avx2, { AVX2.0 }, { AVX2.1 }>(job) }
}

/// Computes a product.
///
/// # Safety
/// As [`avx2`], for AVX-512.
#[target_feature(enable = "avx512f,avx2,fma")]
pub(super) unsafe fn avx512(job: &Job<'_>) {
    // SAFETY: the caller's.
    unsafe { strips::<Avx512, { AVX512.0 }, { AVX512.1 }>(job) }
}

/// Strips of columns outside, so that one of them stays in the nearest cache while all weights pass by.
#[inline(always)]
unsafe fn strips<L: Lanes, const ROWS: usize, const VECTORS: usize>(job: &Job<'_>) {
    let mut column = 0;
    while column < job.columns {
        let left = job.columns - column;
        let blocks = (0..job.rows).step_by(ROWS);
        // SAFETY: rows and columns stay inside the matrices; a mask covers what is left of the last vector.
        unsafe {
            match left {
                _ if left >= VECTORS * L::WIDTH => {
                    blocks.for_each(|row| tile::<L, ROWS, VECTORS, false>(job, row, column, L::WIDTH));
                }
                _ if left > 2 * L::WIDTH => {
                    blocks.for_each(|row| tile::<L, ROWS, 3, true>(job, row, column, left - 2 * L::WIDTH));
                }
                _ if left > L::WIDTH => {
                    blocks.for_each(|row| tile::<L, ROWS, 2, true>(job, row, column, left - L::WIDTH));
                }
                _ => blocks.for_each(|row| tile::<L, ROWS, 1, true>(job, row, column, left)),
            }
        }
        column += VECTORS * L::WIDTH;
    }
}

/// `last` is how many numbers the last vector has, where it is not whole (`PART`).
#[inline(always)]
unsafe fn tile<L: Lanes, const ROWS: usize, const VECTORS: usize, const PART: bool>(
    job: &Job<'_>,
    row: usize,
    column: usize,
    last: usize,
) {
    // SAFETY: the caller keeps tiles inside the matrices.
    unsafe {
        let mask = L::first(last % (L::WIDTH + 1));
        let is_part = |vector: usize| PART && vector == VECTORS - 1;
        let mut sums = [[L::splat(0.0); VECTORS]; ROWS];
        let mut weights = job.weights.add(row * job.depth);
        let mut x = job.x.add(column);
        for _ in 0..job.depth {
            let values: [L::Vector; VECTORS] = std::array::from_fn(|vector| {
                let from = x.add(vector * L::WIDTH);
                if is_part(vector) { L::load_part(from, mask) } else { L::load(from) }
            });
            for (row, sums) in sums.iter_mut().enumerate() {
                let weight = L::splat(*weights.add(row));
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = L::mul_add(weight, value, *sum);
                }
            }
            weights = weights.add(ROWS);
            x = x.add(job.step);
        }
        for (at, sums) in sums.iter_mut().enumerate().take(job.rows - row) {
            let out = job.out.add((row + at) * job.out_step + column);
            for (vector, sum) in sums.iter_mut().enumerate() {
                let to = out.add(vector * L::WIDTH);
                if let Some(finish) = &job.finish {
                    *sum = finished::<L>(*sum, finish, row + at);
                }
                if is_part(vector) {
                    L::store_part(to, mask, *sum);
                } else {
                    L::store(to, *sum);
                }
            }
        }
    }
}

/// With a slope of at most 1, the greater of `z` and `slope z` is the one that counts.
#[inline(always)]
unsafe fn finished<L: Lanes>(sum: L::Vector, finish: &Finish<'_>, row: usize) -> L::Vector {
    // SAFETY: the caller has the instruction set, and numbers for each row.
    unsafe {
        let [scale, shift] = [finish.scale, finish.shift].map(|of| L::splat(*of.get_unchecked(row)));
        let z = L::mul_add(scale, sum, shift);
        let risen = L::max(L::mul(L::splat(finish.slope), z), z);
        L::min(L::splat(finish.ceiling), risen)
    }
}
