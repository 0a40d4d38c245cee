//! Table 1: does Fisher's criterion of a labelling tell how right it is?
//!
//! psi of four labellings of the same unlabelled rows, each divided by psi of the true one: random labels, those of a
//! cross-entropy classifier, those of a DM classifier, and the truth.

use std::time::Instant;

use handful::methods::changed_preset;
use handful::methods::dm_ida::{DmIda, DmIdaParams};
use handful::methods::single_fit::TraceWanted;
use handful::paper::ida::WhitenedPool;
use serde_json::json;

use super::cell::{Cell, Measure, Recipe, Source};
use super::layout::transductive;
use super::work::{Bench, Outcome};
use super::{Plan, ReproduceError, cost, table5};
use crate::statistics::Estimate;
use crate::study::assemble;

/// A way to label the unlabelled rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labelling {
    /// Each label at random.
    Random,
    /// By the classifier of the cell's recipe.
    Classifier,
    /// The true labels.
    Truth,
}

/// Key, label.
pub const ROWS: [(&str, &str, Labelling); 4] = [
    ("random", "Random labels", Labelling::Random),
    ("cross-entropy", "Pseudo-labels without DM", Labelling::Classifier),
    ("dependence", "Pseudo-labels with DM", Labelling::Classifier),
    ("truth", "True labels", Labelling::Truth),
];

/// Tasks whose psi and accuracy are kept for the scatter plot.
const POINTS: usize = 300;

/// One cell per labelling.
pub fn cells(plan: &Plan) -> Vec<Cell> {
    let cell = |&(key, _, labelling): &(&'static str, &str, Labelling)| {
        let recipe = match labelling {
            Labelling::Classifier => table5::single_fit(plan, key),
            _ => Recipe::at("dm-ida", &plan.preset),
        };
        let spec = transductive(5, 1);
        let milliseconds = cost::milliseconds(&recipe, &spec);
        let tasks = match plan.full {
            true => plan.tasks,
            false => cost::share(plan.tasks, cost::budget(&plan.preset), milliseconds),
        };
        Cell {
            table: "table1",
            row: key.to_owned(),
            column: "1-shot",
            source: Source::Main,
            spec,
            tasks,
            recipe,
            measure: Measure::Labelling(labelling),
        }
    };
    ROWS.iter().map(cell).collect()
}

/// psi relative to the truth's, and accuracy, task by task.
pub(super) fn measure(bench: &Bench<'_>, labelling: Labelling) -> Result<Outcome, ReproduceError> {
    let recipe = &bench.cell.recipe;
    let params: DmIdaParams = changed_preset(recipe.preset.as_deref(), &recipe.changes)?;
    let method = DmIda::new(params.clone())?;
    let transform = params.transform.without_smoothing();
    let (results, threads) = bench.over_tasks(|index| {
        let (task, truth) = assemble(bench.table, &bench.sampler.episode(index as u64), index as u64)?;
        let start = Instant::now();
        let labels = match labelling {
            Labelling::Random => random_labels(bench.plan.seed, index as u64, truth.len(), task.ways()),
            Labelling::Classifier => method.solve_in(&task, TraceWanted::No)?.unlabeled_labels(),
            Labelling::Truth => truth.clone(),
        };
        let time = start.elapsed();
        let pool = WhitenedPool::new(transform.apply(&task)?.pool(), &params.fisher);
        let psi = pool.fisher(&labels, task.ways()) / pool.fisher(&truth, task.ways());
        let right = labels.iter().zip(&truth).filter(|(got, want)| got == want).count();
        Ok((psi, right as u32, time))
    })?;
    let psi: Vec<f64> = results.iter().map(|(psi, ..)| *psi).collect();
    let right: Vec<u32> = results.iter().map(|(_, right, _)| *right).collect();
    let of = bench.cell.spec.query_count() as u32;
    let estimate = Estimate::of(&psi);
    let rounded = |value: f64| (value * 1e4).round() / 1e4;
    let extra = json!({
        "psi": estimate.mean,
        "psi_ci95": estimate.ci95,
        "psi_per_task": psi.iter().take(POINTS).map(|value| rounded(*value)).collect::<Vec<_>>(),
    });
    let time = results.iter().map(|(_, _, time)| *time).sum();
    Ok(Outcome::new(right, of, time, threads, extra))
}

/// A label for each row by SplitMix64 of seed, task and row.
fn random_labels(seed: u64, task: u64, rows: usize, ways: usize) -> Vec<usize> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ task.wrapping_mul(0xd134_2543_de82_ef95);
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    (0..rows).map(|_| (next() % ways.max(1) as u64) as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_labels_are_even_and_differ_from_task_to_task() {
        let labels = random_labels(1, 2, 10_000, 5);
        for class in 0..5 {
            let count = labels.iter().filter(|&&label| label == class).count();
            assert!((1_850..2_150).contains(&count), "{count}");
        }
        assert_ne!(random_labels(1, 2, 75, 5), random_labels(1, 3, 75, 5));
    }
}
