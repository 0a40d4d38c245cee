//! How much memory a job takes, before it takes it.
//!
//! Running out of memory ends the process on the spot, with nothing written and nothing said. The estimate was fitted to
//! whole runs of `handful label` from 20,000 x 64 to 400,000 x 64 rows and 10 to 200 classes, and lies above each of
//! them by less than a factor of two.

use crate::params::LabelParams;
use crate::prepared::MANY_CELLS;

/// The program itself, its threads and buffers.
const BASE: u64 = 64 << 20;
/// What every row costs, whatever its features: its id, its label, its place in every list.
const PER_ROW: u64 = 300;
/// Coordinates, neighbours and smoothed features of a row that is fitted, per principal coordinate.
const PER_COORDINATE: u64 = 60;
/// Probabilities of a row for a class: of several members, and of the one that has to do where there are very many.
const PER_CELL: u64 = 20;
const PER_CELL_OF_MANY: u64 = 5;

/// Bytes that labelling takes besides the features themselves.
pub fn memory_estimate(rows: usize, dim: usize, ways: usize, params: &LabelParams) -> u64 {
    let (rows, dim, ways) = (rows as u64, dim as u64, ways as u64);
    let fitted = rows.min(params.exact_rows as u64);
    let coordinates = fitted.saturating_mul(dim.min(params.components as u64)).saturating_mul(PER_COORDINATE);
    let cells = rows.saturating_mul(ways);
    let per_cell = if cells < MANY_CELLS as u64 { PER_CELL } else { PER_CELL_OF_MANY };
    let parts = [BASE, rows.saturating_mul(PER_ROW), coordinates, cells.saturating_mul(per_cell)];
    parts.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_lies_above_what_was_measured_and_not_far() {
        let params = LabelParams::default();
        // Rows, columns, classes and megabytes, without the features, which were mapped.
        for (rows, dim, ways, measured) in [
            (20_000, 64, 10, 94),
            (100_000, 64, 10, 180),
            (100_000, 64, 200, 390),
            (400_000, 64, 10, 182),
            (100_000, 512, 10, 240),
            (400_000, 64, 100, 251),
        ] {
            let estimate = memory_estimate(rows, dim, ways, &params) >> 20;
            assert!((measured..2 * measured).contains(&estimate), "{rows} x {dim}, {ways}: {estimate}");
        }
        assert_eq!(memory_estimate(usize::MAX, 1, usize::MAX, &params), u64::MAX);
    }
}
