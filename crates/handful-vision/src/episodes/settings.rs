//! How a system is trained.

use handful_data::EpisodeSpec;
use serde::{Deserialize, Serialize};

use super::Optimiser;
use crate::error::VisionError;

/// Everything that decides the outcome of a training besides the features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodicSettings {
    /// Classes of a task.
    pub ways: usize,
    /// Labelled rows per class.
    pub shots: usize,
    /// Query rows per class.
    pub queries: usize,
    /// Tasks in a step.
    pub batch: usize,
    /// Steps.
    pub steps: usize,
    /// Steps between validations.
    pub validate_every: usize,
    /// Tasks of a validation.
    pub validation_tasks: usize,
    /// How tensors follow their gradients.
    pub optimiser: Optimiser,
    /// Learning rate at the start; it falls to nothing along half a cosine.
    pub rate: f64,
    /// Weight decay.
    pub weight_decay: f64,
    /// No entry of a gradient counts more than this.
    pub clip: Option<f64>,
    /// Decides tasks, first tensors and noise.
    pub seed: u64,
}

impl EpisodicSettings {
    /// The recipe of a system: the published optimiser, and a length that frozen features need.
    pub fn of(system: &str, shots: usize, seed: u64) -> Self {
        let sgd = Optimiser::Sgd { momentum: 0.9 };
        let base = Self {
            ways: 5,
            shots,
            queries: 15,
            batch: 4,
            steps: 2000,
            validate_every: 250,
            validation_tasks: 500,
            optimiser: sgd,
            rate: 1e-3,
            weight_decay: 5e-4,
            clip: None,
            seed,
        };
        let at = |one: f64, five: f64| if shots < 5 { one } else { five };
        match system {
            "sib" => Self { batch: 1, steps: 10_000, validate_every: 1000, ..base },
            // Their 2e-3 is for a network that learns too: on frozen features it moves nothing.
            "feat" => Self { rate: 5e-2, steps: 500, ..base },
            "relationnet" => Self { optimiser: Optimiser::Adam, weight_decay: 0.0, ..base },
            "leo" => Self {
                batch: 12,
                steps: 1500,
                optimiser: Optimiser::Adam,
                rate: at(2.739e-4, 4.102e-4),
                weight_decay: 0.0,
                clip: Some(0.1),
                ..base
            },
            _ => Self { batch: 8, steps: 1000, rate: 1e-2, ..base },
        }
    }

    /// The recipe of a system that is trained together with its network: Adam, as Conv-4 is trained in most of the published
    /// code, and one task in a step.
    pub fn through_network(system: &str, shots: usize, seed: u64) -> Self {
        let base = Self {
            batch: 1,
            steps: 2000,
            optimiser: Optimiser::Adam,
            rate: 1e-3,
            weight_decay: 0.0,
            clip: None,
            ..Self::of("", shots, seed)
        };
        match system {
            // Every task of a validation is a training of its own.
            "maml" => Self { batch: 4, steps: 500, validate_every: 100, validation_tasks: 100, ..base },
            _ => base,
        }
    }

    /// The setting of its tasks.
    pub(super) fn spec(&self) -> EpisodeSpec {
        EpisodeSpec { ways: self.ways, shots: self.shots, queries: self.queries, ..EpisodeSpec::default() }
    }

    /// Refuses what cannot be trained with.
    ///
    /// # Errors
    /// [`VisionError::Setting`] names the setting.
    pub fn check(&self) -> Result<(), VisionError> {
        let refuse = |setting, value: String, requirement: &str| {
            Err(VisionError::Setting { setting, value, requirement: requirement.to_owned() })
        };
        for (setting, count) in [("batch", self.batch), ("steps", self.steps)] {
            if count == 0 {
                return refuse(setting, count.to_string(), "must be at least 1");
            }
        }
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return refuse("rate", self.rate.to_string(), "must be a number above 0");
        }
        if !(self.weight_decay.is_finite() && self.weight_decay >= 0.0) {
            return refuse("weight decay", self.weight_decay.to_string(), "must be a number from 0 up");
        }
        Ok(())
    }
}
