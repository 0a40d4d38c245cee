//! The loop: batches in, checkpoints out.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use burn::tensor::{Device, Int, Tensor, TensorData};
use handful_data::datasets::ImageDataset;

use super::average::{averaged, take_in};
use super::batches::{Batch, BatchSource};
use super::checkpoint::{self, Checkpoint, EpochMetrics, Progress};
use super::mixing::blend_of_step;
use super::model::{Lesson, Model, Taught};
use super::rotation::{all_ways_up, classes_all_ways_up};
use super::settings::Settings;
use super::sgd::Sgd;
use super::teacher::Teacher;
use super::validation::Validation;
use crate::backbone::Backbone;
use crate::error::VisionError;
use crate::files::{io_error, replace};
use crate::tensors::{self, Arrays};
use crate::weights::Precision;

/// What a training is told to do.
pub struct Job<'a> {
    /// Images of the classes to train on.
    pub base: &'a ImageDataset,
    /// Images of other classes, to validate on.
    pub validation: Option<&'a ImageDataset>,
    /// The settings; those of the checkpoint count where one is resumed, except for the number of epochs.
    pub settings: Settings,
    /// Weights to begin with instead of drawn ones.
    pub begin_with: Option<Backbone>,
    /// An earlier generation to learn from, if the settings say so.
    pub teacher: Option<Teacher>,
    /// The folder for checkpoints and metrics.
    pub folder: &'a Path,
    /// Whether to go on from the folder's last checkpoint.
    pub resume: bool,
    /// Time between checkpoints within an epoch.
    pub save_every: Duration,
    /// Where to compute.
    pub device: &'a Device,
    /// Set from outside to save and stop.
    pub stop: &'a AtomicBool,
}

/// What happens during a training.
pub enum Event<'a> {
    /// A step was done.
    Step {
        /// Where the training is.
        progress: &'a Progress,
        /// Steps in an epoch.
        steps: usize,
        /// Images in a step.
        batch: usize,
    },
    /// An epoch was done.
    Epoch(&'a EpochMetrics),
}

/// How a training ended.
#[derive(Debug)]
pub struct Outcome {
    /// Whether all epochs are done; otherwise it was stopped and can be resumed.
    pub finished: bool,
    /// Where it is.
    pub progress: Progress,
}

/// Accuracies closer than this are equal: a checkpoint keeps them as decimal text, which may cost the last bit, and a
/// resumed training must not take for better what an uninterrupted one takes for equal.
const SAME_ACCURACY: f64 = 1e-9;

/// The file to resume from.
pub fn last_checkpoint(folder: &Path) -> PathBuf {
    folder.join("last.safetensors")
}

/// The network of the best validation.
pub fn best_network(folder: &Path) -> PathBuf {
    folder.join("best.safetensors")
}

/// Trains until the last epoch, or until told to stop.
pub fn train(job: &Job<'_>, report: &mut dyn FnMut(Event<'_>)) -> Result<Outcome, VisionError> {
    job.settings.check()?;
    std::fs::create_dir_all(job.folder).map_err(io_error(job.folder))?;
    let device = job.device.clone().autodiff();
    let start = start(job, &device)?;
    check_teacher(job.teacher.as_ref(), &start)?;
    let validation = match job.validation {
        Some(dataset) => {
            let settings = &start.settings;
            Some(Validation::new(dataset, &settings.preparation, settings.validation_ways, settings.seed)?)
        }
        None => None,
    };
    let source = BatchSource {
        dataset: job.base,
        augmentation: start.settings.augmentation,
        preparation: start.settings.preparation,
        batch: start.settings.batch.min(job.base.len()),
        seed: start.settings.seed,
    };
    std::thread::scope(|scope| {
        let from = (start.progress.epoch, start.progress.step);
        let batches = source.start(scope, from, start.settings.epochs);
        let mut run =
            Run { job, device, state: start, steps: source.steps(), validation, saved: Instant::now() };
        let finished = run.all_epochs(&batches, report)?;
        Ok(Outcome { finished, progress: run.state.progress })
    })
}

fn start(job: &Job<'_>, device: &Device) -> Result<Checkpoint, VisionError> {
    let path = last_checkpoint(job.folder);
    let classes = job.base.classes().len();
    if job.resume && path.exists() {
        let mut found = checkpoint::load(&path, device)?;
        let (known, expected) = (found.model.classes(), found.settings.augmentation.classes(classes));
        if known != expected {
            let reason = format!("it was trained on {known} classes, but the dataset has {expected}");
            return Err(VisionError::Weights { path, reason });
        }
        found.settings.epochs = job.settings.epochs;
        return Ok(found);
    }
    let settings = job.settings.clone();
    let outputs = settings.augmentation.classes(classes);
    let mut model = tensors::draw(Model::new(&settings, outputs, device), settings.seed);
    if let Some(arrays) = job.begin_with.as_ref().and_then(Backbone::arrays) {
        let (network, misfits) = tensors::apply(model.network, &arrays);
        if !misfits.is_empty() {
            return Err(VisionError::Setting {
                setting: "weights to begin with",
                value: job.begin_with.as_ref().map(Backbone::description).unwrap_or_default(),
                requirement: format!("they must be of the network {}", settings.backbone),
            });
        }
        model.network = network;
    }
    let sgd = Sgd::new(settings.momentum, settings.weight_decay);
    let average = (settings.averaging > 0.0).then(Arrays::new);
    let start = Checkpoint { model, sgd, average, settings, progress: Progress::default() };
    checkpoint::save(&path, &start)?;
    Ok(start)
}

/// Refuses a training that should have a teacher and has none, or the wrong one.
fn check_teacher(teacher: Option<&Teacher>, start: &Checkpoint) -> Result<(), VisionError> {
    let refuse = |value: &str, requirement: &str| {
        let (value, requirement) = (value.to_owned(), requirement.to_owned());
        Err(VisionError::Setting { setting: "teacher", value, requirement })
    };
    match (teacher, &start.settings.distillation) {
        (Some(teacher), Some(distillation)) => teacher.check(start.model.classes(), distillation),
        (None, Some(_)) => refuse("none", "the training began with one, and goes on with it"),
        (Some(_), None) => refuse("given", "the training began without one, and goes on so"),
        (None, None) => Ok(()),
    }
}

type Batches = std::sync::mpsc::Receiver<Result<Batch, handful_data::DataError>>;

struct Run<'a> {
    job: &'a Job<'a>,
    device: Device,
    state: Checkpoint,
    steps: usize,
    validation: Option<Validation>,
    saved: Instant,
}

/// The learning rate of a step, counted from the start of the training.
fn learning_rate(settings: &Settings, steps: usize, step: usize) -> f64 {
    settings.rate * settings.schedule.factor(step, steps, settings.epochs)
}

impl Run<'_> {
    fn all_epochs(
        &mut self,
        batches: &Batches,
        report: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool, VisionError> {
        while self.state.progress.epoch < self.state.settings.epochs {
            let began = Instant::now();
            while self.state.progress.step < self.steps {
                if self.job.stop.load(Ordering::Relaxed) {
                    self.save()?;
                    return Ok(false);
                }
                // The maker of batches only stops early after it has sent an error.
                let Ok(batch) = batches.recv() else { return Ok(false) };
                self.step(batch?)?;
                let batch = self.state.settings.batch;
                report(Event::Step { progress: &self.state.progress, steps: self.steps, batch });
                if self.saved.elapsed() >= self.job.save_every {
                    self.save()?;
                }
            }
            self.end_epoch(began, report)?;
        }
        Ok(true)
    }

    fn step(&mut self, batch: Batch) -> Result<(), VisionError> {
        let Checkpoint { model, sgd, average, settings, progress } = &mut self.state;
        let size = settings.preparation.size;
        let count = batch.classes.len();
        let images = TensorData::new(batch.pixels, [count, 3, size, size]);
        let images = Tensor::<4>::from_data(images, &self.device);
        let classes = TensorData::new(batch.classes, [count]);
        let classes = Tensor::<1, Int>::from_data(classes, &self.device.clone().inner());
        let (images, classes) = match settings.rotations {
            true => (all_ways_up(images), classes_all_ways_up(classes)),
            false => (images, classes),
        };
        let taught =
            (self.job.teacher.as_ref().zip(settings.distillation.as_ref())).map(|(teacher, wanted)| {
                let (weight, temperature) = (wanted.weight, wanted.temperature);
                let probabilities = teacher.probabilities(images.clone().inner(), temperature);
                Taught { probabilities, weight, temperature }
            });
        let blend =
            blend_of_step(settings.mixup, settings.backbone, settings.seed, progress.epoch, progress.step);
        let lesson = Lesson { classes, smoothing: settings.smoothing, blend, taught };
        let (loss, correct) = model.loss_of(images, lesson);
        let value = loss.clone().into_scalar::<f32>();
        let rate = learning_rate(settings, self.steps, progress.epoch * self.steps + progress.step);
        if !value.is_finite() {
            let (epoch, step) = (progress.epoch + 1, progress.step + 1);
            return Err(VisionError::Diverged { loss: value, epoch, step, rate });
        }
        let mut gradients = loss.backward();
        *model = sgd.step(model.clone(), &mut gradients, rate);
        if let Some(average) = average {
            let steps = progress.epoch * self.steps + progress.step;
            take_in(average, &model.network, settings.averaging, steps);
        }
        progress.step += 1;
        progress.loss_sum += f64::from(value);
        progress.correct += correct;
        Ok(())
    }

    fn end_epoch(&mut self, began: Instant, report: &mut dyn FnMut(Event<'_>)) -> Result<(), VisionError> {
        let network = averaged(&self.state.model.network, self.state.average.as_ref());
        let inner = self.device.clone().inner();
        let validation = self.validation.as_ref().map(|validation| validation.accuracy(&network, &inner));
        let progress = &mut self.state.progress;
        // Of the last step, which may have been taken before the training was interrupted.
        let last_step = ((progress.epoch + 1) * self.steps).saturating_sub(1);
        let metrics = EpochMetrics {
            epoch: progress.epoch + 1,
            rate: learning_rate(&self.state.settings, self.steps, last_step),
            loss: progress.loss_sum / self.steps as f64,
            accuracy: progress.correct as f64 / (self.steps * self.state.settings.batch) as f64,
            validation,
            seconds: began.elapsed().as_secs_f64(),
        };
        report(Event::Epoch(&metrics));
        progress.history.push(metrics);
        (progress.epoch, progress.step, progress.loss_sum, progress.correct) =
            (progress.epoch + 1, 0, 0.0, 0);
        // Without validation classes the last network is the best there is.
        let is_best = match (validation, progress.best) {
            (Some(now), Some(best)) => now > best + SAME_ACCURACY,
            _ => true,
        };
        if is_best {
            progress.best = validation;
            let path = best_network(self.job.folder);
            checkpoint::save_network(&path, &network, &self.state.settings, Precision::Full)?;
        }
        self.save()?;
        let history = &self.state.progress.history;
        replace(&self.job.folder.join("metrics.csv"), super::metrics::csv(history).as_bytes())?;
        replace(&self.job.folder.join("metrics.svg"), super::plot::svg(history).as_bytes())
    }

    fn save(&mut self) -> Result<(), VisionError> {
        checkpoint::save(&last_checkpoint(self.job.folder), &self.state)?;
        self.saved = Instant::now();
        Ok(())
    }
}
