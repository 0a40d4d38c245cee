//! The labelled pool in the format asked for.

use std::path::Path;

use clap::ValueEnum;
use handful_data::labelled::{LabelledFormat, TaskContent, write_class_links, write_labelled};

use super::Job;
use super::columns::Columns;
use crate::error::CliError;

/// Formats of the labelled pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Comma-separated values
    Csv,
    /// One JSON object a line
    Jsonl,
    /// Parquet
    Parquet,
    /// Tasks with predictions, as Label Studio imports them
    LabelStudio,
    /// A folder for each class with links to its images
    Links,
}

impl OutputFormat {
    /// The format asked for, or what the extension says.
    pub fn of(path: &Path, asked: Option<Self>) -> Result<Self, CliError> {
        if let Some(format) = asked {
            return Ok(format);
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Ok(Self::Csv),
            Some("jsonl") => Ok(Self::Jsonl),
            Some("parquet") => Ok(Self::Parquet),
            Some("json") => Ok(Self::LabelStudio),
            _ => Err(CliError::Usage(format!(
                "{}: the extension says no format; use .csv, .jsonl, .parquet or .json, or say --as FORMAT",
                path.display()
            ))),
        }
    }
}

/// Writes the output.
pub fn write(
    path: &Path,
    format: OutputFormat,
    columns: &Columns<'_>,
    job: &Job,
    content: &TaskContent<'_>,
) -> Result<(), CliError> {
    let format = match format {
        OutputFormat::Csv => LabelledFormat::Csv,
        OutputFormat::Jsonl => LabelledFormat::Jsonl,
        OutputFormat::LabelStudio => LabelledFormat::LabelStudio,
        OutputFormat::Parquet => LabelledFormat::Parquet,
        OutputFormat::Links => {
            let Some(pictures) = &job.pictures else {
                return Err(CliError::Usage("--as links needs a folder of images as the pool".into()));
            };
            return Ok(write_class_links(path, columns.lines(), |row| pictures.file(row))?);
        }
    };
    Ok(write_labelled(path, format, columns.lines(), content)?)
}
