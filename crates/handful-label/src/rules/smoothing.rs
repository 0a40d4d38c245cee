//! Today's rule of release 0.1, bit for bit: feature smoothing, a softmax head, label spreading (Zhou et al. 2004) and IDA.
//!
//! 1. features, and later predictions, are smoothed by the neighbourhood kernel ([`KernelGraph`]): of every row with every
//!    other, or in large pools through landmarks;
//! 2. a softmax head is fitted to the given labels, and once more with the rows that IDA finds most credible
//!    ([`super::training`]);
//! 3. leaving labels out calibrates the probabilities and says what a familiar row looks like.
//!
//! Tuned on the CIFAR-FS validation classes; on other domains the adaptive rule is ahead of it, and this one is kept for
//! those who have results with it.

use handful::Matrix;
use handful::fit::head::Example;
use handful::graph::evenly_spread;
use handful::graph::kernel_graph::KernelGraph;
use handful::paper::ida::{FisherParams, RidgeScale, WhitenedPool};
use handful::solution::argmax;
use rayon::prelude::*;

use super::training::{Trained, Trainer, labels_of};
use crate::acceptance::SMOOTHING_MARGIN;
use crate::calibration::{self, Prior, Tested};
use crate::credibility::percentiles_within_class;
use crate::familiarity;
use crate::labelling::{ErrorEstimate, Labelling, LeftOut, RowLabel};
use crate::params::{LabelParams, SmoothingParams};
use crate::projection::unit_rows;

/// Rows besides the labelled ones on which labels are left out, in pools with landmarks.
const CHECKED_ROWS: usize = 20_000;

/// A pool prepared for this rule.
pub(crate) struct SmoothingPool {
    /// Smoothed unit rows.
    pub features: Matrix<f32>,
    graph: KernelGraph,
    whitened: WhitenedPool,
    exact: bool,
}

impl SmoothingPool {
    /// Prepares unit rows.
    pub fn new(coordinates: &Matrix<f32>, params: &LabelParams) -> Self {
        let smoothing = &params.smoothing;
        let exact = coordinates.rows() <= params.exact_rows;
        let graph = if exact {
            KernelGraph::exact(coordinates, params.neighbours)
        } else {
            KernelGraph::landmarks(coordinates, smoothing.landmarks, smoothing.landmark_neighbours)
        };
        let rounds = if exact { smoothing.feature_rounds } else { smoothing.landmark_feature_rounds };
        let mut features = graph.smooth(coordinates, smoothing.feature_share, rounds);
        unit_rows(&mut features);
        let whitened = whiten(&features, smoothing);
        Self { features, graph, whitened, exact }
    }

    /// Labels the pool; also returns the probabilities it rests on.
    pub fn fit(
        &self,
        labels: &[(usize, usize)],
        ways: usize,
        params: &LabelParams,
    ) -> (Labelling, Matrix<f32>) {
        let smoothing = &params.smoothing;
        let given = Example::given(labels, ways, params.class_balance);
        let trainer = Trainer {
            params: smoothing,
            ways,
            features: &self.features,
            graph: &self.graph,
            whitened: &self.whitened,
        };
        let trained = trainer.train(&given);
        let check = LeaveOut::new(&trainer, &given, self.features.rows());
        let passes = check.run(params, &given);

        let tested: Vec<Tested> =
            passes.iter().flat_map(|pass| pass.tested.iter().map(|(tested, ..)| tested.clone())).collect();
        let prior = Prior { temperature: smoothing.prior_temperature, weight: smoothing.prior_weight };
        let calibration = calibration::fit(&tested, prior);
        let pessimistic = calibration::upper_temperature(&tested, &calibration, prior, SMOOTHING_MARGIN);

        let labels = labels_of(&trained.probabilities);
        let ida = self.whitened.ida(&labels, ways);
        let credibility = percentiles_within_class(&ida, &labels, ways);
        let familiarity = familiarity_of(params, &trainer, &given);
        let mut rows = row_labels(
            smoothing,
            &trained,
            &labels,
            &credibility,
            &familiarity,
            calibration.temperature,
            pessimistic,
        );
        add_agreement(&mut rows, &trained, &passes, check.whole_pool());
        for example in &given {
            rows[example.row] = RowLabel::given(example.class, rows[example.row].familiarity);
        }
        let left_out = |(tested, row, familiarity): &(Tested, usize, f32)| {
            let tempered = calibration::tempered(&tested.probabilities, calibration.temperature);
            let predicted = argmax(&tested.probabilities);
            let error = 1.0 - calibration::tempered(&tested.probabilities, pessimistic)[predicted];
            LeftOut {
                row: *row,
                class: tested.class,
                predicted,
                probability: tempered[predicted] as f32,
                probability_of_given: tempered[tested.class] as f32,
                familiarity: *familiarity,
                error: (error * smoothing.error_safety) as f32,
                weight: 1.0,
            }
        };
        let labelling = Labelling {
            rows,
            ways,
            sampled_rows: None,
            calibration,
            left_out: passes.iter().flat_map(|pass| pass.tested.iter().map(left_out)).collect(),
            joined: trained.joined,
            members: Vec::new(),
            estimate: ErrorEstimate::Mean,
        };
        (labelling, trained.probabilities)
    }

    /// Landmarks of the kernel; `None` where every row was compared with every other.
    pub fn landmarks(&self, params: &LabelParams) -> Option<usize> {
        (!self.exact).then_some(params.smoothing.landmarks)
    }
}

fn familiarity_of(params: &LabelParams, trainer: &Trainer<'_>, given: &[Example]) -> Vec<f32> {
    let smoothing = &params.smoothing;
    let smooth = |known: &Matrix<f32>| {
        trainer.graph.smooth(known, smoothing.prediction_share, smoothing.prediction_rounds)
    };
    familiarity::familiarity(
        trainer.features,
        given,
        trainer.ways,
        params.look_for_strangers,
        smoothing.inverse_penalty,
        smooth,
    )
}

/// The leading coordinates of the rows, whitened. Principal coordinates stay nearly principal under smoothing.
fn whiten(features: &Matrix<f32>, params: &SmoothingParams) -> WhitenedPool {
    let keep = params.ida_components.min(features.columns());
    let values = features.iter_rows().flat_map(|row| row[..keep].iter().copied()).collect();
    let fisher = FisherParams { pca: 0, ridge: 0.1, ridge_scale: RidgeScale::Relative, psi_per_class: false };
    WhitenedPool::new(&Matrix::from_vec(features.rows(), keep, values), &fisher)
}

/// One pass with labels left out.
struct Pass {
    /// What was said, about which row, and how familiar it was.
    tested: Vec<(Tested, usize, f32)>,
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
            let familiarity = familiarity_of(params, &trainer, &kept);
            let tested = part.iter().map(|example| {
                let at = place(example.row);
                let probabilities = trained.probabilities.row(at).to_vec();
                (Tested { probabilities, class: example.class, weight: 1.0 }, example.row, familiarity[at])
            });
            Pass { tested: tested.collect(), labels: labels_of(&trained.probabilities) }
        };
        parts.par_iter().map(pass).collect()
    }
}

fn row_labels(
    params: &SmoothingParams,
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
