//! The rows to check by hand, as a file to fill in and feed back with `--labels`.
//!
//! Most informative first: a row is worth a look when its two likeliest classes are close (`1 - margin`) and when it
//! looks like many others, which its label would then help (its familiarity).

use std::path::Path;

use handful_data::atomic;
use handful_data::spreadsheet::guarded;

use super::Job;
use crate::error::CliError;

/// Writes the rows that were neither given, accepted nor rejected; without --max-error, all that were not given.
/// Returns how many there are.
pub fn write(path: &Path, job: &Job) -> Result<usize, CliError> {
    let rows = &job.labelling.rows;
    let everything = job.estimated_error.is_none();
    let mut order: Vec<usize> = (0..rows.len())
        .filter(|&row| !rows[row].given && !job.rejected[row] && (everything || !job.accepted[row]))
        .collect();
    let worth = |row: usize| (1.0 - rows[row].margin) * rows[row].familiarity.max(0.0);
    order.sort_by(|&a, &b| worth(b).total_cmp(&worth(a)).then(a.cmp(&b)));
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
