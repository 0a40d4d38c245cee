//! Which labels to accept so that at most a promised share of them is wrong.
//!
//! Rows are taken by rising estimated error. What that estimate rests on are labels that were left out, and those are
//! about as many of each class whatever the pool is like; so a left-out label counts `C share_c` (at most 5), its class's
//! share of the pool against an even one. Two promises:
//!
//! - [`Promise::HighProbability`]: *this* pool keeps the promise, in 95 pools of 100. The temperature of the probabilities
//!   is raised to the upper end of what the left-out labels support (log-likelihood within [`MARGIN`] of the best), no row
//!   counts less than [`CLASS_FLOOR`] of how often its class was wrong among the left-out labels, and k rows are accepted
//!   only if more than `max_error k` wrong ones among them, Poisson distributed, have probability 5% at most. That rests on
//!   the shape of the probabilities, which a few dozen labels hardly show; so the left-out labels that looked at least as
//!   certain must bear it out: were `max_error` of such labels wrong, so few wrong ones among them must have probability
//!   [`DOUBT`] at most. With 33 such labels and none of them wrong 5% can be promised, with fewer it cannot.
//! - [`Promise::Expected`]: the share of wrong labels is `max_error` *on average over pools*, by conformal selection (Jin
//!   and Candes 2023): a row's p-value is the weighted share of left-out labels that were wrong and looked at least as
//!   certain, and Benjamini and Hochberg's rule picks the rows. It assumes that left-out labels are drawn as the pool's
//!   rows are, up to the class shares.
//!
//! `smoothing` keeps its rule of release 0.1: the mean of the estimated errors stays within the promise.

use serde::{Deserialize, Serialize};

/// How far the log-likelihood may fall below its best, in nats, for [`Promise::HighProbability`].
pub(crate) const MARGIN: f64 = 1.0;
/// The same for the rule `smoothing`: half the 90% point of chi-squared with one degree of freedom.
pub(crate) const SMOOTHING_MARGIN: f64 = 1.35;
/// The least a row's error counts, in errors of its class among the left-out labels.
pub(crate) const CLASS_FLOOR: f64 = 0.3;
/// The probability with which the promise may break.
const RISK: f64 = 0.05;
/// How likely the wrong ones among the left-out labels may be to be so few by chance.
const DOUBT: f64 = 0.2;
/// The fewest rows about which a share can be promised.
const FEWEST: usize = 10;
/// Promises that are tried to find the smallest that can be kept.
const PROMISES: [f64; 12] = [0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5];

/// What is promised about the accepted rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// The share of wrong labels stays within the limit, with 95% confidence.
    #[default]
    HighProbability,
    /// The share of wrong labels is within the limit on average.
    Expected,
}

/// Which rows were accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Acceptance {
    /// Whether each row is; given labels always are.
    pub accepted: Vec<bool>,
    /// Rows accepted, given ones not counted.
    pub count: usize,
    /// The estimated share of wrong labels among those: at its pessimistic end, or for [`Promise::Expected`] the expected one.
    pub estimated_error: f64,
    /// What was promised.
    pub promise: Promise,
    /// Left-out labels that the promise rests on.
    pub labels_left_out: usize,
    /// The smallest of a list of promises under which anything could be accepted.
    pub smallest_promise: Option<f64>,
}

/// A left-out label: its estimated error, whether it was labelled wrongly, and what it counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Witness {
    pub error: f64,
    pub wrong: bool,
    pub weight: f64,
}

/// How rows are taken.
pub(crate) enum Rule<'a> {
    /// While the mean error stays within the promise.
    Mean,
    /// While the promise holds with 95% confidence, and left-out labels bear it out.
    Tail(&'a [Witness]),
    /// By conformal selection.
    Conformal(&'a [Witness]),
}

/// Takes rows by rising estimated error; returns which, how many, and their mean error.
pub(crate) fn accept(
    errors: &[f64],
    candidates: &[bool],
    max_error: f64,
    rule: &Rule<'_>,
) -> (Vec<bool>, usize, f64) {
    let mut order: Vec<usize> = (0..errors.len()).filter(|&row| candidates[row]).collect();
    order.sort_by(|&a, &b| errors[a].total_cmp(&errors[b]).then(a.cmp(&b)));
    let count = match rule {
        Rule::Mean => within_mean(errors, &order, max_error),
        Rule::Tail(witnesses) => within_tail(errors, &order, witnesses, max_error),
        Rule::Conformal(witnesses) => selected(errors, &order, witnesses, max_error),
    };
    let mut accepted = vec![false; errors.len()];
    order[..count].iter().for_each(|&row| accepted[row] = true);
    let sum = order[..count].iter().fold(0.0, |sum, &row| sum + errors[row]);
    (accepted, count, sum / count.max(1) as f64)
}

/// The smallest promise under which anything is accepted.
pub(crate) fn smallest_promise(errors: &[f64], candidates: &[bool], rule: &Rule<'_>) -> Option<f64> {
    PROMISES.into_iter().find(|&promise| accept(errors, candidates, promise, rule).1 > 0)
}

fn within_mean(errors: &[f64], order: &[usize], max_error: f64) -> usize {
    let mut sum = 0.0;
    for (count, &row) in order.iter().enumerate() {
        if sum + errors[row] > max_error * (count + 1) as f64 {
            return count;
        }
        sum += errors[row];
    }
    order.len()
}

fn within_tail(errors: &[f64], order: &[usize], witnesses: &[Witness], max_error: f64) -> usize {
    let mut witnesses: Vec<Witness> = witnesses.to_vec();
    witnesses.sort_by(|a, b| a.error.total_cmp(&b.error));
    let mut seen = Seen::default();
    let (mut sum, mut best, mut next) = (0.0, 0, 0);
    for (at, &row) in order.iter().enumerate() {
        sum += errors[row];
        let count = at + 1;
        let allowed = (max_error * count as f64 + 1e-9).floor();
        // Beyond this the tail is far above the risk, and rows only get worse.
        if sum > allowed + 1.0 {
            break;
        }
        while next < witnesses.len() && witnesses[next].error <= errors[row] {
            seen.add(&witnesses[next]);
            next += 1;
        }
        if count >= FEWEST && poisson_tail(allowed, sum) <= RISK && seen.bears_out(max_error) {
            best = count;
        }
    }
    best
}

/// Left-out labels that looked at least as certain as some row.
#[derive(Default)]
struct Seen {
    weight: f64,
    squares: f64,
    wrong: f64,
}

impl Seen {
    fn add(&mut self, witness: &Witness) {
        self.weight += witness.weight;
        self.squares += witness.weight * witness.weight;
        self.wrong += if witness.wrong { witness.weight } else { 0.0 };
    }

    /// Whether so few wrong ones are unlikely at this rate of errors; labels of unequal weight count as fewer equal ones.
    fn bears_out(&self, max_error: f64) -> bool {
        let per_weight = self.weight / self.squares.max(f64::MIN_POSITIVE);
        let (all, wrong) = (per_weight * self.weight, (per_weight * self.wrong - 1e-9).ceil().max(0.0));
        1.0 - poisson_tail(wrong, max_error * all) <= DOUBT
    }
}

/// Probability that a Poisson variable of this mean is above `count`.
fn poisson_tail(count: f64, mean: f64) -> f64 {
    let mut term = (-mean).exp();
    let mut sum = term;
    for k in 1..=count as u64 {
        term *= mean / k as f64;
        sum += term;
    }
    // A mean so large that the first term underflows is one that no count near the limit can reach.
    if mean > 700.0 { if count < mean { 1.0 } else { 0.0 } } else { (1.0 - sum).max(0.0) }
}

fn selected(errors: &[f64], order: &[usize], witnesses: &[Witness], max_error: f64) -> usize {
    let largest = witnesses.iter().map(|witness| witness.weight).fold(0.0, f64::max);
    let total: f64 = witnesses.iter().map(|witness| witness.weight).sum::<f64>() + largest;
    let mut wrong: Vec<&Witness> = witnesses.iter().filter(|witness| witness.wrong).collect();
    wrong.sort_by(|a, b| a.error.total_cmp(&b.error));
    if total <= 0.0 {
        return 0;
    }
    let (mut at, mut weight, mut best) = (0, largest, 0);
    for (count, &row) in order.iter().enumerate() {
        while at < wrong.len() && wrong[at].error <= errors[row] {
            weight += wrong[at].weight;
            at += 1;
        }
        if weight / total <= max_error * (count + 1) as f64 / order.len() as f64 {
            best = count + 1;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_stays_within_the_promise_and_no_further_row_would_fit() {
        let errors = [0.5, 0.0, 0.02, 0.3, 0.1, 0.9];
        let candidates = [true, true, true, true, true, false];
        let (accepted, count, error) = accept(&errors, &candidates, 0.05, &Rule::Mean);
        assert_eq!(accepted, [false, true, true, false, true, false]);
        assert_eq!(count, 3);
        assert!((error - 0.04).abs() < 1e-12);
        assert_eq!(accept(&[0.2], &[true], 0.1, &Rule::Mean).1, 0);
    }

    #[test]
    fn poisson_tails_are_those_of_tables() {
        for (count, mean, tail) in
            [(0.0, 0.05, 0.04877), (2.0, 0.8, 0.04742), (10.0, 6.2, 0.0514), (5.0, 2.6, 0.0490)]
        {
            assert!(
                (poisson_tail(count, mean) - tail).abs() < 1e-3,
                "{count} {mean} {}",
                poisson_tail(count, mean)
            );
        }
        assert_eq!(poisson_tail(100.0, 900.0), 1.0);
    }

    #[test]
    fn few_errors_among_many_rows_are_needed_for_confidence() {
        let right = [Witness { error: 0.0, wrong: false, weight: 1.0 }; 100];
        let count = |errors: &[f64]| accept(errors, &vec![true; errors.len()], 0.05, &Rule::Tail(&right)).1;
        assert_eq!(count(&[0.01; 1000]), 1000, "10 expected, 50 allowed");
        assert_eq!(count(&[0.04; 20]), 0, "0.8 expected, 1 allowed");
        assert_eq!(count(&[0.0; 9]), 0, "nine rows are too few to promise about");
    }

    #[test]
    fn left_out_labels_that_looked_as_certain_must_bear_the_promise_out() {
        let errors: Vec<f64> = (0..200).map(|at| f64::from(at) / 20_000.0).collect();
        let all = vec![true; 200];
        let mut witnesses = [Witness { error: 0.002, wrong: false, weight: 1.0 }; 200];
        let accepted = |witnesses: &[Witness]| accept(&errors, &all, 0.05, &Rule::Tail(witnesses)).1;
        assert_eq!(accepted(&witnesses[..33]), 200, "exp(-1.65) is 0.192");
        assert_eq!(accepted(&witnesses[..32]), 0, "exp(-1.6) is 0.202");
        // 20 more that look less certain than the 80th row, 10 of them wrong: no further than there.
        (100..120).for_each(|at| witnesses[at].error = 0.004);
        (100..110).for_each(|at| witnesses[at].wrong = true);
        assert_eq!(accepted(&witnesses[..120]), 80);
        // Weighing a few labels ten times as much makes no evidence: 30 + 3 10 = 60 of them, and
        // 30 + 3 100 = 330 squared, count as 60^2 / 330 = 10.9.
        (0..3).for_each(|at| witnesses[at].weight = 10.0);
        assert_eq!(accepted(&witnesses[..33]), 0);
    }

    #[test]
    fn conformal_selection_is_the_rule_of_benjamini_and_hochberg() {
        let witness = |error: f64, wrong: bool| Witness { error, wrong, weight: 1.0 };
        let mut witnesses: Vec<Witness> = (0..95).map(|at| witness(f64::from(at) / 100.0, false)).collect();
        witnesses.extend((0..5).map(|at| witness(0.5 + f64::from(at) / 10.0, true)));
        let errors: Vec<f64> = (0..100).map(|at| f64::from(at) / 100.0).collect();
        let all = vec![true; 100];
        let (_, count, _) = accept(&errors, &all, 0.05, &Rule::Conformal(&witnesses));
        // p-values: (wrong ones at least as certain + 1) / 101.
        let p = |error: f64| {
            (1.0 + witnesses.iter().filter(|w| w.wrong && w.error <= error).count() as f64) / 101.0
        };
        let slow = (1..=100).rev().find(|&k| p(errors[k - 1]) <= 0.05 * k as f64 / 100.0).unwrap_or(0);
        assert_eq!(count, slow);
        assert!(count > 20);
        assert_eq!(
            accept(&errors, &all, 0.05, &Rule::Conformal(&[])).1,
            0,
            "nothing left out, nothing known"
        );
    }
}
