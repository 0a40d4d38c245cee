//! Training a network on tasks, with a head or with MAML.
//!
//! A head says how its loss changes with the rows it is given (`lesson.rs`); the network that gave those rows follows by
//! one vector-Jacobian product, the gradient of `sum(embedding · gradient)`. So a head is written once, in
//! `handful::methods::trained`, for frozen features and for this.
//!
//! Images of a task go through the network as one batch, whose statistics normalise it; running statistics are kept for use.

mod evaluation;
mod images;
mod maml;
#[cfg(test)]
mod tests;
mod through;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use burn::tensor::Device;
use handful::Matrix;
use handful::embedder::Embedder;
use handful::methods::trained::{CENTRE, Head, HeadFacts, System, TensorSpec, Tensors};
use handful_data::EpisodeSampler;
use handful_data::datasets::ImageDataset;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::evaluation::{Evaluation, Novel, evaluate};
use self::images::ImageTasks;
pub use self::maml::Maml;
use super::checkpoint::{Header, NETWORK, State, broken, load, save, save_head};
use super::run::{Training, run};
use super::sums::Sums;
use super::trainer::{FIRST_TENSORS, VALIDATION_SEED, accuracies, leaves, mean};
use super::{EpisodicEvent, EpisodicOutcome, EpisodicSettings, TaskDraws, best_head, last_state};
use crate::backbone::{Backbone, BackboneHeader};
use crate::embedding::{EmbedOptions, embed_images};
use crate::error::VisionError;
use crate::networks::Network;
use crate::tensors::{self, Arrays};
use crate::training::augment::Augmentation;
use crate::weights::{self, Precision};

/// Images of a validation class that are looked at: enough for the tasks of a validation, few enough for many of them.
const VALIDATION_IMAGES: usize = 120;

/// The network of a training, and what is done to its images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkSettings {
    /// The network, and what images go through outside training.
    #[serde(flatten)]
    pub backbone: BackboneHeader,
    /// What training images go through.
    pub augmentation: Augmentation,
}

/// What is trained with a network.
pub enum Learner<'a> {
    /// A head.
    Head(&'a dyn System),
    /// A start from which a few steps are enough.
    Maml(Maml),
}

impl Learner<'_> {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Head(system) => system.name(),
            Self::Maml(_) => Maml::NAME,
        }
    }

    fn settings(&self) -> Value {
        match self {
            Self::Head(system) => system.settings(),
            Self::Maml(maml) => serde_json::to_value(maml).unwrap_or_default(),
        }
    }

    fn tensors(&self, dim: usize, ways: usize) -> Vec<TensorSpec> {
        match self {
            Self::Head(system) => system.tensors(dim, ways),
            Self::Maml(maml) => maml.tensors(dim, ways),
        }
    }

    /// The least number of labelled images per class.
    pub fn least_shots(&self) -> usize {
        match self {
            Self::Head(system) => system.least_shots(),
            Self::Maml(_) => 1,
        }
    }
}

/// A training of a network on tasks.
pub struct NetworkJob<'a> {
    /// Images of the base classes.
    pub base: &'a ImageDataset,
    /// Images of the validation classes.
    pub validation: &'a ImageDataset,
    /// What is trained with the network.
    pub learner: Learner<'a>,
    /// How it is trained; that of the checkpoint counts where one is resumed.
    pub settings: EpisodicSettings,
    /// The network; that of the checkpoint counts where one is resumed.
    pub network: NetworkSettings,
    /// Weights to begin with instead of drawn ones.
    pub begin_with: Option<Backbone>,
    /// Where checkpoints and the best network and head go.
    pub folder: &'a Path,
    /// The command line, for the record.
    pub command: String,
    /// Whether to go on from the folder's checkpoint.
    pub resume: bool,
    /// Time between checkpoints.
    pub save_every: Duration,
    /// Where to compute.
    pub device: &'a Device,
    /// Set from outside to stop after the present step.
    pub stop: &'a AtomicBool,
}

/// What a task says of a network and of what is trained with it.
pub struct TaskGradients {
    /// The loss.
    pub loss: f64,
    /// Gradients of the learnt tensors of the head.
    pub head: Vec<(String, Matrix<f64>)>,
    /// Gradients of the network's parameters.
    pub network: Arrays,
    /// The network's running statistics after the task.
    pub statistics: Arrays,
}

/// The head that belongs to the best network of a folder.
pub fn network_head(folder: &Path) -> PathBuf {
    folder.join("head.safetensors")
}

/// Trains a network on tasks.
///
/// # Errors
/// [`VisionError`] for classes with too few images, settings out of range, a checkpoint of something else, images that cannot
/// be read, a loss that is no number any more, and files that cannot be written.
pub fn train_network(
    job: &NetworkJob<'_>,
    watch: &mut dyn FnMut(EpisodicEvent),
) -> Result<EpisodicOutcome, VisionError> {
    job.settings.check()?;
    let least = job.learner.least_shots();
    if job.settings.shots < least {
        let (value, requirement) =
            (job.settings.shots.to_string(), format!("{} needs at least {least}", job.learner.name()));
        return Err(VisionError::Setting { setting: "shots", value, requirement });
    }
    let last = last_state(job.folder);
    let state = if job.resume && last.exists() { load(&last)? } else { started(job)? };
    let (wanted, found) = (facts(job, &job.network), &state.header.facts);
    let network = state.header.network.clone().filter(|_| {
        (&found.system, found.dim, &found.fingerprint) == (&wanted.system, wanted.dim, &wanted.fingerprint)
    });
    let Some(network) = network else {
        let reason = format!(
            "it is a training of {} on {} ({} dimensions), not of {} on {} ({} dimensions)",
            found.system, found.features, found.dim, wanted.system, wanted.features, wanted.dim
        );
        return Err(VisionError::Weights { path: last, reason });
    };
    if let Learner::Maml(maml) = &job.learner {
        maml.check_network(network.backbone.backbone)?;
    }
    let settings = &state.header.settings;
    let sampler = |dataset: &ImageDataset, seed| {
        EpisodeSampler::from_classes(dataset.classes().clone(), settings.spec(), seed)
    };
    let preparation = network.backbone.preparation;
    let tasks = ImageTasks {
        dataset: job.base,
        sampler: sampler(job.base, settings.seed)?,
        preparation,
        augmentation: Some(network.augmentation),
    };
    let validation = ImageTasks {
        dataset: job.validation,
        sampler: sampler(job.validation, settings.seed ^ VALIDATION_SEED)?,
        preparation,
        augmentation: None,
    };
    let mut training = ThroughNetwork { job, state, network: network.backbone, tasks, validation };
    run(&mut training, job.save_every, job.stop, watch)
}

fn facts(job: &NetworkJob<'_>, network: &NetworkSettings) -> HeadFacts {
    let classes = job.base.classes();
    let identity = format!("{} {} {}", job.base.kind(), job.base.len(), classes.names().join("\n"));
    let BackboneHeader { backbone, preparation } = network.backbone;
    HeadFacts {
        system: job.learner.name().to_owned(),
        settings: job.learner.settings(),
        dim: backbone.features(preparation.size),
        ways: job.settings.ways,
        shots: job.settings.shots,
        features: format!("images of {} through {backbone} at {} px", job.base.kind(), preparation.size),
        fingerprint: weights::sha256(identity.as_bytes()).chars().take(12).collect(),
        classes: classes.len(),
        seed: job.settings.seed,
        command: job.command.clone(),
        network: Some(String::new()),
        embedder: None,
    }
}

fn started(job: &NetworkJob<'_>) -> Result<State, VisionError> {
    let facts = facts(job, &job.network);
    let backbone = job.network.backbone.backbone;
    let drawn = tensors::draw(backbone.build(&job.device.clone().autodiff()), job.settings.seed);
    let (network, misfits) = match job.begin_with.as_ref().and_then(Backbone::arrays) {
        Some(arrays) => tensors::apply(drawn, &arrays),
        None => (drawn, Vec::new()),
    };
    if !misfits.is_empty() {
        return Err(VisionError::Setting {
            setting: "weights to begin with",
            value: job.begin_with.as_ref().map(Backbone::description).unwrap_or_default(),
            requirement: format!("they must be of the network {backbone}"),
        });
    }
    let mut draws = TaskDraws::new(job.settings.seed, FIRST_TENSORS);
    let specs = job.learner.tensors(facts.dim, facts.ways);
    let mut tensors: Tensors = specs.iter().map(|spec| (spec.name.to_owned(), draws.first(spec))).collect();
    // Rows are taken as they are: the centre is only there because files of heads have one.
    tensors.insert(CENTRE.to_owned(), Matrix::zeros(1, facts.dim));
    let network = tensors::collect(&network).into_iter().map(|named| (named.name, named.array)).collect();
    let header = Header {
        facts,
        settings: job.settings.clone(),
        step: 0,
        best: None,
        network: Some(job.network.clone()),
    };
    Ok(State { header, tensors, network, moments: BTreeMap::new() })
}

/// A network with weights.
fn built(header: &BackboneHeader, arrays: &Arrays, device: &Device) -> Network {
    tensors::apply(header.backbone.build(device), arrays).0
}

struct ThroughNetwork<'a> {
    job: &'a NetworkJob<'a>,
    state: State,
    network: BackboneHeader,
    tasks: ImageTasks<'a>,
    validation: ImageTasks<'a>,
}

impl Training for ThroughNetwork<'_> {
    fn state(&mut self) -> &mut State {
        &mut self.state
    }

    /// Tasks come one after the other: the threads are in the network's kernels.
    fn take_step(&mut self) -> Result<f64, VisionError> {
        let device = self.job.device.clone().autodiff();
        let settings = self.state.header.settings.clone();
        let share = 1.0 / settings.batch as f64;
        let first = (self.state.header.step * settings.batch) as u64;
        let (mut sums, mut loss) = (Sums::default(), 0.0);
        for number in first..first + settings.batch as u64 {
            let task = self.tasks.task(number)?;
            let network = built(&self.network, &self.state.network, &device);
            let found = match &self.job.learner {
                Learner::Head(system) => {
                    let leaves = leaves(*system, self.state.header.facts.dim, &self.state);
                    let mut draws = TaskDraws::new(settings.seed, number);
                    through::gradients(*system, &network, &leaves, &task, &mut draws)
                }
                Learner::Maml(maml) => maml.gradients(&network, &self.state.tensors, &task),
            };
            loss += share * found.loss;
            for (name, gradient) in &found.head {
                sums.add(name, share, gradient);
            }
            for (name, array) in found.network {
                let gradient = Matrix::from_vec(1, array.values.len(), array.values).cast();
                sums.add(&format!("{NETWORK}{name}"), share, &gradient);
            }
            self.state.network.extend(found.statistics);
        }
        sums.descend(&mut self.state);
        Ok(loss)
    }

    fn accuracy(&mut self) -> Result<f64, VisionError> {
        let Header { facts, settings, .. } = &self.state.header;
        let tasks = settings.validation_tasks;
        let all = match &self.job.learner {
            Learner::Maml(maml) => {
                let device = self.job.device.clone().autodiff();
                let network = built(&self.network, &self.state.network, &device);
                maml.accuracies(&network, &self.state.tensors, &self.validation, tasks)?
            }
            Learner::Head(_) => {
                let backbone = Backbone::of_parts(self.network, &self.state.network, self.job.device);
                let rows = self.job.validation.classes().rows_of_class();
                let images: Vec<usize> =
                    rows.iter().flat_map(|rows| rows.iter().take(VALIDATION_IMAGES)).copied().collect();
                let options = EmbedOptions { only: Some(&images), ..EmbedOptions::default() };
                let table = embed_images(self.job.validation, &[backbone], &options)?.table;
                let seed = settings.seed ^ VALIDATION_SEED;
                let sampler = EpisodeSampler::new(&table, settings.spec(), seed)?;
                let head = Head::new(facts.clone(), &self.state.tensors)
                    .map_err(|error| broken(&network_head(self.job.folder), error.to_string()))?;
                accuracies(&head, &table, &sampler, tasks)?
            }
        };
        Ok(mean(&all))
    }

    fn keep(&mut self) -> Result<(), VisionError> {
        let (path, head) = (best_head(self.job.folder), network_head(self.job.folder));
        let json = serde_json::to_string(&self.network).map_err(|error| broken(&path, error.to_string()))?;
        weights::write(&path, &self.state.network, &json, Precision::Full)?;
        let network = Some(weights::read(&path)?.sha256.chars().take(Embedder::DIGITS).collect());
        let facts = HeadFacts { network, ..self.state.header.facts.clone() };
        save_head(&head, &facts, &self.state.tensors)
    }

    fn save(&mut self) -> Result<(), VisionError> {
        save(&last_state(self.job.folder), &self.state)
    }
}
