//! Is a paired difference more than chance? Two answers that rest on different assumptions.
//!
//! With differences `x_1 … x_n`, their mean `m` and sample standard deviation `s`:
//!
//! - **paired t**: `t = m sqrt(n) / s` against Student's distribution with `n - 1` degrees of freedom, two-sided;
//! - **sign flips**: were the two methods equal, each `x_i` could as well have been `-x_i`. The p-value is the share of
//!   random flips whose mean is at least as far from zero, the observed one counted: `(1 + hits) / (1 + flips)`. It
//!   assumes no distribution, and cannot be smaller than `1 / (1 + flips)`.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;

use crate::statistics::Estimate;

/// Random sign flips drawn for each comparison.
pub const SIGN_FLIPS: usize = 10_000;

/// How one method compares with another, task by task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Significance {
    /// Two-sided p-value of the paired t-test; none for fewer than two tasks.
    pub p_paired_t: Option<f64>,
    /// Two-sided p-value of the sign-flip permutation test.
    pub p_sign_flip: f64,
    /// Tasks where the method is ahead of the reference.
    pub wins: usize,
    /// Tasks where they are equal.
    pub ties: usize,
    /// Tasks where it is behind.
    pub losses: usize,
}

impl Significance {
    /// Compares accuracies on the same tasks.
    pub fn of(values: &[f64], reference: &[f64]) -> Self {
        let differences: Vec<f64> = values.iter().zip(reference).map(|(a, b)| a - b).collect();
        let count = |keep: fn(&f64) -> bool| differences.iter().filter(|x| keep(x)).count();
        Self {
            p_paired_t: paired_t(&differences),
            p_sign_flip: sign_flip(&differences, SIGN_FLIPS),
            wins: count(|&x| x > 0.0),
            ties: count(|&x| x == 0.0),
            losses: count(|&x| x < 0.0),
        }
    }
}

fn paired_t(differences: &[f64]) -> Option<f64> {
    if differences.len() < 2 {
        return None;
    }
    let count = differences.len() as f64;
    let mean = Estimate::of(differences).mean;
    let variance = differences.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    if variance == 0.0 {
        return Some(if mean == 0.0 { 1.0 } else { 0.0 });
    }
    Some(student_two_sided(mean * (count / variance).sqrt(), count - 1.0))
}

/// `P(|T| >= |t|)` for Student's distribution: the incomplete beta function at `v / (v + t^2)`.
fn student_two_sided(t: f64, degrees: f64) -> f64 {
    incomplete_beta(degrees / (degrees + t * t), degrees / 2.0, 0.5)
}

/// The regularised incomplete beta function `I_x(a, b)`, by its continued fraction (Lentz's method).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let log_front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (1.0 - x).ln();
    // The fraction converges fast on this side of the mean; the other side is its mirror image.
    if x < (a + 1.0) / (a + b + 2.0) {
        log_front.exp() * beta_fraction(x, a, b) / a
    } else {
        1.0 - log_front.exp() * beta_fraction(1.0 - x, b, a) / b
    }
}

fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

fn sign_flip(differences: &[f64], flips: usize) -> f64 {
    let observed = differences.iter().sum::<f64>().abs();
    // Sums of equal terms in another order may differ in the last bits; they count as equal.
    let threshold = observed * (1.0 - 1e-12);
    let mut generator = ChaCha8Rng::seed_from_u64(differences.len() as u64);
    let mut hits = 0;
    for _ in 0..flips {
        let mut sum = 0.0;
        for part in differences.chunks(64) {
            let signs = generator.next_u64();
            for (bit, x) in part.iter().enumerate() {
                sum += if signs >> bit & 1 == 0 { *x } else { -x };
            }
        }
        hits += usize::from(sum.abs() >= threshold);
    }
    (1 + hits) as f64 / (1 + flips) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integrates the density from |t| outwards: the slow form of the two-sided tail.
    fn tail_by_integration(t: f64, degrees: f64) -> f64 {
        let log_constant = libm::lgamma((degrees + 1.0) / 2.0)
            - libm::lgamma(degrees / 2.0)
            - 0.5 * (degrees * std::f64::consts::PI).ln();
        let density = |x: f64| (log_constant - (degrees + 1.0) / 2.0 * (x * x / degrees).ln_1p()).exp();
        // 2 * integral over [0, |t|] by Simpson's rule, taken from 1.
        let (steps, t) = (20_000, t.abs());
        let width = t / f64::from(steps);
        let inside: f64 = (0..=steps)
            .map(|at| {
                let weight = if at == 0 || at == steps { 1.0 } else { f64::from(2 + 2 * (at % 2)) };
                weight * density(f64::from(at) * width)
            })
            .sum();
        1.0 - 2.0 * inside * width / 3.0
    }

    #[test]
    fn the_t_tail_is_the_integral_of_its_density() {
        for degrees in [1.0, 2.0, 7.0, 99.0, 9_999.0] {
            for t in [0.1, 0.9, 1.96, 3.5] {
                let (fast, slow) = (student_two_sided(t, degrees), tail_by_integration(t, degrees));
                assert!((fast - slow).abs() < 1e-9, "t {t}, {degrees} degrees: {fast} against {slow}");
            }
        }
        // One degree of freedom is Cauchy's distribution: P(|T| > 1) = 1/2.
        assert!((student_two_sided(-1.0, 1.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn sign_flips_agree_with_counting_all_of_them() {
        let differences = [0.3, -0.1, 0.25, 0.05, 0.4, -0.02, 0.1, 0.2, 0.15, -0.05];
        let observed: f64 = differences.iter().sum();
        let all = 1u32 << differences.len();
        let hits = (0..all)
            .filter(|signs| {
                let flipped = differences
                    .iter()
                    .enumerate()
                    .map(|(bit, x)| if signs >> bit & 1 == 0 { *x } else { -x });
                flipped.sum::<f64>().abs() >= observed * (1.0 - 1e-12)
            })
            .count();
        let exact = hits as f64 / f64::from(all);
        let sampled = sign_flip(&differences, 40_000);
        assert!((exact - sampled).abs() < 0.003, "{exact} against {sampled}");
    }

    #[test]
    fn equal_methods_are_not_told_apart_and_a_constant_lead_is() {
        let reference = [0.5, 0.6, 0.7, 0.4];
        let equal = Significance::of(&reference, &reference);
        assert_eq!((equal.p_paired_t, equal.p_sign_flip, equal.ties), (Some(1.0), 1.0, 4));
        let ahead: Vec<f64> = (0..200).map(|task| 0.5 + 0.1 + 0.01 * f64::from(task % 3)).collect();
        let lead = Significance::of(&ahead, &[0.5; 200]);
        assert!(lead.p_paired_t.is_some_and(|p| p < 1e-12));
        assert_eq!(lead.p_sign_flip, 1.0 / (1 + SIGN_FLIPS) as f64);
        assert_eq!((lead.wins, lead.losses), (200, 0));
    }

    #[test]
    fn swapping_the_methods_mirrors_the_counts_and_keeps_the_p_values() {
        let (a, b) = ([0.5, 0.7, 0.9, 0.3, 0.8], [0.4, 0.7, 0.95, 0.2, 0.6]);
        let (ab, ba) = (Significance::of(&a, &b), Significance::of(&b, &a));
        assert_eq!((ab.wins, ab.ties, ab.losses), (ba.losses, ba.ties, ba.wins));
        assert_eq!((ab.p_paired_t, ab.p_sign_flip), (ba.p_paired_t, ba.p_sign_flip));
    }

    #[test]
    fn one_task_has_no_t_test() {
        assert_eq!(Significance::of(&[0.4], &[0.2]).p_paired_t, None);
    }
}
