//! Reports, made from results alone: the same results give the same report, with nothing computed again.
//!
//! [`Report::from_results`] turns records into sections of tables, checked claims and figures; `html`, `markdown`,
//! `csv` and `text` only word them.

pub mod charts;
mod claims;
pub mod csv;
pub mod html;
pub mod markdown;
pub mod page;
mod plots;
#[cfg(feature = "png")]
mod png;
mod rerun;
mod studies;
pub mod study;
mod tables;
pub mod text;

use std::path::Path;

use crate::reproduce::cell::Skipped;
use crate::reproduce::results::{RESULTS, Record, StoreError};
use crate::reproduce::systems::Systems;
use crate::reproduce::{Plan, layouts};

/// The files of a report besides one per figure and table.
const PAGES: [&str; 2] = ["report.html", "report.md"];

/// What became of a claim of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The interval of the difference is above zero.
    Holds,
    /// It includes zero.
    Undecided,
    /// It is below zero.
    Fails,
}

impl Verdict {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Undecided => "undecided",
            Self::Fails => "does not hold",
        }
    }
}

/// A claim and what the results say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The claim.
    pub claim: String,
    /// What became of it.
    pub verdict: Verdict,
    /// The numbers.
    pub detail: String,
}

/// One value of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellView {
    /// The value, empty for none.
    pub value: String,
    /// Half of its 95% interval.
    pub interval: Option<String>,
    /// Its number of tasks, where that is not what was asked for.
    pub tasks: Option<usize>,
    /// Whether it is the best with equal prior knowledge.
    pub best: bool,
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct RowView {
    /// The heading it stands under.
    pub group: String,
    /// Its name.
    pub label: String,
    /// Whether its method is told the class sizes.
    pub knows_class_sizes: bool,
    /// Its values.
    pub cells: Vec<CellView>,
}

/// A heading of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Heading {
    /// Its words.
    pub text: String,
    /// Whether the paper printed what stands under it.
    pub printed: bool,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableView {
    /// Headings of the values.
    pub headings: Vec<Heading>,
    /// The rows.
    pub rows: Vec<RowView>,
}

impl TableView {
    /// What the marks behind the names mean.
    pub fn footnotes(&self) -> Vec<&'static str> {
        let dagger = self.rows.iter().any(|row| row.label.contains('†'));
        dagger
            .then_some("† printed in the paper for a WRN-28-10, another and larger backbone")
            .into_iter()
            .collect()
    }
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name of its files.
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// The drawing.
    pub svg: String,
}

/// One table or figure of the paper.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Its key.
    pub id: &'static str,
    /// Its title.
    pub title: String,
    /// What it is about.
    pub about: String,
    /// Its table.
    pub table: Option<TableView>,
    /// The paper's claims.
    pub checks: Vec<Check>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Parts that are missing, and why.
    pub missing: Vec<String>,
}

/// A report.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The sections in order.
    pub sections: Vec<Section>,
    /// Every result it was made from.
    pub records: Vec<Record>,
}

impl Report {
    /// Arranges results. `skipped` are the parts that the run could not compute.
    pub fn from_results(records: &[Record], skipped: &[Skipped]) -> Self {
        let Some(run) = records.first().map(|record| record.run.clone()) else { return Self::default() };
        let plan = Plan {
            preset: run.preset,
            tasks: run.tasks,
            seed: run.seed,
            full: run.full,
            threads: 0,
            benchmark: run.benchmark,
            cross_classes: None,
            systems: Systems::default(),
        };
        let of = |table: &str| -> Vec<&Record> { records.iter().filter(|r| r.table == table).collect() };
        let mut sections = vec![studies::table1(&of("table1"))];
        sections.extend(
            layouts(&plan).iter().map(|layout| tables::section(layout, &of(layout.table), plan.tasks)),
        );
        let figures = [
            studies::figure1(&of("figure1")),
            studies::theorem3(&of("theorem3")),
            studies::picture(&of("picture")),
        ];
        let differences = sections.pop();
        sections.extend(figures);
        sections.extend(differences);
        for section in &mut sections {
            let parts = skipped.iter().filter(|part| part.table == section.id);
            section.missing.extend(parts.map(|part| format!("{}: {}", part.what, part.reason)));
        }
        // Part of it comes from the results file, and it becomes the name of a file.
        for figure in sections.iter_mut().flat_map(|section| &mut section.figures) {
            figure.id = figure.id.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        }
        sections.retain(|section| {
            section.table.is_some() || !section.figures.is_empty() || !section.missing.is_empty()
        });
        Self { sections, records: records.to_vec() }
    }

    /// Writes `report.html`, `report.md`, a CSV per table, and an SVG and (feature `png`) a PNG per figure.
    pub fn write(&self, folder: &Path) -> Result<(), StoreError> {
        write_file(&folder.join("report.html"), html::render(self).as_bytes())?;
        write_file(&folder.join("report.md"), markdown::render(self).as_bytes())?;
        for section in &self.sections {
            if let Some(table) = &section.table {
                write_file(&folder.join(format!("{}.csv", section.id)), csv::render(table).as_bytes())?;
            }
            for figure in &section.figures {
                write_file(&folder.join(format!("{}.svg", figure.id)), figure.svg.as_bytes())?;
                #[cfg(feature = "png")]
                if let Some(bytes) = png::render(&figure.svg) {
                    write_file(&folder.join(format!("{}.png", figure.id)), &bytes)?;
                }
            }
        }
        Ok(())
    }
}

/// Refuses a folder whose pages were not made from results there, unless forced.
pub fn check_folder(folder: &Path, force: bool) -> Result<(), StoreError> {
    if force || folder.join(RESULTS).exists() {
        return Ok(());
    }
    match PAGES.iter().map(|page| folder.join(page)).find(|page| page.exists()) {
        Some(path) => Err(StoreError::Foreign { path }),
        None => Ok(()),
    }
}

/// Writes a page, so that a reader never sees half a file.
fn write_file(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    Ok(handful_data::atomic::write(path, |out| out.write_all(bytes))?)
}

#[cfg(test)]
mod tests;
