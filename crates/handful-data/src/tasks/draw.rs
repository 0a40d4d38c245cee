//! Random draws that are the same on every machine and for every number of threads.
//!
//! The generator is keyed by the seed, and the task index selects one of its 2^64 independent streams, so any
//! thread can draw any task without knowing the others. The draws are written out here, in 64-bit integers, so
//! that no library's change of algorithm and no platform's word size can change a task list.

use std::collections::BTreeMap;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// The random numbers of one task.
pub(crate) struct TaskDraw {
    generator: ChaCha8Rng,
}

impl TaskDraw {
    pub(crate) fn new(seed: u64, index: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        // Tells these streams apart from any other use of the same seed.
        key[8..24].copy_from_slice(b"handful episodes");
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(index);
        Self { generator }
    }

    /// A uniform number below `bound`, which is not 0, by Lemire's multiplication without bias.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // The lowest 2^64 mod bound products are over-represented and drawn again.
        let surplus = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.generator.next_u64()) * u128::from(bound);
            if product as u64 >= surplus {
                return (product >> 64) as u64;
            }
        }
    }

    /// A uniform number above 0 and up to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.generator.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// `count` different numbers below `total`, in random order; all of them when `count` exceeds `total`.
    ///
    /// The first steps of a Fisher-Yates shuffle of `0..total` that remembers only the places it has changed.
    pub(crate) fn distinct(&mut self, count: usize, total: usize) -> Vec<usize> {
        let mut moved: BTreeMap<usize, usize> = BTreeMap::new();
        (0..count.min(total))
            .map(|place| {
                let chosen = place + self.below((total - place) as u64) as usize;
                let value = moved.get(&chosen).copied().unwrap_or(chosen);
                let displaced = moved.get(&place).copied().unwrap_or(place);
                moved.insert(chosen, displaced);
                value
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_numbers_are_a_permutation() {
        for total in [0, 1, 2, 7, 100] {
            let mut drawn = TaskDraw::new(1, 2).distinct(total, total);
            drawn.sort_unstable();
            assert_eq!(drawn, (0..total).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_ordered_pair_is_equally_likely() {
        let mut counts = [[0u32; 5]; 5];
        let mut draw = TaskDraw::new(7, 0);
        for _ in 0..40_000 {
            let pair = draw.distinct(2, 5);
            counts[pair[0]][pair[1]] += 1;
        }
        for (first, row) in counts.iter().enumerate() {
            for (second, &count) in row.iter().enumerate() {
                // 20 pairs, 2,000 expected of each, standard deviation 44.
                let expected = if first == second { 0..=0 } else { 1_780..=2_220 };
                assert!(expected.contains(&count), "({first}, {second}) came {count} times");
            }
        }
    }

    #[test]
    fn streams_and_seeds_differ_and_repeat() {
        let draws = |seed, index| TaskDraw::new(seed, index).distinct(20, 1_000_000);
        assert_eq!(draws(1, 1), draws(1, 1));
        assert_ne!(draws(1, 1), draws(1, 2));
        assert_ne!(draws(1, 1), draws(2, 1));
    }
}
