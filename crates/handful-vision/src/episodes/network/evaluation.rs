//! How a trained network does on classes that neither training nor validation saw.

use std::path::Path;

use burn::tensor::Device;
use handful::Matrix;
use handful::methods::trained::Tensors;
use handful_data::datasets::ImageDataset;
use handful_data::heads::read_head;
use handful_data::{EpisodeSampler, EpisodeSpec};

use super::images::ImageTasks;
use super::{Learner, built, network_head};
use crate::backbone::{Backbone, BackboneHeader, Wanted};
use crate::embedding::{EmbedOptions, embed_images};
use crate::episodes::best_head;
use crate::episodes::trainer::{accuracies, mean};
use crate::error::VisionError;
use crate::tensors::Array;
use crate::weights;

/// Tasks to measure on.
pub struct Novel<'a> {
    /// Images of the novel classes.
    pub dataset: &'a ImageDataset,
    /// What tasks are made of; several settings are measured on one embedding.
    pub specs: &'a [EpisodeSpec],
    /// How many tasks of each.
    pub tasks: usize,
    /// Decides the tasks.
    pub seed: u64,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Labelled images per class.
    pub shots: usize,
    /// Mean accuracy.
    pub accuracy: f64,
    /// Half of the 95 % interval.
    pub ci95: f64,
}

impl Evaluation {
    fn of(shots: usize, all: &[f64]) -> Self {
        let accuracy = mean(all);
        let squares: Vec<f64> = all.iter().map(|value| (value - accuracy).powi(2)).collect();
        let ci95 = 1.96 * (mean(&squares) / all.len().max(1) as f64).sqrt();
        Self { shots, accuracy, ci95 }
    }
}

/// Measures the best network of a folder: with a head as `embed` and `bench` would, with MAML from images.
///
/// # Errors
/// [`VisionError`] for files that are missing or do not belong together, classes with too few images, and images that cannot
/// be read.
pub fn evaluate(
    folder: &Path,
    learner: &Learner<'_>,
    novel: &Novel<'_>,
    device: &Device,
) -> Result<Vec<Evaluation>, VisionError> {
    match learner {
        Learner::Head(_) => {
            let backbone = Backbone::open(&best_head(folder), Wanted::default(), device)?;
            let table = embed_images(novel.dataset, &[backbone], &EmbedOptions::default())?.table;
            let head = read_head(&network_head(folder))?;
            let measure = |spec: &EpisodeSpec| {
                let sampler = EpisodeSampler::new(&table, spec.clone(), novel.seed)?;
                Ok(Evaluation::of(spec.shots, &accuracies(&head, &table, &sampler, novel.tasks)?))
            };
            novel.specs.iter().map(measure).collect()
        }
        Learner::Maml(maml) => {
            let (path, head) = (best_head(folder), weights::read(&network_head(folder))?.arrays);
            let file = weights::read(&path)?;
            let header: BackboneHeader = serde_json::from_str(&file.header.unwrap_or_default())
                .map_err(|error| VisionError::Weights { path, reason: error.to_string() })?;
            let network = built(&header, &file.arrays, &device.clone().autodiff());
            let matrix = |(name, Array { shape, values }): (String, Array)| {
                Some((name, Matrix::from_vec(*shape.first()?, *shape.get(1)?, values)))
            };
            let tensors: Tensors = head.into_iter().filter_map(matrix).collect();
            let measure = |spec: &EpisodeSpec| {
                let classes = novel.dataset.classes().clone();
                let tasks = ImageTasks {
                    dataset: novel.dataset,
                    sampler: EpisodeSampler::from_classes(classes, spec.clone(), novel.seed)?,
                    preparation: header.preparation,
                    augmentation: None,
                };
                let all = maml.accuracies(&network, &tensors, &tasks, novel.tasks)?;
                Ok(Evaluation::of(spec.shots, &all))
            };
            novel.specs.iter().map(measure).collect()
        }
    }
}
