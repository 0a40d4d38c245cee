//! A folder of images as a pool: which images are labelled by their folder, and the features of all.
//!
//! Every image below the folder is a row, named by its path seen from there. Images in `support/CLASS/` are labelled
//! with the name of that folder. Features are kept from run to run ([`handful_vision::embedding`]).

use std::path::{Path, PathBuf};

use handful_data::FeatureTable;
use handful_data::datasets::ImageDataset;

use crate::commands::network::NetworkArgs;
use crate::error::CliError;

/// The folder whose subfolders hold labelled images.
#[cfg(any(feature = "vision", test))]
const SUPPORT: &str = "support";

/// A folder of images, embedded.
pub struct ImagePool {
    pub table: FeatureTable,
    /// Rows that are labelled by their folder.
    pub labels: Vec<(usize, String)>,
    pub files: Vec<PathBuf>,
    /// The images, and which is each row's.
    #[cfg_attr(not(feature = "studio"), allow(dead_code, reason = "only the studio shows them"))]
    pub dataset: ImageDataset,
    #[cfg_attr(not(feature = "studio"), allow(dead_code, reason = "only the studio shows them"))]
    pub image_of_row: Vec<usize>,
    /// What made the features.
    pub network: String,
    /// Ids of the images that could not be read.
    pub skipped: Vec<String>,
}

/// Opens a folder and embeds what the cache does not have.
#[cfg(feature = "vision")]
pub fn open(
    folder: &Path,
    network: &NetworkArgs,
    layer: Option<&str>,
    cache: Option<&Path>,
    skip_bad: bool,
) -> Result<ImagePool, CliError> {
    use crate::commands::embedding::{Cache, embed};
    use crate::commands::network::{Unless, describe};
    use handful_data::datasets::open_images;
    use handful_vision::backbone::Backbone;
    let images = open_images(&[folder.to_owned()])?;
    let networks = network.open(layer, Unless::Best)?;
    eprintln!("features: {}", describe(&networks));
    let fingerprint =
        |network: &Backbone| format!("{} ({})", network.description(), &network.fingerprint()[..16]);
    let network = networks.iter().map(fingerprint).collect::<Vec<_>>().join(" + ");
    let embedding = embed(&images, &folder.display().to_string(), &networks, Cache::of(cache), skip_bad)?;
    let label = |row: usize| Some((row, class_of(&embedding.table.id(row))?.to_owned()));
    let labels = (0..embedding.table.rows()).filter_map(label).collect();
    let files = embedding.images.iter().filter_map(|&image| Some(images.file(image)?.to_owned())).collect();
    let skipped = embedding.bad.into_iter().map(|image| image.id).collect();
    let image_of_row = embedding.images;
    Ok(ImagePool { table: embedding.table, labels, files, dataset: images, image_of_row, network, skipped })
}

/// Opens a folder, which a build without networks cannot embed.
#[cfg(not(feature = "vision"))]
pub fn open(
    folder: &Path,
    _network: &NetworkArgs,
    _layer: Option<&str>,
    _cache: Option<&Path>,
    _skip_bad: bool,
) -> Result<ImagePool, CliError> {
    Err(CliError::Usage(format!(
        "{}: this build has no vision and cannot embed images; give a feature file instead",
        folder.display()
    )))
}

/// `support/cat/1.png` is a cat.
#[cfg(any(feature = "vision", test))]
fn class_of(id: &str) -> Option<&str> {
    let mut parts = id.split('/');
    (parts.next() == Some(SUPPORT)).then_some(())?;
    let class = parts.next()?;
    parts.next().map(|_| class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_below_a_folder_of_support_have_its_name_as_their_class() {
        assert_eq!(class_of("support/cat/1.png"), Some("cat"));
        assert_eq!(class_of("support/cat/deeper/1.png"), Some("cat"));
        assert_eq!(class_of("support/loose.png"), None);
        assert_eq!(class_of("cat/1.png"), None);
        assert_eq!(class_of("old/support/cat/1.png"), None);
    }
}
