//! The features of many images through one network: reading and preparing on one side, the network on the other.

use std::sync::mpsc::sync_channel;

use handful_data::DataError;
use handful_data::datasets::{Image, ImageDataset};
use rayon::prelude::*;

use super::cache::{ContentKey, FeatureCache, content_key};
use crate::backbone::Backbone;
use crate::error::VisionError;

/// Images that are prepared together, and kept in the cache together.
const BATCH: usize = 64;
/// Batches prepared ahead of the network.
const AHEAD: usize = 2;

/// Features, and the images that could not be read.
#[derive(Debug, Default)]
pub(super) struct Extraction {
    /// The images that were read, by number.
    pub images: Vec<usize>,
    /// Their features, row by row.
    pub features: Vec<f32>,
    /// The images that could not be read, and why.
    pub bad: Vec<(usize, DataError)>,
    /// How many rows came from the cache.
    pub kept: usize,
    /// Why the cache could not be written to any more.
    pub cache_failure: Option<VisionError>,
}

/// What is known of an image before the network has seen it.
enum Prepared {
    /// The cache had its features.
    Kept(Vec<f32>),
    /// What the network is to see of it.
    Views { key: Option<ContentKey>, views: Vec<Vec<f32>> },
}

/// Computes the features of images that the cache does not have. An image that cannot be read ends it, unless
/// `skip_bad`.
pub(super) fn extract(
    backbone: &Backbone,
    dataset: &ImageDataset,
    images: &[usize],
    cache: Option<&FeatureCache>,
    skip_bad: bool,
    progress: &dyn Fn(usize),
) -> Result<Extraction, VisionError> {
    let mut extraction = Extraction::default();
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(AHEAD);
        scope.spawn(move || {
            for images in images.chunks(BATCH) {
                let batch: Vec<(usize, Result<Prepared, DataError>)> = images
                    .par_iter()
                    .map(|&image| (image, prepare(backbone, dataset, image, cache)))
                    .collect();
                // The other side has met an error: nobody wants more.
                if send.send(batch).is_err() {
                    return;
                }
            }
        });
        for batch in receive {
            let count = batch.len();
            extraction.take(backbone, batch, cache, skip_bad)?;
            progress(count);
        }
        Ok(extraction)
    })
}

fn prepare(
    backbone: &Backbone,
    dataset: &ImageDataset,
    image: usize,
    cache: Option<&FeatureCache>,
) -> Result<Prepared, DataError> {
    let views = |image: &Image| backbone.views(image);
    let Some(bytes) = dataset.encoded(image)? else {
        return Ok(Prepared::Views { key: None, views: views(&dataset.load(image)?) });
    };
    let key = cache.map(|_| content_key(&bytes));
    if let Some(features) = cache.zip(key).and_then(|(cache, key)| cache.get(&key)) {
        return Ok(Prepared::Kept(features));
    }
    Ok(Prepared::Views { key, views: views(&dataset.decode(image, &bytes)?) })
}

impl Extraction {
    /// Computes what is still to be computed of a batch, and keeps it.
    fn take(
        &mut self,
        backbone: &Backbone,
        batch: Vec<(usize, Result<Prepared, DataError>)>,
        cache: Option<&FeatureCache>,
        skip_bad: bool,
    ) -> Result<(), VisionError> {
        let mut rows = Vec::with_capacity(batch.len());
        let (mut keys, mut fresh) = (Vec::new(), Vec::new());
        for (image, prepared) in batch {
            match prepared {
                Ok(Prepared::Kept(features)) => {
                    self.kept += 1;
                    rows.push((image, Some(features)));
                }
                Ok(Prepared::Views { key, views }) => {
                    keys.push(key);
                    fresh.push(views);
                    rows.push((image, None));
                }
                Err(error) if skip_bad => self.bad.push((image, error)),
                Err(error) => return Err(error.into()),
            }
        }
        let features = backbone.embed_views(&fresh)?;
        let fresh: Vec<Vec<f32>> = features.chunks(backbone.columns()).map(<[f32]>::to_vec).collect();
        if let (Some(cache), None) = (cache, &self.cache_failure) {
            let kept: Vec<(ContentKey, Vec<f32>)> = (keys.iter().zip(&fresh))
                .filter_map(|(key, features)| Some(((*key)?, features.clone())))
                .collect();
            // The features are there all the same; the next run will have to compute them again.
            self.cache_failure = cache.put(&kept).err();
        }
        let mut fresh = fresh.into_iter();
        for (image, kept) in rows {
            if let Some(features) = kept.or_else(|| fresh.next()) {
                self.images.push(image);
                self.features.extend(features);
            }
        }
        Ok(())
    }
}
