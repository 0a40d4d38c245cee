//! A labelled pool as a file: what is written about each row, the same for every front end and format.

mod links;
mod tasks;

use std::io::{self, Write};
use std::path::Path;

pub use links::{write_class_links, write_links};
use serde_json::json;
pub use tasks::TaskContent;

use crate::spreadsheet::guarded;
use crate::{Cells, DataError, atomic, write_columns};

/// Where a label comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A person gave it.
    Given,
    /// It was inferred.
    Inferred,
    /// The row is of none of the classes.
    Rejected,
}

impl Source {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Inferred => "inferred",
            Self::Rejected => "rejected",
        }
    }
}

/// One row of a labelled pool.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// Its number in the pool.
    pub row: usize,
    /// Its id.
    pub id: String,
    /// Empty for a rejected row.
    pub label: &'a str,
    /// Probability of the label.
    pub probability: f32,
    /// Place of the row among those of its class, from 0 to 1.
    pub credibility: f32,
    /// Where the label comes from.
    pub source: Source,
    /// Lead over the second likeliest class.
    pub margin: f32,
    /// Share of the opinions that were the final one.
    pub agreement: f32,
    /// How much the row looks like one of the classes at all.
    pub familiarity: f32,
}

/// The columns, in order.
pub const COLUMNS: [&str; 8] =
    ["id", "label", "probability", "credibility", "source", "margin", "agreement", "familiarity"];

/// Formats of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelledFormat {
    /// Comma-separated values.
    Csv,
    /// One JSON object a line.
    Jsonl,
    /// Parquet.
    Parquet,
    /// Tasks, as Label Studio imports them.
    LabelStudio,
}

/// Writes a labelled pool; `content` is what tasks for Label Studio show.
///
/// # Errors
/// [`DataError::Write`] where it cannot be written, or an image that cannot be shown.
pub fn write_labelled<'a>(
    path: &Path,
    format: LabelledFormat,
    lines: impl Iterator<Item = Line<'a>>,
    content: &TaskContent<'_>,
) -> Result<(), DataError> {
    match format {
        LabelledFormat::Csv => Ok(atomic::write(path, |out| csv(out, lines))?),
        LabelledFormat::Jsonl => Ok(atomic::write(path, |out| jsonl(out, lines))?),
        LabelledFormat::LabelStudio => {
            let mut unshown = None;
            let written = atomic::write(path, |out| tasks::write(out, lines, content, &mut unshown));
            // An image that cannot be shown is no fault of the file that was to name it.
            match unshown {
                Some(error) => Err(error),
                None => Ok(written?),
            }
        }
        LabelledFormat::Parquet => parquet(path, lines),
    }
}

fn csv<'a>(out: &mut dyn Write, lines: impl Iterator<Item = Line<'a>>) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(COLUMNS)?;
    for line in lines {
        let number = |value: f32| format!("{value:.4}");
        writer.write_record([
            guarded(&line.id).as_ref(),
            guarded(line.label).as_ref(),
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

fn jsonl<'a>(out: &mut dyn Write, mut lines: impl Iterator<Item = Line<'a>>) -> io::Result<()> {
    lines.try_for_each(|line| {
        let object = json!({
            "id": line.id,
            "label": (line.source != Source::Rejected).then_some(line.label),
            "probability": line.probability,
            "credibility": line.credibility,
            "source": line.source.name(),
            "margin": line.margin,
            "agreement": line.agreement,
            "familiarity": line.familiarity,
        });
        serde_json::to_writer(&mut *out, &object)?;
        out.write_all(b"\n")
    })
}

fn parquet<'a>(path: &Path, lines: impl Iterator<Item = Line<'a>>) -> Result<(), DataError> {
    let lines: Vec<Line<'_>> = lines.collect();
    let numbers = |value: fn(&Line<'_>) -> f32| Cells::Numbers(lines.iter().map(value).collect());
    let texts = |value: &dyn Fn(&Line<'_>) -> String| Cells::Texts(lines.iter().map(value).collect());
    let cells = [
        texts(&|line| line.id.clone()),
        texts(&|line| line.label.to_owned()),
        numbers(|line| line.probability),
        numbers(|line| line.credibility),
        texts(&|line| line.source.name().to_owned()),
        numbers(|line| line.margin),
        numbers(|line| line.agreement),
        numbers(|line| line.familiarity),
    ];
    let named: Vec<(&str, Cells)> = COLUMNS.into_iter().zip(cells).collect();
    write_columns(path, &named)
}
