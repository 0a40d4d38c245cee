//! The labelled pool in the format asked for.

use std::io::Write;
use std::path::Path;

use clap::ValueEnum;
use handful_data::{Cells, atomic, write_columns};
use serde_json::json;

use super::Job;
use super::columns::{Columns, Line, Source};
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
    match format {
        OutputFormat::Csv => Ok(atomic::write(path, |out| csv(out, columns, job))?),
        OutputFormat::Jsonl => Ok(atomic::write(path, |out| {
            columns.lines().try_for_each(|line| {
                serde_json::to_writer(&mut *out, &object(&line, job))?;
                out.write_all(b"\n")
            })
        })?),
        OutputFormat::LabelStudio => Ok(atomic::write(path, |out| label_studio(out, columns, job))?),
        OutputFormat::Parquet => parquet(path, columns, job),
        OutputFormat::Links => links(path, columns, job),
    }
}

fn csv(out: &mut dyn Write, columns: &Columns<'_>, job: &Job) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(Columns::NAMES)?;
    for line in columns.lines() {
        let number = |value: f32| format!("{value:.4}");
        writer.write_record([
            job.table.id(line.row).as_str(),
            line.label,
            &number(line.probability),
            &number(line.credibility),
            line.source.name(),
            &number(line.margin),
            &number(line.agreement),
            &number(line.familiarity),
        ])?;
    }
    writer.flush()
}

fn object(line: &Line<'_>, job: &Job) -> serde_json::Value {
    json!({
        "id": job.table.id(line.row),
        "label": (line.source != Source::Rejected).then_some(line.label),
        "probability": line.probability,
        "credibility": line.credibility,
        "source": line.source.name(),
        "margin": line.margin,
        "agreement": line.agreement,
        "familiarity": line.familiarity,
    })
}

/// Tasks with predictions; given labels come as annotations' values too, with a score of 1.
fn label_studio(out: &mut dyn Write, columns: &Columns<'_>, job: &Job) -> std::io::Result<()> {
    out.write_all(b"[")?;
    for (at, line) in columns.lines().filter(|line| line.source != Source::Rejected).enumerate() {
        let result = json!([{
            "from_name": "label", "to_name": "image", "type": "choices",
            "value": {"choices": [line.label]},
        }]);
        let task = json!({
            "data": {"image": job.table.id(line.row), "credibility": line.credibility, "source": line.source.name()},
            "predictions": [{"model_version": "handful", "score": line.probability, "result": result}],
        });
        out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, &task)?;
    }
    out.write_all(b"\n]\n")
}

fn parquet(path: &Path, columns: &Columns<'_>, job: &Job) -> Result<(), CliError> {
    let lines: Vec<Line<'_>> = columns.lines().collect();
    let numbers = |value: fn(&Line<'_>) -> f32| Cells::Numbers(lines.iter().map(value).collect());
    let texts = |value: &dyn Fn(&Line<'_>) -> String| Cells::Texts(lines.iter().map(value).collect());
    let cells = [
        texts(&|line| job.table.id(line.row)),
        texts(&|line| line.label.to_owned()),
        numbers(|line| line.probability),
        numbers(|line| line.credibility),
        texts(&|line| line.source.name().to_owned()),
        numbers(|line| line.margin),
        numbers(|line| line.agreement),
        numbers(|line| line.familiarity),
    ];
    let named: Vec<(&str, Cells)> = Columns::NAMES.into_iter().zip(cells).collect();
    Ok(write_columns(path, &named)?)
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
            let link = folder.join(job.table.id(line.row).replace(['/', '\\'], "--"));
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
