//! What a task is made of, in numbers.

use serde::{Deserialize, Serialize};

use crate::error::DataError;

/// How many classes and rows a task draws. Counts are per class.
///
/// ```
/// use handful_data::EpisodeSpec;
/// let five_way_one_shot = EpisodeSpec::default();
/// let semi_supervised = EpisodeSpec { shots: 5, unlabeled: 30, ..EpisodeSpec::default() };
/// assert!(five_way_one_shot.is_transductive() && !semi_supervised.is_transductive());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EpisodeSpec {
    /// Classes of a task.
    pub ways: usize,
    /// Labelled rows per class.
    pub shots: usize,
    /// Rows per class that are scored.
    pub queries: usize,
    /// Rows per class of the unlabelled pool; 0 makes the queries themselves the pool (transductive).
    pub unlabeled: usize,
}

impl Default for EpisodeSpec {
    /// The most common setting of the literature: 5 ways, 1 shot, 15 queries per class, transductive.
    fn default() -> Self {
        Self { ways: 5, shots: 1, queries: 15, unlabeled: 0 }
    }
}

impl EpisodeSpec {
    /// Whether the unlabelled pool is the queries themselves.
    pub fn is_transductive(&self) -> bool {
        self.unlabeled == 0
    }

    /// Checks what needs no table.
    pub(crate) fn check(&self) -> Result<(), DataError> {
        if self.ways < 2 {
            return Err(DataError::setting("ways", self.ways, "a task needs at least 2 classes"));
        }
        if self.shots == 0 {
            return Err(DataError::setting("shots", self.shots, "each class needs at least 1 labelled row"));
        }
        if self.queries == 0 && self.unlabeled == 0 {
            return Err(DataError::setting(
                "queries",
                0,
                "a task without an unlabelled pool needs at least 1 query",
            ));
        }
        Ok(())
    }
}
