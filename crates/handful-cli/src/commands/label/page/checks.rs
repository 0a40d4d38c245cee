//! What to look at first: rows whose answer would teach the most, and given labels that the others contradict.

use std::fmt::Write;

use handful_bench::report::page::{escape, table};

use super::super::{Job, review};
use super::sheet::{Tile, tiles};
use crate::error::CliError;

/// Rows of the list.
const SHOWN: usize = 24;

/// The section.
pub fn section(out: &mut String, job: &Job) -> Result<(), CliError> {
    out.push_str("<section id=\"check\"><h2>Check these</h2>\n");
    doubtful(out, job);
    let rows = &job.labelling.rows;
    let shown: Vec<usize> = review::order(job)?.into_iter().take(SHOWN).collect();
    if shown.is_empty() {
        out.push_str("<p>Every label was given or accepted.</p></section>\n");
        return Ok(());
    }
    out.push_str("<p>Rows whose answers would teach the most, the most informative first.</p>\n");
    let suggested = |row: usize| &job.given.classes[rows[row].class];
    if job.pictures.is_some() {
        let tile = |&row: &usize| Tile {
            row,
            words: format!("{:.2} {}", rows[row].probability, suggested(row)),
            frame: "",
        };
        tiles(out, job, &shown.iter().map(tile).collect::<Vec<_>>());
    }
    let mut lines = vec![["id", "suggested", "probability", "credibility"].map(str::to_owned).to_vec()];
    for &row in &shown {
        lines.push(vec![
            escape(&job.table.id(row)),
            escape(suggested(row)),
            format!("{:.2}", rows[row].probability),
            format!("{:.2}", rows[row].credibility),
        ]);
    }
    let _ = writeln!(out, "{}</section>", table(&lines));
    Ok(())
}

/// Given labels that the others contradict.
fn doubtful(out: &mut String, job: &Job) {
    let found = job.labelling.doubtful_labels();
    if found.is_empty() {
        return;
    }
    let mut lines = vec![["given label", "given", "looks like", "probability"].map(str::to_owned).to_vec()];
    for label in found.iter().take(SHOWN) {
        lines.push(vec![
            escape(&job.table.id(label.row)),
            escape(&job.given.classes[label.class]),
            escape(&job.given.classes[label.predicted]),
            format!("{:.2}", label.probability),
        ]);
    }
    let _ = write!(
        out,
        "<p>Given labels that the others contradict; people mislabel, too.</p>\n{}",
        table(&lines)
    );
}
