//! How well features of classes never trained on tell them apart: nearest prototype by cosine on raw features, as in
//! SimpleShot and TIM.

use std::sync::Arc;

use burn::tensor::{Device, Tensor, TensorData};
use handful_data::datasets::ImageDataset;
use handful_data::{ClassIndex, EpisodeSampler, EpisodeSpec};
use rayon::prelude::*;

use crate::error::VisionError;
use crate::images::Preparation;
use crate::networks::Network;
use crate::tensors::values_of;

/// Images of validation classes, ready for the network.
pub(crate) struct Validation {
    images: Vec<Vec<f32>>,
    size: usize,
    sampler: EpisodeSampler,
}

/// Tasks of every validation.
const TASKS: u64 = 500;
/// Images of a class that are looked at: enough for 500 tasks, few enough for every epoch.
const IMAGES_PER_CLASS: usize = 120;
const QUERIES: usize = 15;
const BATCH: usize = 64;

impl Validation {
    pub(crate) fn new(
        dataset: &ImageDataset,
        preparation: &Preparation,
        ways: usize,
        seed: u64,
    ) -> Result<Self, VisionError> {
        let classes = dataset.classes();
        let rows: Vec<usize> = classes
            .rows_of_class()
            .iter()
            .flat_map(|rows| rows.iter().take(IMAGES_PER_CLASS))
            .copied()
            .collect();
        let images = rows
            .par_iter()
            .map(|&row| Ok(preparation.apply(&dataset.load(row)?)))
            .collect::<Result<_, VisionError>>()?;
        let labels: Vec<Option<i64>> =
            rows.iter().map(|&row| classes.class_of_row(row).map(|class| class as i64)).collect();
        let index = Arc::new(ClassIndex::from_integers(&labels, |class| class.to_string()));
        let smallest = index.rows_of_class().iter().map(Vec::len).min().unwrap_or(0);
        let spec = EpisodeSpec {
            ways: ways.min(index.len()),
            shots: 1,
            queries: QUERIES.min(smallest.saturating_sub(1)).max(1),
            ..EpisodeSpec::default()
        };
        let sampler = EpisodeSampler::from_classes(index, spec, seed)?;
        Ok(Self { images, size: preparation.size, sampler })
    }

    /// Mean accuracy over the tasks.
    pub(crate) fn accuracy(&self, network: &Network, device: &Device) -> f64 {
        let features = self.features(network, device);
        let correct: usize = (0..TASKS).into_par_iter().map(|task| self.correct(&features, task)).sum();
        let queries = self.sampler.spec().query_count() as u64 * TASKS;
        correct as f64 / queries as f64
    }

    /// Features of length 1.
    fn features(&self, network: &Network, device: &Device) -> Vec<Vec<f32>> {
        let mut features = Vec::with_capacity(self.images.len());
        for images in self.images.chunks(BATCH) {
            let shape = [images.len(), 3, self.size, self.size];
            let batch = Tensor::<4>::from_data(TensorData::new(images.concat(), shape), device);
            let rows = network.forward(batch);
            let [_, width] = rows.dims();
            for row in values_of(&rows).chunks_exact(width) {
                let norm = row.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-12);
                features.push(row.iter().map(|value| value / norm).collect());
            }
        }
        features
    }

    fn correct(&self, features: &[Vec<f32>], task: u64) -> usize {
        let episode = self.sampler.episode(task);
        let similarity =
            |a: usize, b: usize| features[a].iter().zip(&features[b]).map(|(a, b)| a * b).sum::<f32>();
        let nearest = |query: usize| {
            let scores = episode.support.iter().map(|rows| similarity(query, rows[0]));
            scores.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(class, _)| class)
        };
        let queries = episode.query.iter().enumerate();
        queries.map(|(class, rows)| rows.iter().filter(|&&row| nearest(row) == Some(class)).count()).sum()
    }
}
