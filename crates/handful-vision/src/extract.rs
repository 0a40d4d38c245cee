//! Features of many images: decoding and preparing on one side, the network on the other.

use std::sync::mpsc::sync_channel;

use handful_data::DataError;
use handful_data::datasets::ImageDataset;
use rayon::prelude::*;

use crate::backbone::Backbone;
use crate::error::VisionError;

/// Images that go through the network together.
const BATCH: usize = 64;
/// Batches prepared ahead of the network.
const AHEAD: usize = 2;

/// Features, and the images that could not be read.
#[derive(Debug)]
pub struct Extraction {
    /// The images that were read, by number.
    pub images: Vec<usize>,
    /// Their features, row by row.
    pub features: Vec<f32>,
    /// The images that could not be read, and why.
    pub bad: Vec<(usize, DataError)>,
}

/// Computes the features of all images. An image that cannot be read ends it, unless `skip_bad`.
pub fn extract(
    backbone: &Backbone,
    dataset: &ImageDataset,
    skip_bad: bool,
    progress: &dyn Fn(usize),
) -> Result<Extraction, VisionError> {
    let mut extraction = Extraction { images: Vec::new(), features: Vec::new(), bad: Vec::new() };
    let preparation = backbone.preparation();
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(AHEAD);
        scope.spawn(move || {
            let all: Vec<usize> = (0..dataset.len()).collect();
            for images in all.chunks(BATCH) {
                let prepared: Vec<(usize, Result<Vec<f32>, DataError>)> = images
                    .par_iter()
                    .map(|&image| (image, dataset.load(image).map(|image| preparation.apply(&image))))
                    .collect();
                // The other side has met an error: nobody wants more.
                if send.send(prepared).is_err() {
                    return;
                }
            }
        });
        for batch in receive {
            let count = batch.len();
            let mut ready = Vec::with_capacity(count);
            for (image, prepared) in batch {
                match prepared {
                    Ok(planes) => {
                        extraction.images.push(image);
                        ready.push(planes);
                    }
                    Err(error) if skip_bad => extraction.bad.push((image, error)),
                    Err(error) => return Err(error.into()),
                }
            }
            if !ready.is_empty() {
                extraction.features.extend(backbone.embed(&ready)?);
            }
            progress(count);
        }
        Ok(extraction)
    })
}
