//! `self-training`: the classifier's own surest labels join the labelled set, semi-supervised.
//!
//! ```text
//! repeat   fit CE(labelled and joined);  label the pool;  the surest rows of each class join
//! ```
//!
//! This is LST (Li et al. 2019; xinzheli1217/learning-to-self-train) without what it learns over many tasks: the
//! relation network that weighs pseudo-labels, and the adapted backbone. Preset `lst` has its numbers: 20 rows per class, 6
//! rounds. `default` lets 5 more of each class join in each round until the labels are stable, the same loop as `dm-ida`
//! with the selector `confidence` and the cross-entropy alone.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::FitParams;
use crate::fit::basis::Basis;
use crate::methods::Setting;
use crate::methods::common::{check_count, check_positive, comparator};
use crate::methods::dm_ida::{DmIda, DmIdaParams};
use crate::methods::presets;
use crate::methods::single_fit::TraceWanted;
use crate::paper::objective::{Objective, ObjectiveKind};
use crate::self_training::select::SelectorKind;
use crate::self_training::{Keep, SelfTrainingParams, UnlabeledRows};
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `self-training`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// T of the start `W = 2 mu / T`, `b = -|mu|^2 / T`.
    pub temperature: f64,
    /// Adam steps of a fit.
    pub steps: usize,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// Rows of each class that join in a round.
    pub per_class: usize,
    /// The most rounds.
    pub max_rounds: usize,
}

comparator!(ConfidenceParams, "self-training", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self::with(5, 10),
    "lst" => Self::with(20, 6),
});

impl ConfidenceParams {
    fn with(per_class: usize, max_rounds: usize) -> Self {
        let transform = Transform::new(vec![Step::L2]);
        Self { transform, temperature: 2.0 / 15.0, steps: 100, learning_rate: 1e-3, per_class, max_rounds }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("temperature", self.temperature)?;
        check_positive("learning_rate", self.learning_rate)?;
        check_count("per_class", self.per_class)?;
        DmIda::new(self.loop_params()).map(|_| ())
    }

    /// The general loop with this method's choices.
    fn loop_params(&self) -> DmIdaParams {
        let general = presets::paper();
        DmIdaParams {
            transform: self.transform.clone(),
            transform_five_shot: self.transform.clone(),
            basis: Basis::Span,
            fit: FitParams {
                temperature: self.temperature,
                temperature_five_shot: self.temperature,
                objective: Objective { kind: ObjectiveKind::CrossEntropy, ..general.fit.objective },
                steps: self.steps,
                learning_rate: self.learning_rate,
                ..general.fit
            },
            self_training: SelfTrainingParams {
                selector: SelectorKind::Confidence,
                per_class: self.per_class,
                keep: Keep::Refresh,
                stop_when_stable: true,
                max_rounds: self.max_rounds,
                ..general.self_training
            },
            last_fit: UnlabeledRows::Pool,
            ..general
        }
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let checked = DmIda::new(self.loop_params())
            .map_err(|error| TaskError::Unsupported { method: "self-training", reason: error.to_string() })?;
        checked.solve_in(task, TraceWanted::No)
    }
}

#[cfg(test)]
mod tests {
    use crate::methods::build;
    use crate::methods::common::test_tasks::mean_accuracy;

    #[test]
    fn joining_rows_help() {
        for pool in [None, Some(30)] {
            let without = build("self-training", None, &[("max_rounds".into(), "0".into())]).expect("valid");
            let with = build("self-training", None, &[]).expect("valid");
            assert!(mean_accuracy(&*with, pool) > mean_accuracy(&*without, pool) + 0.03, "{pool:?}");
        }
    }
}
