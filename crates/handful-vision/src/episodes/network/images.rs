//! The images of a task, ready for a network.

use burn::tensor::{Device, Tensor, TensorData};
use handful_data::datasets::ImageDataset;
use handful_data::{DataError, EpisodeSampler};
use rayon::prelude::*;

use crate::images::Preparation;
use crate::training::augment::Augmentation;
use crate::training::batches::generator;

/// Draws tasks from the images of a dataset.
pub(super) struct ImageTasks<'a> {
    pub dataset: &'a ImageDataset,
    pub sampler: EpisodeSampler,
    pub preparation: Preparation,
    /// What training images go through.
    pub augmentation: Option<Augmentation>,
}

/// A task as images.
pub struct TaskImages {
    /// Planes of the labelled images, and after them of the others.
    pub pixels: Vec<f32>,
    /// Classes of the labelled images.
    pub labels: Vec<usize>,
    /// Classes of the others.
    pub query_labels: Vec<usize>,
    /// Number of classes.
    pub ways: usize,
    /// Side of the images.
    pub size: usize,
}

impl TaskImages {
    /// Some of the images as a tensor.
    pub(super) fn tensor(&self, images: std::ops::Range<usize>, device: &Device) -> Tensor<4> {
        let planes = 3 * self.size * self.size;
        let pixels = self.pixels[planes * images.start..planes * images.end].to_vec();
        Tensor::from_data(TensorData::new(pixels, [images.len(), 3, self.size, self.size]), device)
    }

    /// The number of images.
    pub(super) fn count(&self) -> usize {
        self.labels.len() + self.query_labels.len()
    }
}

impl ImageTasks<'_> {
    /// The task of a number; how its images are changed depends on the seed, the number and their places.
    pub(super) fn task(&self, number: u64) -> Result<TaskImages, DataError> {
        let episode = self.sampler.episode(number);
        let images: Vec<usize> = episode.support.iter().chain(&episode.query).flatten().copied().collect();
        let size = self.preparation.size;
        let planes = images
            .par_iter()
            .enumerate()
            .map(|(place, &image)| {
                let image = self.dataset.load(image)?;
                Ok(match self.augmentation {
                    Some(augmentation) => {
                        let mut random = generator(self.sampler.seed(), number as usize, place as u64 + 1);
                        self.preparation.normalise(&augmentation.apply(&image, size, &mut random))
                    }
                    None => self.preparation.apply(&image),
                })
            })
            .collect::<Result<Vec<Vec<f32>>, DataError>>()?;
        let classes = |rows: &[Vec<usize>]| {
            rows.iter().enumerate().flat_map(|(class, rows)| vec![class; rows.len()]).collect()
        };
        Ok(TaskImages {
            pixels: planes.concat(),
            labels: classes(&episode.support),
            query_labels: classes(&episode.query),
            ways: episode.classes.len(),
            size,
        })
    }
}
