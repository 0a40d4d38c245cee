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
            write!(out, "  estimated error, at the pessimistic end, {:.3}", label.error)?;
            match job.acceptance {
                Some(_) if job.accepted[row] => writeln!(out, ": accepted")?,
                Some(_) => writeln!(out, ": not accepted")?,
                None => writeln!(out)?,
            }
        }
    }
    if !labelling.joined.is_empty() {
        selection(&mut out, job, row)?;
    }
    let (given, inferred): (Vec<usize>, Vec<usize>) =
        (0..labelling.rows.len()).partition(|&other| labelling.rows[other].given);
    writeln!(out, "  nearest labelled rows:")?;
    for near in job.prepared.nearest(row, SHOWN, &given).map_err(CliError::usage)? {
        let class = &job.given.classes[labelling.rows[near.row].class];
        writeln!(out, "    {:.3}  {class:20} {}", near.similarity, job.table.id(near.row))?;
    }
    writeln!(out, "  nearest rows labelled by handful:")?;
    for near in job.prepared.nearest(row, SHOWN, &inferred).map_err(CliError::usage)? {
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

/// In which rounds IDA selected the row, where the rule selects.
fn selection(out: &mut dyn Write, job: &Job, row: usize) -> Result<(), CliError> {
    let labelling = &job.labelling;
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
    Ok(writeln!(out, "  selected by IDA: {selected} (of {})", labelling.joined.len())?)
}
