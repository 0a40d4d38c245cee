//! Heads on frozen features.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use handful::error::TaskError;
use handful::methods::trained::{CENTRE, Head, HeadFacts, System, Tensors, prepared};
use handful::{Matrix, Method, Task, Unlabeled};
use handful_data::{Episode, EpisodeSampler, FeatureTable};
use rayon::prelude::*;

use super::checkpoint::{Header, State, broken, load, save, save_head};
use super::lesson::{Leaves, Lesson, Rows, lesson};
use super::run::{Training, run};
use super::sums::Sums;
use super::{EpisodicSettings, TaskDraws};
use crate::error::VisionError;
use crate::tensors::Arrays;

/// The tensors before training are drawn from a stream that no task has.
pub(super) const FIRST_TENSORS: u64 = u64::MAX;
/// Validation tasks are others than those of any training with the same seed.
pub(super) const VALIDATION_SEED: u64 = 0x7661_6c69_6461_7465;

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
    if job.system.needs_network() {
        let requirement = "it learns nothing but a network: give a dataset of images".to_owned();
        let value = job.system.name().to_owned();
        return Err(VisionError::Setting { setting: "system", value, requirement });
    }
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
    let state = if job.resume && last.exists() { load(&last)? } else { started(job)? };
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
    let settings = &state.header.settings;
    let sampler = EpisodeSampler::new(job.base, settings.spec(), settings.seed)?;
    let validation = EpisodeSampler::new(job.validation, settings.spec(), settings.seed ^ VALIDATION_SEED)?;
    let mut training = OnFeatures { job, state, sampler, validation };
    run(&mut training, job.save_every, job.stop, watch)
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
        network: None,
        embedder: job.base.embedder().cloned(),
    }
}

fn started(job: &EpisodicJob<'_>) -> Result<State, VisionError> {
    let mut draws = TaskDraws::new(job.settings.seed, FIRST_TENSORS);
    let specs = job.system.tensors(job.base.dim(), job.settings.ways);
    let mut tensors: Tensors = specs.iter().map(|spec| (spec.name.to_owned(), draws.first(spec))).collect();
    tensors.insert(CENTRE.to_owned(), Matrix::from_vec(1, job.base.dim(), job.base.mean_row()?));
    let header =
        Header { facts: facts(job), settings: job.settings.clone(), step: 0, best: None, network: None };
    Ok(State { header, tensors, network: Arrays::new(), moments: BTreeMap::new() })
}

/// The rows and labels of a part of a task.
fn rows_of(table: &FeatureTable, classes: &[Vec<usize>]) -> (Matrix<f32>, Vec<usize>) {
    let rows: Vec<usize> = classes.iter().flatten().copied().collect();
    let labels = classes.iter().enumerate().flat_map(|(class, rows)| vec![class; rows.len()]).collect();
    (table.gather(&rows), labels)
}

/// A training of a head alone.
struct OnFeatures<'a> {
    job: &'a EpisodicJob<'a>,
    state: State,
    sampler: EpisodeSampler,
    validation: EpisodeSampler,
}

impl OnFeatures<'_> {
    /// The rows of a task, prepared.
    fn rows(&self, episode: &Episode) -> Rows {
        let table = self.job.base;
        let (support, labels) = rows_of(table, &episode.support);
        let (query, query_labels) = rows_of(table, &episode.query);
        let centre = self.state.tensors[CENTRE].as_slice();
        let all = prepared(&support.stack(&query), centre, self.job.system.row_length(table.dim()));
        Rows { all, labels, query_labels, ways: episode.classes.len() }
    }
}

impl Training for OnFeatures<'_> {
    fn state(&mut self) -> &mut State {
        &mut self.state
    }

    fn take_step(&mut self) -> Result<f64, VisionError> {
        let settings = &self.state.header.settings;
        let leaves = leaves(self.job.system, self.job.base.dim(), &self.state);
        let first = (self.state.header.step * settings.batch) as u64;
        let lessons: Vec<Lesson> = (first..first + settings.batch as u64)
            .into_par_iter()
            .map(|task| {
                let mut draws = TaskDraws::new(settings.seed, task);
                lesson(self.job.system, &leaves, self.rows(&self.sampler.episode(task)), &mut draws)
            })
            .collect();
        let share = 1.0 / settings.batch as f64;
        let mut sums = Sums::default();
        for lesson in &lessons {
            for (name, gradient) in leaves.keys().zip(&lesson.tensors) {
                sums.add(name, share, gradient);
            }
        }
        sums.descend(&mut self.state);
        Ok(lessons.iter().map(|lesson| share * lesson.loss).sum())
    }

    fn accuracy(&mut self) -> Result<f64, VisionError> {
        let Header { facts, settings, .. } = &self.state.header;
        let head = Head::new(facts.clone(), &self.state.tensors)
            .map_err(|error| broken(&best_head(self.job.folder), error.to_string()))?;
        let tasks = settings.validation_tasks;
        Ok(mean(&accuracies(&head, self.job.validation, &self.validation, tasks)?))
    }

    fn keep(&mut self) -> Result<(), VisionError> {
        save_head(&best_head(self.job.folder), &self.state.header.facts, &self.state.tensors)
    }

    fn save(&mut self) -> Result<(), VisionError> {
        save(&last_state(self.job.folder), &self.state)
    }
}

/// The learnt tensors of a state as a graph takes them.
pub(super) fn leaves(system: &dyn System, dim: usize, state: &State) -> Leaves {
    let specs = system.tensors(dim, state.header.settings.ways);
    specs.iter().map(|spec| (spec.name, Arc::new(state.tensors[spec.name].cast()))).collect()
}

/// The accuracy of a head on tasks of a table, one by one, as `bench` measures it.
pub(super) fn accuracies(
    head: &Head,
    table: &FeatureTable,
    sampler: &EpisodeSampler,
    tasks: usize,
) -> Result<Vec<f64>, VisionError> {
    let broken = |error: TaskError| broken(table.path(), error.to_string());
    let accuracy = |task: u64| -> Result<f64, VisionError> {
        let episode = sampler.episode(task);
        let (support, labels) = rows_of(table, &episode.support);
        let (query, truth) = rows_of(table, &episode.query);
        let task = Task::new(task, episode.classes.len(), support, labels, Unlabeled::Query, query);
        let solution = task.and_then(|task| head.solve(&task)).map_err(broken)?;
        let right =
            solution.query_labels().iter().zip(&truth).filter(|(label, truth)| label == truth).count();
        Ok(right as f64 / truth.len().max(1) as f64)
    };
    (0..tasks as u64).into_par_iter().map(accuracy).collect()
}

/// The mean; 0 of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
