//! `Y = act(scale · W X + shift)`: the matrix product of convolutions.
//!
//! A product of matrices of all shapes copies both into an order of its own and writes sums out before anything is done
//! with them. Here the weights are packed once for all images, the rows of `X` are long enough to be read where they are,
//! and what follows a convolution is done while the sums are in registers. Every sum runs over the depth in order, so
//! that neither threads nor places change a bit. Processors without AVX2 take [`handful::linalg::product`].

#[cfg(target_arch = "x86_64")]
mod tile;

use handful::linalg::product::{View, product};
use rayon::prelude::*;

#[cfg(target_arch = "x86_64")]
pub(super) use self::tile::Finish;
use super::ending::Ending;
use super::wide::Instructions;

/// Weights in the order in which they are used.
pub(super) struct Packed {
    instructions: Instructions,
    values: Vec<f32>,
    rows: usize,
    depth: usize,
}

/// What becomes of the sums.
#[derive(Clone, Copy)]
pub(super) enum Then<'a> {
    /// They are the output.
    Nothing,
    /// They are scaled, shifted and rectified, row by row.
    End(&'a Ending),
}

impl<'a> From<Option<&'a Ending>> for Then<'a> {
    fn from(ending: Option<&'a Ending>) -> Self {
        ending.map_or(Self::Nothing, Self::End)
    }
}

/// Rows that are packed together.
fn block(instructions: Instructions) -> usize {
    match instructions {
        Instructions::Plain => 1,
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => tile::AVX2.0,
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => tile::AVX512.0,
    }
}

impl Packed {
    /// Weights `[rows, depth]`, of which number `(row, at)` is at `row * steps[0] + at * steps[1]`.
    pub(super) fn new(weights: &[f32], rows: usize, depth: usize, steps: [usize; 2]) -> Self {
        Self::for_instructions(Instructions::here(), weights, rows, depth, steps)
    }

    fn for_instructions(
        instructions: Instructions,
        weights: &[f32],
        rows: usize,
        depth: usize,
        [row_step, step]: [usize; 2],
    ) -> Self {
        let block = block(instructions);
        let mut values = vec![0.0; rows.next_multiple_of(block) * depth];
        let blocks = values.par_chunks_mut((block * depth).max(1)).with_min_len(4).enumerate();
        blocks.for_each(|(number, values)| {
            let first = number * block;
            let filled = block.min(rows - first);
            for (at, values) in values.chunks_exact_mut(block).enumerate() {
                let weights = weights[first * row_step + at * step..].iter().step_by(row_step);
                values[..filled].iter_mut().zip(weights).for_each(|(value, weight)| *value = *weight);
            }
        });
        Self { instructions, values, rows, depth }
    }

    /// Several matrices of the same size at once: `weights` gives number `(row, at)` of each.
    pub(super) fn places<const PLACES: usize>(
        rows: usize,
        depth: usize,
        weights: impl Fn(usize, usize) -> [f32; PLACES] + Sync,
    ) -> Vec<Self> {
        let instructions = Instructions::here();
        let block = block(instructions);
        let mut matrices = vec![vec![0.0f32; rows.next_multiple_of(block) * depth]; PLACES];
        let mut rests: Vec<_> =
            matrices.iter_mut().map(|matrix| matrix.chunks_mut((block * depth).max(1))).collect();
        let blocks: Vec<Vec<&mut [f32]>> = (0..rows.div_ceil(block))
            .map(|_| rests.iter_mut().map(|rest| rest.next().unwrap_or_default()).collect())
            .collect();
        blocks.into_par_iter().enumerate().for_each(|(number, mut places)| {
            let first = number * block;
            for at in 0..depth {
                for row in first..(first + block).min(rows) {
                    let weights = weights(row, at);
                    for (values, weight) in places.iter_mut().zip(weights) {
                        values[at * block + row - first] = weight;
                    }
                }
            }
        });
        let packed = matrices.into_iter().map(|values| Self { instructions, values, rows, depth });
        packed.collect()
    }

    /// The weights times the matrix in `x`, whose rows have `columns` numbers and begin `step` apart; those of `out`
    /// begin `out_step` apart.
    ///
    /// # Panics
    /// If the matrices do not fit in their slices, or the ending has another number of channels than the weights rows.
    pub(super) fn times(
        &self,
        x: &[f32],
        step: usize,
        columns: usize,
        out: &mut [f32],
        out_step: usize,
        then: Then<'_>,
    ) {
        let span = |rows: usize, step: usize| if rows == 0 { 0 } else { (rows - 1) * step + columns };
        assert!(step >= columns && x.len() >= span(self.depth, step), "a slice too short for its matrix");
        assert!(out_step >= columns && out.len() >= span(self.rows, out_step), "too short for the product");
        if let Then::End(ending) = then {
            assert_eq!(ending.channels(), self.rows, "an ending of other channels");
        }
        match self.instructions {
            Instructions::Plain => self.times_plain(x, step, columns, out, out_step, then),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 | Instructions::Avx512 => {
                let finish = match then {
                    Then::End(ending) => Some(ending.finish()),
                    Then::Nothing => None,
                };
                let job = tile::Job {
                    rows: self.rows,
                    depth: self.depth,
                    columns,
                    weights: self.values.as_ptr(),
                    x: x.as_ptr(),
                    step,
                    out: out.as_mut_ptr(),
                    out_step,
                    finish,
                };
                // SAFETY: the instructions are there, or the weights would not be packed for them; the sizes were
                // compared with the lengths of the slices above.
                unsafe {
                    match self.instructions {
                        Instructions::Avx512 => tile::avx512(&job),
                        _ => tile::avx2(&job),
                    }
                }
            }
        }
    }

    /// The same by the product that every processor has.
    fn times_plain(
        &self,
        x: &[f32],
        step: usize,
        columns: usize,
        out: &mut [f32],
        out_step: usize,
        then: Then<'_>,
    ) {
        let x = View::with_stride(x, self.depth, columns, step);
        product(out, out_step, View::new(&self.values, self.rows, self.depth), x, false);
        if let Then::End(ending) = then {
            let rows = out.chunks_mut(out_step.max(1)).take(self.rows).enumerate();
            rows.for_each(|(row, out)| ending.apply(row, &mut out[..columns]));
        }
    }
}

#[cfg(test)]
mod tests;
