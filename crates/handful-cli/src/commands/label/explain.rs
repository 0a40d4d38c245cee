//! Why a row got its label.

use std::io::Write;

use super::Job;
use super::columns::{Source, line};
use crate::error::CliError;

/// Neighbours shown of each kind.
const SHOWN: usize = 5;

/// Prints the explanation of one row.
pub fn print(job: &Job, row: usize) -> Result<(), CliError> {
    let mut out = crate::terminal::stdout();
    let labelling = &job.labelling;
    let about = line(job, row);
    let label = &labelling.rows[row];
    let class = &job.given.classes[label.class];
    writeln!(out, "\n`{}`", job.table.id(row))?;
    match about.source {
        Source::Given => writeln!(out, "  labelled {class} by you")?,
        source => {
            let verdict = if source == Source::Rejected { "rejected; nearest class" } else { "labelled" };
            writeln!(
                out,
                "  {verdict} {class}: probability {:.3}, margin {:.3}, credibility {:.2}, agreement {:.2}, familiarity {:.3}",
                label.probability, label.margin, label.credibility, label.agreement, label.familiarity
            )?;
            // Without --max-error nothing was promised, so nothing was accepted or not.
            let verdict = match (job.estimated_error, job.accepted[row]) {
                (None, _) => "",
                (Some(_), true) => ": accepted",
                (Some(_), false) => ": not accepted",
            };
            writeln!(out, "  estimated error, at the pessimistic end, {:.3}{verdict}", label.error)?;
        }
    }
    let rounds: Vec<String> = labelling
        .joined
        .iter()
        .enumerate()
        .filter_map(|(round, rows)| {
            let (_, class) = rows.iter().find(|(joined, _)| *joined == row)?;
            Some(format!("round {} as {}", round + 1, job.given.classes[*class]))
        })
        .collect();
    let selected = if rounds.is_empty() { "in no round".to_owned() } else { rounds.join(", ") };
    writeln!(out, "  selected by IDA: {selected} (of {})", labelling.joined.len())?;
    writeln!(out, "  nearest labelled rows:")?;
    for near in labelling.nearest(row, SHOWN, |other| labelling.rows[other].given) {
        let class = &job.given.classes[labelling.rows[near.row].class];
        writeln!(out, "    {:.3}  {class:20} {}", near.similarity, job.table.id(near.row))?;
    }
    writeln!(out, "  nearest rows labelled by handful:")?;
    for near in labelling.nearest(row, SHOWN, |other| !labelling.rows[other].given) {
        let other = &labelling.rows[near.row];
        let class = &job.given.classes[other.class];
        writeln!(
            out,
            "    {:.3}  {class:20} {} (probability {:.3})",
            near.similarity,
            job.table.id(near.row),
            other.probability
        )?;
    }
    Ok(out.flush()?)
}
