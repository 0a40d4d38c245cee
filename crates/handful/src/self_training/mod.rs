//! Self-training: fit, label the pool, let the most credible labels join the labelled set, and again.
//!
//! One loop for every method of that kind, [`self_train`]. What is fitted, and how far its labels can be trusted, is a
//! [`Learner`]; how many rows join in a round, what becomes of those that joined earlier and when it ends are [`Rounds`].
//!
//! | learner | fits | ranks by | rows that join |
//! |---|---|---|---|
//! | [`paper::algorithm1`](crate::paper::algorithm1) (`dm-ida`, `self-training`) | Eq. 4 | a [selector](select) | [`Quota::Growing`] |
//! | `ici` | logistic regression | the path of incidental parameters | [`Quota::Fresh`] |
//! | `ilpc` | propagation and balancing | the loss of a layer fitted to all labels | [`Quota::Fresh`] |
//! | the smoothing rule of `handful-label` | a softmax head, smoothed | IDA | [`Quota::Share`] |

pub mod class_sizes;
pub mod select;

use serde::{Deserialize, Serialize};

use crate::fit::PseudoLabel;
use crate::self_training::class_sizes::ClassSizes;
use crate::self_training::select::SelectorKind;

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
pub enum UnlabeledRows {
    /// The pool: the query is not looked at before it is labelled.
    Pool,
    /// The query, as in the authors' code; the result is then transductive as well.
    Query,
    /// Both.
    Both,
}

/// Parameters of the loop as `dm-ida` has them.
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

impl SelfTrainingParams {
    /// The rounds of a pool of `rows` rows and `ways` classes.
    pub(crate) fn rounds(&self, rows: usize, ways: usize) -> Rounds {
        let share = (self.per_class_share * rows as f64 / ways as f64).round() as usize;
        let cap = if self.cap_at_equal_share { rows / ways } else { usize::MAX };
        Rounds {
            quota: Quota::Growing { per_round: self.per_class.max(share), cap },
            keep: self.keep,
            stop_when_stable: self.stop_when_stable,
            max_rounds: self.max_rounds,
            fewest_joining: 1,
        }
    }
}

/// How many rows of each class join.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quota {
    /// `per_round` of each class after the first round, twice as many after the second, never more than `cap`.
    Growing {
        /// Rows of each class that a round adds.
        per_round: usize,
        /// The most rows of a class.
        cap: usize,
    },
    /// So many more of each class in every round, whatever has joined before.
    Fresh(usize),
    /// A share of the rows that are labelled as each class.
    Share(f64),
}

/// How the loop goes from round to round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    /// How many rows join.
    pub quota: Quota,
    /// What happens to rows that joined earlier.
    pub keep: Keep,
    /// End the loop when a round changes no label.
    pub stop_when_stable: bool,
    /// The most rounds; 0 selects nothing.
    pub max_rounds: usize,
    /// With [`Keep::Refresh`], a round in which fewer rows join is the last.
    pub fewest_joining: usize,
}

/// The labels of a pool, and how far each can be trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Class of every pool row.
    pub labels: Vec<usize>,
    /// Credibility of every label, higher is better.
    pub credibility: Vec<f64>,
}

/// What the loop trains: anything that learns from pseudo-labels and labels the pool.
pub trait Learner {
    /// What a fit makes.
    type Model;

    /// Number of classes.
    fn ways(&self) -> usize;
    /// Number of rows in the pool.
    fn pool_rows(&self) -> usize;
    /// Whether a pool row may join; rows with given labels may not.
    fn may_join(&self, _row: usize) -> bool {
        true
    }
    /// Fits to the given labels and to those that joined.
    fn fit(&mut self, joined: &[PseudoLabel]) -> Self::Model;
    /// Labels the pool and ranks the labels. `joined` is what the model was fitted to.
    fn judge(&mut self, model: &Self::Model, joined: &[PseudoLabel], round: usize) -> Judgement;
    /// Hears which rows have joined after a round.
    fn joined(&mut self, _joined: &[PseudoLabel]) {}
}

/// What the loop ended with.
#[derive(Clone, Debug)]
pub struct SelfTrained<M> {
    /// Pool rows in the labelled set, in the order of the pool.
    pub joined: Vec<PseudoLabel>,
    /// Credibility of every pool row in the last ranking; empty if there was none.
    pub credibility: Vec<f64>,
    /// Label of every pool row in the last ranking; empty if there was none.
    pub labels: Vec<usize>,
    /// The last model when it already is the fit to `joined`.
    pub model: Option<M>,
}

/// Runs the loop. It ends, besides by `rounds`, when every row has joined.
pub fn self_train<L: Learner>(learner: &mut L, rounds: &Rounds) -> SelfTrained<L::Model> {
    let (rows, ways) = (learner.pool_rows(), learner.ways());
    let mut joined: Vec<PseudoLabel> = Vec::new();
    let mut credibility = Vec::new();
    let mut labels: Vec<usize> = Vec::new();
    let max_rounds = if rows == 0 { 0 } else { rounds.max_rounds };
    for round in 0..max_rounds {
        let model = learner.fit(&joined);
        let judgement = learner.judge(&model, &joined, round);
        credibility = judgement.credibility;
        // The labels that joined are part of what is stable: they are refreshed from these.
        let stable = judgement.labels == labels;
        labels = judgement.labels;
        if rounds.stop_when_stable && stable {
            return SelfTrained { joined, credibility, labels, model: Some(model) };
        }
        let before = joined.len();
        let taken: Vec<usize> = match rounds.keep {
            Keep::Refresh => joined.iter().map(|label| label.row).collect(),
            Keep::Afresh => Vec::new(),
        };
        let may_join = |row: usize| learner.may_join(row);
        joined = Places::new(rounds.quota, round, &labels, &taken, ways, may_join).fill(
            &credibility,
            &labels,
            &taken,
            may_join,
        );
        learner.joined(&joined);
        let too_few = rounds.keep == Keep::Refresh && joined.len() < before + rounds.fewest_joining;
        if joined.len() == rows || too_few {
            break;
        }
    }
    SelfTrained { joined, credibility, labels, model: None }
}

/// Places for newcomers in a round: of each class, and in all.
struct Places {
    of_class: Vec<usize>,
    total: usize,
}

impl Places {
    fn new(
        quota: Quota,
        round: usize,
        labels: &[usize],
        taken: &[usize],
        ways: usize,
        may_join: impl Fn(usize) -> bool,
    ) -> Self {
        match quota {
            Quota::Growing { per_round, cap } => {
                let quota = per_round.saturating_mul(round + 1).min(cap);
                let mut of_class = vec![quota; ways];
                taken.iter().for_each(|&row| of_class[labels[row]] = of_class[labels[row]].saturating_sub(1));
                // Refreshed labels can leave one class above its quota; the total then holds the others back.
                Self { of_class, total: quota.saturating_mul(ways).saturating_sub(taken.len()) }
            }
            Quota::Fresh(count) => Self { of_class: vec![count; ways], total: usize::MAX },
            Quota::Share(share) => {
                let mut of_class = vec![0usize; ways];
                (0..labels.len()).filter(|&row| may_join(row)).for_each(|row| of_class[labels[row]] += 1);
                for count in &mut of_class {
                    *count = (*count as f64 * share).ceil() as usize;
                }
                Self { of_class, total: usize::MAX }
            }
        }
    }

    /// Gives the places to rows by falling credibility; rows already taken stay. In the order of the pool.
    fn fill(
        mut self,
        credibility: &[f64],
        labels: &[usize],
        taken: &[usize],
        may_join: impl Fn(usize) -> bool,
    ) -> Vec<PseudoLabel> {
        let mut chosen = vec![false; labels.len()];
        taken.iter().for_each(|&row| chosen[row] = true);
        let mut order: Vec<usize> = (0..labels.len()).filter(|&row| !chosen[row] && may_join(row)).collect();
        order.sort_by(|&a, &b| credibility[b].total_cmp(&credibility[a]).then(a.cmp(&b)));
        for row in order {
            let places = &mut self.of_class[labels[row]];
            if *places > 0 && self.total > 0 {
                *places -= 1;
                self.total -= 1;
                chosen[row] = true;
            }
        }
        let pseudo_label = |row: usize| PseudoLabel { row, class: labels[row] };
        (0..labels.len()).filter(|&row| chosen[row]).map(pseudo_label).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(
        credibility: &[f64],
        labels: &[usize],
        taken: &[usize],
        quota: Quota,
        ways: usize,
    ) -> Vec<PseudoLabel> {
        Places::new(quota, 0, labels, taken, ways, |_| true).fill(credibility, labels, taken, |_| true)
    }

    fn rows(chosen: &[PseudoLabel]) -> Vec<usize> {
        chosen.iter().map(|label| label.row).collect()
    }

    const TWO: Quota = Quota::Growing { per_round: 2, cap: usize::MAX };
    const CREDIBILITY: [f64; 6] = [0.1, 0.9, 0.5, 0.8, 0.7, 0.2];

    #[test]
    fn the_best_of_each_class_join_up_to_the_quota() {
        assert_eq!(rows(&chosen(&CREDIBILITY, &[0, 0, 0, 1, 1, 1], &[], TWO, 2)), vec![1, 2, 3, 4]);
        let capped = Quota::Growing { per_round: 2, cap: 1 };
        assert_eq!(rows(&chosen(&CREDIBILITY, &[0, 0, 0, 1, 1, 1], &[], capped, 2)), vec![1, 3]);
    }

    #[test]
    fn taken_rows_stay_under_their_new_label() {
        // Row 0 was taken earlier and now counts for class 1, where it holds a place.
        let found = chosen(&CREDIBILITY, &[1, 0, 0, 1, 1, 1], &[0], TWO, 2);
        assert_eq!(rows(&found), vec![0, 1, 2, 3]);
        assert_eq!(found[0].class, 1);
    }

    #[test]
    fn fresh_places_do_not_count_what_joined_before() {
        let credibility = [0.1, 0.9, 5.0, 0.8, 0.2];
        assert_eq!(rows(&chosen(&credibility, &[0, 0, 0, 1, 1], &[2], Quota::Fresh(1), 2)), vec![1, 2, 3]);
    }

    #[test]
    fn a_share_is_of_the_rows_that_may_join_rounded_up() {
        let labels = [0, 0, 0, 1, 1, 1];
        let may_join = |row: usize| row != 3;
        let places = Places::new(Quota::Share(0.5), 0, &labels, &[], 2, may_join);
        assert_eq!(rows(&places.fill(&CREDIBILITY, &labels, &[], may_join)), vec![1, 2, 4]);
    }

    #[test]
    fn a_class_without_candidates_takes_none() {
        assert_eq!(rows(&chosen(&[0.3, 0.2, 0.1], &[0, 0, 0], &[], TWO, 3)), vec![0, 1]);
    }

    #[test]
    fn equal_credibility_goes_by_row() {
        assert_eq!(rows(&chosen(&[1.0; 4], &[0; 4], &[], TWO, 2)), vec![0, 1]);
    }

    /// Labels rows by halves and trusts the later ones more; counts its fits.
    struct Halves {
        fits: usize,
    }

    impl Learner for Halves {
        type Model = usize;

        fn ways(&self) -> usize {
            2
        }

        fn pool_rows(&self) -> usize {
            8
        }

        fn fit(&mut self, joined: &[PseudoLabel]) -> usize {
            self.fits += 1;
            joined.len()
        }

        fn judge(&mut self, _: &usize, _: &[PseudoLabel], _: usize) -> Judgement {
            Judgement {
                labels: (0..8).map(|row| row / 4).collect(),
                credibility: (0..8).map(f64::from).collect(),
            }
        }
    }

    #[test]
    fn the_loop_ends_when_labels_are_stable_all_have_joined_or_too_few_do() {
        let rounds = Rounds {
            quota: Quota::Fresh(1),
            keep: Keep::Refresh,
            stop_when_stable: false,
            max_rounds: 9,
            fewest_joining: 1,
        };
        let run = |rounds: Rounds| {
            let mut learner = Halves { fits: 0 };
            let trained = self_train(&mut learner, &rounds);
            (learner.fits, rows(&trained.joined), trained.model)
        };
        assert_eq!(run(rounds), (4, (0..8).collect(), None));
        assert_eq!(run(Rounds { max_rounds: 1, ..rounds }), (1, vec![3, 7], None));
        assert_eq!(run(Rounds { max_rounds: 0, ..rounds }), (0, vec![], None));
        // The second round finds the labels of the first, so its model stays the fit to what the first let join.
        assert_eq!(run(Rounds { stop_when_stable: true, ..rounds }), (2, vec![3, 7], Some(2)));
        assert_eq!(run(Rounds { fewest_joining: 3, ..rounds }), (1, vec![3, 7], None));
        assert_eq!(run(Rounds { keep: Keep::Afresh, max_rounds: 3, ..rounds }), (3, vec![3, 7], None));
    }
}
