//! A table of texts as a pool: rows whose `label` is filled in are labelled, and all go through a sentence encoder.

use std::path::Path;

use handful_data::FeatureTable;

use crate::commands::network::NetworkArgs;
use crate::commands::text::TextArgs;
use crate::error::CliError;

/// A table of texts, embedded.
pub struct TextPool {
    pub table: FeatureTable,
    /// Rows that the table itself labels.
    pub labels: Vec<(usize, String)>,
    /// What made the features.
    pub network: String,
    pub texts: Vec<String>,
}

/// The pool as texts, if it is a table of such.
#[cfg(feature = "vision")]
pub fn open(
    pool: &Path,
    text: &TextArgs,
    network: &NetworkArgs,
    cache: Option<&Path>,
) -> Result<Option<TextPool>, CliError> {
    use crate::commands::embedding::Cache;
    use crate::commands::text as reading;
    // To `embed` such a file is a list of images; a pool is a folder of those.
    let is_lines = pool.is_file() && pool.extension().is_some_and(|extension| extension == "txt");
    if !is_lines && !reading::is_wanted(pool, text) {
        return Ok(None);
    }
    let pool = reading::open(pool, text, &network.weights, Cache::of(cache))?;
    eprintln!("features: {}", pool.encoder);
    Ok(Some(TextPool { table: pool.table, labels: pool.labels, network: pool.network, texts: pool.texts }))
}

/// A build without networks reads no texts.
#[cfg(not(feature = "vision"))]
pub fn open(
    _pool: &Path,
    text: &TextArgs,
    _network: &NetworkArgs,
    _cache: Option<&Path>,
) -> Result<Option<TextPool>, CliError> {
    let asked = text.column.is_some() || text.tokenizer.is_some() || text.max_tokens.is_some();
    if asked {
        return Err(CliError::Usage(
            "this build has no networks and cannot read texts; give a feature file".into(),
        ));
    }
    Ok(None)
}
