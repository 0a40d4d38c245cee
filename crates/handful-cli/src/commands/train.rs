//! `handful train`: a backbone from the base classes of an image dataset; with `--system`, a system from tasks of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use handful_data::datasets::{DatasetKind, Part, open_dataset};
use handful_data::lock::FolderLock;
use handful_vision::backbone::{Backbone, Wanted};
use handful_vision::device::{Device, device};
use handful_vision::training::augment::Crop;
use handful_vision::training::checkpoint::EpochMetrics;
use handful_vision::training::schedule::Schedule;
use handful_vision::training::settings::{Distillation, Settings};
use handful_vision::training::teacher::Teacher;
use handful_vision::training::trainer::{Event, Job, best_network, last_checkpoint, train};

use crate::commands::data::dataset_kind;
use crate::commands::network::SHIPPED;
use crate::commands::train_network;
use crate::commands::train_system::{self, SystemArgs};
use crate::error::CliError;
use crate::progress::bar_like;

/// Arguments of `handful train`.
#[derive(Args)]
pub struct TrainArgs {
    /// Folder or archive of the dataset; its base classes are trained on, its validation classes validated on
    pub(super) dataset: PathBuf,
    /// Folder for checkpoints and metrics
    #[arg(short, long, value_name = "FOLDER")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) system: SystemArgs,
    /// The network
    #[arg(long, default_value = "compact")]
    backbone: String,
    /// Complete settings to start from: compact (short, small images), tim, simpleshot
    #[arg(long, default_value = "compact")]
    preset: String,
    /// Read the path as this dataset
    #[arg(long = "dataset", value_name = "DATASET", value_parser = dataset_kind)]
    pub(super) kind: Option<DatasetKind>,
    /// Side of the square images the network sees
    #[arg(long, default_value_t = 32)]
    size: usize,
    /// Passes over the images
    #[arg(long)]
    epochs: Option<usize>,
    /// Images in a step
    #[arg(long)]
    pub(super) batch: Option<usize>,
    /// The greatest learning rate
    #[arg(long)]
    pub(super) rate: Option<f64>,
    /// Weight decay
    #[arg(long)]
    pub(super) weight_decay: Option<f64>,
    /// Label smoothing
    #[arg(long)]
    smoothing: Option<f64>,
    /// Fractions of the epochs after which the rate is a tenth, as 0.5,0.75; or `cosine`
    #[arg(long, value_name = "FRACTIONS", value_parser = schedule)]
    schedule: Option<Schedule>,
    /// Window of training images: none, resized, or a number of zeros on each side
    #[arg(long, value_parser = crop)]
    crop: Option<Crop>,
    /// Strength of the colour jitter
    #[arg(long)]
    jitter: Option<f32>,
    /// Share of training images that are turned by a quarter, a half or three quarters, and learnt as classes of their own
    #[arg(long, value_name = "SHARE")]
    turns: Option<f32>,
    /// Average the weights over the steps, keeping this much of the average in each, as 0.999
    #[arg(long, value_name = "KEPT")]
    averaging: Option<f64>,
    /// Mix images in pairs, at a place of the network drawn for each step, with shares from Beta(ALPHA, ALPHA); as 2
    #[arg(long, value_name = "ALPHA")]
    mixup: Option<f64>,
    /// Show every image in all four turns, and learn which one it is beside its class, as S2M2_R begins
    #[arg(long)]
    rotations: bool,
    /// Classify features of length 1, by scores times this, as 2; without it by a linear classifier of them as they are
    #[arg(long, value_name = "FACTOR")]
    cosine: Option<f64>,
    /// Learn from an earlier training too: its last.safetensors
    #[arg(long, value_name = "FILE")]
    teacher: Option<PathBuf>,
    /// How much of the loss is about what the teacher says
    #[arg(long, value_name = "WEIGHT", default_value_t = 0.5, requires = "teacher")]
    distillation: f64,
    /// What scores are divided by before teacher and network are compared
    #[arg(long, value_name = "T", default_value_t = 4.0, requires = "teacher")]
    temperature: f64,
    /// Begin with these weights: a file, or `compact` for the network that comes with the program
    #[arg(long, value_name = "FILE")]
    begin_with: Option<PathBuf>,
    /// Do not flip training images
    #[arg(long)]
    no_flip: bool,
    /// Decides weights, order and augmentation
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Go on from the folder's last checkpoint, with its settings; --epochs may change
    #[arg(long)]
    pub(super) resume: bool,
    /// Seconds between checkpoints within an epoch
    #[arg(long, default_value_t = 120.0, value_name = "SECONDS")]
    pub(super) save_every: f64,
    /// Where to compute: cpu, cuda:0, wgpu
    #[arg(long, default_value = "cpu")]
    pub(super) device: String,
}

fn schedule(text: &str) -> Result<Schedule, String> {
    if text == "cosine" {
        return Ok(Schedule::Cosine);
    }
    let fractions: Option<Vec<f64>> =
        text.split(',').map(|part| part.parse().ok().filter(|at: &f64| (0.0..=1.0).contains(at))).collect();
    fractions
        .map(Schedule::Drops)
        .ok_or_else(|| "it must be `cosine` or fractions such as 0.5,0.75".to_owned())
}

fn crop(text: &str) -> Result<Crop, String> {
    match text {
        "none" => Ok(Crop::None),
        "resized" => Ok(Crop::Resized),
        zeros => zeros
            .parse()
            .map(Crop::Padded)
            .map_err(|_| "it must be none, resized or a whole number".to_owned()),
    }
}

impl TrainArgs {
    pub(super) fn settings(&self, teacher: Option<&Teacher>) -> Result<Settings, CliError> {
        let mut settings = Settings::preset(&self.preset, self.backbone.parse()?, self.size)?;
        settings.epochs = self.epochs.unwrap_or(settings.epochs);
        settings.batch = self.batch.unwrap_or(settings.batch);
        settings.rate = self.rate.unwrap_or(settings.rate);
        settings.weight_decay = self.weight_decay.unwrap_or(settings.weight_decay);
        settings.smoothing = self.smoothing.unwrap_or(settings.smoothing);
        settings.schedule = self.schedule.clone().unwrap_or(settings.schedule);
        settings.augmentation.crop = self.crop.unwrap_or(settings.augmentation.crop);
        settings.augmentation.jitter = self.jitter.unwrap_or(settings.augmentation.jitter);
        settings.augmentation.flip &= !self.no_flip;
        settings.augmentation.turns = self.turns.unwrap_or(settings.augmentation.turns);
        settings.averaging = self.averaging.unwrap_or(settings.averaging);
        settings.mixup = self.mixup.unwrap_or(settings.mixup);
        settings.rotations |= self.rotations;
        settings.cosine = self.cosine.unwrap_or(settings.cosine);
        settings.distillation = teacher.map(|teacher| Distillation {
            weight: self.distillation,
            temperature: self.temperature,
            teacher: teacher.sha256().to_owned(),
        });
        settings.seed = self.seed;
        settings.check()?;
        Ok(settings)
    }
}

impl TrainArgs {
    pub(super) fn begin_with(
        &self,
        settings: &Settings,
        device: &Device,
    ) -> Result<Option<Backbone>, CliError> {
        let Some(path) = &self.begin_with else { return Ok(None) };
        let backbone = Some(settings.backbone);
        let wanted = Wanted { backbone, size: Some(settings.preparation.size), ..Wanted::default() };
        let network = match path.to_str() {
            Some(SHIPPED) if !path.exists() => Backbone::shipped(wanted, device)?,
            _ => Backbone::open(path, wanted, device)?,
        };
        Ok(Some(network))
    }
}

/// Runs the command.
pub fn run(args: &TrainArgs) -> Result<(), CliError> {
    if let Some(system) = &args.system.system {
        return match args.system.is_of_features(&args.dataset) && args.kind.is_none() {
            true => train_system::run(args, system),
            false => train_network::run(args, system),
        };
    }
    let device = device(&args.device)?;
    let teacher = args.teacher.as_deref().map(|path| Teacher::open(path, &device)).transpose()?;
    let settings = args.settings(teacher.as_ref())?;
    let begin_with = args.begin_with(&settings, &device)?;
    let _lock = FolderLock::take(&args.output)?;
    if !args.resume && last_checkpoint(&args.output).exists() {
        return Err(CliError::Usage(format!(
            "{} holds a training already; go on with --resume, or give another folder",
            args.output.display()
        )));
    }
    let save_every = Duration::try_from_secs_f64(args.save_every)
        .map_err(|_| CliError::Usage(format!("--save-every is {}, but must be a time", args.save_every)))?;
    let base = open_dataset(&args.dataset, args.kind, Some(Part::Base))?;
    // Some datasets have no validation classes, which is no reason not to train; the reason is told.
    let validation = open_dataset(&args.dataset, args.kind, Some(Part::Validation));
    eprintln!(
        "{}: {} images of {} classes to train on, {}",
        base.kind(),
        base.len(),
        base.classes().len(),
        match &validation {
            Ok(validation) => format!("{} classes to validate on", validation.classes().len()),
            Err(reason) => format!("none to validate on ({reason})"),
        }
    );
    let validation = validation.ok();

    let stop = stop_on_ctrl_c()?;
    let epochs = settings.epochs;
    let job = Job {
        base: &base,
        validation: validation.as_ref(),
        begin_with,
        teacher,
        settings,
        folder: &args.output,
        resume: args.resume,
        save_every,
        device: &device,
        stop: &stop,
    };
    let bar = bar_like(1, "{msg}  {wide_bar} {eta} left");
    let mut first_step = None;
    let outcome = train(&job, &mut |event| match event {
        Event::Step { progress, steps, batch } => {
            let done = progress.epoch * steps + progress.step;
            let first = *first_step.get_or_insert(done);
            bar.set_length((epochs * steps) as u64);
            bar.set_position(done as u64);
            let rate = (done - first) as f64 * batch as f64 / bar.elapsed().as_secs_f64().max(1e-9);
            bar.set_message(format!(
                "epoch {}/{epochs}  loss {:.3}  accuracy {:.1}%  {rate:.0} images/s",
                progress.epoch + 1,
                progress.loss_sum / progress.step as f64,
                100.0 * progress.correct as f64 / (progress.step * batch) as f64
            ));
        }
        Event::Epoch(metrics) => bar.suspend(|| eprintln!("{}", sentence(metrics, epochs))),
    })?;
    bar.finish_and_clear();
    if !outcome.finished {
        eprintln!(
            "stopped after {} epochs and {} steps; go on with --resume",
            outcome.progress.epoch, outcome.progress.step
        );
        return Ok(());
    }
    eprintln!("the best network is {}", best_network(&args.output).display());
    Ok(())
}

fn sentence(metrics: &EpochMetrics, epochs: usize) -> String {
    let validation = metrics.validation.map(|value| format!(", validation 1-shot {:.2}%", 100.0 * value));
    format!(
        "epoch {}/{epochs}: loss {:.4}, accuracy {:.2}%{}, {:.0} s",
        metrics.epoch,
        metrics.loss,
        100.0 * metrics.accuracy,
        validation.unwrap_or_default(),
        metrics.seconds
    )
}

/// A flag that Ctrl-C sets. A second Ctrl-C ends the program at once; the last checkpoint is whole in any case.
pub(super) fn stop_on_ctrl_c() -> Result<Arc<AtomicBool>, CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .map_err(|error| CliError::Failed(format!("cannot watch for Ctrl-C: {error}")))?;
    Ok(stop)
}
