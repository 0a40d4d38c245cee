//! What is written about each row, the same for every format.

use super::Job;

/// Where a label comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Given,
    Inferred,
    Rejected,
}

impl Source {
    pub fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Inferred => "inferred",
            Self::Rejected => "rejected",
        }
    }
}

/// One row of the output.
pub struct Line<'a> {
    pub row: usize,
    /// Empty for a rejected row.
    pub label: &'a str,
    pub probability: f32,
    pub credibility: f32,
    pub source: Source,
    pub margin: f32,
    pub agreement: f32,
    pub familiarity: f32,
}

/// The rows that are written: all that are given, accepted or rejected, in the order of the pool.
pub struct Columns<'a> {
    job: &'a Job,
}

impl<'a> Columns<'a> {
    pub const NAMES: [&'static str; 8] =
        ["id", "label", "probability", "credibility", "source", "margin", "agreement", "familiarity"];

    pub fn of(job: &'a Job) -> Self {
        Self { job }
    }

    pub fn lines(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        let job = self.job;
        (0..job.labelling.rows.len())
            .filter(|&row| job.accepted[row] || job.rejected[row])
            .map(|row| line(job, row))
    }
}

/// What is written about one row.
pub fn line(job: &Job, row: usize) -> Line<'_> {
    let label = &job.labelling.rows[row];
    let source = match (label.given, job.rejected[row]) {
        (true, _) => Source::Given,
        (false, true) => Source::Rejected,
        (false, false) => Source::Inferred,
    };
    Line {
        row,
        label: if source == Source::Rejected { "" } else { &job.given.classes[label.class] },
        probability: label.probability,
        credibility: label.credibility,
        source,
        margin: label.margin,
        agreement: label.agreement,
        familiarity: label.familiarity,
    }
}
