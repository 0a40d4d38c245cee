//! `logistic`: multinomial logistic regression on the labelled rows, inductive.
//!
//! ```text
//! min_{W, b}  1/2 |W|^2 + C sum_i -log softmax(W z_i + b)_{y_i}
//! ```
//!
//! Defaults (Yikai-Wang/ICI-FSL, `V1-CVPR20/models/ici.py`, through scikit-learn): unit-length features, C = 10, free bias,
//! L-BFGS, 1,000 iterations. scikit-learn stops at a largest gradient entry of 1e-4; here at 1e-6. The fit runs in the
//! span of the task's rows, where the optimum is the same.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::basis::Basis;
use crate::fit::lbfgs::LbfgsStop;
use crate::fit::logistic::LogisticClassifier;
use crate::methods::Setting;
use crate::methods::common::answer::inductive_answer;
use crate::methods::common::{check_count, check_positive, comparator};
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `logistic`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogisticParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// C, the weight of the data against the penalty.
    pub c: f64,
    /// Largest gradient entry to stop at.
    pub tolerance: f64,
    /// The most iterations of L-BFGS.
    pub max_iterations: usize,
}

comparator!(LogisticParams, "logistic", Setting::Inductive, knows_class_sizes: |_| false, presets: {
    "default" => Self::with_tolerance(1e-6),
    "authors" => Self::with_tolerance(1e-4),
});

impl LogisticParams {
    fn with_tolerance(tolerance: f64) -> Self {
        Self { transform: Transform::new(vec![Step::L2]), c: 10.0, tolerance, max_iterations: 1000 }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("c", self.c)?;
        check_positive("tolerance", self.tolerance)?;
        check_count("max_iterations", self.max_iterations)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = Basis::Span.applied(self.transform.applied(task)?);
        let stop = LbfgsStop { tolerance: self.tolerance, max_iterations: self.max_iterations };
        let support = task.support().cast();
        let classifier = LogisticClassifier::fit(&support, task.support_labels(), task.ways(), self.c, stop);
        Ok(inductive_answer(&task, |rows| classifier.probabilities(&rows.cast())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{PerClass, clouds};

    /// The answer must not depend on the basis: here 400 dimensions against the 80 the rows span.
    #[test]
    fn the_span_of_the_rows_gives_the_fit_in_all_dimensions() {
        let known = clouds(4, 400, PerClass { shots: 2, queries: 18, pool: None }, 1.0, 3);
        let method = build("logistic", None, &[]).expect("valid");
        let solution = method.solve(&known.task).expect("solvable");
        let task = "l2".parse::<Transform>().expect("known").apply(&known.task).expect("valid");
        let stop = LbfgsStop { tolerance: 1e-6, max_iterations: 1000 };
        let wide = LogisticClassifier::fit(&task.support().cast(), task.support_labels(), 4, 10.0, stop);
        let wanted = wide.probabilities(&task.query().cast());
        for (got, wanted) in solution.query.as_slice().iter().zip(wanted.as_slice()) {
            assert!((f64::from(*got) - wanted).abs() < 1e-4);
        }
    }
}
