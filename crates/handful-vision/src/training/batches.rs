//! Which images come in which order, and how each is changed: functions of the seed, the epoch and the place alone.
//!
//! Nothing has to be remembered to go on in the middle of a training: the numbers of a batch come from a generator
//! whose key is (seed, epoch, place), not from one that has been running since the beginning.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Scope;

use handful_data::DataError;
use handful_data::datasets::ImageDataset;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use super::augment::Augmentation;
use crate::images::Preparation;

/// Batches made ahead of the training step.
const AHEAD: usize = 3;

/// Images and their classes.
pub(crate) struct Batch {
    /// `[images, 3, size, size]`.
    pub pixels: Vec<f32>,
    /// The class of each image; that of a turned image comes after those of images with fewer turns.
    pub classes: Vec<i64>,
}

/// Where batches come from.
pub(crate) struct BatchSource<'a> {
    pub dataset: &'a ImageDataset,
    pub augmentation: Augmentation,
    pub preparation: Preparation,
    pub batch: usize,
    pub seed: u64,
}

/// Random numbers that the seed, the epoch and a stream decide; images have the streams from 1 on.
pub(crate) fn generator(seed: u64, epoch: usize, stream: u64) -> ChaCha12Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&(epoch as u64).to_le_bytes());
    let mut generator = ChaCha12Rng::from_seed(key);
    generator.set_stream(stream);
    generator
}

impl BatchSource<'_> {
    /// Full batches in an epoch; what is left over waits for another epoch's order.
    pub(crate) fn steps(&self) -> usize {
        (self.dataset.len() / self.batch).max(1)
    }

    /// The order of the images in an epoch (Fisher and Yates).
    fn order(&self, epoch: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.dataset.len()).collect();
        let mut random = generator(self.seed, epoch, 0);
        for end in (1..order.len()).rev() {
            let at = ((u128::from(random.next_u64()) * (end as u128 + 1)) >> 64) as usize;
            order.swap(at, end);
        }
        order
    }

    fn batch(&self, epoch: usize, step: usize, order: &[usize]) -> Result<Batch, DataError> {
        let first = step * self.batch;
        let places: Vec<usize> = (first..(first + self.batch).min(order.len())).collect();
        let (size, classes) = (self.preparation.size, self.dataset.classes());
        let images = places
            .par_iter()
            .map(|&place| {
                let image = self.dataset.load(order[place])?;
                let mut random = generator(self.seed, epoch, place as u64 + 1);
                let mut image = self.augmentation.apply(&image, size, &mut random);
                let turns = self.augmentation.turn(&mut image, &mut random);
                let class = classes.class_of_row(order[place]).unwrap_or_default() + turns * classes.len();
                Ok((self.preparation.normalise(&image), class as i64))
            })
            .collect::<Result<Vec<(Vec<f32>, i64)>, DataError>>()?;
        let (images, classes): (Vec<Vec<f32>>, Vec<i64>) = images.into_iter().unzip();
        Ok(Batch { pixels: images.concat(), classes })
    }

    /// Makes batches on a thread of their own, from a step of an epoch to the end of the training.
    pub(crate) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        from: (usize, usize),
        epochs: usize,
    ) -> Receiver<Result<Batch, DataError>> {
        let (send, receive) = sync_channel(AHEAD);
        scope.spawn(move || {
            for epoch in from.0..epochs {
                let order = self.order(epoch);
                let first = if epoch == from.0 { from.1 } else { 0 };
                for step in first..self.steps() {
                    let batch = self.batch(epoch, step, &order);
                    let failed = batch.is_err();
                    // The training has ended early: nobody wants more.
                    if send.send(batch).is_err() || failed {
                        return;
                    }
                }
            }
        });
        receive
    }
}
