//! Measuring one cell.

use std::time::Duration;

use handful::error::TaskError;
use handful_data::{EpisodeSampler, FeatureTable};
use rayon::prelude::*;
use serde_json::Value;

use super::cell::{Cell, Measure};
use super::systems::Learnt;
use super::{Plan, ReproduceError, figure1, picture, table1, theorem3};
use crate::statistics::Estimate;
use crate::study::{Study, StudyError, Tasks};

/// Somebody who watches a run.
pub trait Observer: Sync {
    /// So many cells in all, these of them still to do.
    fn planned(&self, all: usize, missing: &[&Cell]);
    /// A cell begins.
    fn started(&self, cell: &Cell);
    /// One of its tasks is done; called from any thread.
    fn task_done(&self);
    /// The cell is done and stored.
    fn finished(&self, cell: &Cell);
}

/// What a cell gave.
pub(super) struct Outcome {
    pub accuracy: Estimate,
    pub right: Vec<u32>,
    pub of: u32,
    pub seconds: f64,
    pub extra: Value,
}

impl Outcome {
    /// From the right answers of each task.
    pub fn new(right: Vec<u32>, of: u32, time: Duration, threads: usize, extra: Value) -> Self {
        let per_task: Vec<f64> = right.iter().map(|&n| f64::from(n) / f64::from(of.max(1))).collect();
        let seconds = time.as_secs_f64() / threads.max(1) as f64;
        Self { accuracy: Estimate::of(&per_task), right, of, seconds, extra }
    }
}

/// What the measures of single tasks share.
pub(super) struct Bench<'a> {
    pub cell: &'a Cell,
    pub plan: &'a Plan,
    pub table: &'a FeatureTable,
    pub sampler: EpisodeSampler,
    pub tick: &'a (dyn Fn() + Sync),
}

impl Bench<'_> {
    /// Does `work` for every task, in parallel, results in the order of the tasks. Also gives the number of threads.
    pub fn over_tasks<R: Send>(
        &self,
        work: impl Fn(usize) -> Result<R, TaskError> + Sync,
    ) -> Result<(Vec<R>, usize), StudyError> {
        let threads = self.plan.threads;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|error| StudyError::Threads { threads, reason: error.to_string() })?;
        let solve = |task: usize| {
            let result = work(task);
            (self.tick)();
            result.map_err(|source| StudyError::Task { method: self.cell.recipe.method, task, source })
        };
        let results: Result<Vec<R>, StudyError> =
            pool.install(|| (0..self.cell.tasks).into_par_iter().map(solve).collect());
        Ok((results?, pool.current_num_threads()))
    }
}

/// Measures a cell.
pub(super) fn measure(
    cell: &Cell,
    plan: &Plan,
    table: &FeatureTable,
    tick: &(dyn Fn() + Sync),
) -> Result<Outcome, ReproduceError> {
    let sampler = EpisodeSampler::new(table, cell.spec.clone(), plan.seed)?;
    let bench = Bench { cell, plan, table, sampler, tick };
    match cell.measure {
        Measure::Accuracy => accuracy(bench),
        Measure::Labelling(labelling) => table1::measure(&bench, labelling),
        Measure::Convergence => figure1::measure(&bench),
        Measure::Bound => theorem3::measure(&bench),
        Measure::Picture => picture::measure(&bench),
    }
}

fn accuracy(bench: Bench<'_>) -> Result<Outcome, ReproduceError> {
    if let Some(Learnt::Elsewhere(result)) = &bench.cell.recipe.learnt {
        let (accuracy, right, seconds) = (result.estimate(), Vec::new(), 0.0);
        return Ok(Outcome { accuracy, right, of: 0, seconds, extra: Value::Null });
    }
    let entrant = bench.cell.recipe.entrant()?;
    let of = bench.cell.spec.query_count() as u32;
    let tasks = Tasks::Sampled { sampler: bench.sampler, count: bench.cell.tasks };
    let study = Study::new(bench.table, &tasks).threads(bench.plan.threads);
    let scores = study.run(&[entrant], &|_| (bench.tick)())?;
    let score = scores.into_iter().next();
    let (seconds, per_task) =
        score.map_or((0.0, Vec::new()), |score| (score.seconds, score.per_task.unwrap_or_default()));
    let right = per_task.iter().map(|accuracy| (accuracy * f64::from(of)).round() as u32).collect();
    Ok(Outcome::new(right, of, Duration::from_secs_f64(seconds), 1, Value::Null))
}
