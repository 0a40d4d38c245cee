//! From images to a table of features: any number of networks, what was computed before taken from a cache.
//!
//! `embed`, `label` and every other program that shows images to a network come through [`embed_images`], so that they
//! agree on ids, on features and on what is kept.

mod cache;
mod extract;
mod join;

use std::path::{Path, PathBuf};

use handful::Matrix;
use handful::embedder::Embedder;
use handful_data::datasets::ImageDataset;
use handful_data::{ClassIndex, DataError, FeatureTable, RowParts};

pub use self::cache::{ContentKey, FeatureCache, content_key};
use self::extract::extract;
use self::join::Joined;
use crate::backbone::Backbone;
use crate::error::VisionError;

/// An image that was left out, and why.
#[derive(Debug)]
pub struct BadImage {
    /// Its id in the dataset.
    pub id: String,
    /// What is wrong with it.
    pub error: DataError,
}

/// Features of images.
#[derive(Debug)]
pub struct Embedding {
    /// One row for each image that could be read, with its id and class.
    pub table: FeatureTable,
    /// The image of each row, by its number in the dataset.
    pub images: Vec<usize>,
    /// The images that could not be read.
    pub bad: Vec<BadImage>,
    /// How many images were not computed, since the cache had them.
    pub kept: usize,
    /// Why what was computed could not be kept.
    pub cache_failure: Option<VisionError>,
}

/// What to do besides computing.
#[derive(Default)]
pub struct EmbedOptions<'a> {
    /// What messages call the table, if not `images`.
    pub name: Option<&'a str>,
    /// Folder where features are kept, by the content of image and network; nothing is kept without one.
    pub cache: Option<&'a Path>,
    /// Only these images, by number, instead of all.
    pub only: Option<&'a [usize]>,
    /// Leave out images that cannot be read instead of ending at the first.
    pub skip_bad: bool,
    /// Told how many more images have gone through a network.
    pub progress: Option<&'a dyn Fn(usize)>,
}

/// The folder where features are kept unless another is named: `handful/features` among the user's caches.
pub fn default_cache() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    base.map(|base| base.join("handful").join("features"))
}

/// Computes the features of all images of a dataset through one network, or through several: then those of each have
/// length 1 and stand side by side.
///
/// # Errors
/// A cache that cannot be used, before anything is computed; the first image that cannot be read, unless such are to be
/// skipped; not one image that can be read; features that are not finite.
pub fn embed_images(
    dataset: &ImageDataset,
    networks: &[Backbone],
    options: &EmbedOptions<'_>,
) -> Result<Embedding, VisionError> {
    let silent = |_: usize| ();
    let progress = options.progress.unwrap_or(&silent);
    if networks.len() > 1 && networks.iter().any(|network| network.parts().is_some()) {
        return Err(VisionError::Setting {
            setting: "the number of networks",
            value: networks.len().to_string(),
            requirement: "maps and views are kept of one only".to_owned(),
        });
    }
    // All of them before any work: what cannot be kept should be known at once.
    let caches = (networks.iter())
        .map(|network| {
            let open = |cache| FeatureCache::open(cache, &network.fingerprint(), network.columns());
            options.cache.map(open).transpose()
        })
        .collect::<Result<Vec<Option<FeatureCache>>, _>>()?;
    let mut images = options.only.map_or_else(|| (0..dataset.len()).collect(), <[usize]>::to_vec);
    let mut joined = Joined::new(networks.iter().map(Backbone::columns).collect());
    let (mut bad, mut kept, mut cache_failure) = (Vec::new(), usize::MAX, None);
    for (network, cache) in networks.iter().zip(&caches) {
        let extraction = extract(network, dataset, &images, cache.as_ref(), options.skip_bad, progress)?;
        bad.extend(extraction.bad);
        kept = kept.min(extraction.kept);
        cache_failure = cache_failure.or(extraction.cache_failure);
        joined.add(&images, &extraction.images, extraction.features);
        images = extraction.images;
    }
    bad.sort_by_key(|(image, _)| *image);
    if images.is_empty() {
        let count = dataset.len();
        return Err(match bad.into_iter().next() {
            Some((_, first)) => VisionError::NoImage { count, first },
            None => VisionError::Setting {
                setting: "the number of networks",
                value: networks.len().to_string(),
                requirement: "at least one is needed".to_owned(),
            },
        });
    }
    let bad = bad.into_iter().map(|(image, error)| BadImage { id: dataset.id(image).to_owned(), error });
    let (name, rows) = (options.name.unwrap_or("images"), joined.into_matrix());
    let table = match networks {
        [network] if network.parts().is_some() => {
            let (features, parts) = split(&rows, network);
            let table = table(name, dataset, &images, features)?;
            match parts {
                Some(parts) => table.with_parts(parts)?,
                None => table,
            }
        }
        _ => table(name, dataset, &images, rows)?,
    };
    let bad = bad.collect();
    let table = table.with_embedder(Embedder::joined(networks.iter().filter_map(Backbone::embedder)));
    Ok(Embedding { table, images, bad, kept, cache_failure })
}

/// The features of rows, and what was kept beside them.
fn split(rows: &Matrix<f32>, network: &Backbone) -> (Matrix<f32>, Option<RowParts>) {
    let width = network.features();
    let columns = |from: usize, to: usize| {
        let values = rows.iter_rows().flat_map(|row| row[from..to].iter().copied()).collect();
        Matrix::from_vec(rows.rows(), to - from, values)
    };
    let beside = columns(width, rows.columns());
    let parts = network.parts().and_then(|(kind, count, _)| RowParts::new(kind, count, beside));
    (columns(0, width), parts)
}

fn table(
    name: &str,
    dataset: &ImageDataset,
    images: &[usize],
    features: Matrix<f32>,
) -> Result<FeatureTable, DataError> {
    let ids = images.iter().map(|&image| dataset.id(image).to_owned()).collect();
    let classes = dataset.classes();
    let labels: Vec<Option<&String>> = (images.iter())
        .map(|&image| classes.class_of_row(image).map(|class| &classes.names()[class]))
        .collect();
    let classes = ClassIndex::from_names_in_order(&labels, classes.names());
    let table = FeatureTable::from_memory(name, features, Some(ids), classes)?;
    table.check_finite()?;
    Ok(table)
}

#[cfg(test)]
mod tests;
