//! Theorem 3: is the bound a usable stand-in for exact IDA?
//!
//! A cross-entropy classifier labels the pool. Each label gets its exact IDA value, Theorem 3's bound and the
//! classifier's confidence; the area under the ROC curve (AUC) says how well each tells right labels from wrong ones,
//! Spearman's rank correlation how far the bound orders rows as the exact value does.

use std::time::{Duration, Instant};

use handful::methods::changed_preset;
use handful::methods::dm_ida::{DmIda, DmIdaParams};
use handful::methods::single_fit::TraceWanted;
use handful::paper::ida::{FisherParams, RidgeScale, WhitenedPool};
use handful::paper::ida_bound::ida_bound;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::cell::{Cell, Measure, Source};
use super::layout::transductive;
use super::work::{Bench, Outcome};
use super::{Plan, ReproduceError, table5};
use crate::study::assemble;

/// Tasks of the study.
pub const TASKS: usize = 1_000;
/// Bars of the histogram.
const BARS: usize = 40;

/// The ridge of the preset in the preset's dimensions, and the text's: all dimensions, the code's ridge of 1e-3.
pub const ROWS: [(&str, &str); 2] =
    [("preset", "IDA of the preset"), ("paper", "IDA of the text: all dimensions, ridge 0.001")];

/// One cell per reading of IDA.
pub fn cells(plan: &Plan) -> Vec<Cell> {
    let cell = |&(key, _): &(&'static str, &str)| Cell {
        table: "theorem3",
        row: key.to_owned(),
        column: "1-shot",
        source: Source::Main,
        spec: transductive(5, 1),
        tasks: plan.tasks.min(TASKS),
        recipe: table5::single_fit(plan, "cross-entropy"),
        measure: Measure::Bound,
    };
    ROWS.iter().map(cell).collect()
}

/// What the study found. Means over the tasks that have both right and wrong labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoundStudy {
    /// AUC of exact IDA.
    pub auc_ida: f64,
    /// AUC of the bound.
    pub auc_bound: f64,
    /// AUC of the classifier's confidence.
    pub auc_confidence: f64,
    /// Rank correlation of bound and exact value.
    pub rank_correlation: f64,
    /// Tasks with both right and wrong labels.
    pub mixed_tasks: usize,
    /// Microseconds per pool for all exact values. Differs from run to run.
    pub microseconds_ida: f64,
    /// The same for all bounds.
    pub microseconds_bound: f64,
    /// Edges of the histogram of exact values, one more than bars.
    pub edges: Vec<f64>,
    /// Right labels in each bar.
    pub right: Vec<u32>,
    /// Wrong labels in each bar.
    pub wrong: Vec<u32>,
}

struct TaskValues {
    exact: Vec<f64>,
    is_right: Vec<bool>,
    aucs: Option<[f64; 3]>,
    correlation: f64,
    times: [Duration; 2],
    fit: Duration,
}

/// The study over the cell's tasks.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Outcome, ReproduceError> {
    let recipe = &bench.cell.recipe;
    let params: DmIdaParams = changed_preset(recipe.preset.as_deref(), &recipe.changes)?;
    let method = DmIda::new(params.clone())?;
    let fisher = match bench.cell.row.as_str() {
        "paper" => {
            FisherParams { pca: 0, ridge: 1e-3, ridge_scale: RidgeScale::Absolute, psi_per_class: false }
        }
        _ => params.fisher,
    };
    let (results, threads) = bench.over_tasks(|index| {
        let (task, truth) = assemble(bench.table, &bench.sampler.episode(index as u64), index as u64)?;
        let start = Instant::now();
        let solution = method.solve_in(&task, TraceWanted::No)?;
        let fit = start.elapsed();
        let labels = solution.unlabeled_labels();
        let transformed = params.transform.apply(&task)?;
        let start = Instant::now();
        let exact = WhitenedPool::new(transformed.pool(), &fisher).ida(&labels, task.ways());
        let exact_time = start.elapsed();
        let start = Instant::now();
        let bound = ida_bound(transformed.pool(), &labels, task.ways(), fisher.ridge);
        let bound_time = start.elapsed();
        let confidence: Vec<f64> = solution
            .unlabeled
            .iter_rows()
            .map(|row| f64::from(row.iter().fold(0.0f32, |a, &b| a.max(b))))
            .collect();
        let is_right: Vec<bool> = labels.iter().zip(&truth).map(|(got, want)| got == want).collect();
        let aucs = auc(&exact, &is_right)
            .zip(auc(&bound, &is_right))
            .zip(auc(&confidence, &is_right))
            .map(|((exact, bound), confidence)| [exact, bound, confidence]);
        let correlation = rank_correlation(&bound, &exact);
        Ok(TaskValues { exact, is_right, aucs, correlation, times: [exact_time, bound_time], fit })
    })?;

    let mixed: Vec<&TaskValues> = results.iter().filter(|task| task.aucs.is_some()).collect();
    let mean = |which: usize| {
        mixed.iter().filter_map(|task| task.aucs).map(|aucs| aucs[which]).sum::<f64>()
            / mixed.len().max(1) as f64
    };
    let microseconds = |which: usize| {
        let total: Duration = results.iter().map(|task| task.times[which]).sum();
        total.as_secs_f64() * 1e6 / results.len().max(1) as f64
    };
    let (edges, right, wrong) = histogram(&results);
    let study = BoundStudy {
        auc_ida: mean(0),
        auc_bound: mean(1),
        auc_confidence: mean(2),
        rank_correlation: results.iter().map(|task| task.correlation).sum::<f64>()
            / results.len().max(1) as f64,
        mixed_tasks: mixed.len(),
        microseconds_ida: microseconds(0),
        microseconds_bound: microseconds(1),
        edges,
        right,
        wrong,
    };
    let right =
        results.iter().map(|task| task.is_right.iter().filter(|&&right| right).count() as u32).collect();
    let of = bench.cell.spec.query_count() as u32;
    let time = results.iter().map(|task| task.fit).sum();
    Ok(Outcome::new(right, of, time, threads, json!(study)))
}

/// Bars between the first and the last percent of all values; what lies beyond goes to the outermost bars.
fn histogram(tasks: &[TaskValues]) -> (Vec<f64>, Vec<u32>, Vec<u32>) {
    let mut all: Vec<f64> = tasks.iter().flat_map(|task| task.exact.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    let at =
        |share: f64| all.get((share * all.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(0.0);
    let (low, high) = (at(0.01), at(0.99));
    let width = ((high - low) / BARS as f64).max(f64::MIN_POSITIVE);
    let edges = (0..=BARS).map(|bar| low + width * bar as f64).collect();
    let (mut right, mut wrong) = (vec![0; BARS], vec![0; BARS]);
    for task in tasks {
        for (value, &is_right) in task.exact.iter().zip(&task.is_right) {
            let bar = (((value - low) / width).max(0.0) as usize).min(BARS - 1);
            let bars = if is_right { &mut right } else { &mut wrong };
            bars[bar] += 1;
        }
    }
    (edges, right, wrong)
}

/// Area under the ROC curve by ranks, equal values counting half; none unless both kinds occur.
pub fn auc(values: &[f64], positive: &[bool]) -> Option<f64> {
    let positives = positive.iter().filter(|&&is| is).count() as f64;
    let negatives = positive.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return None;
    }
    let sum: f64 = ranks(values).iter().zip(positive).filter(|(_, is)| **is).map(|(rank, _)| rank).sum();
    Some((sum - positives * (positives + 1.0) / 2.0) / (positives * negatives))
}

/// Spearman's correlation; 0 where one side is constant.
pub fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 + 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    let scale = (product(&a, &a) * product(&b, &b)).sqrt();
    if scale > 0.0 { product(&a, &b) / scale } else { 0.0 }
}

/// Ranks from 1, equal values sharing their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let equal =
            order[start..].iter().take_while(|&&at| values[at] == values[order[start]]).count().max(1);
        let rank = start as f64 + (equal as f64 + 1.0) / 2.0;
        order[start..start + equal].iter().for_each(|&at| ranks[at] = rank);
        start += equal;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: the share of pairs in which the right one has the larger value.
    fn auc_by_pairs(values: &[f64], positive: &[bool]) -> f64 {
        let (mut wins, mut pairs) = (0.0, 0.0);
        for (a, is) in values.iter().zip(positive) {
            for (b, _) in values.iter().zip(positive).filter(|(_, other)| *is && !**other) {
                pairs += 1.0;
                wins += if a > b {
                    1.0
                } else if a == b {
                    0.5
                } else {
                    0.0
                };
            }
        }
        wins / pairs
    }

    #[test]
    fn auc_is_the_share_of_pairs_in_the_right_order() {
        let values = [0.3, 0.1, 0.3, 0.9, f64::NEG_INFINITY, 0.5];
        let positive = [true, false, false, true, true, false];
        let want = auc_by_pairs(&values, &positive);
        assert!((auc(&values, &positive).expect("both kinds") - want).abs() < 1e-12);
        assert_eq!(auc(&values, &[true; 6]), None);
    }

    #[test]
    fn rank_correlation_sees_order_only() {
        let a = [1.0, 2.0, 3.0, 4.0];
        assert!((rank_correlation(&a, &[1.0, 8.0, 27.0, 64.0]) - 1.0).abs() < 1e-12);
        assert!((rank_correlation(&a, &[4.0, 3.0, 2.0, 1.0]) + 1.0).abs() < 1e-12);
        // 1 - 6 sum d^2 / (n (n^2 - 1)) with d = 1, 1, 0, 0.
        assert!((rank_correlation(&a, &[2.0, 1.0, 3.0, 4.0]) - 0.8).abs() < 1e-12);
        assert_eq!(rank_correlation(&a, &[1.0; 4]), 0.0);
    }
}
