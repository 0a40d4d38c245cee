//! Studies of the labelling job: pools drawn from a table whose classes are known, a few rows of each class labelled,
//! the others labelled by the engine and compared with the truth.
//!
//! A draw is the rows of a pool and those of them that are labelled. Class sizes are those of the table, or follow a
//! Dirichlet distribution (the largest class keeps its size, each other one its share of it). Some classes can be
//! strangers: in the pool, never labelled.

use std::time::Instant;

use handful_data::{FeatureTable, log_gamma_variate};
use handful_label::{LabelError, Labelling, PreparedPool, Promise as Kind};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;

use crate::outcome::auroc;

/// How pools are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawSpec {
    /// Labelled rows of each known class.
    pub per_class: usize,
    /// Concentration of the Dirichlet distribution of class sizes; `None` keeps the table's.
    pub dirichlet: Option<f64>,
    /// Classes in the pool that are never labelled.
    pub strangers: usize,
    /// Seed of all draws.
    pub seed: u64,
}

/// A pool and its labels, as rows of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Draw {
    /// Rows of the pool.
    pub pool: Vec<usize>,
    /// Rows of the table that are labelled; all are in the pool.
    pub labelled: Vec<usize>,
    /// Classes that are never labelled.
    pub strangers: Vec<usize>,
}

impl DrawSpec {
    /// Draw number `index`. `None` where a class has too few rows or too few classes are left.
    pub fn draw(&self, table: &FeatureTable, index: u64) -> Option<Draw> {
        let mut chance = Chance::new(self.seed, index);
        let mut classes: Vec<usize> = (0..table.class_count()).collect();
        chance.shuffle(&mut classes);
        let strangers: Vec<usize> = classes.split_off(classes.len().checked_sub(self.strangers)?);
        if classes.len() < 2 {
            return None;
        }
        classes.sort_unstable();
        let all: Vec<usize> = classes.iter().chain(&strangers).copied().collect();
        let shares: Vec<f64> = match self.dirichlet {
            Some(concentration) => all.iter().map(|_| chance.gamma(concentration)).collect(),
            None => vec![1.0; all.len()],
        };
        let largest = shares.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let (mut pool, mut labelled) = (Vec::new(), Vec::new());
        for (&class, share) in all.iter().zip(shares) {
            let mut rows = table.rows_of_class()[class].clone();
            if rows.len() <= self.per_class {
                return None;
            }
            chance.shuffle(&mut rows);
            let size = (rows.len() as f64 * share / largest).round() as usize;
            rows.truncate(size.max(self.per_class + 1));
            if !strangers.contains(&class) {
                labelled.extend(&rows[..self.per_class]);
            }
            pool.extend(rows);
        }
        pool.sort_unstable();
        Some(Draw { pool, labelled, strangers })
    }
}

/// What one draw gave.
#[derive(Clone, Debug, Serialize)]
pub struct LabelScore {
    /// Share of right labels among the rows of known classes that were not labelled.
    pub accuracy: f64,
    /// Wall time of the engine.
    pub seconds: f64,
    /// Mean probability of the labels counted in `accuracy`.
    pub mean_probability: f64,
    /// Temperature of the calibration.
    pub temperature: f64,
    /// Accuracy by tenths of credibility, the most credible first.
    pub by_credibility: Vec<f64>,
    /// Accuracy by tenths of probability, the likeliest first.
    pub by_probability: Vec<f64>,
    /// Probability that a stranger looks less familiar than a row of a known class.
    pub stranger_auroc: Option<f64>,
    /// What each member of the rule counted.
    pub members: Vec<(&'static str, f64)>,
    /// For each promised error: the error among the accepted rows, and the share accepted.
    pub promises: Vec<Promise>,
}

/// What accepting rows for a promised error came to.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Promise {
    /// The promise.
    pub max_error: f64,
    /// What kind of promise it is.
    pub kind: Kind,
    /// Share of wrong labels among the rows accepted.
    pub realised: f64,
    /// Rows accepted, as a share of the rows that had no label.
    pub accepted: f64,
    /// Rows accepted.
    pub accepted_rows: usize,
}

/// Labels a draw and compares with the truth. The pool holds the draw's rows in their order; `start` is when its
/// preparation began.
///
/// # Errors
/// Those of [`PreparedPool::fit`].
pub fn score(
    table: &FeatureTable,
    draw: &Draw,
    pool: &PreparedPool,
    start: Instant,
    promises: &[f64],
) -> Result<LabelScore, LabelError> {
    let truth: Vec<usize> =
        draw.pool.iter().map(|&row| table.class_of_row(row).unwrap_or(usize::MAX)).collect();
    let mut known: Vec<usize> = draw.labelled.iter().filter_map(|&row| table.class_of_row(row)).collect();
    known.sort_unstable();
    known.dedup();
    let number = |class: usize| known.binary_search(&class).ok();
    let labels: Vec<(usize, usize)> = draw
        .labelled
        .iter()
        .filter_map(|&row| Some((draw.pool.binary_search(&row).ok()?, number(table.class_of_row(row)?)?)))
        .collect();
    let fit = pool.fit(&labels, known.len())?;
    let labelling = &fit.labelling;
    let seconds = start.elapsed().as_secs_f64();

    let truth: Vec<Option<usize>> = truth.into_iter().map(number).collect();
    let counted: Vec<usize> =
        (0..truth.len()).filter(|&row| truth[row].is_some() && !labelling.rows[row].given).collect();
    let right = |row: usize| truth[row] == Some(labelling.rows[row].class);
    let share =
        |rows: &[usize]| rows.iter().filter(|&&row| right(row)).count() as f64 / rows.len().max(1) as f64;
    let tenths = |value: &dyn Fn(usize) -> f32| -> Vec<f64> {
        let mut order = counted.clone();
        order.sort_by(|&a, &b| value(b).total_cmp(&value(a)));
        (0..10).map(|at| share(&order[at * order.len() / 10..(at + 1) * order.len() / 10])).collect()
    };
    let everything = vec![true; truth.len()];
    let promise = |kind: Kind, max_error: f64| {
        let accepted = labelling.accept(max_error, kind, &everything);
        let rows: Vec<usize> = counted.iter().copied().filter(|&row| accepted.accepted[row]).collect();
        Promise {
            max_error,
            kind,
            realised: if rows.is_empty() { 0.0 } else { 1.0 - share(&rows) },
            accepted: rows.len() as f64 / counted.len().max(1) as f64,
            accepted_rows: rows.len(),
        }
    };
    let probability: f64 = counted.iter().map(|&row| f64::from(labelling.rows[row].probability)).sum();
    Ok(LabelScore {
        accuracy: share(&counted),
        seconds,
        mean_probability: probability / counted.len().max(1) as f64,
        temperature: labelling.calibration.temperature,
        by_credibility: tenths(&|row| labelling.rows[row].credibility),
        by_probability: tenths(&|row| labelling.rows[row].probability),
        stranger_auroc: stranger_auroc(labelling, &truth).filter(|_| !draw.strangers.is_empty()),
        promises: [Kind::HighProbability, Kind::Expected]
            .into_iter()
            .flat_map(|kind| promises.iter().map(move |&max_error| (kind, max_error)))
            .map(|(kind, max_error)| promise(kind, max_error))
            .collect(),
        members: labelling.members.iter().map(|share| (share.member.name(), share.weight)).collect(),
    })
}

fn stranger_auroc(labelling: &Labelling, truth: &[Option<usize>]) -> Option<f64> {
    let familiarity = |known: bool| -> Vec<f64> {
        let rows = labelling.rows.iter().zip(truth);
        let wanted = rows.filter(|(row, truth)| !row.given && truth.is_some() == known);
        wanted.map(|(row, _)| f64::from(row.familiarity)).collect()
    };
    auroc(&familiarity(true), &familiarity(false))
}

/// Numbers by chance from a counter-based generator.
struct Chance(ChaCha8Rng);

impl Chance {
    fn new(seed: u64, index: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&index.to_le_bytes());
        key[16..29].copy_from_slice(b"handful label");
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Uniform above 0, at most 1.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn shuffle<T>(&mut self, values: &mut [T]) {
        for at in (1..values.len()).rev() {
            let other = (self.uniform() * (at + 1) as f64).ceil() as usize - 1;
            values.swap(at, other);
        }
    }

    /// A gamma variable; a Dirichlet one is several of them over their sum.
    fn gamma(&mut self, shape: f64) -> f64 {
        log_gamma_variate(&mut || self.uniform(), shape).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handful_data::synthetic::SyntheticSpec;

    #[test]
    fn draws_repeat_and_labels_are_in_the_pool() {
        let table = SyntheticSpec { classes: 6, rows_per_class: 50, ..Default::default() }.table().unwrap();
        let spec = DrawSpec { per_class: 3, dirichlet: Some(1.0), strangers: 2, seed: 4 };
        let draw = spec.draw(&table, 7).unwrap();
        assert_eq!(Some(&draw), spec.draw(&table, 7).as_ref());
        assert_ne!(Some(&draw), spec.draw(&table, 8).as_ref());
        assert_eq!((draw.labelled.len(), draw.strangers.len()), (12, 2));
        for row in &draw.labelled {
            assert!(draw.pool.binary_search(row).is_ok());
            assert!(!draw.strangers.contains(&table.class_of_row(*row).unwrap()));
        }
        assert!(DrawSpec { per_class: 50, ..spec }.draw(&table, 0).is_none());
        assert!(DrawSpec { strangers: 5, ..spec }.draw(&table, 0).is_none());
    }

    #[test]
    fn a_pool_of_made_up_features_is_labelled_better_than_by_chance() {
        let table = SyntheticSpec { classes: 5, rows_per_class: 60, ..Default::default() }.table().unwrap();
        let spec = DrawSpec { per_class: 5, dirichlet: None, strangers: 1, seed: 1 };
        let draw = spec.draw(&table, 0).unwrap();
        let rows = std::sync::Arc::new(table.gather(&draw.pool));
        let pool = PreparedPool::new(rows, &handful_label::LabelParams::default()).unwrap();
        let score = score(&table, &draw, &pool, Instant::now(), &[0.1]).unwrap();
        assert!(score.accuracy > 0.6, "{score:?}");
        assert!(score.stranger_auroc.is_some() && score.promises.len() == 2);
    }
}
