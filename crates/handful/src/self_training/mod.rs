//! Algorithm 1: fit, label the pool, rank the labels, let the best join the labelled set, and again.
//!
//! Each round lets the best-ranked rows of each class join, up to `per_class` times the number of the round. What
//! happens to rows that joined earlier is [`Keep`]; when the loop ends, besides when the pool is exhausted or a round
//! changes nothing, is `stop_when_stable` and `max_rounds`.
//!
//! The paper stops when the pseudo-labels are stable; its authors' code has no such test and goes on until every row
//! has joined or a round adds none, and it lets no class take more than its equal share of the pool
//! (`cap_at_equal_share`), which the text does not mention.

pub mod class_sizes;
pub mod select;

use serde::{Deserialize, Serialize};

use crate::fit::classifier::{LinearClassifier, prototypes};
use crate::fit::{Fitter, PseudoLabel};
use crate::linalg::Matrix;
use crate::linalg::sinkhorn::{Stop, equal_shares, transport};
use crate::paper::ida::{FisherParams, WhitenedPool};
use crate::scalar::Scalar;
use crate::self_training::class_sizes::ClassSizes;
use crate::self_training::select::ici::IncidentalPath;
use crate::self_training::select::{Candidates, SelectorKind};
use crate::solution::{FitTrace, RoundTrace, Trace, argmax};

/// What happens in later rounds to the rows that have joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// They stay, with the label the current classifier gives them (the authors' code).
    Refresh,
    /// All are dropped and the round chooses among the whole pool again.
    Afresh,
}

/// Which unlabelled rows the terms of the last fit look at in a semi-supervised task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnlabelledRows {
    /// The pool: the query is not looked at before it is labelled.
    Pool,
    /// The query, as in the authors' code; the result is then transductive as well.
    Query,
    /// Both.
    Both,
}

/// Parameters of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfTrainingParams {
    /// How pseudo-labelled rows are ranked.
    pub selector: SelectorKind,
    /// Rows of each class that may join per round.
    pub per_class: usize,
    /// The same as a share of the pool's rows per class, rounded; the larger of the two counts. 0 for none.
    pub per_class_share: f64,
    /// Let no class take more than its equal share of the pool, as the authors' code does. That is knowledge of the
    /// class sizes: right when the pool is balanced, and only then.
    pub cap_at_equal_share: bool,
    /// With `equal`, the predictions for unlabelled rows are scaled so that every class gets as many (Sinkhorn), before
    /// they are ranked and at the end. Knowledge of the class sizes as well.
    pub class_sizes: ClassSizes,
    /// What happens to rows that joined earlier.
    pub keep: Keep,
    /// End the loop when a round changes no pseudo-label.
    pub stop_when_stable: bool,
    /// The most rounds; 0 fits once and selects nothing.
    pub max_rounds: usize,
    /// Seed of the random selector.
    pub seed: u64,
}

/// Principal scores that the selector `ici` explains labels with: its authors' number.
const INCIDENTAL_DIMENSIONS: usize = 5;

/// What the loop ended with.
pub(crate) struct SelfTrained<T> {
    /// Pool rows in the labelled set, in the order of the pool.
    pub joined: Vec<PseudoLabel>,
    /// Credibility of every pool row in the last ranking.
    pub credibility: Vec<f64>,
    /// Label of every pool row in the last ranking; empty without one.
    pub labels: Vec<usize>,
    /// The classifier of the last fit when it already is the fit on `joined`.
    pub classifier: Option<LinearClassifier<T>>,
}

/// Runs the loop on a task whose pool the fitter holds.
pub(crate) fn self_train<T: Scalar>(
    params: &SelfTrainingParams,
    fisher: &FisherParams,
    fitter: &mut Fitter<'_, T>,
    task_id: u64,
    mut trace: Option<&mut Trace>,
) -> SelfTrained<T> {
    let pool = fitter.pool();
    let ways = fitter.ways();
    let share = (params.per_class_share * pool.rows() as f64 / ways as f64).round() as usize;
    let per_round = params.per_class.max(share);
    let cap = if params.cap_at_equal_share { pool.rows() / ways } else { usize::MAX };
    let mut joined: Vec<PseudoLabel> = Vec::new();
    let mut credibility = Vec::new();
    let mut last_labels: Vec<usize> = Vec::new();
    if pool.rows() == 0 || params.max_rounds == 0 {
        return SelfTrained { joined, credibility, labels: last_labels, classifier: None };
    }
    let whitened = WhitenedPool::new(pool, fisher);
    let (anchors, given) = fitter.anchors();
    let incidental = (params.selector == SelectorKind::Ici)
        .then(|| IncidentalPath::new(anchors, pool, INCIDENTAL_DIMENSIONS));

    for round in 0..params.max_rounds {
        let mut fit_trace = trace.as_ref().map(|_| FitTrace::default());
        let classifier = fitter.fit(&joined, fit_trace.as_mut());
        let probabilities = predictions(&classifier, pool, params.class_sizes);
        let labels: Vec<usize> = probabilities.iter_rows().map(argmax).collect();
        // The labels that joined are part of what is stable: they are refreshed from `labels`.
        let stable = params.stop_when_stable && labels == last_labels;

        let prototypes = labelled_prototypes(fitter, &joined);
        credibility = params.selector.credibility(&Candidates {
            rows: pool,
            whitened: &whitened,
            incidental: incidental.as_ref(),
            given,
            probabilities: &probabilities,
            labels: &labels,
            prototypes: &prototypes,
            ridge: fisher.ridge,
            seed: mix(params.seed, task_id, round as u64),
        });
        if let Some(trace) = trace.as_deref_mut() {
            trace.fits.extend(fit_trace);
            trace.rounds.push(RoundTrace {
                psi: whitened.fisher(&labels, ways),
                labels: labels.clone(),
                credibility: credibility.clone(),
                selected: joined.iter().map(|label| label.row).collect(),
            });
        }
        if stable {
            return SelfTrained { joined, credibility, labels, classifier: Some(classifier) };
        }

        let before = joined.len();
        let taken = match params.keep {
            Keep::Refresh => joined.iter().map(|label| label.row).collect(),
            Keep::Afresh => Vec::new(),
        };
        joined = choose(&credibility, &labels, &taken, (per_round.saturating_mul(round + 1)).min(cap), ways);
        if let Some(round) = trace.as_deref_mut().and_then(|trace| trace.rounds.last_mut()) {
            round.selected = joined.iter().map(|label| label.row).collect();
        }
        let exhausted = joined.len() == pool.rows();
        let nothing_new = params.keep == Keep::Refresh && joined.len() == before;
        last_labels = labels;
        if exhausted || nothing_new {
            break;
        }
    }
    SelfTrained { joined, credibility, labels: last_labels, classifier: None }
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

/// Rows already taken stay; then rows by falling credibility while their class has fewer than `quota`.
fn choose(
    credibility: &[f64],
    labels: &[usize],
    taken: &[usize],
    quota: usize,
    ways: usize,
) -> Vec<PseudoLabel> {
    let mut counts = vec![0usize; ways];
    let mut chosen = vec![false; labels.len()];
    for &row in taken {
        chosen[row] = true;
        counts[labels[row]] += 1;
    }
    let mut total = taken.len();
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by(|&a, &b| credibility[b].total_cmp(&credibility[a]).then(a.cmp(&b)));
    for row in order {
        // Refreshed labels can leave one class above its quota; the total then holds the others back.
        if !chosen[row] && counts[labels[row]] < quota && total < quota.saturating_mul(ways) {
            chosen[row] = true;
            counts[labels[row]] += 1;
            total += 1;
        }
    }
    let joined = |row: usize| PseudoLabel { row, class: labels[row] };
    (0..labels.len()).filter(|&row| chosen[row]).map(joined).collect()
}

fn labelled_prototypes<T: Scalar>(fitter: &Fitter<'_, T>, joined: &[PseudoLabel]) -> Matrix<T> {
    let (rows, labels) = fitter.labelled_set(joined);
    prototypes(&rows, &labels, fitter.ways())
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

    fn rows(chosen: &[PseudoLabel]) -> Vec<usize> {
        chosen.iter().map(|label| label.row).collect()
    }

    #[test]
    fn the_best_of_each_class_join_up_to_the_quota() {
        let credibility = [0.1, 0.9, 0.5, 0.8, 0.7, 0.2];
        let labels = [0, 0, 0, 1, 1, 1];
        assert_eq!(rows(&choose(&credibility, &labels, &[], 2, 2)), vec![1, 2, 3, 4]);
    }

    #[test]
    fn taken_rows_stay_under_their_new_label() {
        let credibility = [0.1, 0.9, 0.5, 0.8, 0.7, 0.2];
        // Row 0 was taken earlier and now counts for class 1, where it holds a place.
        let chosen = choose(&credibility, &[1, 0, 0, 1, 1, 1], &[0], 2, 2);
        assert_eq!(rows(&chosen), vec![0, 1, 2, 3]);
        assert_eq!(chosen[0].class, 1);
    }

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
    fn a_class_without_candidates_takes_none() {
        assert_eq!(rows(&choose(&[0.3, 0.2, 0.1], &[0, 0, 0], &[], 2, 3)), vec![0, 1]);
    }

    #[test]
    fn equal_credibility_goes_by_row() {
        assert_eq!(rows(&choose(&[1.0; 4], &[0; 4], &[], 2, 2)), vec![0, 1]);
    }

    #[test]
    fn seeds_of_neighbouring_tasks_and_rounds_differ() {
        let seeds = [mix(0, 0, 0), mix(0, 0, 1), mix(0, 1, 0), mix(1, 0, 0)];
        for (at, seed) in seeds.iter().enumerate() {
            assert!(!seeds[..at].contains(seed));
        }
    }
}
