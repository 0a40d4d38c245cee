//! The loop.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use handful::differentiation::Graph;
use handful::methods::trained::{CENTRE, EpisodeRows, Head, HeadFacts, System, Tensors, Weights, prepared};
use handful::{Matrix, Method, Task, Unlabeled};
use handful_data::{Episode, EpisodeSampler, FeatureTable};
use rayon::prelude::*;

use super::checkpoint::{Header, State, load, save, save_head};
use super::{EpisodicSettings, Moments, TaskDraws};
use crate::error::VisionError;

/// The tensors before training are drawn from a stream that no task has.
const FIRST_TENSORS: u64 = u64::MAX;
/// Validation tasks are others than those of any training with the same seed.
const VALIDATION_SEED: u64 = 0x7661_6c69_6461_7465;

/// A training.
pub struct EpisodicJob<'a> {
    /// Features of the base classes.
    pub base: &'a FeatureTable,
    /// Features of the validation classes.
    pub validation: &'a FeatureTable,
    /// The system.
    pub system: &'a dyn System,
    /// How it is trained.
    pub settings: EpisodicSettings,
    /// Where checkpoints and the best head go.
    pub folder: &'a Path,
    /// The command line, for the record.
    pub command: String,
    /// Whether to go on from the folder's checkpoint.
    pub resume: bool,
    /// Time between checkpoints.
    pub save_every: Duration,
    /// Set from outside to stop after the present step.
    pub stop: &'a AtomicBool,
}

/// What happens in a training.
pub enum EpisodicEvent {
    /// So many steps are done; the loss of the last.
    Step(usize, f64),
    /// The validation accuracy after so many steps.
    Validated(usize, f64),
}

/// How a training ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpisodicOutcome {
    /// Whether all steps were done.
    pub finished: bool,
    /// Steps done.
    pub steps: usize,
    /// The best validation accuracy.
    pub best: f64,
}

/// The best head of a folder.
pub fn best_head(folder: &Path) -> PathBuf {
    folder.join("best.safetensors")
}

/// The last checkpoint of a folder.
pub fn last_state(folder: &Path) -> PathBuf {
    folder.join("last.safetensors")
}

/// Trains a system.
///
/// # Errors
/// [`VisionError`] for classes with too few rows, settings out of range, a checkpoint of something else, a loss that is no
/// number any more, and files that cannot be written.
pub fn train_system(
    job: &EpisodicJob<'_>,
    watch: &mut dyn FnMut(EpisodicEvent),
) -> Result<EpisodicOutcome, VisionError> {
    job.settings.check()?;
    let least = job.system.least_shots();
    if job.settings.shots < least {
        let requirement = format!("{} needs at least {least}", job.system.name());
        return Err(VisionError::Setting {
            setting: "shots",
            value: job.settings.shots.to_string(),
            requirement,
        });
    }
    let last = last_state(job.folder);
    let mut state = if job.resume { load(&last)? } else { started(job)? };
    let (wanted, found) = (facts(job), &state.header.facts);
    if (&found.system, found.dim, &found.fingerprint) != (&wanted.system, wanted.dim, &wanted.fingerprint) {
        let reason = format!(
            "it is a training of {} on {} ({}), not of {} on {} ({})",
            found.system,
            found.features,
            found.fingerprint,
            wanted.system,
            wanted.features,
            wanted.fingerprint
        );
        return Err(VisionError::Weights { path: last, reason });
    }
    let settings = state.header.settings.clone();
    let sampler = EpisodeSampler::new(job.base, settings.spec(), settings.seed)?;
    let validation = EpisodeSampler::new(job.validation, settings.spec(), settings.seed ^ VALIDATION_SEED)?;

    let mut saved = Instant::now();
    loop {
        let step = state.header.step;
        let finished = step == settings.steps;
        if (step.is_multiple_of(settings.validate_every.max(1)) || finished)
            && !job.stop.load(Ordering::Relaxed)
        {
            validate(job, &mut state, &validation, watch)?;
        }
        let stop = job.stop.load(Ordering::Relaxed);
        if finished || stop || saved.elapsed() >= job.save_every {
            save(&last, &state)?;
            saved = Instant::now();
        }
        if finished || stop {
            let best = state.header.best.unwrap_or_default();
            return Ok(EpisodicOutcome { finished, steps: step, best });
        }
        let loss = take_step(job, &mut state, &sampler)?;
        watch(EpisodicEvent::Step(state.header.step, loss));
    }
}

fn facts(job: &EpisodicJob<'_>) -> HeadFacts {
    let name =
        job.base.path().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    HeadFacts {
        system: job.system.name().to_owned(),
        settings: job.system.settings(),
        dim: job.base.dim(),
        ways: job.settings.ways,
        shots: job.settings.shots,
        features: name,
        fingerprint: job.base.sha256().chars().take(12).collect(),
        classes: job.base.class_count(),
        seed: job.settings.seed,
        command: job.command.clone(),
    }
}

fn started(job: &EpisodicJob<'_>) -> Result<State, VisionError> {
    let mut draws = TaskDraws::new(job.settings.seed, FIRST_TENSORS);
    let (mut tensors, mut moments) = (Tensors::new(), Vec::new());
    for spec in job.system.tensors(job.base.dim(), job.settings.ways) {
        tensors.insert(spec.name.to_owned(), draws.first(&spec));
        moments.push((spec.name.to_owned(), Moments::new(spec.rows, spec.columns)));
    }
    tensors.insert(CENTRE.to_owned(), Matrix::from_vec(1, job.base.dim(), job.base.mean_row()?));
    let header = Header { facts: facts(job), settings: job.settings.clone(), step: 0, best: None };
    Ok(State { header, tensors, moments })
}

/// The rows and labels of a part of a task.
fn rows_of(table: &FeatureTable, classes: &[Vec<usize>]) -> (Matrix<f32>, Vec<usize>) {
    let rows: Vec<usize> = classes.iter().flatten().copied().collect();
    let labels = classes.iter().enumerate().flat_map(|(class, rows)| vec![class; rows.len()]).collect();
    (table.gather(&rows), labels)
}

/// Loss and gradients of one task.
fn differentiate(
    job: &EpisodicJob<'_>,
    tensors: &BTreeMap<&'static str, Arc<Matrix<f64>>>,
    centre: &[f32],
    episode: &Episode,
    draws: &mut TaskDraws,
) -> (f64, Vec<Matrix<f64>>) {
    let graph = Graph::new();
    let length = job.system.row_length(job.base.dim());
    let weights: Weights<'_> =
        tensors.iter().map(|(name, value)| (*name, graph.leaf(Arc::clone(value)))).collect();
    let (support, labels) = rows_of(job.base, &episode.support);
    let (query, query_labels) = rows_of(job.base, &episode.query);
    let query = graph.constant(prepared(&query, centre, length));
    let rows = EpisodeRows {
        support: graph.constant(prepared(&support, centre, length)),
        labels,
        ways: episode.classes.len(),
        unlabeled: query,
        query,
    };
    let loss = job.system.loss(&weights, &rows, &query_labels, draws);
    let gradients = graph.gradients(loss);
    (loss.value().as_slice()[0], weights.values().map(|weight| gradients.of(*weight)).collect())
}

fn take_step(job: &EpisodicJob<'_>, state: &mut State, sampler: &EpisodeSampler) -> Result<f64, VisionError> {
    let settings = &state.header.settings;
    let centre = state.tensors[CENTRE].as_slice().to_vec();
    let specs = job.system.tensors(job.base.dim(), settings.ways);
    let tensors: BTreeMap<&'static str, Arc<Matrix<f64>>> =
        specs.iter().map(|spec| (spec.name, Arc::new(state.tensors[spec.name].cast()))).collect();
    let first = (state.header.step * settings.batch) as u64;
    let results: Vec<(f64, Vec<Matrix<f64>>)> = (first..first + settings.batch as u64)
        .into_par_iter()
        .map(|task| {
            let mut draws = TaskDraws::new(settings.seed, task);
            differentiate(job, &tensors, &centre, &sampler.episode(task), &mut draws)
        })
        .collect();
    let share = 1.0 / settings.batch as f64;
    let loss = results.iter().map(|(loss, _)| loss * share).sum::<f64>();
    if !loss.is_finite() {
        let (epoch, step) = (1, state.header.step + 1);
        return Err(VisionError::Diverged { loss: loss as f32, epoch, step, rate: settings.rate });
    }
    let done = state.header.step as f64 / settings.steps as f64;
    let rate = settings.rate * 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
    for (place, name) in tensors.keys().enumerate() {
        let mut sum: Matrix<f64> = Matrix::zeros(tensors[name].rows(), tensors[name].columns());
        for (_, gradients) in &results {
            let parts = gradients[place].as_slice();
            sum.as_mut_slice().iter_mut().zip(parts).for_each(|(sum, part)| *sum += share * part);
        }
        if let Some(clip) = settings.clip {
            sum.as_mut_slice().iter_mut().for_each(|value| *value = value.clamp(-clip, clip));
        }
        let tensor = state.tensors.get_mut(*name);
        let moments = state.moments.iter_mut().find(|(other, _)| other == name);
        if let (Some(tensor), Some((_, moments))) = (tensor, moments) {
            let step = state.header.step;
            settings.optimiser.step(tensor, &sum, moments, rate, settings.weight_decay, step);
        }
    }
    state.header.step += 1;
    Ok(loss)
}

/// Measures the head on validation classes as `bench` would, and keeps it if none was better.
fn validate(
    job: &EpisodicJob<'_>,
    state: &mut State,
    sampler: &EpisodeSampler,
    watch: &mut dyn FnMut(EpisodicEvent),
) -> Result<(), VisionError> {
    let path = best_head(job.folder);
    let broken = |reason: String| VisionError::Weights { path: path.clone(), reason };
    let head =
        Head::new(state.header.facts.clone(), &state.tensors).map_err(|error| broken(error.to_string()))?;
    let accuracy = |task: u64| -> Result<f64, VisionError> {
        let episode = sampler.episode(task);
        let (support, labels) = rows_of(job.validation, &episode.support);
        let (query, truth) = rows_of(job.validation, &episode.query);
        let task = Task::new(task, episode.classes.len(), support, labels, Unlabeled::Query, query);
        let solution = task.and_then(|task| head.solve(&task)).map_err(|error| broken(error.to_string()))?;
        let right =
            solution.query_labels().iter().zip(&truth).filter(|(label, truth)| label == truth).count();
        Ok(right as f64 / truth.len().max(1) as f64)
    };
    let tasks = state.header.settings.validation_tasks as u64;
    let all: Vec<f64> = (0..tasks).into_par_iter().map(accuracy).collect::<Result<_, _>>()?;
    let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
    if state.header.best.is_none_or(|best| mean > best) {
        state.header.best = Some(mean);
        save_head(&path, &state.header.facts, &state.tensors)?;
    }
    watch(EpisodicEvent::Validated(state.header.step, mean));
    Ok(())
}
