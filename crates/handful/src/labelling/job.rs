//! The job from pool and labels to a [`Labelling`]; see the module above for the rule.

use std::collections::HashMap;

use rayon::prelude::*;

use super::LabelParams;
use super::acceptance::{self, Acceptance};
use super::background;
use super::calibration::{self, Calibration, Prior};
use super::error::LabelError;
use super::head::Example;
use super::pool::PoolRows;
use super::project::Projection;
use super::training::{Trained, Trainer, labels_of};
use crate::graph::evenly_spread;
use crate::graph::kernel_graph::KernelGraph;
use crate::graph::neighbours::Neighbours;
use crate::linalg::Matrix;
use crate::linalg::sums::unit;
use crate::paper::ida::{FisherParams, RidgeScale, WhitenedPool};
use crate::solution::argmax;

/// Rows besides the labelled ones on which labels are left out, in pools with landmarks.
const CHECKED_ROWS: usize = 20_000;

/// The label of one row and what it is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowLabel {
    /// The class.
    pub class: usize,
    /// Whether the label was given; then everything below is 1.
    pub given: bool,
    /// Probability of the class, calibrated where [`Calibration::fitted`] says so.
    pub probability: f32,
    /// Lead over the second likeliest class.
    pub margin: f32,
    /// Place of the row's IDA value among the rows of its class, from 0 to 1.
    pub credibility: f32,
    /// Share of the opinions on the way (before and after smoothing, before and after selection, with labels left
    /// out) that were the final one.
    pub agreement: f32,
    /// How much the row looks like one of the classes at all; comparable within one pool.
    pub familiarity: f32,
    /// Estimated probability that the label is wrong, at the pessimistic end; see [`super::Acceptance`].
    pub error: f32,
}

/// A labelled row that was left out, and what was then said about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeftOut {
    /// The row.
    pub row: usize,
    /// Its given class.
    pub class: usize,
    /// The class it was then labelled with.
    pub predicted: usize,
    /// Its familiarity then.
    pub familiarity: f32,
}

/// A row near another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NeighbourRow {
    /// The row.
    pub row: usize,
    /// Cosine of the smoothed features.
    pub similarity: f32,
}

/// A labelled pool.
#[derive(Debug)]
pub struct Labelling {
    /// One label per row of the pool.
    pub rows: Vec<RowLabel>,
    /// Number of classes.
    pub ways: usize,
    /// Landmarks of the kernel; `None` when every row was compared with every other.
    pub landmarks: Option<usize>,
    /// Where the probabilities come from.
    pub calibration: Calibration,
    /// The labels left out.
    pub left_out: Vec<LeftOut>,
    /// The rows that joined in each round of selection, with their class then.
    pub joined: Vec<Vec<(usize, usize)>>,
    features: Matrix<f32>,
}

/// Labels a pool from rows with known classes (numbers from 0 to `ways - 1`, each with at least one row).
pub fn label_pool(
    pool: &dyn PoolRows,
    labels: &[(usize, usize)],
    ways: usize,
    params: &LabelParams,
) -> Result<Labelling, LabelError> {
    params.check()?;
    check(pool, labels, ways)?;
    let given = Example::given(labels, ways, params.class_balance);
    let mut features = Projection::fit(pool, params.components, params.seed)?.apply(pool)?;
    unit_rows(&mut features);
    let exact = pool.rows() <= params.exact_rows;
    let graph = if exact {
        KernelGraph::exact(&features, params.neighbours)
    } else {
        KernelGraph::landmarks(&features, params.landmarks, params.landmark_neighbours)
    };
    let rounds = if exact { params.feature_rounds } else { params.landmark_feature_rounds };
    let mut features = graph.smooth(&features, params.feature_share, rounds);
    unit_rows(&mut features);

    let whitened = whiten(&features, params);
    let trainer = Trainer { params, ways, features: &features, graph: &graph, whitened: &whitened };
    let trained = trainer.train(&given);
    let check = LeaveOut::new(&trainer, &given, pool.rows());
    let passes = check.run(params, &given);

    let tested: Vec<(Vec<f32>, usize)> =
        passes.iter().flat_map(|pass| pass.tested.iter().map(|(p, out)| (p.clone(), out.class))).collect();
    let prior = Prior { temperature: params.prior_temperature, weight: params.prior_weight };
    let calibration = calibration::fit(&tested, prior);
    let pessimistic = calibration::upper_temperature(&tested, &calibration, prior);

    let labels = labels_of(&trained.probabilities);
    let ida = whitened.ida(&labels, ways);
    let credibility = percentiles_within_class(&ida, &labels, ways);
    let familiarity = familiarity(params, &features, &graph, &given, ways);
    let mut rows = row_labels(
        params,
        &trained,
        &labels,
        &credibility,
        &familiarity,
        calibration.temperature,
        pessimistic,
    );
    add_agreement(&mut rows, &trained, &passes, check.whole_pool());
    for example in &given {
        let familiarity = rows[example.row].familiarity;
        rows[example.row] = RowLabel {
            class: example.class,
            given: true,
            probability: 1.0,
            margin: 1.0,
            credibility: 1.0,
            agreement: 1.0,
            familiarity,
            error: 0.0,
        };
    }
    Ok(Labelling {
        rows,
        ways,
        landmarks: (!exact).then_some(params.landmarks),
        calibration,
        left_out: passes.iter().flat_map(|pass| pass.tested.iter().map(|(_, out)| *out)).collect(),
        joined: trained.joined,
        features,
    })
}

impl Labelling {
    /// Accepts rows so that the estimated share of wrong labels among them stays within `max_error`. Rows that `may`
    /// says no to (rejected ones) are left out; given labels are always accepted.
    pub fn accept(&self, max_error: f64, may: &[bool]) -> Acceptance {
        let errors: Vec<f64> = self.rows.iter().map(|row| f64::from(row.error)).collect();
        let candidates: Vec<bool> = self.rows.iter().zip(may).map(|(row, &may)| may && !row.given).collect();
        let mut accepted = acceptance::accept(&errors, &candidates, max_error);
        for ((accepted, row), &may) in accepted.accepted.iter_mut().zip(&self.rows).zip(may) {
            *accepted &= may || row.given;
        }
        accepted
    }

    /// Which rows look less familiar than all but a share `miss` of the labels left out; given ones never do. `None`
    /// where fewer than [`calibration::ENOUGH`] labels were left out, so that nothing says what is familiar.
    pub fn reject(&self, miss: f64) -> Option<Vec<bool>> {
        if self.left_out.len() < calibration::ENOUGH {
            return None;
        }
        let mut seen: Vec<f32> = self.left_out.iter().map(|out| out.familiarity).collect();
        seen.sort_by(f32::total_cmp);
        let limit = seen[((seen.len() as f64 * miss) as usize).min(seen.len() - 1)];
        Some(self.rows.iter().map(|row| !row.given && row.familiarity < limit).collect())
    }

    /// The rows nearest to one, among those that `wanted` picks.
    pub fn nearest(&self, row: usize, count: usize, wanted: impl Fn(usize) -> bool) -> Vec<NeighbourRow> {
        let candidates: Vec<usize> =
            (0..self.rows.len()).filter(|&other| other != row && wanted(other)).collect();
        let found =
            Neighbours::find(&self.features.gather(&[row]), &self.features.gather(&candidates), count);
        if found.per_row == 0 {
            return Vec::new();
        }
        let neighbour = |&at: &u32| {
            let other = candidates[at as usize];
            let similarity =
                crate::linalg::sums::dot_by_lanes(self.features.row(row), self.features.row(other));
            NeighbourRow { row: other, similarity }
        };
        found.of_row(0).iter().map(neighbour).collect()
    }
}

fn check(pool: &dyn PoolRows, labels: &[(usize, usize)], ways: usize) -> Result<(), LabelError> {
    if ways < 2 {
        return Err(LabelError::TooFewClasses { ways });
    }
    let mut counts = vec![0usize; ways];
    for &(row, class) in labels {
        if row >= pool.rows() {
            return Err(LabelError::RowRange { row, rows: pool.rows() });
        }
        *counts.get_mut(class).ok_or(LabelError::EmptyClass { class })? += 1;
    }
    if let Some(class) = counts.iter().position(|&count| count == 0) {
        return Err(LabelError::EmptyClass { class });
    }
    let mut seen: HashMap<Vec<u32>, (usize, usize)> = HashMap::new();
    let numbers: Vec<usize> = labels.iter().map(|&(row, _)| row).collect();
    for (values, &(row, class)) in pool.gather(&numbers).iter_rows().zip(labels) {
        let bits = values.iter().map(|value| (value + 0.0).to_bits()).collect();
        let &mut (first, earlier) = seen.entry(bits).or_insert((row, class));
        if earlier != class {
            return Err(LabelError::Contradiction { first, second: row });
        }
    }
    Ok(())
}

fn unit_rows(rows: &mut Matrix<f32>) {
    let columns = rows.columns();
    rows.as_mut_slice().par_chunks_mut(columns.max(1)).for_each(unit);
}

/// The leading coordinates of the rows, whitened. Principal coordinates stay nearly principal under smoothing.
fn whiten(features: &Matrix<f32>, params: &LabelParams) -> WhitenedPool {
    let keep = params.ida_components.min(features.columns());
    let values = features.iter_rows().flat_map(|row| row[..keep].iter().copied()).collect();
    let fisher = FisherParams { pca: 0, ridge: 0.1, ridge_scale: RidgeScale::Relative, psi_per_class: false };
    WhitenedPool::new(&Matrix::from_vec(features.rows(), keep, values), &fisher)
}

fn familiarity(
    params: &LabelParams,
    features: &Matrix<f32>,
    graph: &KernelGraph,
    given: &[Example],
    ways: usize,
) -> Vec<f32> {
    let cosine = background::nearest_class(features, given, ways);
    if !params.look_for_strangers {
        return cosine;
    }
    let (strangers, clusters) = background::strangers(features, &cosine, given, ways);
    if clusters == 0 {
        return cosine;
    }
    background::known_probability(params, features, graph, given, &strangers, ways, clusters)
}

/// One pass with labels left out.
struct Pass {
    tested: Vec<(Vec<f32>, LeftOut)>,
    labels: Vec<usize>,
}

/// The rows on which labels are left out: the whole pool, or in large pools the labelled rows and a sample.
struct LeaveOut<'a> {
    trainer: &'a Trainer<'a>,
    sample: Option<(Vec<usize>, Matrix<f32>, KernelGraph, WhitenedPool)>,
}

impl<'a> LeaveOut<'a> {
    fn new(trainer: &'a Trainer<'a>, given: &[Example], pool_rows: usize) -> Self {
        let mut rows = evenly_spread(pool_rows, CHECKED_ROWS);
        rows.extend(given.iter().map(|example| example.row));
        rows.sort_unstable();
        rows.dedup();
        let sample = trainer.graph.restricted(&rows).map(|graph| {
            let features = trainer.features.gather(&rows);
            let whitened = whiten(&features, trainer.params);
            (rows, features, graph, whitened)
        });
        Self { trainer, sample }
    }

    fn whole_pool(&self) -> bool {
        self.sample.is_none()
    }

    fn run(&self, params: &LabelParams, given: &[Example]) -> Vec<Pass> {
        let ways = self.trainer.ways;
        let place = |row: usize| match &self.sample {
            Some((rows, ..)) => rows.partition_point(|&other| other < row),
            None => row,
        };
        let trainer = match &self.sample {
            Some((_, features, graph, whitened)) => Trainer { features, graph, whitened, ..*self.trainer },
            None => Trainer { ..*self.trainer },
        };
        let parts = calibration::parts(given, ways, params.left_out_parts);
        let pass = |part: &Vec<Example>| {
            let kept = given.iter().filter(|example| !part.contains(example));
            let kept: Vec<Example> =
                kept.map(|example| Example { row: place(example.row), ..*example }).collect();
            let trained = trainer.train(&kept);
            let familiarity = familiarity(params, trainer.features, trainer.graph, &kept, ways);
            let tested = part.iter().map(|example| {
                let at = place(example.row);
                let probabilities = trained.probabilities.row(at).to_vec();
                let predicted = argmax(&probabilities);
                let familiarity = familiarity[at];
                (probabilities, LeftOut { row: example.row, class: example.class, predicted, familiarity })
            });
            Pass { tested: tested.collect(), labels: labels_of(&trained.probabilities) }
        };
        parts.par_iter().map(pass).collect()
    }
}

fn row_labels(
    params: &LabelParams,
    trained: &Trained,
    labels: &[usize],
    credibility: &[f32],
    familiarity: &[f32],
    temperature: f64,
    pessimistic: f64,
) -> Vec<RowLabel> {
    let label = |row: usize| {
        let probabilities = trained.probabilities.row(row);
        let class = labels[row];
        let tempered = calibration::tempered(probabilities, temperature);
        let second = tempered.iter().enumerate().filter(|(other, _)| *other != class);
        let second = second.map(|(_, &p)| p).fold(0.0, f64::max);
        let error = 1.0 - calibration::tempered(probabilities, pessimistic)[class];
        RowLabel {
            class,
            given: false,
            probability: tempered[class] as f32,
            margin: (tempered[class] - second) as f32,
            credibility: credibility[row],
            agreement: 0.0,
            familiarity: familiarity[row],
            error: (error * params.error_safety) as f32,
        }
    };
    (0..labels.len()).into_par_iter().map(label).collect()
}

/// Fills in how many of the opinions were the final label.
fn add_agreement(rows: &mut [RowLabel], trained: &Trained, passes: &[Pass], whole_pool: bool) {
    let passes: Vec<&Pass> = passes.iter().filter(|_| whole_pool).collect();
    let total = (trained.opinions.len() + passes.len()).max(1) as f32;
    for (at, row) in rows.iter_mut().enumerate() {
        let agree = trained.opinions.iter().filter(|opinion| opinion[at] as usize == row.class).count()
            + passes.iter().filter(|pass| pass.labels[at] == row.class).count();
        row.agreement = agree as f32 / total;
    }
}

/// The place of each value among those of its class: 1 for the largest, above 0 for the smallest.
fn percentiles_within_class(values: &[f64], labels: &[usize], ways: usize) -> Vec<f32> {
    let mut of_class: Vec<Vec<usize>> = vec![Vec::new(); ways];
    labels.iter().enumerate().for_each(|(row, &label)| of_class[label].push(row));
    let mut out = vec![0.0; values.len()];
    for mut rows in of_class {
        rows.sort_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a)));
        let count = rows.len() as f32;
        rows.into_iter().enumerate().for_each(|(place, row)| out[row] = (place + 1) as f32 / count);
    }
    out
}

#[cfg(test)]
mod tests;
