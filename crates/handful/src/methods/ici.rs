//! `ici`: instance credibility inference (Wang et al. 2020), semi-supervised and transductive.
//!
//! ```text
//! classifier = logistic regression (C = 10) on the labelled rows
//! until every unlabelled row has joined:
//!   pseudo-labels of the classifier; each row's place on the path of incidental parameters (`select/ici.rs`)
//!   the 5 most credible rows of each class join; refit on labelled and joined rows with the current pseudo-labels
//! the last classifier labels the query
//! ```
//!
//! Yikai-Wang/ICI-FSL (`V1-CVPR20/models/ici.py`): unit-length features, 5 principal scores of support and unlabelled rows
//! for the path (their V2 takes locally linear embedding instead), step 5. Here the path is solved to 1e-7 where theirs
//! stops at a duality gap of 1e-4, rows leaving at the same place are told apart by their slack rather than by their
//! number, and the logistic fit runs in the span of the rows.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::PseudoLabel;
use crate::fit::basis::Basis;
use crate::fit::lbfgs::LbfgsStop;
use crate::fit::logistic::LogisticClassifier;
use crate::graph::dense::check_size;
use crate::linalg::Matrix;
use crate::methods::common::answer::answer;
use crate::methods::common::{check_count, check_positive, comparator};
use crate::methods::{MethodParams, Setting};
use crate::self_training::select::ici::IncidentalPath;
use crate::self_training::{Judgement, Keep, Learner, Quota, Rounds, UnlabeledRows, self_train};
use crate::solution::{Solution, argmax};
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `ici`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IciParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Principal scores that the path explains labels with.
    pub dimensions: usize,
    /// C of the logistic regression.
    pub c: f64,
    /// Rows of each class that join in a round.
    pub per_class: usize,
    /// Rounds; 0 goes on until every row has joined.
    pub max_rounds: usize,
}

comparator!(IciParams, "ici", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self::authors(),
    "authors" => Self::authors(),
});

/// scikit-learn's, which the authors call.
const LOGISTIC: LbfgsStop = LbfgsStop { tolerance: 1e-4, max_iterations: 1000 };

impl IciParams {
    fn authors() -> Self {
        let transform = Transform::new(vec![Step::L2]);
        Self { transform, dimensions: 5, c: 10.0, per_class: 5, max_rounds: 0 }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_count("dimensions", self.dimensions)?;
        check_positive("c", self.c)?;
        check_count("per_class", self.per_class)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = Basis::Span.applied(self.transform.applied(task)?);
        check_size(Self::NAME, task.support().rows() + task.pool().rows())?;
        let support: Matrix<f64> = task.support().cast();
        let pool: Matrix<f64> = task.pool().cast();
        let mut learner = Credibility {
            path: IncidentalPath::new(&support, &pool, self.dimensions),
            c: self.c,
            ways: task.ways(),
            support: &support,
            given: task.support_labels(),
            pool: &pool,
        };
        let rounds = Rounds {
            quota: Quota::Fresh(self.per_class),
            keep: Keep::Refresh,
            stop_when_stable: false,
            max_rounds: if self.max_rounds == 0 { usize::MAX } else { self.max_rounds },
            fewest_joining: 1,
        };
        let trained = self_train(&mut learner, &rounds);
        let classifier = learner.fit(&trained.joined);
        let learnt = classifier.probabilities(&pool);
        let mut solution =
            answer(&task, UnlabeledRows::Pool, &learnt, |rows| classifier.probabilities(&rows.cast()));
        if !trained.credibility.is_empty() {
            solution.credibility = trained.credibility;
        }
        Ok(solution)
    }
}

/// Logistic regression, its labels ranked by the path of incidental parameters.
struct Credibility<'a> {
    path: IncidentalPath,
    c: f64,
    ways: usize,
    support: &'a Matrix<f64>,
    given: &'a [usize],
    pool: &'a Matrix<f64>,
}

impl Learner for Credibility<'_> {
    type Model = LogisticClassifier;

    fn ways(&self) -> usize {
        self.ways
    }

    fn pool_rows(&self) -> usize {
        self.pool.rows()
    }

    fn fit(&mut self, joined: &[PseudoLabel]) -> LogisticClassifier {
        let rows: Vec<usize> = joined.iter().map(|label| label.row).collect();
        let labels: Vec<usize> =
            self.given.iter().copied().chain(joined.iter().map(|label| label.class)).collect();
        let rows = self.support.stack(&self.pool.gather(&rows));
        LogisticClassifier::fit(&rows, &labels, self.ways, self.c, LOGISTIC)
    }

    fn judge(&mut self, classifier: &LogisticClassifier, _: &[PseudoLabel], _: usize) -> Judgement {
        let labels: Vec<usize> = classifier.probabilities(self.pool).iter_rows().map(argmax).collect();
        let credibility = self.path.credibility(self.given, &labels, self.ways);
        Judgement { labels, credibility }
    }
}

#[cfg(test)]
mod tests {
    use crate::methods::build;
    use crate::methods::common::test_tasks::mean_accuracy;

    #[test]
    fn the_loop_beats_its_own_first_classifier() {
        for pool in [None, Some(30)] {
            let first = mean_accuracy(&*build("logistic", None, &[]).expect("valid"), pool);
            let method = build("ici", None, &[]).expect("valid");
            assert!(mean_accuracy(&*method, pool) > first + 0.03, "{pool:?}");
        }
    }
}
