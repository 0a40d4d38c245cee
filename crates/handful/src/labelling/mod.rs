//! The practical job: a handful of labels in, the whole pool labelled, with what each label is worth.
//!
//! Few-shot tasks have 5 classes and 75 rows; a pool has any number of both, and nobody knows the sizes of its
//! classes. What carries over, found on the CIFAR-FS validation classes (`docs/labelling.md`):
//!
//! 1. rows are compared in 128 principal coordinates of their unit-length, centred roots (`project`);
//! 2. features, and later predictions, are smoothed by the neighbourhood kernel that carries the dependence between
//!    features and predictions (`kernel_graph`). The marginal-entropy term of mutual information, which wants equal
//!    classes, is left out: on unbalanced pools it costs more than it brings on balanced ones;
//! 3. a softmax head is fitted to the given labels, and once more with the rows that IDA finds most credible
//!    (`training`);
//! 4. leaving labels out calibrates the probabilities ([`calibration`]), bounds the error of what is accepted
//!    (`acceptance`) and says what a familiar row looks like (`background`).
//!
//! Large pools use landmarks for the kernel; every step is linear in the number of rows. Results do not depend on the
//! number of threads.

mod acceptance;
mod background;
pub mod calibration;
mod error;
mod head;
mod job;
mod pool;
mod project;
mod training;

pub use acceptance::Acceptance;
pub use calibration::Calibration;
pub use error::LabelError;
pub use job::{Labelling, LeftOut, NeighbourRow, RowLabel, label_pool};
pub use pool::{PoolRows, ReadError};

use serde::{Deserialize, Serialize};

use crate::error::ParamError;
use crate::error::{MOST_COUNT, check_range};

/// Everything the rule can be told; the defaults were tuned on the CIFAR-FS validation classes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelParams {
    /// Principal coordinates in which rows are compared.
    pub components: usize,
    /// Neighbours of a row in the exact kernel.
    pub neighbours: usize,
    /// Share of the neighbourhood in smoothed features.
    pub feature_share: f64,
    /// Rounds of smoothing features.
    pub feature_rounds: usize,
    /// Share of the neighbourhood in smoothed predictions.
    pub prediction_share: f64,
    /// Rounds of smoothing predictions.
    pub prediction_rounds: usize,
    /// C of the softmax head.
    pub inverse_penalty: f64,
    /// How far labels of classes with many are made to count less: 0 counts every label the same, 1 every class. Halfway
    /// is the cautious choice: on the validation classes it was 0.3 to 1.8 points ahead of 0 in all four settings of
    /// `benches/unequal_labels.py`, where 1 was ahead of it in two and behind 0 in one. Five draws each: none of these
    /// differences is certain.
    pub class_balance: f64,
    /// Rounds of selection by IDA.
    pub selection_rounds: usize,
    /// Rows that join in a round, as a share of the rows labelled with each class: large classes give more.
    pub selected_share: f64,
    /// The most rows that join in a round; the share shrinks where it would come to more.
    pub selected_most: usize,
    /// What all joined rows together weigh, in given labels.
    pub pseudo_label_weight: f64,
    /// Leading coordinates in which IDA is computed.
    pub ida_components: usize,
    /// The most rows for which every row is compared with every other.
    pub exact_rows: usize,
    /// Landmarks of larger pools.
    pub landmarks: usize,
    /// Landmarks of a row.
    pub landmark_neighbours: usize,
    /// Rounds of smoothing features through landmarks, each of which reaches further than an exact one.
    pub landmark_feature_rounds: usize,
    /// The most parts in which labels are left out; 0 leaves none out and calibrates nothing.
    pub left_out_parts: usize,
    /// T of probabilities where too few labels can be left out to fit one, and what a fitted T is pulled towards.
    pub prior_temperature: f64,
    /// How strongly it is pulled: the log-loss that a T off by a factor of e costs, in nats. At 0 the labels left out
    /// decide alone.
    pub prior_weight: f64,
    /// What estimated errors are multiplied by before rows are accepted.
    pub error_safety: f64,
    /// Look for rows of no class.
    pub look_for_strangers: bool,
    /// Seed of the start of the principal directions.
    pub seed: u64,
}

impl LabelParams {
    /// Checks every value's range.
    pub fn check(&self) -> Result<(), ParamError> {
        for (key, value) in [
            ("components", self.components),
            ("neighbours", self.neighbours),
            ("ida_components", self.ida_components),
            ("landmarks", self.landmarks),
            ("landmark_neighbours", self.landmark_neighbours),
            ("selected_most", self.selected_most),
        ] {
            check_range(key, value as f64, value > 0, "at least 1")?;
        }
        for (key, value) in [
            ("feature_rounds", self.feature_rounds),
            ("prediction_rounds", self.prediction_rounds),
            ("selection_rounds", self.selection_rounds),
            ("landmark_feature_rounds", self.landmark_feature_rounds),
            ("left_out_parts", self.left_out_parts),
        ] {
            check_range(key, value as f64, value as u64 <= MOST_COUNT, "at most 1000000")?;
        }
        for (key, value) in [
            ("feature_share", self.feature_share),
            ("prediction_share", self.prediction_share),
            ("selected_share", self.selected_share),
            ("class_balance", self.class_balance),
        ] {
            check_range(key, value, (0.0..=1.0).contains(&value), "a number from 0 to 1")?;
        }
        for (key, value) in [
            ("inverse_penalty", self.inverse_penalty),
            ("pseudo_label_weight", self.pseudo_label_weight),
            ("prior_temperature", self.prior_temperature),
            ("error_safety", self.error_safety),
        ] {
            check_range(key, value, value > 0.0, "a number above 0")?;
        }
        check_range("prior_weight", self.prior_weight, self.prior_weight >= 0.0, "a number from 0")
    }
}

impl Default for LabelParams {
    fn default() -> Self {
        Self {
            components: 128,
            neighbours: 10,
            feature_share: 0.8,
            feature_rounds: 3,
            prediction_share: 0.8,
            prediction_rounds: 5,
            inverse_penalty: 10.0,
            class_balance: 0.5,
            selection_rounds: 1,
            selected_share: 0.05,
            selected_most: 2000,
            pseudo_label_weight: 0.3,
            ida_components: 16,
            exact_rows: 20_000,
            landmarks: 4096,
            landmark_neighbours: 6,
            landmark_feature_rounds: 2,
            left_out_parts: 5,
            prior_temperature: 0.8,
            prior_weight: 100.0,
            error_safety: 1.3,
            look_for_strangers: false,
            seed: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_have_an_end() {
        let endless = LabelParams { selection_rounds: usize::MAX, ..LabelParams::default() };
        let error = endless.check().unwrap_err().to_string();
        assert!(error.contains("selection_rounds") && error.contains("at most 1000000"), "{error}");
    }
}
