//! The members of the adaptive rule: six ways to label a pool, each strong where others are weak.
//!
//! | member | what it is | strong where |
//! |---|---|---|
//! | [`Member::Halfway`] | softmax head on features smoothed by half | features are good and labels many |
//! | [`Member::Strongly`] | softmax head on twice smoothed features, predictions smoothed too | classes are clusters |
//! | [`Member::Laplace`] | Laplace learning on the neighbour graph | class sizes differ |
//! | [`Member::Poisson`] | Poisson learning on the same graph | labels are very few |
//! | [`Member::Entropy`] | prototypes that make the pool's predictions certain, class shares matched | classes overlap |
//! | [`Member::Dependence`] | prototypes that maximise the dependence between features and predictions, normalised by the covariance of the features: Fisher's criterion as a loss | fine-grained classes |
//!
//! The last two are Eq. 4 of the paper at the size of a pool ([`handful::fit::pool_fit`]). Left to themselves they want
//! classes of equal size, which costs up to 20 points where sizes differ. So from two labels per class on they match the
//! class shares that the first three agree on instead: `1 - 1/K` of the pull at K labels per class.

use handful::Matrix;
use handful::fit::head::{Example, SoftmaxHead};
use handful::fit::pool_fit::{Factors, PoolClassifier, PoolFitParams};
use handful::graph::evenly_spread;
use handful::solution::argmax;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::neighbourhood::Neighbourhood;

/// C of the softmax heads and their iterations.
const INVERSE_PENALTY: f64 = 20.0;
const HEAD_STEPS: usize = 25;
/// Share and rounds of smoothing the predictions of [`Member::Strongly`].
const PREDICTION_SHARE: f32 = 0.6;
const PREDICTION_ROUNDS: usize = 2;
/// What Poisson scores are clipped to and multiplied by before the softmax.
const POISSON_CLIP: f32 = 5.0;
const POISSON_SCALE: f32 = 3.0;
/// The transductive fits, found on the validation classes and four domains, each left out in turn.
const POOL_FIT: PoolFitParams = PoolFitParams {
    cross_entropy: 0.3,
    conditional_entropy: 0.0,
    marginal_entropy: 0.0,
    class_shares: 0.1,
    dependence: 0.0,
    fisher_dependence: 0.0,
    temperature: 2.0 / 15.0,
    steps: 40,
    learning_rate: 0.02,
};

/// One way to label a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Member {
    /// A softmax head on features smoothed by half.
    Halfway,
    /// A softmax head on strongly smoothed features, its predictions smoothed too.
    Strongly,
    /// Laplace learning.
    Laplace,
    /// Poisson learning.
    Poisson,
    /// Entropy minimisation with matched class shares.
    Entropy,
    /// Dependence maximisation, normalised.
    Dependence,
    /// A method of the benchmark, asked for by name.
    Method,
}

impl Member {
    /// The members of the adaptive rule.
    pub const ALL: [Self; 6] =
        [Self::Halfway, Self::Strongly, Self::Laplace, Self::Poisson, Self::Entropy, Self::Dependence];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Halfway => "smoothed-half",
            Self::Strongly => "smoothed-strong",
            Self::Laplace => "laplace",
            Self::Poisson => "poisson",
            Self::Entropy => "entropy",
            Self::Dependence => "fisher-dependence",
            Self::Method => "method",
        }
    }
}

/// What the members say: one distribution over the classes per row, for each member asked.
pub(crate) struct Opinions {
    pub of_member: Vec<(Member, Matrix<f32>)>,
}

/// What is fitted, and on how many unlabelled rows.
pub(crate) struct Fit<'a> {
    pub pool: &'a Neighbourhood,
    pub ways: usize,
    pub members: &'a [Member],
    /// The most unlabelled rows of the transductive fits.
    pub most_rows: usize,
}

impl Fit<'_> {
    /// Fits the members; examples are places in the neighbourhood.
    pub fn run(&self, given: &[Example]) -> Opinions {
        let wants = |member: Member| self.members.contains(&member);
        let transductive = wants(Member::Entropy) || wants(Member::Dependence);
        let mut of_member = Vec::new();
        let mut votes: Option<Matrix<f32>> = None;
        for member in Member::ALL {
            let votes_on_shares = matches!(member, Member::Halfway | Member::Strongly | Member::Laplace);
            if !(wants(member) || (transductive && votes_on_shares)) {
                continue;
            }
            let said = match member {
                Member::Halfway => self.head(&self.pool.halfway, given),
                Member::Strongly => {
                    let start = self.head(&self.pool.strongly, given);
                    self.pool.graph.smooth(&start, PREDICTION_SHARE, PREDICTION_ROUNDS)
                }
                Member::Laplace => self.pool.graph.laplace(given, self.ways),
                Member::Poisson => self.poisson(given),
                Member::Entropy | Member::Dependence | Member::Method => {
                    let shares = class_shares(votes.as_ref(), self.ways);
                    self.transductive(member, given, &shares)
                }
            };
            if transductive && votes_on_shares {
                match &mut votes {
                    Some(votes) => add(votes, &said),
                    None => votes = Some(said.clone()),
                }
            }
            if wants(member) {
                of_member.push((member, said));
            }
        }
        Opinions { of_member }
    }

    fn head(&self, rows: &Matrix<f32>, given: &[Example]) -> Matrix<f32> {
        SoftmaxHead::fit_single(rows, given, self.ways, INVERSE_PENALTY, HEAD_STEPS).probabilities(rows)
    }

    fn poisson(&self, given: &[Example]) -> Matrix<f32> {
        let mut scores = self.pool.graph.poisson(given, self.ways);
        scores.as_mut_slice().par_chunks_mut(self.ways).for_each(|row| {
            row.iter_mut().for_each(|v| *v = POISSON_SCALE * v.clamp(-POISSON_CLIP, POISSON_CLIP));
            softmax(row);
        });
        scores
    }

    fn transductive(&self, member: Member, given: &[Example], shares: &[f32]) -> Matrix<f32> {
        let per_class = given.len() as f64 / self.ways as f64;
        let matched = 1.0 - 1.0 / per_class.max(1.0);
        let mut params = PoolFitParams { class_shares: POOL_FIT.class_shares * matched, ..POOL_FIT };
        match member {
            Member::Dependence => {
                params.fisher_dependence = 0.05;
                params.steps *= if per_class < 2.0 { 2 } else { 1 };
            }
            _ => {
                params.conditional_entropy = 0.1;
                params.marginal_entropy = 0.05 * (1.0 - matched);
            }
        }
        let labels: Vec<(usize, usize)> = given.iter().map(|example| (example.row, example.class)).collect();
        let balanced = Example::given(&labels, self.ways, 1.0);
        let sample = self.sample(given);
        let (rows, normalised, balanced) = match &sample {
            None => (&self.pool.lightly, &self.pool.normalised, balanced),
            Some(sample) => {
                let place = |row: usize| sample.numbers.partition_point(|&other| other < row);
                let here = balanced.iter().map(|example| Example { row: place(example.row), ..*example });
                (&sample.rows, &sample.normalised, here.collect())
            }
        };
        let mut classifier = PoolClassifier::at_class_means(rows, &balanced, self.ways, params.temperature);
        let factors = Factors { kernel: None, whitened: Some(normalised), shares: Some(shares) };
        classifier.fit(rows, factors, &balanced, &params);
        let (weights, bias) = classifier.linear();
        SoftmaxHead::from_linear(&weights, &bias).probabilities(&self.pool.lightly)
    }

    /// The rows of a transductive fit where it does not see all: the labelled and some of the others.
    fn sample(&self, given: &[Example]) -> Option<Sample> {
        if self.pool.rows() <= self.most_rows + given.len() {
            return None;
        }
        let mut numbers = evenly_spread(self.pool.rows(), self.most_rows);
        numbers.extend(given.iter().map(|example| example.row));
        numbers.sort_unstable();
        numbers.dedup();
        let rows = self.pool.lightly.gather(&numbers);
        let normalised = self.pool.normalised.gather(&numbers);
        Some(Sample { numbers, rows, normalised })
    }
}

struct Sample {
    numbers: Vec<usize>,
    rows: Matrix<f32>,
    normalised: Matrix<f32>,
}

/// The share of the rows that the votes give to each class, one row added to every class.
pub(crate) fn class_shares(votes: Option<&Matrix<f32>>, ways: usize) -> Vec<f32> {
    let mut counts = vec![1.0f32; ways];
    if let Some(votes) = votes {
        votes.iter_rows().for_each(|row| counts[argmax(row)] += 1.0);
    }
    let total: f32 = counts.iter().sum();
    counts.iter().map(|count| count / total).collect()
}

fn add(to: &mut Matrix<f32>, from: &Matrix<f32>) {
    to.as_mut_slice().iter_mut().zip(from.as_slice()).for_each(|(to, from)| *to += from);
}

fn softmax(row: &mut [f32]) {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter_mut().for_each(|value| *value = (*value - largest).exp());
    let total: f32 = row.iter().sum();
    row.iter_mut().for_each(|value| *value /= total);
}
