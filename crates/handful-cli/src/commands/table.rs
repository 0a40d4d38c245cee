//! How a feature table is opened: shared by every command that reads one.

use std::path::{Path, PathBuf};

use clap::Args;
use handful_data::{FeatureTable, OpenOptions, open_table};

use crate::error::CliError;
use crate::terminal;

/// What a text table does not say itself.
#[derive(Args, Clone, Debug, Default)]
pub struct TableArgs {
    /// The first line of a text table names the columns, though it looks like a row
    #[arg(long, conflicts_with = "no_header")]
    header: bool,
    /// The first line of a text table is a row, though it looks like names of columns
    #[arg(long)]
    no_header: bool,
    /// Column of the table that names the rows: its name, or its number from 1
    #[arg(long, value_name = "COLUMN")]
    id_column: Option<String>,
}

impl TableArgs {
    /// Opens a table and says what was decided about it. Features of mapped formats are not looked at yet.
    pub fn open(&self, path: &Path) -> Result<FeatureTable, CliError> {
        self.open_with(path, None)
    }

    /// The same, with the classes of a label file in place of the table's own.
    pub fn open_with(&self, path: &Path, labels: Option<&PathBuf>) -> Result<FeatureTable, CliError> {
        let header = (self.header || self.no_header).then_some(self.header);
        let options = OpenOptions { labels: labels.cloned(), header, id_column: self.id_column.clone() };
        let table = open_table(path, &options)?;
        for note in table.notes() {
            terminal::note(format_args!("{}: {note}", path.display()));
        }
        Ok(table)
    }

    /// Opens a table and checks every feature.
    pub fn read(&self, path: &Path) -> Result<FeatureTable, CliError> {
        let table = self.open(path)?;
        table.check_finite()?;
        Ok(table)
    }
}
