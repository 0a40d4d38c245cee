//! Maps, what their places weigh for each other, and the flow between them.

use super::{DeepemdParams, Solver};
use crate::linalg::Matrix;
use crate::linalg::product::{View, product};
use crate::linalg::sums::dot;
use crate::linalg::transport::{least_cost_flow, smoothed_flow};

/// What every place weighs at least: 1e-3 where weights are made and 1e-5 where the transport begins.
const LEAST_WEIGHT: f64 = 1e-3 + 1e-5;

/// When Sinkhorn's scaling is near enough.
const TOLERANCE: f64 = 1e-6;
const SWEEPS: usize = 1000;

/// Feature maps; the places of one stand one after the other.
pub(super) struct Maps {
    pub places: usize,
    pub raw: Matrix<f32>,
    /// Places minus the mean of their channels, of length one.
    pub unit: Matrix<f32>,
    /// The lengths before.
    pub lengths: Vec<f32>,
    /// The mean place of each map.
    means: Matrix<f32>,
}

impl Maps {
    pub(super) fn new(raw: Matrix<f32>, places: usize) -> Self {
        let (mut unit, mut lengths) = (raw.clone(), Vec::with_capacity(raw.rows()));
        let mut means = Matrix::zeros(raw.rows() / places, raw.columns());
        for place in 0..raw.rows() {
            let row = unit.row_mut(place);
            centre(row);
            let length = dot(row, row).sqrt();
            // A place whose channels are all alike is similar to nothing.
            let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
            row.iter_mut().for_each(|value| *value *= scale);
            lengths.push(length);
            let mean = means.row_mut(place / places);
            mean.iter_mut().zip(raw.row(place)).for_each(|(mean, value)| *mean += value / places as f32);
        }
        Self { places, raw, unit, lengths, means }
    }

    pub(super) fn count(&self) -> usize {
        self.means.rows()
    }

    /// The maps of some rows.
    pub(super) fn gather(&self, maps: &[usize]) -> Self {
        let places: Vec<usize> =
            maps.iter().flat_map(|map| map * self.places..(map + 1) * self.places).collect();
        Self {
            places: self.places,
            raw: self.raw.gather(&places),
            unit: self.unit.gather(&places),
            lengths: places.iter().map(|&place| self.lengths[place]).collect(),
            means: self.means.gather(maps),
        }
    }

    /// What each place weighs for the mean of each map of `others`: a row for every place.
    fn weights(&self, others: &Self) -> Matrix<f32> {
        products(&self.raw, &others.means)
    }
}

/// Subtracts the mean.
pub(super) fn centre(row: &mut [f32]) {
    let mean = row.iter().sum::<f32>() / row.len().max(1) as f32;
    row.iter_mut().for_each(|value| *value -= mean);
}

/// All inner products of rows.
pub(super) fn products(a: &Matrix<f32>, b: &Matrix<f32>) -> Matrix<f32> {
    let mut out = Matrix::zeros(a.rows(), b.rows());
    let (left, right) =
        (View::new(a.as_slice(), a.rows(), a.columns()), View::new(b.as_slice(), b.rows(), b.columns()));
    product(out.as_mut_slice(), b.rows(), left, right.transposed(), false);
    out
}

/// Weights from inner products, scaled to a sum of their number.
fn scaled(products: impl Iterator<Item = f32>) -> Vec<f64> {
    let mut weights: Vec<f64> = products.map(|value| f64::from(value).max(0.0) + LEAST_WEIGHT).collect();
    let scale = weights.len() as f64 / weights.iter().sum::<f64>();
    weights.iter_mut().for_each(|weight| *weight *= scale);
    weights
}

impl DeepemdParams {
    /// Logits of every query for every class, and the flows between them: for each pair of places of query (rows) and
    /// class (columns).
    pub(super) fn logits(&self, classes: &Maps, query: &Maps) -> (Matrix<f64>, Matrix<f32>) {
        let places = query.places;
        let similarities = products(&query.unit, &classes.unit);
        let (of_query, of_classes) = (query.weights(classes), classes.weights(query));
        let mut logits = Matrix::zeros(query.count(), classes.count());
        let mut flows = Matrix::zeros(similarities.rows(), similarities.columns());
        for row in 0..query.count() {
            for class in 0..classes.count() {
                let own = |place: usize| {
                    &similarities.row(row * places + place)[class * places..(class + 1) * places]
                };
                let costs: Vec<f64> =
                    (0..places).flat_map(own).map(|&similarity| 1.0 - f64::from(similarity)).collect();
                let supply = scaled((0..places).map(|place| of_query.row(row * places + place)[class]));
                let demand = scaled((0..places).map(|place| of_classes.row(class * places + place)[row]));
                let flow = match self.solver {
                    Solver::Exact => least_cost_flow(&costs, &supply, &demand),
                    Solver::Sinkhorn => {
                        smoothed_flow(&costs, &supply, &demand, self.smoothness, TOLERANCE, SWEEPS)
                    }
                };
                let moved: f64 = flow.iter().zip(&costs).map(|(flow, cost)| flow * (1.0 - cost)).sum();
                logits.row_mut(row)[class] = self.temperature / places as f64 * moved;
                for (place, flow) in flow.chunks_exact(places).enumerate() {
                    let to = &mut flows.row_mut(row * places + place)[class * places..(class + 1) * places];
                    to.iter_mut().zip(flow).for_each(|(to, flow)| *to = *flow as f32);
                }
            }
        }
        (logits, flows)
    }
}
