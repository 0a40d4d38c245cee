//! A labelled pool as a file: what is written about each row, the same for every front end and format.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

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

/// Writes a labelled pool.
///
/// # Errors
/// [`DataError::Write`] where it cannot be written.
pub fn write_labelled<'a>(
    path: &Path,
    format: LabelledFormat,
    lines: impl Iterator<Item = Line<'a>>,
) -> Result<(), DataError> {
    match format {
        LabelledFormat::Csv => Ok(atomic::write(path, |out| csv(out, lines))?),
        LabelledFormat::Jsonl => Ok(atomic::write(path, |out| jsonl(out, lines))?),
        LabelledFormat::LabelStudio => {
            Ok(atomic::write(path, |out| label_studio(out, lines, &|line| line.id.clone()))?)
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

/// Writes tasks as Label Studio imports them: given labels as annotations, the others as predictions with a score, and
/// what rows can be sorted by in `data`. `image` says where its browser finds the image of a row.
///
/// # Errors
/// What the writer says.
pub fn label_studio<'a>(
    out: &mut dyn Write,
    lines: impl Iterator<Item = Line<'a>>,
    image: &dyn Fn(&Line<'_>) -> String,
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (at, line) in lines.enumerate() {
        out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, &task(&line, image(&line)))?;
    }
    out.write_all(b"\n]\n")
}

fn task(line: &Line<'_>, image: String) -> Value {
    let result = json!([{
        "from_name": "label", "to_name": "image", "type": "choices",
        "value": {"choices": [line.label]},
    }]);
    let mut task = json!({
        "data": {
            "image": image,
            "id": line.id,
            "probability": line.probability,
            "uncertainty": 1.0 - line.probability,
            "credibility": line.credibility,
            "source": line.source.name(),
        },
    });
    match line.source {
        Source::Given => task["annotations"] = json!([{"result": result}]),
        Source::Inferred => {
            task["predictions"] =
                json!([{"model_version": "handful", "score": line.probability, "result": result}]);
        }
        // Nothing is said about its class; whoever looks at it says more.
        Source::Rejected => {}
    }
    task
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_studio_gets_annotations_for_given_labels_and_predictions_for_the_others() {
        let line = |id: &str, source, probability| Line {
            row: 0,
            id: id.to_owned(),
            label: if source == Source::Rejected { "" } else { "cat" },
            probability,
            credibility: 0.5,
            source,
            margin: 0.5,
            agreement: 1.0,
            familiarity: 1.0,
        };
        let lines = [
            line("a", Source::Given, 1.0),
            line("b", Source::Inferred, 0.75),
            line("c", Source::Rejected, 0.25),
        ];
        let mut out = Vec::new();
        label_studio(&mut out, lines.into_iter(), &|line| format!("/data/{}", line.id)).expect("written");
        let tasks: Value = serde_json::from_slice(&out).expect("JSON");
        let choice = |value: &Value| value["result"][0]["value"]["choices"][0].clone();
        assert_eq!(choice(&tasks[0]["annotations"][0]), "cat");
        assert!(tasks[0].get("predictions").is_none());
        assert_eq!(choice(&tasks[1]["predictions"][0]), "cat");
        assert_eq!(tasks[1]["predictions"][0]["score"], 0.75);
        assert_eq!(tasks[1]["data"]["uncertainty"], 0.25);
        assert_eq!(tasks[1]["data"]["image"], "/data/b");
        assert_eq!(tasks[2]["data"]["source"], "rejected");
        assert!(tasks[2].get("annotations").is_none() && tasks[2].get("predictions").is_none());
    }
}
