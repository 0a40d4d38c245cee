//! How a total is shared among classes: evenly, or by a Dirichlet draw, always exactly.
//!
//! The logarithms and powers come from a portable library rather than the platform's, whose last bits differ
//! between systems: the same seed must give the same task everywhere.

use super::draw::TaskDraw;

/// `total` shared among `classes` as evenly as possible; the remainder goes to random classes.
pub(super) fn even(draw: &mut TaskDraw, total: usize, classes: usize) -> Vec<usize> {
    let mut counts = vec![total / classes; classes];
    let remainder = total % classes;
    if remainder > 0 {
        for class in draw.distinct(remainder, classes) {
            counts[class] += 1;
        }
    }
    counts
}

/// `total` shared in proportions drawn from a symmetric Dirichlet distribution. Proportions become counts by the
/// largest remainder, so that the total is exact and no count is off by one or more.
pub(super) fn dirichlet(draw: &mut TaskDraw, total: usize, classes: usize, parameter: f64) -> Vec<usize> {
    // In logarithms, because for small parameters the shares themselves are too small to be represented.
    let logs: Vec<f64> = (0..classes).map(|_| log_gamma_variate(&mut || draw.unit(), parameter)).collect();
    let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| libm::exp(log - greatest)).collect();
    let sum: f64 = weights.iter().sum();
    let shares: Vec<f64> = weights.iter().map(|weight| weight / sum * total as f64).collect();
    let mut counts: Vec<usize> = shares.iter().map(|share| *share as usize).collect();
    let mut order: Vec<usize> = (0..classes).collect();
    let remainder = |class: usize| shares[class] - libm::floor(shares[class]);
    order.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)).then(a.cmp(&b)));
    let missing = total.saturating_sub(counts.iter().sum());
    for &class in order.iter().cycle().take(missing) {
        counts[class] += 1;
    }
    counts
}

/// Draws from a gamma distribution of that shape, by Marsaglia and Tsang (2000), and returns the logarithm. `unit` gives
/// uniform numbers above 0, at most 1.
pub fn log_gamma_variate(unit: &mut impl FnMut() -> f64, shape: f64) -> f64 {
    // Shapes below one are drawn one higher and scaled by a power of a uniform number.
    let (shape, boost) = if shape < 1.0 { (shape + 1.0, libm::log(unit()) / shape) } else { (shape, 0.0) };
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(unit);
        let root = 1.0 + c * x;
        let v = root * root * root;
        if root > 0.0 && libm::log(unit()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return libm::log(d * v) + boost;
        }
    }
}

/// A standard normal number, by Box and Muller.
fn normal(unit: &mut impl FnMut() -> f64) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(unit()));
    radius * libm::cos(2.0 * core::f64::consts::PI * unit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn totals_are_exact(seed: u64, total in 0usize..500, classes in 1usize..40, parameter in 1e-3f64..50.0) {
            let mut draw = TaskDraw::new(seed, 0);
            prop_assert_eq!(dirichlet(&mut draw, total, classes, parameter).iter().sum::<usize>(), total);
            let even = even(&mut draw, total, classes);
            prop_assert_eq!(even.iter().sum::<usize>(), total);
            prop_assert!(even.iter().all(|&count| count == total / classes || count == total / classes + 1));
        }
    }

    /// Mean and variance of a share are those of the distribution: 1 / n and (n - 1) / (n^2 (n a + 1)).
    #[test]
    fn shares_have_the_right_moments() {
        let (classes, total, draws) = (5, 10_000, 4_000);
        for parameter in [0.1, 0.5, 1.0, 2.0, 10.0] {
            let (mut sums, mut squares) = (vec![0.0; classes], 0.0);
            for index in 0..draws {
                let counts = dirichlet(&mut TaskDraw::new(3, index), total, classes, parameter);
                for (sum, count) in sums.iter_mut().zip(counts) {
                    let share = count as f64 / total as f64;
                    *sum += share / draws as f64;
                    squares += (share - 0.2).powi(2) / (draws as f64 * classes as f64);
                }
            }
            let variance = 4.0 / (25.0 * (5.0 * parameter + 1.0));
            let tolerance = 5.0 * (variance / draws as f64).sqrt();
            assert!(sums.iter().all(|mean| (mean - 0.2).abs() < tolerance), "{parameter}: {sums:?}");
            assert!((squares / variance - 1.0).abs() < 0.08, "{parameter}: {squares} for {variance}");
        }
    }
}
