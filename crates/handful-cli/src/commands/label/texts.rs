//! A table of texts as a pool: rows whose `label` is filled in are labelled, and all go through a sentence encoder.

use handful_data::FeatureTable;

use super::LabelArgs;
use crate::error::CliError;

/// A table of texts, embedded.
pub struct TextPool {
    pub table: FeatureTable,
    /// Rows that the table itself labels.
    pub labels: Vec<(usize, String)>,
    /// What made the features.
    pub network: String,
}

/// The pool as texts, if it is a table of such.
#[cfg(feature = "vision")]
pub fn open(args: &LabelArgs) -> Result<Option<TextPool>, CliError> {
    use crate::commands::embedding::Cache;
    use crate::commands::text;
    if !text::is_wanted(&args.pool, &args.text) {
        return Ok(None);
    }
    let cache = Cache::of(args.cache.as_deref());
    let pool = text::open(&args.pool, &args.text, &args.network.weights, cache)?;
    eprintln!("features: {}", pool.encoder);
    Ok(Some(TextPool { table: pool.table, labels: pool.labels, network: pool.network }))
}

/// A build without networks reads no texts.
#[cfg(not(feature = "vision"))]
pub fn open(args: &LabelArgs) -> Result<Option<TextPool>, CliError> {
    let asked = args.text.column.is_some() || args.text.tokenizer.is_some() || args.text.max_tokens.is_some();
    if asked {
        return Err(CliError::Usage(
            "this build has no networks and cannot read texts; give a feature file".into(),
        ));
    }
    Ok(None)
}
