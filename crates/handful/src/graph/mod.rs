//! Neighbour graphs: the nearest rows, smoothing over them, and what spreads along them.

pub(crate) mod dense;
pub mod inverted_lists;
pub mod kernel_graph;
pub mod neighbours;
pub(crate) mod propagation;
pub(crate) mod smoothing;
pub mod weighted;

/// Picks `count` of `rows` row numbers, evenly spread, rising.
pub fn evenly_spread(rows: usize, count: usize) -> Vec<usize> {
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
