//! Selectors: how far the pseudo-label of each pool row can be trusted.
//!
//! One file each; all run inside the same self-training loop ([`crate::self_training`]), so that they can be compared
//! (the paper's Table 6). A selector only ranks: the loop decides how many rows of each class join.

mod combined;
mod confidence;
pub(crate) mod ici;
mod nearest;
mod random;

use serde::{Deserialize, Serialize};

use crate::linalg::Matrix;
use crate::paper::ida::WhitenedPool;
use crate::paper::ida_bound::ida_bound;
use crate::scalar::Scalar;

/// Which selector ranks the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelectorKind {
    /// Exact contribution to Fisher's criterion (the paper's IDA).
    Ida,
    /// Theorem 3's bound on it.
    IdaBound,
    /// Places in the rankings by IDA and by confidence together.
    IdaConfidence,
    /// Probability of the likeliest class.
    Confidence,
    /// Distance to the prototype of its class, in the labelled set so far.
    Nearest,
    /// Uniform at random.
    Random,
    /// Place on the path of incidental parameters (Wang et al. 2020).
    Ici,
}

/// What a selector may look at.
pub(crate) struct Candidates<'a, T> {
    /// Features of the pool.
    pub rows: &'a Matrix<T>,
    /// Whitened once per task, for IDA.
    pub whitened: &'a WhitenedPool,
    /// Probabilities under the current classifier.
    pub probabilities: &'a Matrix<T>,
    /// Their likeliest classes.
    pub labels: &'a [usize],
    /// The path of incidental parameters, for ICI; made only when that is the selector.
    pub incidental: Option<&'a ici::IncidentalPath>,
    /// Classes of the rows with given labels.
    pub given: &'a [usize],
    /// Class means of the labelled set so far.
    pub prototypes: &'a Matrix<T>,
    /// rho of Theorem 3's bound.
    pub ridge: f64,
    /// Seed of this task and round, for chance.
    pub seed: u64,
}

impl SelectorKind {
    /// Credibility of each pool row, higher is better.
    pub(crate) fn credibility<T: Scalar>(self, candidates: &Candidates<'_, T>) -> Vec<f64> {
        let ways = candidates.prototypes.rows();
        match self {
            Self::Ida => candidates.whitened.ida(candidates.labels, ways),
            Self::IdaBound => ida_bound(candidates.rows, candidates.labels, ways, candidates.ridge),
            Self::IdaConfidence => combined::credibility(
                &candidates.whitened.ida(candidates.labels, ways),
                &confidence::credibility(candidates.probabilities),
            ),
            Self::Confidence => confidence::credibility(candidates.probabilities),
            Self::Nearest => nearest::credibility(candidates.rows, candidates.labels, candidates.prototypes),
            Self::Random => random::credibility(candidates.rows.rows(), candidates.seed),
            Self::Ici => candidates.incidental.map_or_else(
                || vec![0.0; candidates.labels.len()],
                |path| path.credibility(candidates.given, candidates.labels, ways),
            ),
        }
    }
}
