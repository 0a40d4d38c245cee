//! Figure 1: what one fit of Eq. 4 does, iteration by iteration, and whether "DM value increases monotonically at each
//! iteration and converges well".
//!
//! A task violates the first half if its dependence falls from one iteration to the next by more than rounding
//! (1e-5 of its largest value), and the second if its last tenth still changes it by more than 1% of what it gained.

use std::time::Instant;

use handful::methods::changed_preset;
use handful::methods::dm_ida::{DmIda, DmIdaParams};
use handful::methods::single_fit::TraceWanted;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::cell::{Cell, Measure, Recipe, Source};
use super::layout::transductive;
use super::work::{Bench, Outcome};
use super::{Plan, ReproduceError};
use crate::study::assemble;

/// Tasks of the figure: a curve needs no more.
pub const TASKS: usize = 200;
/// The most points of a curve.
const POINTS: usize = 100;
/// A fall below this share of the largest value is rounding.
const ROUNDING: f64 = 1e-5;

/// Eq. 4 at the run's preset, and as the text has it.
pub fn cells(plan: &Plan) -> Vec<Cell> {
    let mut presets = vec![plan.preset.as_str()];
    if plan.preset != "paper" {
        presets.push("paper");
    }
    let cell = |preset: &str| Cell {
        table: "figure1",
        row: preset.to_owned(),
        column: "1-shot",
        source: Source::Main,
        spec: transductive(5, 1),
        tasks: plan.tasks.min(TASKS),
        recipe: Recipe::at("dm-ida", preset).with("objective", "dependence").with("max_rounds", "0"),
        measure: Measure::Convergence,
    };
    presets.into_iter().map(cell).collect()
}

/// Mean, and the tenth and ninetieth percentile over tasks, at each kept step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Mean over tasks.
    pub mean: Vec<f64>,
    /// Tenth percentile.
    pub low: Vec<f64>,
    /// Ninetieth percentile.
    pub high: Vec<f64>,
}

/// The curves of a fit over tasks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// The kept steps.
    pub steps: Vec<usize>,
    /// Cross-entropy of the labelled rows.
    pub cross_entropy: Band,
    /// The dependence estimator.
    pub dependence: Band,
    /// Accuracy of the unlabelled rows.
    pub accuracy: Band,
    /// Tasks whose dependence falls at some iteration.
    pub falling: usize,
    /// Tasks whose dependence ends below its start.
    pub ending_lower: usize,
    /// The largest fall from one iteration to the next, as a share of that task's largest value.
    pub largest_fall: f64,
    /// Tasks that are still moving at the end.
    pub unconverged: usize,
}

/// What one task's dependence does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// The largest fall between two iterations, as a share of the largest value.
    pub largest_fall: f64,
    /// Whether it ends below its start.
    pub ends_lower: bool,
    /// Whether its last tenth changes it by less than 1% of its whole range.
    pub converged: bool,
}

impl Course {
    /// Of the values at each iteration.
    pub fn of(values: &[f64]) -> Self {
        let largest = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let fall = values.windows(2).map(|pair| pair[0] - pair[1]).fold(0.0, f64::max);
        let (first, last) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0));
        let range = values.iter().fold(f64::MIN, |most, &value| most.max(value))
            - values.iter().fold(f64::MAX, |least, &value| least.min(value));
        let near_end = values.get(values.len() * 9 / 10).copied().unwrap_or(last);
        Self {
            largest_fall: if largest > 0.0 { fall / largest } else { 0.0 },
            ends_lower: last < first,
            converged: (last - near_end).abs() <= 0.01 * range.max(0.0),
        }
    }

    /// Whether it falls by more than rounding.
    pub fn falls(&self) -> bool {
        self.largest_fall > ROUNDING
    }
}

/// Curves over the cell's tasks.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Outcome, ReproduceError> {
    let recipe = &bench.cell.recipe;
    let params: DmIdaParams = changed_preset(recipe.preset.as_deref(), &recipe.changes)?;
    let method = DmIda::new(params)?;
    let (results, threads) = bench.over_tasks(|index| {
        let (task, truth) = assemble(bench.table, &bench.sampler.episode(index as u64), index as u64)?;
        let start = Instant::now();
        let solution = method.solve_in(&task, TraceWanted::Yes)?;
        let time = start.elapsed();
        let right = |labels: &[usize]| labels.iter().zip(&truth).filter(|(got, want)| got == want).count();
        let fit = solution.trace.as_ref().and_then(|trace| trace.fits.first().cloned()).unwrap_or_default();
        let accuracy: Vec<f64> =
            fit.labels.iter().map(|labels| right(labels) as f64 / truth.len() as f64).collect();
        Ok((fit.steps, accuracy, right(&solution.unlabeled_labels()) as u32, time))
    })?;
    let steps = results.iter().map(|(steps, ..)| steps.len()).min().unwrap_or(0);
    let kept: Vec<usize> = match steps {
        0 => Vec::new(),
        _ => {
            let every = steps.div_ceil(POINTS);
            let last = (steps - 1) % every != 0;
            (0..steps).step_by(every).chain(last.then_some(steps - 1)).collect()
        }
    };
    let courses: Vec<Course> = results
        .iter()
        .map(|(steps, ..)| Course::of(&steps.iter().map(|parts| parts.dependence).collect::<Vec<_>>()))
        .collect();
    let curves = Curves {
        cross_entropy: band(&kept, results.len(), |task, step| results[task].0[step].cross_entropy),
        dependence: band(&kept, results.len(), |task, step| results[task].0[step].dependence),
        accuracy: band(&kept, results.len(), |task, step| results[task].1.get(step).copied().unwrap_or(0.0)),
        steps: kept,
        falling: courses.iter().filter(|course| course.falls()).count(),
        ending_lower: courses.iter().filter(|course| course.ends_lower).count(),
        largest_fall: courses.iter().fold(0.0, |most, course| most.max(course.largest_fall)),
        unconverged: courses.iter().filter(|course| !course.converged).count(),
    };
    let right = results.iter().map(|(_, _, right, _)| *right).collect();
    let of = bench.cell.spec.query_count() as u32;
    let time = results.iter().map(|(.., time)| *time).sum();
    Ok(Outcome::new(right, of, time, threads, json!(curves)))
}

fn band(steps: &[usize], tasks: usize, value: impl Fn(usize, usize) -> f64) -> Band {
    let mut band = Band::default();
    for &step in steps {
        let mut values: Vec<f64> = (0..tasks).map(|task| value(task, step)).collect();
        band.mean.push(values.iter().sum::<f64>() / tasks.max(1) as f64);
        values.sort_by(f64::total_cmp);
        let percentile = |share: f64| values.get((share * (tasks.max(1) - 1) as f64).round() as usize);
        band.low.push(percentile(0.1).copied().unwrap_or(0.0));
        band.high.push(percentile(0.9).copied().unwrap_or(0.0));
    }
    band
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn courses_are_told_apart() {
        let rising: Vec<f64> = (0..100).map(|step| 1.0 - 0.9f64.powi(step)).collect();
        let course = Course::of(&rising);
        assert!(!course.falls() && !course.ends_lower && course.converged);
        let mut dented = rising.clone();
        dented[50] -= 0.01;
        assert!(Course::of(&dented).falls());
        let linear: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(!Course::of(&linear).converged);
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        assert!(Course::of(&falling).ends_lower);
    }

    #[test]
    fn bands_enclose_the_middle_eight_tenths() {
        let band = band(&[0], 11, |task, _| task as f64);
        assert_eq!((band.mean[0], band.low[0], band.high[0]), (5.0, 1.0, 9.0));
    }
}
