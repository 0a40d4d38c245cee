//! What a task is made of, in numbers.

use serde::{Deserialize, Serialize};

use crate::error::DataError;

/// How many classes and rows a task draws. Counts are per class unless their name says otherwise.
///
/// The first four fields are the setting of most papers. The others are off by default; each makes tasks more like
/// real pools of data.
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
    /// With this, each class has a random number of labelled rows from `shots` to this.
    pub most_shots: Option<usize>,
    /// Scored rows of all classes together, instead of `queries` for each.
    pub total_queries: Option<usize>,
    /// Imbalanced queries: the shares of the classes are drawn from a symmetric Dirichlet distribution with this
    /// parameter (2 is what the literature calls realistic; smaller is more uneven). The total stays as it is.
    pub query_imbalance: Option<f64>,
    /// The same for the unlabelled pool.
    pub pool_imbalance: Option<f64>,
    /// Only this many of the classes, at random, have any query or unlabelled row.
    pub effective_ways: Option<usize>,
    /// Classes besides those of the task whose rows are mixed into the unlabelled pool.
    pub distractor_classes: usize,
    /// Rows of each such class.
    pub distractor_rows: usize,
    /// Classes besides those of the task (and the distractors) that add queries which belong to no class.
    pub open_classes: usize,
    /// Queries of each such class.
    pub open_rows: usize,
}

impl Default for EpisodeSpec {
    /// The most common setting of the literature: 5 ways, 1 shot, 15 queries per class, transductive.
    fn default() -> Self {
        Self {
            ways: 5,
            shots: 1,
            queries: 15,
            unlabeled: 0,
            most_shots: None,
            total_queries: None,
            query_imbalance: None,
            pool_imbalance: None,
            effective_ways: None,
            distractor_classes: 0,
            distractor_rows: 0,
            open_classes: 0,
            open_rows: 0,
        }
    }
}

impl EpisodeSpec {
    /// Whether the unlabelled pool is the queries themselves.
    pub fn is_transductive(&self) -> bool {
        self.unlabeled == 0
    }

    /// Classes that have queries.
    pub(crate) fn present_ways(&self) -> usize {
        self.effective_ways.unwrap_or(self.ways)
    }

    /// Scored rows of all classes of the task together.
    pub fn query_count(&self) -> usize {
        self.total_queries.unwrap_or(self.queries.saturating_mul(self.present_ways()))
    }

    /// Rows of all classes of the task in the unlabelled pool together.
    pub fn pool_count(&self) -> usize {
        self.unlabeled.saturating_mul(self.present_ways())
    }

    /// The most labelled rows, queries and pool rows that one class may have to give.
    pub(crate) fn most_rows(&self) -> (usize, usize, usize) {
        let even = |total: usize| total.div_ceil(self.present_ways().max(1));
        let queries =
            if self.query_imbalance.is_some() { self.query_count() } else { even(self.query_count()) };
        let pool = if self.pool_imbalance.is_some() { self.pool_count() } else { self.unlabeled };
        (self.most_shots.unwrap_or(self.shots), pool, queries)
    }

    /// Checks what needs no table.
    pub(crate) fn check(&self) -> Result<(), DataError> {
        let setting = |name, value, requirement: &str| DataError::setting(name, value, requirement);
        if self.ways < 2 {
            return Err(setting("ways", self.ways.to_string(), "a task needs at least 2 classes"));
        }
        if self.shots == 0 {
            return Err(setting("shots", self.shots.to_string(), "each class needs at least 1 labelled row"));
        }
        if let Some(most) = self.most_shots.filter(|&most| most < self.shots) {
            return Err(setting(
                "most shots",
                most.to_string(),
                &format!("it cannot be less than the {} shots", self.shots),
            ));
        }
        if let Some(effective) =
            self.effective_ways.filter(|&effective| effective == 0 || effective > self.ways)
        {
            return Err(setting(
                "effective ways",
                effective.to_string(),
                &format!("it must be from 1 to the {} ways", self.ways),
            ));
        }
        if self.query_count() == 0 && self.unlabeled == 0 {
            return Err(setting(
                "queries",
                "0".into(),
                "a task without an unlabelled pool needs at least 1 query",
            ));
        }
        for (name, imbalance) in
            [("query imbalance", self.query_imbalance), ("pool imbalance", self.pool_imbalance)]
        {
            if let Some(value) = imbalance.filter(|value| !(value.is_finite() && *value > 0.0)) {
                return Err(setting(name, value.to_string(), "a Dirichlet parameter is a number above 0"));
            }
        }
        if self.pool_imbalance.is_some() && self.unlabeled == 0 {
            return Err(setting("unlabeled", "0".into(), "an imbalanced pool needs unlabelled rows"));
        }
        if (self.distractor_classes == 0) != (self.distractor_rows == 0) {
            let value = format!("{} of {} classes", self.distractor_rows, self.distractor_classes);
            return Err(setting("distractor rows", value, "classes and rows must both be 0 or both be more"));
        }
        if self.distractor_classes > 0 && self.unlabeled == 0 {
            return Err(setting(
                "unlabeled",
                "0".into(),
                "distractors need an unlabelled pool to be mixed into",
            ));
        }
        if (self.open_classes == 0) != (self.open_rows == 0) {
            let value = format!("{} of {} classes", self.open_rows, self.open_classes);
            return Err(setting(
                "open-set queries",
                value,
                "classes and rows must both be 0 or both be more",
            ));
        }
        Ok(())
    }
}
