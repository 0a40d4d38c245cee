//! The rows to check by hand, as a file to fill in and feed back with `--labels`.
//!
//! Most informative first: the first rows are chosen to cover what is doubtful, so that twenty of them ask twenty different
//! things ([`handful_label::PreparedPool::review_order`]); the rest follow by falling doubt.

use std::path::Path;

use handful_data::atomic;
use handful_data::spreadsheet::guarded;

use super::Job;
use crate::error::CliError;

/// The rows that were neither given, accepted nor rejected, the most informative first; without --max-error, all that were
/// not given.
pub fn order(job: &Job) -> Result<Vec<usize>, CliError> {
    let rows = &job.labelling.rows;
    let everything = job.acceptance.is_none();
    let open: Vec<bool> = (0..rows.len())
        .map(|row| !rows[row].given && !job.rejected[row] && (everything || !job.accepted[row]))
        .collect();
    job.prepared.review_order(&job.labelling, &open).map_err(CliError::usage)
}

/// Writes them, and returns how many there are.
pub fn write(path: &Path, job: &Job) -> Result<usize, CliError> {
    let rows = &job.labelling.rows;
    let order = order(job)?;
    atomic::write(path, |out| {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record([
            "id",
            "label",
            "suggested",
            "probability",
            "credibility",
            "margin",
            "agreement",
            "familiarity",
        ])?;
        for &row in &order {
            let label = &rows[row];
            let number = |value: f32| format!("{value:.4}");
            writer.write_record([
                guarded(&job.table.id(row)).as_ref(),
                "",
                &guarded(&job.given.classes[label.class]),
                &number(label.probability),
                &number(label.credibility),
                &number(label.margin),
                &number(label.agreement),
                &number(label.familiarity),
            ])?;
        }
        writer.flush()
    })?;
    Ok(order.len())
}

/// Whether a file exists in which somebody has written: a label in a review file, or anything else at all.
pub fn is_filled_in(path: &Path) -> bool {
    // What is not a file, such as a pipe, holds nothing that could be lost.
    if !path.is_file() {
        return false;
    }
    let Ok(mut reader) = csv::ReaderBuilder::new().flexible(true).from_path(path) else { return true };
    let ours = reader.headers().is_ok_and(|header| header.iter().take(3).eq(["id", "label", "suggested"]));
    let empty = |record: csv::StringRecord| record.get(1).is_some_and(str::is_empty);
    !ours || !reader.records().all(|record| record.is_ok_and(empty))
}
