//! The learning rate over a training.

use serde::{Deserialize, Serialize};

/// How the learning rate falls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// A tenth after each of these fractions of the epochs. TIM and SimpleShot: 1/2 and 3/4.
    Drops(Vec<f64>),
    /// Half a cosine from the full rate to zero, step by step, after a linear rise over the first tenth.
    Cosine,
}

/// Part of a cosine training that the rate rises.
const WARM_UP: f64 = 0.1;

impl Schedule {
    /// The factor on the learning rate at a step.
    pub fn factor(&self, step: usize, steps_per_epoch: usize, epochs: usize) -> f64 {
        let total = (steps_per_epoch * epochs).max(1) as f64;
        match self {
            Self::Drops(fractions) => {
                let epoch = step / steps_per_epoch.max(1);
                // PyTorch's milestones are whole epochs, rounded down.
                let passed = fractions.iter().filter(|&&at| epoch >= (at * epochs as f64) as usize);
                0.1f64.powi(passed.count() as i32)
            }
            Self::Cosine => {
                let progress = (step as f64 + 0.5) / total;
                if progress < WARM_UP {
                    return progress / WARM_UP;
                }
                0.5 * (1.0 + (std::f64::consts::PI * (progress - WARM_UP) / (1.0 - WARM_UP)).cos())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_fall_at_the_milestones_of_tim() {
        let schedule = Schedule::Drops(vec![0.5, 0.75]);
        let factors: Vec<f64> =
            [0, 44, 45, 66, 67, 89].map(|epoch| schedule.factor(epoch * 10, 10, 90)).to_vec();
        for (factor, expected) in factors.iter().zip([1.0, 1.0, 0.1, 0.1, 0.01, 0.01]) {
            assert!((factor - expected).abs() < 1e-12, "{factors:?}");
        }
    }

    #[test]
    fn the_cosine_rises_and_ends_near_zero() {
        let factor = |step| Schedule::Cosine.factor(step, 10, 10);
        assert!(factor(0) < 0.1 && factor(10) > 0.98 && factor(99) < 0.01);
        assert!((11..99).all(|step| factor(step + 1) < factor(step)));
    }
}
