//! The members of the adaptive rule: seven ways to label a pool, each strong where others are weak.
//!
//! | member | what it is | strong where |
//! |---|---|---|
//! | [`Member::Halfway`] | softmax head on features smoothed by half | features are good and labels many |
//! | [`Member::Strongly`] | softmax head on twice smoothed features, predictions smoothed too | classes are clusters |
//! | [`Member::Laplace`] | Laplace learning on the neighbour graph | class sizes differ |
//! | [`Member::Poisson`] | Poisson learning on the same graph | labels are very few |
//! | [`Member::Entropy`] | prototypes that make the pool's predictions certain, class shares matched | classes overlap |
//! | [`Member::FisherDependence`] | prototypes that maximise the dependence between features and predictions, normalised by the covariance of the features: Fisher's criterion as a loss | fine-grained classes |
//! | [`Member::Dependence`] | prototypes that maximise the dependence itself and are certain, whatever the shares | class sizes differ much |
//!
//! The last three are Eq. 4 of the paper at the size of a pool ([`handful::fit::pool_fit`]). Entropy and normalised
//! dependence, left to themselves, want classes of equal size, which costs up to 20 points where sizes differ. So from two
//! labels per class on they match the class shares that the first three members agree on instead: `1 - 1/K` of the pull at K
//! labels per class. Plain dependence has no opinion on shares. It is the best member by far where sizes differ and a poor one
//! where they do not, so how even the predicted shares are decides what it counts ([`crate::mixture`]).
//!
//! Its kernel is the linear one on the lightly smoothed coordinates, whose factor is those coordinates themselves, exact and
//! linear in the rows. [`Member::GaussianDependence`] is the same with the paper's Gaussian kernel through landmarks
//! ([`handful::linalg::landmarks`]): no better than the linear one and several times as slow, it is no part of the mixture.

use handful::Matrix;
use handful::fit::head::{Example, SoftmaxHead};
use handful::fit::pool_fit::{Factors, PoolClassifier, PoolFitParams};
use handful::graph::evenly_spread;
use handful::solution::argmax;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::neighbourhood::Neighbourhood;

/// C of the softmax heads.
const INVERSE_PENALTY: f64 = 20.0;
/// Iterations of the softmax heads.
pub(crate) const HEAD_STEPS: usize = 25;
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
    FisherDependence,
    /// Dependence maximisation with the linear kernel.
    Dependence,
    /// Dependence maximisation with the Gaussian kernel.
    GaussianDependence,
    /// A method of the benchmark, asked for by name.
    Method,
}

impl Member {
    /// Every member, in the order in which they are fitted: those whose votes on class shares others need come first, and
    /// those of the mixture before others.
    pub const ALL: [Self; 8] = [
        Self::Halfway,
        Self::Strongly,
        Self::Laplace,
        Self::Poisson,
        Self::Entropy,
        Self::FisherDependence,
        Self::Dependence,
        Self::GaussianDependence,
    ];

    /// The members of the adaptive rule. At one label per class plain dependence counts nothing and is not fitted.
    pub fn of_mixture(one_label_each: bool) -> &'static [Self] {
        &Self::ALL[..if one_label_each { 6 } else { 7 }]
    }

    /// Whether it matches class shares that others vote on.
    fn matches_shares(self) -> bool {
        matches!(self, Self::Entropy | Self::FisherDependence)
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Halfway => "smoothed-half",
            Self::Strongly => "smoothed-strong",
            Self::Laplace => "laplace",
            Self::Poisson => "poisson",
            Self::Entropy => "entropy",
            Self::FisherDependence => "fisher-dependence",
            Self::Dependence => "dependence",
            Self::GaussianDependence => "gaussian-dependence",
            Self::Method => "method",
        }
    }
}

/// What the members say: one distribution over the classes per row, for each member asked.
pub(crate) struct Opinions {
    pub of_member: Vec<(Member, Matrix<f32>)>,
}

impl Opinions {
    /// The share of the rows without a label that the members give to each class, one row added to every class.
    pub fn shares(&self, given: &[bool], ways: usize) -> Vec<f32> {
        let counts = |said: &Matrix<f32>| {
            let mut counts = vec![0usize; ways];
            let unlabelled = said.iter_rows().zip(given).filter(|(_, given)| !**given);
            unlabelled.for_each(|(row, _)| counts[argmax(row)] += 1);
            counts
        };
        let of_member: Vec<Vec<usize>> = self.of_member.par_iter().map(|(_, said)| counts(said)).collect();
        let members = of_member.len().max(1) as f32;
        let votes = |class: usize| of_member.iter().map(|counts| counts[class]).sum::<usize>() as f32;
        let counts: Vec<f32> = (0..ways).map(|class| 1.0 + votes(class) / members).collect();
        let total: f32 = counts.iter().sum();
        counts.iter().map(|count| count / total).collect()
    }
}

/// What is fitted, and on how many unlabelled rows.
pub(crate) struct Fit<'a> {
    pub pool: &'a Neighbourhood,
    pub ways: usize,
    pub members: &'a [Member],
    /// The most unlabelled rows of the transductive fits.
    pub most_rows: usize,
    /// Iterations of the softmax heads.
    pub head_steps: usize,
}

impl Fit<'_> {
    /// Fits the members; examples are places in the neighbourhood.
    pub fn run(&self, given: &[Example]) -> Opinions {
        let wants = |member: Member| self.members.contains(&member);
        let votes_wanted = self.members.iter().any(|member| member.matches_shares());
        let mut of_member = Vec::new();
        let mut votes: Option<Matrix<f32>> = None;
        for member in Member::ALL {
            let votes_on_shares = matches!(member, Member::Halfway | Member::Strongly | Member::Laplace);
            if !(wants(member) || (votes_wanted && votes_on_shares)) {
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
                _ => {
                    let shares = class_shares(votes.as_ref(), self.ways);
                    self.transductive(member, given, &shares)
                }
            };
            if votes_wanted && votes_on_shares {
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
        SoftmaxHead::fit_single(rows, given, self.ways, INVERSE_PENALTY, self.head_steps).probabilities(rows)
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
            Member::FisherDependence => {
                params.fisher_dependence = 0.05;
                params.steps *= if per_class < 2.0 { 2 } else { 1 };
            }
            Member::Dependence | Member::GaussianDependence => {
                params.dependence = if member == Member::Dependence { 0.3 } else { 5.0 };
                params.conditional_entropy = 0.2;
                params.class_shares = 0.0;
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
        let factor = match member {
            Member::Dependence => Some(&self.pool.centred),
            Member::GaussianDependence => Some(self.pool.gaussian()),
            Member::FisherDependence => Some(&self.pool.normalised),
            _ => None,
        };
        let (rows, sampled, balanced) = match &sample {
            None => (&self.pool.lightly, None, balanced),
            Some(sample) => {
                let place = |row: usize| sample.numbers.partition_point(|&other| other < row);
                let here = balanced.iter().map(|example| Example { row: place(example.row), ..*example });
                (&sample.rows, factor.map(|factor| factor.gather(&sample.numbers)), here.collect())
            }
        };
        let factor = sampled.as_ref().or(factor);
        let mut classifier = PoolClassifier::at_class_means(rows, &balanced, self.ways, params.temperature);
        // The weights in `params` say which of the two terms the factor is for.
        let factors = Factors { kernel: factor, whitened: factor, shares: Some(shares) };
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
        Some(Sample { numbers, rows })
    }
}

struct Sample {
    numbers: Vec<usize>,
    rows: Matrix<f32>,
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
