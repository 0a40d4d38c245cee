//! One pass of the rule from given labels to probabilities for every row: fit, smooth, select, fit again.
//!
//! ```text
//! Y0 = head fitted to the given labels;      Y = (1 - a)(I - a K)^-1 Y0     (dependence, see kernel_graph)
//! each round: rank every label by IDA; the best of each class join with a light weight; fit and smooth again
//! ```

use handful::Matrix;
use handful::fit::head::{Example, SoftmaxHead};
use handful::graph::kernel_graph::KernelGraph;
use handful::paper::ida::WhitenedPool;
use handful::solution::argmax;

use crate::params::SmoothingParams;

/// What the passes of one pool share.
pub(crate) struct Trainer<'a> {
    pub params: &'a SmoothingParams,
    pub ways: usize,
    /// Smoothed unit rows.
    pub features: &'a Matrix<f32>,
    pub graph: &'a KernelGraph,
    /// The leading coordinates, whitened, for IDA.
    pub whitened: &'a WhitenedPool,
}

/// What a pass ended with.
pub(crate) struct Trained {
    /// Probability of each class for every row, after smoothing.
    pub probabilities: Matrix<f32>,
    /// What each fit said before and after smoothing: the opinions whose agreement is reported.
    pub opinions: Vec<Vec<u32>>,
    /// The rows that joined in each round of selection, with the class they joined.
    pub joined: Vec<Vec<(usize, usize)>>,
}

impl Trainer<'_> {
    /// Trains from the given labels alone.
    pub fn train(&self, given: &[Example]) -> Trained {
        let mut opinions = Vec::new();
        let mut joined = Vec::new();
        let (mut head, mut probabilities) = self.fit(given, None, &mut opinions);
        for _ in 0..self.params.selection_rounds {
            let selected = self.select(&labels_of(&probabilities), given);
            let weight = self.params.pseudo_label_weight * given.len() as f64 / selected.len().max(1) as f64;
            let pseudo = selected.iter().map(|&(row, class)| Example { row, class, weight });
            let examples: Vec<Example> = given.iter().copied().chain(pseudo).collect();
            // The rows before are not needed while the next ones are made, and large pools are short of room.
            drop(probabilities);
            (head, probabilities) = self.fit(&examples, Some(&head), &mut opinions);
            joined.push(selected);
        }
        Trained { probabilities, opinions, joined }
    }

    fn fit(
        &self,
        examples: &[Example],
        from: Option<&SoftmaxHead>,
        opinions: &mut Vec<Vec<u32>>,
    ) -> (SoftmaxHead, Matrix<f32>) {
        let params = self.params;
        let head = SoftmaxHead::fit(self.features, examples, self.ways, params.inverse_penalty, from);
        let start = head.probabilities(self.features);
        opinions.push(labels_of(&start).into_iter().map(|label| label as u32).collect());
        let smooth = self.graph.smooth(&start, params.prediction_share, params.prediction_rounds);
        opinions.push(labels_of(&smooth).into_iter().map(|label| label as u32).collect());
        (head, smooth)
    }

    /// The most credible rows of each class by IDA, given ones left out.
    fn select(&self, labels: &[usize], given: &[Example]) -> Vec<(usize, usize)> {
        let ida = self.whitened.ida(labels, self.ways);
        let mut of_class: Vec<Vec<usize>> = vec![Vec::new(); self.ways];
        let mut is_given = vec![false; labels.len()];
        given.iter().for_each(|example| is_given[example.row] = true);
        for (row, &label) in labels.iter().enumerate() {
            if !is_given[row] {
                of_class[label].push(row);
            }
        }
        let most = self.params.selected_most as f64 / labels.len().max(1) as f64;
        let share = self.params.selected_share.min(most);
        let mut selected = Vec::new();
        for (class, mut rows) in of_class.into_iter().enumerate() {
            rows.sort_by(|&a, &b| ida[b].total_cmp(&ida[a]).then(a.cmp(&b)));
            rows.truncate((rows.len() as f64 * share).ceil() as usize);
            selected.extend(rows.into_iter().map(|row| (row, class)));
        }
        selected
    }
}

/// The likeliest class of every row.
pub(crate) fn labels_of(probabilities: &Matrix<f32>) -> Vec<usize> {
    probabilities.iter_rows().map(argmax).collect()
}
