//! Mean, interval, paired difference.

use serde::Serialize;

/// A mean with its 95% interval, `1.96 sd / sqrt(n)` with the population standard deviation, as the field reports it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95% interval.
    pub ci95: f64,
}

impl Estimate {
    /// Mean and interval of the values; zero for none.
    pub fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self { mean: 0.0, ci95: 0.0 };
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        Self { mean, ci95: 1.96 * (variance / count).sqrt() }
    }

    /// Mean and interval of `values - reference`, task by task.
    ///
    /// Two methods on the same tasks share most of what makes a task easy or hard, so this interval is far narrower
    /// than those of the two means.
    pub fn of_difference(values: &[f64], reference: &[f64]) -> Self {
        Self::of(&values.iter().zip(reference).map(|(a, b)| a - b).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_worked_by_hand() {
        let estimate = Estimate::of(&[0.0, 1.0, 0.0, 1.0]);
        assert_eq!((estimate.mean, estimate.ci95), (0.5, 1.96 * 0.5 / 2.0));
    }

    #[test]
    fn a_constant_difference_has_no_interval() {
        let estimate = Estimate::of_difference(&[0.5, 0.7, 0.9], &[0.25, 0.45, 0.65]);
        assert!((estimate.mean - 0.25).abs() < 1e-12 && estimate.ci95 < 1e-12);
    }

    #[test]
    fn nothing_is_zero() {
        assert_eq!(Estimate::of(&[]), Estimate { mean: 0.0, ci95: 0.0 });
    }
}
