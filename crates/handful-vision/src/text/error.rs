//! What can be wrong with texts and with what turns them into features.

use std::path::PathBuf;

/// Why texts could not be read or turned into features.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The table cannot be read.
    #[error("{}: {reason}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// The table has no such column.
    #[error("{}: it has no column `{column}`; its columns are {present}", path.display())]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The column that was asked for.
        column: String,
        /// The columns that it has.
        present: String,
    },

    /// Nothing says which column holds the texts.
    #[error("{}: which column holds the texts? Name it with --column; its columns are {present}", path.display())]
    WhichColumn {
        /// The file.
        path: PathBuf,
        /// The columns that it has.
        present: String,
    },

    /// The file is no tokenizer.
    #[error("{}: it cannot be read as a tokenizer: {reason}", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// The tokenizer belongs to another network.
    #[error(
        "{}: this tokenizer knows {tokens} words and pieces, but the network {} knows {known}; it belongs to another \
         network", tokenizer.display(), network.display()
    )]
    Misfit {
        /// The tokenizer.
        tokenizer: PathBuf,
        /// The network.
        network: PathBuf,
        /// How many tokens the tokenizer has.
        tokens: usize,
        /// How many tokens the network has.
        known: usize,
    },
}
