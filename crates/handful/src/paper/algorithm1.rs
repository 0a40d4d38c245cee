//! Algorithm 1: fit Eq. 4, label the pool, rank the labels by IDA, let the best join the labelled set, and again.
//!
//! ```text
//! repeat   (W, b) <- argmin  CE(labelled) - lambda (U-1)^-2 tr(KHLH)  [+ the terms of the objective]    objective.rs
//!          label the pool; rank each label by dpsi_u                                                     ida.rs
//!          the best of each class join the labelled set                                                  self_training
//! until    labels are stable, the pool is exhausted, or max_rounds
//! ```
//!
//! The paper stops when the pseudo-labels are stable; its authors' code has no such test and goes on until every row
//! has joined or a round adds none, and it lets no class take more than its equal share of the pool
//! (`cap_at_equal_share`), which the text does not mention. Other selectors than IDA take its place for Table 6.

use crate::fit::classifier::{LinearClassifier, prototypes};
use crate::fit::{Fitter, PseudoLabel};
use crate::linalg::Matrix;
use crate::linalg::sinkhorn::{Stop, equal_shares, transport};
use crate::paper::ida::{FisherParams, WhitenedPool};
use crate::scalar::Scalar;
use crate::self_training::class_sizes::ClassSizes;
use crate::self_training::select::ici::IncidentalPath;
use crate::self_training::select::{Candidates, SelectorKind};
use crate::self_training::{Judgement, Learner, SelfTrained, SelfTrainingParams, self_train};
use crate::solution::{FitTrace, RoundTrace, Trace, argmax};

/// Principal scores that the selector `ici` explains labels with: its authors' number.
const INCIDENTAL_DIMENSIONS: usize = 5;

/// Runs Algorithm 1 on a task whose pool the fitter holds; `task_id` seeds the selector `random`.
pub(crate) fn algorithm1<T: Scalar>(
    params: &SelfTrainingParams,
    fisher: &FisherParams,
    fitter: &mut Fitter<'_, T>,
    task_id: u64,
    trace: Option<&mut Trace>,
) -> SelfTrained<LinearClassifier<T>> {
    let pool = fitter.pool();
    let rounds = params.rounds(pool.rows(), fitter.ways());
    if pool.rows() == 0 || params.max_rounds == 0 {
        return SelfTrained { joined: Vec::new(), credibility: Vec::new(), labels: Vec::new(), model: None };
    }
    let (anchors, given) = fitter.anchors();
    let incidental = (params.selector == SelectorKind::Ici)
        .then(|| IncidentalPath::new(anchors, pool, INCIDENTAL_DIMENSIONS));
    let whitened = WhitenedPool::new(pool, fisher);
    let mut learner = DependencyMaximization {
        params,
        ridge: fisher.ridge,
        fitter,
        pool,
        given,
        whitened,
        incidental,
        task_id,
        trace,
    };
    self_train(&mut learner, &rounds)
}

/// The learner of Algorithm 1.
struct DependencyMaximization<'a, 'f, T: Scalar> {
    params: &'a SelfTrainingParams,
    ridge: f64,
    fitter: &'a mut Fitter<'f, T>,
    pool: &'f Matrix<T>,
    given: &'f [usize],
    whitened: WhitenedPool,
    incidental: Option<IncidentalPath>,
    task_id: u64,
    trace: Option<&'a mut Trace>,
}

impl<T: Scalar> Learner for DependencyMaximization<'_, '_, T> {
    type Model = LinearClassifier<T>;

    fn ways(&self) -> usize {
        self.fitter.ways()
    }

    fn pool_rows(&self) -> usize {
        self.pool.rows()
    }

    fn fit(&mut self, joined: &[PseudoLabel]) -> LinearClassifier<T> {
        let mut fit = self.trace.as_ref().map(|_| FitTrace::default());
        let classifier = self.fitter.fit(joined, fit.as_mut());
        if let Some(trace) = &mut self.trace {
            trace.fits.extend(fit);
        }
        classifier
    }

    fn judge(&mut self, classifier: &LinearClassifier<T>, joined: &[PseudoLabel], round: usize) -> Judgement {
        let ways = self.ways();
        let probabilities = predictions(classifier, self.pool, self.params.class_sizes);
        let labels: Vec<usize> = probabilities.iter_rows().map(argmax).collect();
        let (rows, classes) = self.fitter.labelled_set(joined);
        let credibility = self.params.selector.credibility(&Candidates {
            rows: self.pool,
            whitened: &self.whitened,
            incidental: self.incidental.as_ref(),
            given: self.given,
            probabilities: &probabilities,
            labels: &labels,
            prototypes: &prototypes(&rows, &classes, ways),
            ridge: self.ridge,
            seed: mix(self.params.seed, self.task_id, round as u64),
        });
        if let Some(trace) = &mut self.trace {
            trace.rounds.push(RoundTrace {
                psi: self.whitened.fisher(&labels, ways),
                labels: labels.clone(),
                credibility: credibility.clone(),
                selected: joined.iter().map(|label| label.row).collect(),
            });
        }
        Judgement { labels, credibility }
    }

    fn joined(&mut self, joined: &[PseudoLabel]) {
        if let Some(round) = self.trace.as_mut().and_then(|trace| trace.rounds.last_mut()) {
            round.selected = joined.iter().map(|label| label.row).collect();
        }
    }
}

/// A scaling ends when no row sum is further than this from one, or after so many sweeps.
const SCALING: Stop = Stop { tolerance: 1e-6, max_sweeps: 1000 };

/// What a classifier predicts for rows that, if class sizes are known, every class has as many of.
pub(crate) fn predictions<T: Scalar>(
    classifier: &LinearClassifier<T>,
    rows: &Matrix<T>,
    class_sizes: ClassSizes,
) -> Matrix<T> {
    if !class_sizes.known() || rows.rows() == 0 {
        return classifier.probabilities(rows);
    }
    let logits = classifier.logits(rows);
    let (count, ways) = (logits.rows(), logits.columns());
    let logits =
        Matrix::from_vec(count, ways, logits.as_slice().iter().map(|value| value.to_f64()).collect());
    let scaled = transport(logits, Some(&equal_shares(count, ways)), SCALING).plan;
    Matrix::from_vec(count, ways, scaled.as_slice().iter().map(|&value| T::from_f64(value)).collect())
}

/// One seed out of three numbers, by SplitMix64's finaliser; the multiplication keeps their places apart.
fn mix(seed: u64, task: u64, round: u64) -> u64 {
    let mut state = seed;
    for part in [task, round] {
        state =
            state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(part).wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 31;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_class_sizes_give_every_class_as_many_rows() {
        // Four rows on the side of class 0, of which two have to move to class 1: the least certain ones.
        let rows = Matrix::from_vec(4, 1, vec![4.0f64, 3.0, 2.0, 1.0]);
        let classifier =
            LinearClassifier { weights: Matrix::from_vec(2, 1, vec![1.0, -1.0]), bias: vec![0.0, 0.0] };
        let labels = |sizes| -> Vec<usize> {
            predictions(&classifier, &rows, sizes).iter_rows().map(argmax).collect()
        };
        assert_eq!(labels(ClassSizes::Unknown), vec![0, 0, 0, 0]);
        assert_eq!(labels(ClassSizes::Equal), vec![0, 0, 1, 1]);
        let scaled = predictions(&classifier, &rows, ClassSizes::Equal);
        let first: f64 = scaled.iter_rows().map(|row| row[0]).sum();
        assert!((first - 2.0).abs() < 1e-4, "{first}");
    }

    #[test]
    fn seeds_of_neighbouring_tasks_and_rounds_differ() {
        let seeds = [mix(0, 0, 0), mix(0, 0, 1), mix(0, 1, 0), mix(1, 0, 0)];
        for (at, seed) in seeds.iter().enumerate() {
            assert!(!seeds[..at].contains(seed));
        }
    }
}
