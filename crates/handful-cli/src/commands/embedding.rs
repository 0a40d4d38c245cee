//! Images through networks, with a bar and with words for what was left out: what `embed`, `label` and `reproduce` share.

use std::path::{Path, PathBuf};

use handful_data::datasets::{ImageDataset, LeftOut};
use handful_vision::backbone::Backbone;
use handful_vision::embedding::{EmbedOptions, Embedding, default_cache, embed_images};

use crate::error::CliError;
use crate::progress;

/// Where features are kept.
#[derive(Clone, Copy)]
pub enum Cache<'a> {
    /// Nowhere: the images of a benchmark are embedded once.
    None,
    /// In the user's cache, if it can be written to.
    Usual,
    /// In the folder that was named.
    Folder(&'a Path),
}

impl<'a> Cache<'a> {
    /// The folder asked for, or the usual one.
    pub fn of(folder: Option<&'a Path>) -> Self {
        folder.map_or(Self::Usual, Cache::Folder)
    }

    /// The folder. One that was named may fail later, and then is an error; the usual one is done without, and that is
    /// said.
    pub fn checked_folder(self) -> Option<PathBuf> {
        let usual = match self {
            Self::None => return None,
            Self::Folder(folder) => return Some(folder.to_owned()),
            Self::Usual => default_cache()?,
        };
        match std::fs::create_dir_all(&usual) {
            Ok(()) => Some(usual),
            Err(error) => {
                eprintln!("handful: features are not kept for the next run ({}: {error})", usual.display());
                None
            }
        }
    }
}

/// Embeds the images of a dataset, whose table gets a name for messages, and says on stderr what was left out.
pub fn embed(
    dataset: &ImageDataset,
    name: &str,
    networks: &[Backbone],
    cache: Cache<'_>,
    skip_bad: bool,
) -> Result<Embedding, CliError> {
    say_left_out(dataset.left_out());
    let folder = cache.checked_folder();
    let bar = progress::bar(dataset.len() * networks.len(), "images");
    let advance = |images: usize| bar.inc(images as u64);
    let options = EmbedOptions {
        name: Some(name),
        cache: folder.as_deref(),
        only: None,
        skip_bad,
        progress: Some(&advance),
    };
    let embedding = embed_images(dataset, networks, &options);
    bar.finish_and_clear();
    let embedding = embedding?;
    for image in &embedding.bad {
        crate::terminal::note(format_args!("handful: skipped {}: {}", image.id, image.error));
    }
    if let Some(failure) = &embedding.cache_failure {
        eprintln!("handful: not all features are kept for the next run ({failure})");
    }
    Ok(embedding)
}

fn say_left_out(left_out: &LeftOut) {
    if left_out.image_count() > 0 {
        let kinds: Vec<String> =
            left_out.images.iter().map(|(kind, count)| format!("{count} .{kind}")).collect();
        eprintln!(
            "handful: left out {}, which cannot be read; convert them to JPEG or PNG to have them labelled",
            kinds.join(", ")
        );
    }
    if left_out.special > 0 {
        eprintln!(
            "handful: left out {} broken links, pipes, sockets or devices among the images",
            left_out.special
        );
    }
}
