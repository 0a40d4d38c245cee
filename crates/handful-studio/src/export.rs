//! What a session comes to, as files: byte for byte those of `handful label` with the same labels.

use std::io;
use std::path::PathBuf;

use axum::body::Bytes;
use handful_data::labelled::{LabelledFormat, Line, Source, write_class_links, write_labelled};
use handful_data::spreadsheet::guarded;

use crate::error::StudioError;
use crate::fitting::{Learnt, full_fit};
use crate::studio::Studio;

/// A file to download.
pub struct Export {
    pub bytes: Bytes,
    pub media_type: &'static str,
    pub name: &'static str,
}

/// Makes the export of that name.
///
/// # Errors
/// [`StudioError::NoExport`], [`StudioError::NothingLearnt`], what the fit or the machine say.
pub fn export(studio: &Studio, name: &str) -> Result<Export, StudioError> {
    let (name, media_type, format) = match name {
        "labels.csv" => {
            return Ok(Export {
                bytes: labels(studio)?,
                media_type: "text/csv; charset=utf-8",
                name: "labels.csv",
            });
        }
        "model.safetensors" => return model(studio),
        "labelled.csv" => ("labelled.csv", "text/csv; charset=utf-8", LabelledFormat::Csv),
        "labelled.jsonl" => ("labelled.jsonl", "application/x-ndjson", LabelledFormat::Jsonl),
        "labelled.parquet" => ("labelled.parquet", "application/vnd.apache.parquet", LabelledFormat::Parquet),
        "label-studio.json" => ("label-studio.json", "application/json", LabelledFormat::LabelStudio),
        _ => return Err(StudioError::NoExport { name: name.to_owned() }),
    };
    let learnt = full_fit(studio)?.learnt.clone().ok_or(StudioError::NothingLearnt)?;
    let discarded = studio.labels().discarded;
    let folder = tempfile::tempdir().map_err(machine)?;
    let path = folder.path().join(name);
    let lines = (0..studio.pool.rows()).map(|row| line(studio, &learnt, &discarded, row));
    write_labelled(&path, format, lines, &studio.pool.task_content())?;
    let bytes = Bytes::from(std::fs::read(&path).map_err(machine)?);
    Ok(Export { bytes, media_type, name })
}

/// Sorts the images of the labelled pool into folders of links to them, beside the session's log: `POOL.labelled`, or with
/// the first number behind it that is free. Returns where.
///
/// # Errors
/// [`StudioError::NothingLearnt`], a pool whose images are no files, what the fit or the disk say.
pub fn links(studio: &Studio) -> Result<PathBuf, StudioError> {
    let pictures = studio.pool.pictures.as_ref().ok_or(StudioError::NoImage { row: 0 })?;
    let learnt = full_fit(studio)?.learnt.clone().ok_or(StudioError::NothingLearnt)?;
    let discarded = studio.labels().discarded;
    let log = studio.log();
    let stem = log.file_name().map_or_else(Default::default, |name| name.to_string_lossy());
    let stem = stem.split(".session").next().filter(|stem| !stem.is_empty()).unwrap_or("pool");
    let numbered = |number: usize| match number {
        1 => log.with_file_name(format!("{stem}.labelled")),
        number => log.with_file_name(format!("{stem}.labelled-{number}")),
    };
    let folder = (1..).map(numbered).find(|folder| !folder.exists()).unwrap_or_else(|| numbered(1));
    let lines = (0..studio.pool.rows()).map(|row| line(studio, &learnt, &discarded, row));
    write_class_links(&folder, lines, |row| pictures.file(row))?;
    Ok(folder)
}

fn machine(error: io::Error) -> StudioError {
    StudioError::Machine(error.to_string())
}

/// The labels people gave, for `--labels`.
fn labels(studio: &Studio) -> Result<Bytes, StudioError> {
    let labels = studio.labels();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = || -> Result<(), csv::Error> {
        writer.write_record(["id", "label"])?;
        for &(row, class) in &labels.of_rows {
            writer.write_record([
                guarded(&studio.pool.ids[row]).as_ref(),
                guarded(&labels.names[class]).as_ref(),
            ])?;
        }
        Ok(())
    };
    write().map_err(|error| StudioError::Machine(error.to_string()))?;
    let bytes = writer.into_inner().map_err(|error| StudioError::Machine(error.to_string()))?;
    Ok(Bytes::from(bytes))
}

fn model(studio: &Studio) -> Result<Export, StudioError> {
    let learnt = full_fit(studio)?.learnt.clone().ok_or(StudioError::NothingLearnt)?;
    let bytes = Bytes::from(learnt.model.to_bytes().map_err(StudioError::Machine)?);
    Ok(Export { bytes, media_type: "application/octet-stream", name: "model.safetensors" })
}

fn line<'a>(studio: &Studio, learnt: &'a Learnt, discarded: &[usize], row: usize) -> Line<'a> {
    let label = &learnt.labelling.rows[row];
    let source = match (label.given, discarded.binary_search(&row).is_ok()) {
        (true, _) => Source::Given,
        (false, true) => Source::Rejected,
        (false, false) => Source::Inferred,
    };
    Line {
        row,
        id: studio.pool.ids[row].clone(),
        label: if source == Source::Rejected { "" } else { &learnt.names[label.class] },
        probability: label.probability,
        credibility: label.credibility,
        source,
        margin: label.margin,
        agreement: label.agreement,
        familiarity: label.familiarity,
    }
}
