//! What a method answers, and what it may tell about how it got there.

use crate::fit::classifier::LinearClassifier;
use crate::linalg::Matrix;
use crate::scalar::Scalar;

/// The answer to a [`crate::task::Task`].
#[derive(Clone, Debug)]
pub struct Solution<T> {
    /// Probability of each class (columns) for each query row.
    pub query: Matrix<T>,
    /// The same for each unlabelled row; for a transductive task these are the query rows.
    pub unlabeled: Matrix<T>,
    /// How far each unlabelled row's label can be trusted, higher is better; the scale is the method's own.
    pub credibility: Vec<f64>,
    /// The classifier, where the method ends with a linear one on its transformed features.
    pub classifier: Option<LinearClassifier<T>>,
    /// Diagnostics, when asked for.
    pub trace: Option<Trace>,
}

impl<T: Scalar> Solution<T> {
    /// Makes a solution whose credibility is the probability of the likeliest class.
    pub fn from_probabilities(query: Matrix<T>, unlabeled: Matrix<T>) -> Self {
        let credibility = unlabeled.iter_rows().map(|row| row[argmax(row)].to_f64()).collect();
        Self { query, unlabeled, credibility, classifier: None, trace: None }
    }

    /// Returns the likeliest class of each query row; the first one of equals.
    pub fn query_labels(&self) -> Vec<usize> {
        labels(&self.query)
    }

    /// Returns the likeliest class of each unlabelled row; the first one of equals.
    pub fn unlabeled_labels(&self) -> Vec<usize> {
        labels(&self.unlabeled)
    }
}

/// What happened during a solve, for plots and for looking into a single task. Nothing in it needs the truth.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The fits in order: one per round of selection and the last one.
    pub fits: Vec<FitTrace>,
    /// The rounds of selection in order.
    pub rounds: Vec<RoundTrace>,
}

/// One fit, one entry per step: the values before that step's update.
#[derive(Clone, Debug, Default)]
pub struct FitTrace {
    /// The parts of the loss.
    pub steps: Vec<LossParts>,
    /// Labels of the unlabelled rows at each step, when they were asked for.
    pub labels: Vec<Vec<usize>>,
}

/// The parts of the loss at one step, unweighted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossParts {
    /// Mean cross-entropy of the labelled rows.
    pub cross_entropy: f64,
    /// Mean entropy of the unlabelled rows' predictions, H(Y|X).
    pub conditional_entropy: f64,
    /// Entropy of the mean prediction, H(Y).
    pub marginal_entropy: f64,
    /// The dependence estimator (U-1)^-2 tr(KHLH); zero when the objective does not use it.
    pub dependence: f64,
    /// The normalised dependence; zero when the objective does not use it.
    pub fisher_dependence: f64,
    /// The weighted sum that is minimised.
    pub loss: f64,
}

/// One round of selection.
#[derive(Clone, Debug, Default)]
pub struct RoundTrace {
    /// Pseudo-labels of the pool at the start of the round.
    pub labels: Vec<usize>,
    /// Fisher's criterion of the pool under these labels.
    pub psi: f64,
    /// The selector's credibility of each pool row.
    pub credibility: Vec<f64>,
    /// Pool rows in the labelled set after the round.
    pub selected: Vec<usize>,
}

/// Returns the index of the largest value, the first of equals.
pub fn argmax<T: PartialOrd>(values: &[T]) -> usize {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = index;
        }
    }
    best
}

fn labels<T: Scalar>(probabilities: &Matrix<T>) -> Vec<usize> {
    probabilities.iter_rows().map(argmax).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_first_class() {
        let probabilities = Matrix::from_vec(2, 3, vec![0.4f32, 0.4, 0.2, 0.2, 0.3, 0.5]);
        let solution = Solution::from_probabilities(probabilities.clone(), probabilities);
        assert_eq!(solution.query_labels(), vec![0, 2]);
        assert_eq!(solution.credibility, vec![f64::from(0.4f32), 0.5]);
    }
}
