//! One task as row numbers into a table.

use serde::{Deserialize, Serialize};

/// A task: which classes, and which rows of each serve as support, unlabelled pool and queries.
///
/// The outer lists run over the classes of the task, in the order of `classes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Episode {
    /// Class numbers of the table.
    pub classes: Vec<usize>,
    /// Labelled rows of each class.
    pub support: Vec<Vec<usize>>,
    /// Rows of each class in the unlabelled pool; no lists at all when the queries are the pool (transductive).
    #[serde(default)]
    pub unlabeled: Vec<Vec<usize>>,
    /// Scored rows of each class.
    pub query: Vec<Vec<usize>>,
    /// Rows of other classes in the unlabelled pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distractors: Vec<usize>,
    /// Rows of other classes among the queries: the right answer is "none of these".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_query: Vec<usize>,
}
