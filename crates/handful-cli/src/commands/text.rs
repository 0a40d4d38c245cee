//! Texts through a sentence encoder: the options that `embed` and `label` share, with a bar and with words.

use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "vision")]
pub use self::encoding::{is_wanted, open};

/// Which column holds texts, and what reads them.
#[derive(Args, Clone, Debug)]
pub struct TextArgs {
    /// The column of a .csv or .tsv that holds texts, if its name does not say so
    #[arg(long, value_name = "NAME")]
    pub column: Option<String>,
    /// The tokenizer.json of a sentence encoder given with --weights; without both, the best encoder that is there
    #[arg(long, value_name = "FILE")]
    pub tokenizer: Option<PathBuf>,
    /// Tokens of a text that are looked at; the rest is cut off [default: 256]
    #[arg(long, value_name = "COUNT")]
    pub max_tokens: Option<usize>,
}

#[cfg(feature = "vision")]
mod encoding {
    use std::path::Path;

    use handful_data::FeatureTable;
    use handful_vision::pretrained::{Pretrained, Subject, best};
    use handful_vision::text::{MAX_TOKENS, TextEncoder, Texts, embed_texts, is_text_table};

    use super::{PathBuf, TextArgs};
    use crate::commands::embedding::Cache;
    use crate::error::CliError;
    use crate::progress;

    /// A table of texts, embedded.
    pub struct TextPool {
        pub table: FeatureTable,
        pub texts: Vec<String>,
        /// Rows that the table itself labels.
        pub labels: Vec<(usize, String)>,
        /// How many rows were kept from an earlier run.
        pub kept: usize,
        /// The encoder, in a few words.
        pub encoder: String,
        /// The encoder, wherever its files are.
        pub network: String,
    }

    /// Whether a path is to be read as texts.
    pub fn is_wanted(path: &Path, args: &TextArgs) -> bool {
        path.is_file() && (args.column.is_some() || args.tokenizer.is_some() || is_text_table(path))
    }

    /// Reads a table of texts and embeds what the cache does not have.
    pub fn open(
        path: &Path,
        args: &TextArgs,
        weights: &[PathBuf],
        cache: Cache<'_>,
    ) -> Result<TextPool, CliError> {
        let texts = Texts::read(path, args.column.as_deref()).map_err(CliError::usage)?;
        let encoder = encoder(args, weights)?;
        let bar = progress::bar(texts.texts.len(), "texts");
        let folder = cache.checked_folder();
        let embedding = embed_texts(&texts, &encoder, folder.as_deref(), &|count| bar.inc(count as u64));
        bar.finish_and_clear();
        let embedding = embedding?;
        if let Some(failure) = &embedding.cache_failure {
            eprintln!("handful: not all features are kept for the next run ({failure})");
        }
        let labels =
            texts.labels.into_iter().enumerate().filter_map(|(row, label)| Some((row, label?))).collect();
        let name = encoder.path().display();
        let network = format!("sentence encoder ({})", &encoder.fingerprint()[..16]);
        let encoder = format!("column `{}` through {name} ({})", texts.column, &encoder.fingerprint()[..12]);
        Ok(TextPool {
            table: embedding.table,
            texts: texts.texts,
            labels,
            kept: embedding.kept,
            encoder,
            network,
        })
    }

    fn encoder(args: &TextArgs, weights: &[PathBuf]) -> Result<TextEncoder, CliError> {
        let max_tokens = args.max_tokens.unwrap_or(MAX_TOKENS);
        let of = |network| Ok(TextEncoder::pretrained(network, max_tokens)?);
        match (weights, &args.tokenizer) {
            ([], None) => match best(Subject::Texts) {
                Some(present) => of(present.network),
                None => Err(CliError::Usage(
                    "texts need a sentence encoder: get one with `handful weights get minilm` (91 MB), or name your own \
                     with --weights MODEL.onnx --tokenizer TOKENIZER.json"
                        .into(),
                )),
            },
            ([name], None) if !name.exists() => {
                let name = name.to_string_lossy();
                let network = Pretrained::named(&name).map_err(CliError::usage)?;
                if network.subject != Subject::Texts {
                    return Err(CliError::Usage(format!("{name} looks at images, not at texts")));
                }
                of(network)
            }
            ([path], tokenizer) => {
                let beside = || path.with_file_name("tokenizer.json");
                let tokenizer = tokenizer.clone().unwrap_or_else(beside);
                Ok(TextEncoder::open(path, &tokenizer, max_tokens)?)
            }
            ([], Some(_)) => Err(CliError::Usage("--tokenizer needs the network it belongs to: --weights MODEL.onnx".into())),
            _ => Err(CliError::Usage("texts go through one encoder, but several --weights are given".into())),
        }
    }
}
