//! One pass of the rule from given labels to probabilities for every row: fit, smooth, select, fit again.
//!
//! ```text
//! Y0 = head fitted to the given labels;      Y = (1 - a)(I - a K)^-1 Y0     (dependence, see kernel_graph)
//! each round: rank every label by IDA; the best of each class join with a light weight; fit and smooth again
//! ```

use handful::Matrix;
use handful::fit::PseudoLabel;
use handful::fit::head::{Example, SoftmaxHead};
use handful::graph::kernel_graph::KernelGraph;
use handful::paper::ida::WhitenedPool;
use handful::self_training::{Judgement, Keep, Learner, Quota, Rounds, self_train};
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
        let rows = self.features.rows();
        let most = self.params.selected_most as f64 / rows.max(1) as f64;
        let rounds = Rounds {
            quota: Quota::Share(self.params.selected_share.min(most)),
            keep: Keep::Afresh,
            stop_when_stable: false,
            max_rounds: self.params.selection_rounds,
            fewest_joining: 0,
        };
        let mut is_given = vec![false; rows];
        given.iter().for_each(|example| is_given[example.row] = true);
        let mut learner = Smoothed {
            trainer: self,
            given,
            is_given,
            head: None,
            ida: Vec::new(),
            opinions: Vec::new(),
            joined: Vec::new(),
        };
        let trained = self_train(&mut learner, &rounds);
        let probabilities = learner.fit(&trained.joined);
        Trained { probabilities, opinions: learner.opinions, joined: learner.joined }
    }
}

/// The learner of this rule: a head, its predictions smoothed, its labels ranked by IDA.
struct Smoothed<'a> {
    trainer: &'a Trainer<'a>,
    given: &'a [Example],
    is_given: Vec<bool>,
    /// The last head, from which the next starts.
    head: Option<SoftmaxHead>,
    /// IDA value of every label in the last ranking.
    ida: Vec<f64>,
    opinions: Vec<Vec<u32>>,
    joined: Vec<Vec<(usize, usize)>>,
}

impl Smoothed<'_> {
    /// Rows that joined, class by class, the most credible first: the order in which they are summed up.
    fn by_class(&self, joined: &[PseudoLabel]) -> Vec<(usize, usize)> {
        let mut rows: Vec<(usize, usize)> = joined.iter().map(|label| (label.row, label.class)).collect();
        rows.sort_by(|a, b| a.1.cmp(&b.1).then(self.ida[b.0].total_cmp(&self.ida[a.0])).then(a.0.cmp(&b.0)));
        rows
    }
}

impl Learner for Smoothed<'_> {
    type Model = Matrix<f32>;

    fn ways(&self) -> usize {
        self.trainer.ways
    }

    fn pool_rows(&self) -> usize {
        self.is_given.len()
    }

    fn may_join(&self, row: usize) -> bool {
        !self.is_given[row]
    }

    fn fit(&mut self, joined: &[PseudoLabel]) -> Matrix<f32> {
        let (params, features) = (self.trainer.params, self.trainer.features);
        let weight = params.pseudo_label_weight * self.given.len() as f64 / joined.len().max(1) as f64;
        let pseudo = self.by_class(joined).into_iter().map(|(row, class)| Example { row, class, weight });
        let examples: Vec<Example> = self.given.iter().copied().chain(pseudo).collect();
        let from = self.head.as_ref();
        let head = SoftmaxHead::fit(features, &examples, self.trainer.ways, params.inverse_penalty, from);
        let start = head.probabilities(features);
        let smooth = self.trainer.graph.smooth(&start, params.prediction_share, params.prediction_rounds);
        for opinion in [&start, &smooth] {
            self.opinions.push(labels_of(opinion).into_iter().map(|label| label as u32).collect());
        }
        self.head = Some(head);
        smooth
    }

    fn judge(&mut self, probabilities: &Matrix<f32>, _: &[PseudoLabel], _: usize) -> Judgement {
        let labels = labels_of(probabilities);
        self.ida = self.trainer.whitened.ida(&labels, self.trainer.ways);
        Judgement { labels, credibility: self.ida.clone() }
    }

    fn joined(&mut self, joined: &[PseudoLabel]) {
        self.joined.push(self.by_class(joined));
    }
}

/// The likeliest class of every row.
pub(crate) fn labels_of(probabilities: &Matrix<f32>) -> Vec<usize> {
    probabilities.iter_rows().map(argmax).collect()
}
