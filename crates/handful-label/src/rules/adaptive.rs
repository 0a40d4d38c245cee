//! The default rule: several members, weighed by how well they predict labels left out, and a head that learns from
//! their common opinion.
//!
//! ```text
//! Q = mixture of the members (members, mixture)
//! H = argmin_W  3 sum_i CE(Q_i, softmax(W z_i)) + 1/2 |W|^2        on the plain coordinates, given labels as they are
//! p = 1/2 Q + 1/2 H
//! ```
//!
//! H irons out what single members make of single rows (+0.2 points over 20 settings of the validation domains) and
//! labels rows that were never in the pool. Nothing assumes class sizes: with labels about equally many per class
//! whatever the pool is like, cross-validation would be blind to such an assumption.
//!
//! [`crate::Rule::Fast`] is the same with one member. So are the registered methods of the benchmark, without H in the
//! labels themselves.

use handful::Matrix;
use handful::fit::head::{Example, SoftmaxHead};
use handful::solution::argmax;
use rayon::prelude::*;

use crate::acceptance::{CLASS_FLOOR, MARGIN};
use crate::calibration::{self, Calibration, Prior, Tested, logs, tempered_logs};
use crate::credibility::percentiles_within_class;
use crate::error::LabelError;
use crate::familiarity;
use crate::labelling::{ErrorEstimate, Labelling, LeftOut, RowLabel};
use crate::members::{Opinions, class_shares};
use crate::mixture::{Mixture, Word};
use crate::neighbourhood::Neighbourhood;
use crate::params::LabelParams;

/// The most parts in which labels are left out; more change nothing.
const PARTS: usize = 3;
/// The most that a left-out label counts because its class is frequent in the pool.
const MOST_WEIGHT: f64 = 5.0;
/// Weight of the pool's rows in the fit of the head, and its iterations.
const HEAD_WEIGHT: f64 = 3.0;
const HEAD_STEPS: usize = 30;
/// Iterations where the head is not distilled, because classes are many.
const MANY_CLASSES_STEPS: usize = 5;
/// C of the head that tells strangers apart.
const STRANGER_PENALTY: f64 = 10.0;
/// Probabilities need no temperature before any label is left out: members sound as sure as they agree.
const PRIOR: Prior = Prior { temperature: 1.0, weight: 0.0 };

/// How the opinions come about: from labels, for every row; `checking` where it need only be good at left-out labels.
pub(crate) type Infer<'a> = &'a (dyn Fn(&[Example], bool) -> Result<Opinions, LabelError> + Sync);

/// What labels left out said; kept from one fit to the next, it makes a quick one.
#[derive(Clone)]
pub(crate) struct Evidence {
    /// What each member said about each, the row, and its familiarity.
    tested: Vec<(Vec<Vec<f32>>, LeftOutRow)>,
}

#[derive(Clone, Copy)]
struct LeftOutRow {
    row: usize,
    class: usize,
    familiarity: f32,
}

impl Evidence {
    /// What was said of the left-out labels, each counted as its class is frequent in the pool.
    fn words(&self, shares: &[f32]) -> Vec<Word<'_>> {
        let importance = self.importance(shares);
        let total: f64 = self.tested.iter().map(|(_, out)| importance[out.class]).sum();
        let even = self.tested.len() as f64 / total.max(f64::MIN_POSITIVE);
        let words = self.tested.iter();
        words
            .map(|(said, out)| Word { said, class: out.class, weight: even * importance[out.class] })
            .collect()
    }

    /// What a left-out label of each class counts: its class's share of the pool over that of the left-out labels.
    fn importance(&self, shares: &[f32]) -> Vec<f64> {
        let mut counts = vec![0usize; shares.len()];
        self.tested.iter().for_each(|(_, out)| counts[out.class] += 1);
        let all = self.tested.len() as f64;
        let weight = |(&share, &count): (&f32, &usize)| {
            (f64::from(share) * all / count.max(1) as f64).min(MOST_WEIGHT)
        };
        shares.iter().zip(&counts).map(weight).collect()
    }
}

/// A fitted pool: what the model is made of.
pub(crate) struct Fitted {
    pub labelling: Labelling,
    /// The common opinion, given labels as they are.
    pub mixed: Matrix<f32>,
    pub head: SoftmaxHead,
    pub class_means: Matrix<f32>,
    pub pessimistic: f64,
    /// The least error that a row of each class counts.
    pub class_floor: Vec<f64>,
    pub evidence: Evidence,
}

/// How a rule differs from the others.
pub(crate) struct Recipe<'a> {
    pub pool: &'a Neighbourhood,
    pub ways: usize,
    pub params: &'a LabelParams,
    /// From which row of the pool on rows are prototypes, and what those count.
    pub prototypes: Option<(usize, f64)>,
    pub infer: Infer<'a>,
    /// What of the head is in the labels.
    pub head_share: f32,
    /// Labelled rows that were drawn from the pool by chance, as places; where there are any, promises rest on them alone.
    pub audit: &'a [usize],
    /// Whether the head is worth fitting: with very many classes the first opinion's own will do.
    pub distil: bool,
}

impl Recipe<'_> {
    /// Labels the neighbourhood's rows; labels are places in it. With `evidence` of an earlier fit no label is left out.
    pub fn fit(&self, labels: &[(usize, usize)], evidence: Option<&Evidence>) -> Result<Fitted, LabelError> {
        let mut given = Example::given(labels, self.ways, self.params.class_balance);
        if let Some((_, weight)) = self.prototypes {
            let prototypes = given.iter_mut().filter(|example| self.is_prototype(example));
            prototypes.for_each(|example| example.weight *= weight);
        }
        let mut is_given = vec![false; self.pool.rows()];
        given.iter().for_each(|example| is_given[example.row] = true);
        let opinions = (self.infer)(&given, false)?;
        let evidence = match evidence {
            Some(evidence) => evidence.clone(),
            None => self.leave_out(&given)?,
        };
        let voted = opinions.shares(&is_given, self.ways);
        let mixture = Mixture::new(&opinions, &evidence.words(&voted), &is_given, &voted);
        let mut mixed = mixture.mix(&opinions);
        let agreement = agreements(&opinions);
        drop(opinions);

        let tested = self.tested(&evidence, &mixture, &mixed, &is_given);
        let calibration = calibration::fit(&tested, PRIOR);
        let effective: f64 = tested.iter().map(|tested| tested.weight * tested.weight).sum();
        let margin = if effective > 0.0 { MARGIN * effective / tested.len() as f64 } else { MARGIN };
        let pessimistic = calibration::upper_temperature(&tested, &calibration, PRIOR, margin);
        let class_floor = class_floor(&tested, self.ways);

        let plain = mixed.clone();
        for example in &given {
            let row = mixed.row_mut(example.row);
            row.fill(0.0);
            row[example.class] = 1.0;
        }
        let coordinates = &self.pool.coordinates;
        let head = if self.distil {
            SoftmaxHead::fit_soft(coordinates, &mixed, HEAD_WEIGHT, HEAD_STEPS)
        } else {
            SoftmaxHead::fit_single(coordinates, &given, self.ways, 10.0 * HEAD_WEIGHT, MANY_CLASSES_STEPS)
        };
        let last = (self.head_share > 0.0 && self.distil).then(|| {
            let mut last = head.probabilities(coordinates);
            let share = self.head_share;
            let pairs = last.as_mut_slice().par_iter_mut().zip(plain.as_slice());
            pairs.for_each(|(last, plain)| *last = (1.0 - share) * plain + share * *last);
            last
        });
        let familiarity = self.familiarity(&given);
        let estimates =
            Estimates { last: last.as_ref(), plain: &plain, calibration, pessimistic, floor: &class_floor };
        let mut rows = estimates.rows(&familiarity);
        let classes: Vec<usize> = rows.iter().map(|row| row.class).collect();
        let ida = self.pool.whitened.ida(&classes, self.ways);
        for (at, credibility) in percentiles_within_class(&ida, &classes, self.ways).into_iter().enumerate() {
            rows[at].credibility = credibility;
            rows[at].agreement = agreement(at, rows[at].class);
        }
        for example in &given {
            rows[example.row] = RowLabel::given(example.class, rows[example.row].familiarity);
        }
        let left_out = evidence.tested.iter().zip(&tested);
        let left_out = left_out.map(|((_, out), tested)| estimates.left_out(tested, *out)).collect();
        let labelling = Labelling {
            rows,
            ways: self.ways,
            sampled_rows: None,
            calibration,
            left_out,
            joined: Vec::new(),
            members: mixture.members,
            estimate: ErrorEstimate::Upper,
        };
        let class_means = familiarity::class_means(&self.pool.halfway, &given, self.ways);
        Ok(Fitted { labelling, mixed, head, class_means, pessimistic, class_floor, evidence })
    }

    fn is_prototype(&self, example: &Example) -> bool {
        self.prototypes.is_some_and(|(first, _)| self.pool.number(example.row) >= first)
    }

    fn familiarity(&self, given: &[Example]) -> Vec<f32> {
        let smooth = |known: &Matrix<f32>| self.pool.graph.smooth(known, 0.6, 2);
        let strangers = self.params.look_for_strangers;
        familiarity::familiarity(&self.pool.halfway, given, self.ways, strangers, STRANGER_PENALTY, smooth)
    }

    fn leave_out(&self, given: &[Example]) -> Result<Evidence, LabelError> {
        let mut evidence = Evidence { tested: Vec::new() };
        let own: Vec<Example> = given.iter().filter(|example| !self.is_prototype(example)).copied().collect();
        for part in calibration::parts(&own, self.ways, self.params.left_out_parts.min(PARTS)) {
            let mut out = vec![false; self.pool.rows()];
            part.iter().for_each(|example| out[example.row] = true);
            let kept: Vec<Example> = given.iter().filter(|example| !out[example.row]).copied().collect();
            let opinions = (self.infer)(&kept, true)?;
            let familiarity = self.familiarity(&kept);
            for example in part {
                let said: Vec<Vec<f32>> =
                    opinions.of_member.iter().map(|(_, said)| said.row(example.row).to_vec()).collect();
                let row = self.pool.number(example.row);
                let familiarity = familiarity[example.row];
                evidence.tested.push((said, LeftOutRow { row, class: example.class, familiarity }));
            }
        }
        Ok(evidence)
    }

    /// The mixture's word on every left-out label, weighed by the class's share of the pool.
    fn tested(
        &self,
        evidence: &Evidence,
        mixture: &Mixture,
        mixed: &Matrix<f32>,
        given: &[bool],
    ) -> Vec<Tested> {
        let unlabelled: Vec<usize> = (0..given.len()).filter(|&row| !given[row]).collect();
        let importance = evidence.importance(&class_shares(Some(&mixed.gather(&unlabelled)), self.ways));
        let audited = |out: &LeftOutRow| self.audit.contains(&out.row);
        // What was drawn by chance is like the pool as it is; all else is only once its class counts its share.
        let any_audited = evidence.tested.iter().any(|(_, out)| audited(out));
        let weight = |out: &LeftOutRow| match any_audited {
            true => f64::from(u8::from(audited(out))),
            false => importance[out.class],
        };
        let total: f64 = evidence.tested.iter().map(|(_, out)| weight(out)).sum();
        let counted = if any_audited { total } else { evidence.tested.len() as f64 };
        let even = counted / total.max(f64::MIN_POSITIVE);
        let tested = |(said, out): &(Vec<Vec<f32>>, LeftOutRow)| Tested {
            probabilities: mixture.mix_row(said),
            class: out.class,
            weight: weight(out) * even,
        };
        evidence.tested.iter().map(tested).collect()
    }
}

/// The share of the members that give a row a class.
fn agreements(opinions: &Opinions) -> impl Fn(usize, usize) -> f32 + use<> {
    let labels: Vec<Vec<u32>> = opinions
        .of_member
        .par_iter()
        .map(|(_, said)| said.iter_rows().map(|row| argmax(row) as u32).collect())
        .collect();
    move |row, class| {
        let agreeing = labels.iter().filter(|labels| labels[row] as usize == class).count();
        agreeing as f32 / labels.len().max(1) as f32
    }
}

/// For each class, how often a row that was labelled with it was wrong among the labels left out, shrunk towards all
/// classes' rate by two labels, times [`CLASS_FLOOR`].
fn class_floor(tested: &[Tested], ways: usize) -> Vec<f64> {
    let (mut wrong, mut all) = (vec![0.0; ways], vec![0.0; ways]);
    for tested in tested {
        let predicted = argmax(&tested.probabilities);
        all[predicted] += tested.weight;
        wrong[predicted] += if predicted == tested.class { 0.0 } else { tested.weight };
    }
    let rate = wrong.iter().sum::<f64>() / all.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    wrong.iter().zip(&all).map(|(wrong, all)| CLASS_FLOOR * (wrong + 2.0 * rate) / (all + 2.0)).collect()
}

/// From distributions to labels with what they are worth.
struct Estimates<'a> {
    /// Members and head together, where the head has a say.
    last: Option<&'a Matrix<f32>>,
    /// The members alone.
    plain: &'a Matrix<f32>,
    calibration: Calibration,
    pessimistic: f64,
    floor: &'a [f64],
}

impl Estimates<'_> {
    fn rows(&self, familiarity: &[f32]) -> Vec<RowLabel> {
        let label = |row: usize| {
            let plain = logs(self.plain.row(row));
            let (class, (probability, margin)) = match self.last {
                Some(last) => {
                    let class = argmax(last.row(row));
                    (class, certainty(&logs(last.row(row)), class, self.calibration.temperature))
                }
                None => {
                    let class = argmax(self.plain.row(row));
                    (class, certainty(&plain, class, self.calibration.temperature))
                }
            };
            RowLabel {
                class,
                given: false,
                probability,
                margin,
                credibility: 0.0,
                agreement: 0.0,
                familiarity: familiarity[row],
                error: self.error(&plain, class),
            }
        };
        (0..self.plain.rows()).into_par_iter().map(label).collect()
    }

    fn error(&self, logs: &[f64], class: usize) -> f32 {
        pessimistic_error(logs, class, self.pessimistic, self.floor)
    }

    fn left_out(&self, tested: &Tested, out: LeftOutRow) -> LeftOut {
        let predicted = argmax(&tested.probabilities);
        let logs = logs(&tested.probabilities);
        let tempered = tempered_logs(&logs, self.calibration.temperature);
        LeftOut {
            row: out.row,
            class: out.class,
            predicted,
            probability: tempered[predicted] as f32,
            probability_of_given: tempered[out.class] as f32,
            familiarity: out.familiarity,
            error: self.error(&logs, predicted),
            weight: tested.weight,
        }
    }
}

/// Probability of a class at a temperature, and its lead over the next, from the logarithms of the probabilities.
pub(crate) fn certainty(logs: &[f64], class: usize, temperature: f64) -> (f32, f32) {
    let tempered = tempered_logs(logs, temperature);
    let others = tempered.iter().enumerate().filter(|(other, _)| *other != class);
    let second = others.map(|(_, &p)| p).fold(0.0, f64::max);
    (tempered[class] as f32, (tempered[class] - second) as f32)
}

/// `1 - p` at the pessimistic temperature, at least the class's floor.
pub(crate) fn pessimistic_error(logs: &[f64], class: usize, temperature: f64, floor: &[f64]) -> f32 {
    let error = 1.0 - tempered_logs(logs, temperature)[class];
    error.max(floor[class]) as f32
}
