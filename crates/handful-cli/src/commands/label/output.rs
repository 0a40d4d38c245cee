//! The labelled pool in the format asked for.

use std::path::Path;

use clap::ValueEnum;
use handful_data::labelled::{LabelledFormat, write_labelled};

use super::Job;
use super::columns::{Columns, Source};
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
pub fn write(path: &Path, format: OutputFormat, columns: &Columns<'_>, job: &Job) -> Result<(), CliError> {
    let format = match format {
        OutputFormat::Csv => LabelledFormat::Csv,
        OutputFormat::Jsonl => LabelledFormat::Jsonl,
        OutputFormat::LabelStudio => LabelledFormat::LabelStudio,
        OutputFormat::Parquet => LabelledFormat::Parquet,
        OutputFormat::Links => return links(path, columns, job),
    };
    Ok(write_labelled(path, format, columns.lines())?)
}

/// A folder with links, made under another name and renamed when it is whole.
fn links(path: &Path, columns: &Columns<'_>, job: &Job) -> Result<(), CliError> {
    let Some(files) = &job.files else {
        return Err(CliError::Usage("--as links needs a folder of images as the pool".into()));
    };
    if path.exists() {
        return Err(CliError::Usage(format!("{}: it exists already; name a new folder", path.display())));
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    let partial = std::path::PathBuf::from(name);
    let make = || -> std::io::Result<()> {
        for line in columns.lines() {
            let class = if line.source == Source::Rejected { "rejected" } else { line.label };
            let folder = partial.join(folder_name(class));
            std::fs::create_dir_all(&folder)?;
            // Folders of the pool become part of the name, so that names stay different.
            let link = folder.join(line.id.replace(['/', '\\'], "--"));
            link_to(&files[line.row], &link)?;
        }
        std::fs::rename(&partial, path)
    };
    make().map_err(|error| {
        // What is half made is of no use; that it could not be removed is not the news.
        let _ = std::fs::remove_dir_all(&partial);
        CliError::Failed(format!("{}: cannot write it: {error}", path.display()))
    })
}

/// A class name that cannot leave its folder.
fn folder_name(class: &str) -> String {
    match class.replace(['/', '\\'], "-") {
        name if name == "." || name == ".." => format!("_{name}"),
        name => name,
    }
}

/// Makes a link to an image, wherever the program is called from.
pub fn link_to(file: &Path, link: &Path) -> std::io::Result<()> {
    let file = std::fs::canonicalize(file)?;
    #[cfg(unix)]
    return std::os::unix::fs::symlink(file, link);
    #[cfg(not(unix))]
    return std::fs::hard_link(file, link);
}
