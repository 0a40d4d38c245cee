//! One opinion out of several: the weighted mean of the members' distributions, each at its own temperature.
//!
//! ```text
//! Q = sum_m w_m softmax(log P_m / t_m),      w_m ~ o_m exp(n (right_m - right_best) / 8)
//! ```
//!
//! with `right_m` the share of the n left-out labels that member m gets right, each counted as its class is frequent in the
//! pool. That alone cannot tell how even the pool's classes are, because given labels are about as many of each. The shares
//! that the members predict can: with H their entropy over its maximum, plain dependence has the odds
//! `o = 8 / (1 + exp((H - 0.94) / 0.01))`, other members 1. Members differ in how sure they sound far
//! more than in how often they are right, and the loudest would win a plain mean. So t_m makes each member's mean top
//! probability over unlabelled rows equal to how often two members agree: no label is needed for that, and on the
//! validation domains it is as good as temperatures fitted to left-out labels.

use handful::Matrix;
use handful::graph::evenly_spread;
use handful::solution::argmax;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::calibration::FLOOR;
use crate::members::{Member, Opinions};

/// How many more labels a member must get right to count e times as much.
const EVIDENCE: f64 = 8.0;
/// The odds of plain dependence in a pool of uneven classes, how even that is, and how sharp. Found with one of four data sets
/// left out at a time: 16 and 0.96 are as good.
const UNEVEN_ODDS: f64 = 8.0;
const EVEN: f64 = 0.94;
const SHARPNESS: f64 = 0.01;
/// Rows on which temperatures are found, and steps of bisection.
const SAMPLE: usize = 2000;
const BISECTIONS: usize = 12;

/// Weight and temperature of each member.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mixture {
    pub members: Vec<Share>,
}

/// What a member counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The member.
    pub member: Member,
    /// Its weight; weights sum to 1.
    pub weight: f64,
    /// Its temperature.
    pub temperature: f64,
    /// The share of the left-out labels it got right, each counted as its class is frequent in the pool, where any were left
    /// out.
    pub right: Option<f64>,
}

impl Mixture {
    /// Weighs members by what they got right of `tested` left-out labels in a pool of classes of these shares, or, where none
    /// were left out, by what they are known for at one label per class.
    pub fn new(opinions: &Opinions, right: &[f64], tested: usize, given: &[bool], shares: &[f32]) -> Self {
        let raw: Vec<f64> = if opinions.of_member.len() == 1 {
            vec![1.0]
        } else if tested > 0 {
            let best = right.iter().copied().fold(0.0, f64::max);
            let weight = |(&right, (member, _)): (&f64, &(Member, _))| {
                odds(*member, shares) * ((right - best) / EVIDENCE).exp()
            };
            right.iter().zip(&opinions.of_member).map(weight).collect()
        } else {
            opinions.of_member.iter().map(|(member, _)| prior(*member)).collect()
        };
        let total: f64 = raw.iter().sum();
        let temperatures = temperatures(opinions, given, &raw);
        let share = |(at, &(member, _)): (usize, &(Member, Matrix<f32>))| Share {
            member,
            weight: raw[at] / total,
            temperature: temperatures[at],
            right: (tested > 0).then(|| right[at] / tested as f64),
        };
        Self { members: opinions.of_member.iter().enumerate().map(share).collect() }
    }

    /// The mixture of what the members say, row by row.
    pub fn mix(&self, opinions: &Opinions) -> Matrix<f32> {
        let Some((_, first)) = opinions.of_member.first() else { return Matrix::zeros(0, 0) };
        let (rows, ways) = (first.rows(), first.columns());
        let mut mixed = Matrix::zeros(rows, ways);
        mixed.as_mut_slice().par_chunks_mut(ways.max(1)).enumerate().for_each(|(row, to)| {
            let mut tempered = vec![0.0f32; to.len()];
            for (share, (_, said)) in self.members.iter().zip(&opinions.of_member) {
                if share.weight > 1e-6 {
                    temper(said.row(row), share.temperature as f32, &mut tempered);
                    to.iter_mut().zip(&tempered).for_each(|(to, p)| *to += share.weight as f32 * p);
                }
            }
        });
        mixed
    }

    /// The mixture of what the members say about one row.
    pub fn mix_row(&self, said: &[Vec<f32>]) -> Vec<f32> {
        let mut mixed = vec![0.0f32; said.first().map_or(0, Vec::len)];
        let mut tempered = mixed.clone();
        for (share, said) in self.members.iter().zip(said) {
            temper(said, share.temperature as f32, &mut tempered);
            mixed.iter_mut().zip(&tempered).for_each(|(to, p)| *to += share.weight as f32 * p);
        }
        mixed
    }
}

/// What members are worth at one label per class, learnt on the validation domains.
fn prior(member: Member) -> f64 {
    match member {
        Member::Halfway | Member::Dependence | Member::GaussianDependence => 0.0,
        Member::Strongly | Member::Laplace | Member::Entropy | Member::Method => 1.0,
        Member::Poisson | Member::FisherDependence => 2.0,
    }
}

/// What a member counts beside the evidence, by how even the classes' shares are.
fn odds(member: Member, shares: &[f32]) -> f64 {
    if member != Member::Dependence {
        return 1.0;
    }
    let entropy: f64 = shares.iter().map(|&share| f64::from(share)).map(|share| -share * share.ln()).sum();
    let evenness = entropy / (shares.len() as f64).ln();
    UNEVEN_ODDS / (1.0 + ((evenness - EVEN) / SHARPNESS).exp())
}

/// `softmax(log p / T)`.
fn temper(p: &[f32], temperature: f32, out: &mut [f32]) {
    let mut largest = f32::NEG_INFINITY;
    for (out, p) in out.iter_mut().zip(p) {
        *out = p.max(FLOOR).ln() / temperature;
        largest = largest.max(*out);
    }
    let mut total = 0.0;
    out.iter_mut().for_each(|value| {
        *value = (*value - largest).exp();
        total += *value;
    });
    out.iter_mut().for_each(|value| *value /= total);
}

fn temperatures(opinions: &Opinions, given: &[bool], weights: &[f64]) -> Vec<f64> {
    if opinions.of_member.len() < 2 {
        return vec![1.0; opinions.of_member.len()];
    }
    let unlabelled: Vec<usize> = (0..given.len()).filter(|&row| !given[row]).collect();
    let sample: Vec<usize> =
        evenly_spread(unlabelled.len(), SAMPLE).into_iter().map(|at| unlabelled[at]).collect();
    let labels: Vec<Vec<usize>> = opinions
        .of_member
        .iter()
        .zip(weights)
        .filter(|(_, weight)| **weight > 0.0)
        .map(|((_, said), _)| sample.iter().map(|&row| argmax(said.row(row))).collect())
        .collect();
    let (mut same, mut pairs) = (0.0, 0.0);
    for (at, one) in labels.iter().enumerate() {
        for other in &labels[..at] {
            same += one.iter().zip(other).filter(|(one, other)| one == other).count() as f64;
            pairs += sample.len() as f64;
        }
    }
    let agreement = if pairs > 0.0 { same / pairs } else { 1.0 };
    opinions.of_member.par_iter().map(|(_, said)| match_certainty(&said.gather(&sample), agreement)).collect()
}

/// The temperature at which the mean top probability is `wanted`.
fn match_certainty(said: &Matrix<f32>, wanted: f64) -> f64 {
    let logs: Vec<f32> = said.as_slice().iter().map(|p| p.max(FLOOR).ln()).collect();
    let ways = said.columns().max(1);
    let certainty = |temperature: f64| {
        let scale = (1.0 / temperature) as f32;
        let top = |row: &[f32]| {
            let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            1.0 / f64::from(row.iter().map(|log| ((log - largest) * scale).exp()).sum::<f32>())
        };
        logs.chunks_exact(ways).map(top).sum::<f64>() / said.rows().max(1) as f64
    };
    let (mut low, mut high) = (0.05f64, 50.0f64);
    let mut middle = 1.0;
    for _ in 0..BISECTIONS {
        middle = (low * high).sqrt();
        if certainty(middle) > wanted { low = middle } else { high = middle }
    }
    middle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opinions() -> Opinions {
        let bold = Matrix::from_vec(4, 2, vec![0.99f32, 0.01, 0.98, 0.02, 0.03, 0.97, 0.01, 0.99]);
        let timid = Matrix::from_vec(4, 2, vec![0.55f32, 0.45, 0.45, 0.55, 0.4, 0.6, 0.48, 0.52]);
        Opinions { of_member: vec![(Member::Laplace, bold), (Member::Poisson, timid)] }
    }

    #[test]
    fn every_member_sounds_as_sure_as_members_agree() {
        let mixture = Mixture::new(&opinions(), &[5.0, 5.0], 10, &[false; 4], &[0.5; 2]);
        for (share, (_, said)) in mixture.members.iter().zip(&opinions().of_member) {
            let mut tempered = vec![0.0; 2];
            let top = said.iter_rows().map(|row| {
                temper(row, share.temperature as f32, &mut tempered);
                tempered[0].max(tempered[1])
            });
            let mean = top.sum::<f32>() / 4.0;
            assert!((mean - 0.75).abs() < 0.01, "they agree on three of four rows: {mean}");
            assert_eq!(share.weight, 0.5);
        }
    }

    #[test]
    fn evidence_decides_and_without_any_the_prior_does() {
        let told = Mixture::new(&opinions(), &[20.0, 4.0], 20, &[false; 4], &[0.5; 2]);
        assert!((told.members[1].weight / told.members[0].weight - (-2.0f64).exp()).abs() < 1e-9);
        assert_eq!(told.members[0].right, Some(1.0));
        let untold = Mixture::new(&opinions(), &[0.0, 0.0], 0, &[false; 4], &[0.5; 2]);
        assert!((untold.members[1].weight - 2.0 / 3.0).abs() < 1e-9);
        let mixed = told.mix(&opinions());
        assert!(mixed.iter_rows().all(|row| (row.iter().sum::<f32>() - 1.0).abs() < 1e-5));
    }

    #[test]
    fn plain_dependence_counts_where_classes_are_uneven() {
        let (_, one) = opinions().of_member.remove(0);
        let opinions =
            Opinions { of_member: vec![(Member::Laplace, one.clone()), (Member::Dependence, one)] };
        let weight =
            |shares: &[f32]| Mixture::new(&opinions, &[5.0, 5.0], 10, &[false; 4], shares).members[1].weight;
        // H of (0.9, 0.1) is 0.469, so the odds are 8; H of equal shares is 1: 8 / (1 + e^6).
        assert!((weight(&[0.9, 0.1]) - 8.0 / 9.0).abs() < 1e-6);
        let even = 8.0 / (1.0 + 6.0f64.exp());
        assert!((weight(&[0.5, 0.5]) - even / (1.0 + even)).abs() < 1e-6);
        let untold = Mixture::new(&opinions, &[0.0, 0.0], 0, &[false; 4], &[0.9, 0.1]);
        assert_eq!(untold.members[1].weight, 0.0);
    }
}
