//! What is written about each row, the same for every format.

pub use handful_data::labelled::{Line, Source};

use super::Job;

/// The rows that are written: all that are given, accepted or rejected, in the order of the pool.
pub struct Columns<'a> {
    job: &'a Job,
}

impl<'a> Columns<'a> {
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
        id: job.table.id(row),
        label: if source == Source::Rejected { "" } else { &job.given.classes[label.class] },
        probability: label.probability,
        credibility: label.credibility,
        source,
        margin: label.margin,
        agreement: label.agreement,
        familiarity: label.familiarity,
    }
}
