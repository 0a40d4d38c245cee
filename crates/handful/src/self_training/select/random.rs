//! Random: every row alike (Table 6's *rand.*), the same on every machine for one seed.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(super) fn credibility(rows: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..rows).map(|_| rng.random::<f64>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_decide() {
        assert_eq!(credibility(5, 1), credibility(5, 1));
        assert_ne!(credibility(5, 1), credibility(5, 2));
    }
}
