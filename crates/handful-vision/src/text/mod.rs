//! From texts to a table of features: a column of a table through a sentence encoder.
//!
//! A table of texts is to words what a folder is to photographs: rows have ids, some may be labelled, and what was
//! computed is kept in the same cache.

mod encoder;
mod error;
mod table;

use std::path::Path;

use handful::Matrix;
use handful::embedder::Embedder;
use handful_data::{ClassIndex, FeatureTable};

pub use self::encoder::{MAX_TOKENS, TextEncoder};
pub use self::error::TextError;
pub use self::table::{Texts, is_text_table};
use crate::embedding::{FeatureCache, content_key};
use crate::error::VisionError;

/// Texts that go through the encoder, and are kept, before the progress is told.
const CHUNK: usize = 512;

/// Features of texts.
#[derive(Debug)]
pub struct TextEmbedding {
    /// One row for each text, with its id and class.
    pub table: FeatureTable,
    /// How many texts were not computed, since the cache had them.
    pub kept: usize,
    /// Why what was computed could not be kept.
    pub cache_failure: Option<VisionError>,
}

/// Computes the features of texts, of length 1 each. `cache` is a folder where they are kept; `progress` is told how many
/// more texts are done.
///
/// # Errors
/// A cache that cannot be used, before anything is computed; an encoder that cannot be computed.
pub fn embed_texts(
    texts: &Texts,
    encoder: &TextEncoder,
    cache: Option<&Path>,
    progress: &dyn Fn(usize),
) -> Result<TextEmbedding, VisionError> {
    let columns = encoder.features();
    let cache = cache.map(|cache| FeatureCache::open(cache, encoder.fingerprint(), columns)).transpose()?;
    let (mut features, mut kept, mut cache_failure) = (Vec::new(), 0, None);
    for chunk in texts.texts.chunks(CHUNK) {
        let mut rows: Vec<Option<Vec<f32>>> = (chunk.iter())
            .map(|text| cache.as_ref().and_then(|cache| cache.get(&content_key(text.as_bytes()))))
            .collect();
        let missing: Vec<usize> = (0..chunk.len()).filter(|&row| rows[row].is_none()).collect();
        kept += chunk.len() - missing.len();
        let wanted: Vec<&str> = missing.iter().map(|&row| chunk[row].as_str()).collect();
        let fresh = encoder.embed(&wanted)?;
        if let (Some(cache), None) = (&cache, &cache_failure) {
            let keys = wanted.iter().map(|text| content_key(text.as_bytes()));
            // The features are there all the same; the next run will have to compute them again.
            cache_failure = cache.put(&keys.zip(fresh.iter().cloned()).collect::<Vec<_>>()).err();
        }
        for (row, values) in missing.into_iter().zip(fresh) {
            rows[row] = Some(values);
        }
        features.extend(rows.into_iter().flatten().flatten());
        progress(chunk.len());
    }
    let rows = texts.texts.len();
    let classes = ClassIndex::from_names(&texts.labels);
    let (name, features) = (texts.path.display().to_string(), Matrix::from_vec(rows, columns, features));
    let table = FeatureTable::from_memory(&name, features, texts.ids.clone(), classes)?;
    table.check_finite()?;
    let table = table.with_embedder(Some(Embedder::new("sentence encoder", encoder.fingerprint())));
    Ok(TextEmbedding { table, kept, cache_failure })
}
