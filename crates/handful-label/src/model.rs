//! Everything that is needed to label rows that were not in the pool, and nothing more.
//!
//! A row is projected as the pool was; the head says `H(z)`, and the ten nearest rows of the pool (all of them, or a sample)
//! say `N(z)`, the mean of their common opinions weighed by `exp(-4 d^2 / d_10^2)`:
//!
//! ```text
//! p = 0.7 H(z) + 0.3 N(z)
//! ```
//!
//! A row that was in the pool is its own nearest row, and gets the label that it had there.

use std::sync::Arc;

use handful::Matrix;
use handful::fit::head::SoftmaxHead;
use handful::graph::inverted_lists::{InvertedLists, Near};
use handful::linalg::unit;
use handful::solution::argmax;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::calibration::Calibration;
use crate::error::LabelError;
use crate::familiarity::nearest_mean;
use crate::labelling::{ErrorEstimate, Labelling, RowLabel};
use crate::pool::PoolRows;
use crate::projection::{Projection, unit_rows};
use crate::rules::adaptive::{certainty, pessimistic_error};

/// Neighbours that are asked, and their share.
const NEIGHBOURS: usize = 10;
const NEIGHBOUR_SHARE: f32 = 0.3;
/// Squared distance of unit rows below which they are the same row.
const SAME: f32 = 1e-5;
/// Classes that are kept of an anchor's opinion.
pub(crate) const TOP: usize = 16;
/// Rows that are labelled together.
const BLOCK: usize = 8192;

/// What a model is made of besides arrays; the JSON header of its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelHeader {
    /// Version of the format.
    pub handful_model: u32,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Columns of the features.
    pub dim: usize,
    /// What made the features, where it is known: a name and a hash.
    pub network: Option<String>,
    pub(crate) rooted: bool,
    pub(crate) temperature: f64,
    pub(crate) pessimistic: f64,
    pub(crate) labels_left_out: usize,
    pub(crate) calibrated: bool,
    /// What of the head is in the label of a row of the pool.
    pub(crate) head_share: f32,
    /// Familiarity that nearly all left-out labels reached.
    pub(crate) familiarity_limit: Option<f32>,
}

/// Rows of the pool, with the common opinion on each.
#[derive(Debug)]
pub(crate) struct Anchors {
    pub coordinates: Arc<Matrix<f32>>,
    /// The likeliest [`TOP`] classes of each and their probabilities.
    pub classes: Vec<u32>,
    pub probabilities: Vec<f32>,
    pub credibility: Vec<f32>,
    lists: Arc<InvertedLists>,
}

impl Anchors {
    /// Arranges rows to be searched.
    pub fn new(
        coordinates: Matrix<f32>,
        classes: Vec<u32>,
        probabilities: Vec<f32>,
        credibility: Vec<f32>,
    ) -> Self {
        let lists = Arc::new(InvertedLists::new(&coordinates));
        Self { coordinates: Arc::new(coordinates), classes, probabilities, credibility, lists }
    }

    /// Keeps the likeliest classes of each row; the rows are arranged already.
    pub fn of(
        (coordinates, lists): (Arc<Matrix<f32>>, Arc<InvertedLists>),
        opinions: &Matrix<f32>,
        rows: &[usize],
        credibility: Vec<f32>,
    ) -> Self {
        let kept = TOP.min(opinions.columns());
        let top = |&row: &usize| -> Vec<(u32, f32)> {
            let mut order: Vec<(u32, f32)> =
                opinions.row(row).iter().enumerate().map(|(class, &p)| (class as u32, p)).collect();
            let by_probability = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
            if kept < order.len() {
                order.select_nth_unstable_by(kept - 1, by_probability);
                order.truncate(kept);
            }
            order.sort_by(by_probability);
            order
        };
        let top: Vec<Vec<(u32, f32)>> = rows.par_iter().map(top).collect();
        let classes = top.iter().flatten().map(|&(class, _)| class).collect();
        let probabilities = top.iter().flatten().map(|&(_, p)| p).collect();
        Self { coordinates, classes, probabilities, credibility, lists }
    }

    fn kept(&self) -> usize {
        self.classes.len() / self.coordinates.rows().max(1)
    }

    fn opinion(&self, anchor: usize) -> impl Iterator<Item = (usize, f32)> {
        let range = anchor * self.kept()..(anchor + 1) * self.kept();
        let classes = self.classes[range.clone()].iter().map(|&class| class as usize);
        classes.zip(self.probabilities[range].iter().copied())
    }
}

/// What is known of new rows: coordinates, neighbours and untempered probabilities.
struct Opinions {
    coordinates: Matrix<f32>,
    near: Vec<Vec<Near>>,
    probabilities: Matrix<f32>,
}

/// A fitted pool that labels new rows.
#[derive(Debug)]
pub struct LabelModel {
    pub(crate) header: ModelHeader,
    pub(crate) projection: Arc<Projection>,
    pub(crate) head: SoftmaxHead,
    pub(crate) anchors: Anchors,
    pub(crate) class_means: Matrix<f32>,
    pub(crate) class_floor: Vec<f64>,
}

impl LabelModel {
    /// The header: classes, columns, where the features come from.
    pub fn header(&self) -> &ModelHeader {
        &self.header
    }

    /// Names the classes, in their order.
    #[must_use]
    pub fn with_classes(mut self, classes: &[String]) -> Self {
        self.header.classes = classes.to_vec();
        self
    }

    /// Says what made the features, so that others are refused.
    #[must_use]
    pub fn with_network(mut self, network: Option<String>) -> Self {
        self.header.network = network;
        self
    }

    /// Number of classes.
    pub fn ways(&self) -> usize {
        self.class_means.rows()
    }

    /// Labels rows that the model has never seen.
    ///
    /// # Errors
    /// Features of another width, values that are not finite, a source that cannot be read.
    pub fn predict(&self, rows: &dyn PoolRows) -> Result<Labelling, LabelError> {
        let mut labels = Vec::with_capacity(rows.rows());
        self.for_each_block(rows, |block, _| labels.extend_from_slice(block))?;
        Ok(self.labelling(labels))
    }

    /// Labels rows and hands over each block's labels, with the number of its first row.
    ///
    /// # Errors
    /// As [`Self::predict`].
    pub fn for_each_block(
        &self,
        rows: &dyn PoolRows,
        mut visit: impl FnMut(&[RowLabel], usize),
    ) -> Result<(), LabelError> {
        if rows.dim() != self.header.dim {
            return Err(LabelError::Columns { expected: self.header.dim, found: rows.dim() });
        }
        let mut bad = None;
        rows.for_each_block(&mut |first, values| {
            for (at, block) in values.chunks(BLOCK * self.header.dim).enumerate() {
                let first = first + at * BLOCK;
                match self.predict_block(first, block) {
                    Ok(labels) if bad.is_none() => visit(&labels, first),
                    Ok(_) => {}
                    Err(error) => drop(bad.get_or_insert(error)),
                }
            }
        })
        .map_err(LabelError::Read)?;
        bad.map_or(Ok(()), Err)
    }

    /// Probability of each class for rows in memory, as [`Self::predict`] has them.
    ///
    /// # Errors
    /// As [`Self::predict`].
    pub fn probabilities(&self, rows: &Matrix<f32>) -> Result<Matrix<f32>, LabelError> {
        if rows.columns() != self.header.dim {
            return Err(LabelError::Columns { expected: self.header.dim, found: rows.columns() });
        }
        let mut probabilities = self.opinions(0, rows.as_slice())?.probabilities;
        let temperature = self.header.temperature;
        probabilities.as_mut_slice().par_chunks_mut(self.ways().max(1)).for_each(|row| {
            let tempered = crate::calibration::tempered(row, temperature);
            row.iter_mut().zip(tempered).for_each(|(to, p)| *to = p as f32);
        });
        Ok(probabilities)
    }

    pub(crate) fn labelling(&self, rows: Vec<RowLabel>) -> Labelling {
        let calibration = Calibration {
            temperature: self.header.temperature,
            labels_left_out: self.header.labels_left_out,
            fitted: self.header.calibrated,
        };
        Labelling {
            rows,
            ways: self.ways(),
            sampled_rows: Some(self.anchors.coordinates.rows()),
            calibration,
            left_out: Vec::new(),
            joined: Vec::new(),
            members: Vec::new(),
            estimate: ErrorEstimate::Upper,
        }
    }

    /// What head and neighbours say about rows.
    fn opinions(&self, first: usize, values: &[f32]) -> Result<Opinions, LabelError> {
        let components = self.projection.directions.components();
        let mut coordinates = Matrix::zeros(values.len() / self.header.dim.max(1), components);
        self.projection.apply_block(first, values, coordinates.as_mut_slice())?;
        unit_rows(&mut coordinates);
        let near = self.anchors.lists.nearest(&coordinates, NEIGHBOURS);
        let mut probabilities = self.head.probabilities(&coordinates);
        let ways = self.ways();
        probabilities.as_mut_slice().par_chunks_mut(ways.max(1)).zip(&near).for_each(|(to, near)| {
            self.ask_neighbours(to, near);
        });
        Ok(Opinions { coordinates, near, probabilities })
    }

    /// Mixes the neighbours' word into the head's.
    fn ask_neighbours(&self, to: &mut [f32], near: &[Near]) {
        let is_anchor = near.first().is_some_and(is_same);
        let near = heard(near);
        let share = if is_anchor { 1.0 - self.header.head_share } else { NEIGHBOUR_SHARE };
        let mut said = vec![0.0f32; to.len()];
        let mut total = 0.0;
        for (near, weight) in near.iter().zip(weights(near)) {
            for (class, p) in self.anchors.opinion(near.anchor as usize) {
                said[class] += weight * p;
                total += weight * p;
            }
        }
        if total > 0.0 {
            to.iter_mut().zip(&said).for_each(|(to, said)| *to = (1.0 - share) * *to + share * said / total);
        }
    }

    fn predict_block(&self, first: usize, values: &[f32]) -> Result<Vec<RowLabel>, LabelError> {
        let Opinions { coordinates, near, probabilities } = self.opinions(first, values)?;
        let familiarity = self.familiarity(&coordinates, &near);
        let label = |row: usize| {
            let p = probabilities.row(row);
            let class = argmax(p);
            let logs = crate::calibration::logs(p);
            let (probability, margin) = certainty(&logs, class, self.header.temperature);
            let near = heard(&near[row]);
            let same = near.iter().filter(|near| {
                self.anchors.opinion(near.anchor as usize).next().is_some_and(|(top, _)| top == class)
            });
            let (mut agreeing, mut credibility) = (0.0f32, 0.0f32);
            for near in same {
                agreeing += 1.0;
                credibility += self.anchors.credibility[near.anchor as usize];
            }
            RowLabel {
                class,
                given: false,
                probability,
                margin,
                credibility: credibility / agreeing.max(1.0),
                agreement: agreeing / near.len().max(1) as f32,
                familiarity: familiarity[row],
                error: pessimistic_error(&logs, class, self.header.pessimistic, &self.class_floor),
            }
        };
        Ok((0..probabilities.rows()).into_par_iter().map(label).collect())
    }

    /// The largest cosine with a class's mean of the row, smoothed halfway as the pool's rows were.
    fn familiarity(&self, coordinates: &Matrix<f32>, near: &[Vec<Near>]) -> Vec<f32> {
        let mut smoothed = coordinates.clone();
        let columns = coordinates.columns().max(1);
        smoothed.as_mut_slice().par_chunks_mut(columns).zip(near).for_each(|(row, near)| {
            let near = if near.first().is_some_and(is_same) { &near[1..] } else { near };
            let weights = weights(near);
            let total: f32 = weights.iter().sum();
            if total > 0.0 {
                row.iter_mut().for_each(|value| *value *= 0.5);
                for (near, weight) in near.iter().zip(weights) {
                    let anchor = self.anchors.coordinates.row(near.anchor as usize);
                    let scale = 0.5 * weight / total;
                    row.iter_mut().zip(anchor).for_each(|(value, other)| *value += scale * other);
                }
            }
            unit(row);
        });
        nearest_mean(&smoothed, &self.class_means)
    }

    /// The familiarity below which a row is rejected; `None` where too few labels were left out to know.
    pub fn familiarity_limit(&self) -> Option<f32> {
        self.header.familiarity_limit
    }
}

fn is_same(near: &Near) -> bool {
    distance(near) < SAME
}

/// The neighbours whose word counts: of a row that was in the pool itself alone.
fn heard(near: &[Near]) -> &[Near] {
    if near.first().is_some_and(is_same) { &near[..1] } else { near }
}

fn distance(near: &Near) -> f32 {
    (2.0 - 2.0 * near.similarity).max(0.0)
}

fn weights(near: &[Near]) -> Vec<f32> {
    let furthest = near.last().map_or(0.0, distance).max(1e-9);
    near.iter().map(|near| (-4.0 * distance(near) / furthest).exp()).collect()
}
