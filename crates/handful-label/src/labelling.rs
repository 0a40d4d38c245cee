//! What comes out: a label for every row, and what each is worth.

use serde::{Deserialize, Serialize};

use crate::acceptance::{self, Acceptance, Promise, Witness};
use crate::calibration::{self, Calibration};
use crate::mixture::Share;

/// The label of one row and what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowLabel {
    /// The class.
    pub class: usize,
    /// Whether the label was given; then everything below is 1.
    pub given: bool,
    /// Probability of the class, calibrated where [`Calibration::fitted`] says so.
    pub probability: f32,
    /// Lead over the second likeliest class.
    pub margin: f32,
    /// Place of the row's IDA value among the rows of its class, from 0 to 1; of a row outside the fitted sample the mean
    /// of its neighbours of that class.
    pub credibility: f32,
    /// Share of the opinions (members, or the fits on the way) that were the final one; of a row outside the fitted sample
    /// the share of its neighbours.
    pub agreement: f32,
    /// How much the row looks like one of the classes at all; comparable within one pool.
    pub familiarity: f32,
    /// Estimated probability that the label is wrong, at the pessimistic end; see [`Acceptance`].
    pub error: f32,
}

impl RowLabel {
    /// A given label.
    pub(crate) fn given(class: usize, familiarity: f32) -> Self {
        Self {
            class,
            given: true,
            probability: 1.0,
            margin: 1.0,
            credibility: 1.0,
            agreement: 1.0,
            familiarity,
            error: 0.0,
        }
    }
}

/// A labelled row that was left out, and what was then said about it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The row.
    pub row: usize,
    /// Its given class.
    pub class: usize,
    /// The class it was then labelled with.
    pub predicted: usize,
    /// The probability of that class.
    pub probability: f32,
    /// The probability of the given class.
    pub probability_of_given: f32,
    /// Its familiarity then.
    pub familiarity: f32,
    /// Its estimated error then.
    pub error: f32,
    /// What it counts for promises: its class's share of the pool against an even one.
    pub weight: f64,
}

/// A row near another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NeighbourRow {
    /// The row.
    pub row: usize,
    /// Cosine of the features.
    pub similarity: f32,
}

/// Which estimate of errors a labelling carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ErrorEstimate {
    /// Of release 0.1: rows are accepted while the mean stays within the promise.
    Mean,
    /// At the upper end of what the labels left out support.
    Upper,
}

/// A labelled pool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Labelling {
    /// One label per row of the pool.
    pub rows: Vec<RowLabel>,
    /// Number of classes.
    pub ways: usize,
    /// Rows that the rule itself saw, where it did not see all; the others were predicted.
    pub sampled_rows: Option<usize>,
    /// Where the probabilities come from.
    pub calibration: Calibration,
    /// The labels left out.
    pub left_out: Vec<LeftOut>,
    /// The rows that joined in each round of selection, with their class then, where the rule selects.
    pub joined: Vec<Vec<(usize, usize)>>,
    /// What each member counted, where the rule has members.
    pub members: Vec<Share>,
    pub(crate) estimate: ErrorEstimate,
}

impl Labelling {
    /// Accepts rows so that the share of wrong labels among them stays within `max_error`, as far as `promise` goes. Rows
    /// that `may` says no to (rejected ones) are left out; given labels are always accepted.
    pub fn accept(&self, max_error: f64, promise: Promise, may: &[bool]) -> Acceptance {
        let errors: Vec<f64> = self.rows.iter().map(|row| f64::from(row.error)).collect();
        let candidates: Vec<bool> = self.rows.iter().zip(may).map(|(row, &may)| may && !row.given).collect();
        let witness = |out: &LeftOut| Witness {
            error: f64::from(out.error),
            wrong: out.predicted != out.class,
            weight: out.weight,
        };
        let witnesses: Vec<Witness> = self.left_out.iter().map(witness).collect();
        let rule = match (self.estimate, promise) {
            (ErrorEstimate::Mean, Promise::HighProbability) => acceptance::Rule::Mean,
            (ErrorEstimate::Upper, Promise::HighProbability) => acceptance::Rule::Tail(&witnesses),
            (_, Promise::Expected) => acceptance::Rule::Conformal(&witnesses),
        };
        // Without evidence nothing can be promised; the rule of 0.1 trusted its prior there.
        let blind = self.estimate == ErrorEstimate::Upper && !self.calibration.fitted;
        let candidates = if blind { vec![false; self.rows.len()] } else { candidates };
        let (taken, count, mut estimated_error) = acceptance::accept(&errors, &candidates, max_error, &rule);
        if promise == Promise::Expected && count > 0 {
            // What is promised on average is set beside what is expected, not beside the pessimistic end of it.
            let wrong = self.rows.iter().zip(&taken).filter(|(_, taken)| **taken);
            estimated_error =
                wrong.map(|(row, _)| 1.0 - f64::from(row.probability)).sum::<f64>() / count as f64;
        }
        Acceptance {
            accepted: taken.iter().zip(&self.rows).map(|(&taken, row)| taken || row.given).collect(),
            count,
            estimated_error,
            promise,
            labels_left_out: self.left_out.iter().filter(|out| out.weight > 0.0).count(),
            smallest_promise: acceptance::smallest_promise(&errors, &candidates, &rule),
        }
    }

    /// Drops what is said of prototypes, which are behind the rows of the pool.
    pub(crate) fn keep_rows(&mut self, rows: usize) {
        self.rows.truncate(rows);
        self.left_out.retain(|out| out.row < rows);
        self.joined.iter_mut().for_each(|joined| joined.retain(|&(row, _)| row < rows));
    }

    /// Which rows look less familiar than all but a share `miss` of the labels left out; given ones never do. `None`
    /// where fewer than [`calibration::ENOUGH`] labels were left out, so that nothing says what is familiar.
    pub fn reject(&self, miss: f64) -> Option<Vec<bool>> {
        let limit = self.familiarity_limit(miss)?;
        Some(self.rows.iter().map(|row| !row.given && row.familiarity < limit).collect())
    }

    /// The familiarity that all but a share `miss` of the labels left out reach.
    pub fn familiarity_limit(&self, miss: f64) -> Option<f32> {
        if self.left_out.len() < calibration::ENOUGH {
            return None;
        }
        let mut seen: Vec<f32> = self.left_out.iter().map(|out| out.familiarity).collect();
        seen.sort_by(f32::total_cmp);
        Some(seen[((seen.len() as f64 * miss) as usize).min(seen.len() - 1)])
    }

    /// Given labels that the rest contradicts, the most doubtful first: left out, the row was given to another class
    /// with a lead of at least a half. People mislabel, too.
    pub fn doubtful_labels(&self) -> Vec<LeftOut> {
        let doubtful = |out: &&LeftOut| {
            out.predicted != out.class && out.probability - out.probability_of_given >= DOUBTFUL_LEAD
        };
        let mut found: Vec<LeftOut> = self.left_out.iter().filter(doubtful).copied().collect();
        let lead = |out: &LeftOut| out.probability - out.probability_of_given;
        found.sort_by(|a, b| lead(b).total_cmp(&lead(a)).then(a.row.cmp(&b.row)));
        found
    }
}

/// The lead over the given class from which a given label is in doubt.
const DOUBTFUL_LEAD: f32 = 0.5;
