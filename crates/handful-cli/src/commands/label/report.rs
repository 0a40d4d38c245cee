//! What a run prints: what was done, how far to trust it, and what changed since the last one.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use handful_data::spreadsheet::plain;
use handful_label::{Acceptance, Promise, Share};
use serde_json::json;

use super::Job;
use super::columns::line;
use super::output::OutputFormat;
use crate::commands::bench::Format;
use crate::error::CliError;
use crate::terminal::{Paint, Printable};

/// What was written, and what it replaced.
#[derive(Default)]
pub struct Written {
    pub output: Option<PathBuf>,
    pub review: Option<PathBuf>,
    pub review_rows: Option<usize>,
    pub model: Option<PathBuf>,
    pub report: Option<PathBuf>,
    pub changes: Option<Changes>,
}

/// Differences to the file that was there before.
pub struct Changes {
    pub changed: usize,
    pub added: usize,
    pub removed: usize,
    /// The first few, as `id: before -> after`.
    pub examples: Vec<String>,
}

const EXAMPLES: usize = 5;

/// Compares with an earlier CSV of the same name; `None` where there is none or it is of another kind.
pub fn changes(path: &Path, format: OutputFormat, job: &Job) -> Result<Option<Changes>, CliError> {
    if format != OutputFormat::Csv || !path.exists() {
        return Ok(None);
    }
    let Ok(mut reader) = csv::ReaderBuilder::new().flexible(true).from_path(path) else { return Ok(None) };
    let header = reader.headers().map(|header| header.iter().take(2).collect::<Vec<_>>() == ["id", "label"]);
    if !header.unwrap_or(false) {
        return Err(CliError::Usage(format!(
            "{}: it exists and is not a labelled pool; write to another file",
            path.display()
        )));
    }
    let records = reader.records().filter_map(Result::ok);
    let mut before: HashMap<String, String> = records
        .filter_map(|record| Some((plain(record.get(0)?).to_owned(), plain(record.get(1)?).to_owned())))
        .collect();
    let mut changes = Changes { changed: 0, added: 0, removed: 0, examples: Vec::new() };
    for line in super::columns::Columns::of(job).lines() {
        let id = job.table.id(line.row);
        match before.remove(&id) {
            Some(earlier) if earlier != line.label => {
                changes.changed += 1;
                if changes.examples.len() < EXAMPLES {
                    changes.examples.push(format!("{id}: {earlier} -> {}", line.label));
                }
            }
            Some(_) => {}
            None => changes.added += 1,
        }
    }
    changes.removed = before.len();
    Ok(Some(changes))
}

/// Prints the report.
pub fn print(format: Format, job: &Job, written: &Written, max_error: Option<f64>) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match format {
        Format::Json => {
            serde_json::to_writer(&mut out, &document(job, written, max_error))
                .map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        Format::Table => {
            let paint = Paint::for_stream(&out);
            let mut text = Vec::new();
            words(&mut Printable::new(&mut text), job, written, max_error)?;
            for line in String::from_utf8_lossy(&text).lines() {
                writeln!(out, "{}", if is_warning(line) { paint.warning(line) } else { line.to_owned() })?;
            }
        }
    }
    Ok(out.flush()?)
}

/// Lines that say what to be careful about.
fn is_warning(line: &str) -> bool {
    const BEGINNINGS: [&str; 5] = [
        "check ",
        "probabilities: uncalibrated",
        "  with so few labels",
        "  the smallest share",
        "  no share of errors",
    ];
    BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
}

fn words(out: &mut dyn Write, job: &Job, written: &Written, max_error: Option<f64>) -> std::io::Result<()> {
    let labelling = &job.labelling;
    let given = job.given.labels.len();
    writeln!(
        out,
        "{} rows x {}, {given} labels of {} classes",
        job.table.rows(),
        job.table.dim(),
        job.given.classes.len()
    )?;
    if job.given.replaced > 0 {
        writeln!(out, "{} labels were replaced by those of a later file", job.given.replaced)?;
    }
    match labelling.sampled_rows {
        Some(rows) => writeln!(out, "fitted to a sample of {rows} rows, since the pool is large")?,
        None => writeln!(out, "fitted to the whole pool, every row compared with every other")?,
    }
    members(out, job)?;
    let calibration = labelling.calibration;
    if calibration.fitted {
        let right = labelling.left_out.iter().filter(|out| out.predicted == out.class).count();
        writeln!(
            out,
            "probabilities: calibrated on {} labels left out, of which {:.0} % were labelled right (temperature {:.2})",
            calibration.labels_left_out,
            100.0 * right as f64 / labelling.left_out.len().max(1) as f64,
            calibration.temperature
        )?;
    } else {
        writeln!(
            out,
            "probabilities: uncalibrated, since only {} labels could be left out; take them as a ranking",
            calibration.labels_left_out
        )?;
    }
    class_sizes(out, job)?;
    let rejected = job.rejected.iter().filter(|rejected| **rejected).count();
    if rejected > 0 {
        writeln!(out, "{rejected} rows look like nothing that was labelled: rejected")?;
        strangers(out, job)?;
    }
    if let (Some(max_error), Some(acceptance)) = (max_error, &job.acceptance) {
        promise(out, job, max_error, acceptance)?;
    }
    doubtful(out, job)?;
    if let Some(changes) = &written.changes {
        writeln!(
            out,
            "since the last run: {} labels changed, {} rows added, {} removed",
            changes.changed, changes.added, changes.removed
        )?;
        changes.examples.iter().try_for_each(|example| writeln!(out, "  {example}"))?;
    }
    if let Some(path) = &written.output {
        writeln!(out, "written: {}", path.display())?;
    }
    if let Some(path) = &written.model {
        writeln!(out, "model: {}; label further rows with handful predict", path.display())?;
    }
    if let Some(path) = &written.report {
        writeln!(out, "report: {}", path.display())?;
    }
    if let (Some(path), Some(rows)) = (&written.review, written.review_rows) {
        writeln!(
            out,
            "to check: {} ({rows} rows, most informative first); fill in `label` for some and run again with one more \
             --labels {}",
            path.display(),
            path.display()
        )?;
    }
    Ok(())
}

/// Groups of rejected rows, with examples.
fn strangers(out: &mut dyn Write, job: &Job) -> std::io::Result<()> {
    let groups = job.prepared.stranger_groups(&job.rejected).unwrap_or_default();
    for group in &groups {
        let examples = group.examples.iter().map(|&row| job.table.id(row)).collect::<Vec<_>>().join(", ");
        writeln!(out, "  {} of them look alike, for instance {examples}", group.rows.len())?;
    }
    Ok(())
}

/// What each member counted, where there are several, the heaviest first.
fn members(out: &mut dyn Write, job: &Job) -> std::io::Result<()> {
    let mut members: Vec<&Share> = job.labelling.members.iter().collect();
    if members.len() < 2 {
        return Ok(());
    }
    members.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let share = |share: &Share| format!("{} {:.0} %", share.member.name(), 100.0 * share.weight);
    let shares = members.iter().copied().map(share).collect::<Vec<_>>().join(", ");
    let why = if members.iter().any(|share| share.right.is_some()) {
        "by how well they predict labels left out"
    } else {
        "as no label can be left out"
    };
    writeln!(out, "members, {why}: {shares}")
}

/// What was promised, on what it rests, and what could be.
fn promise(out: &mut dyn Write, job: &Job, max_error: f64, acceptance: &Acceptance) -> std::io::Result<()> {
    let how = match acceptance.promise {
        Promise::HighProbability => "in 95 pools of 100",
        Promise::Expected => "on average over pools, if the labels were drawn by chance",
    };
    let (count, left_out) = (acceptance.count, acceptance.labels_left_out);
    let estimated = match count {
        0 => String::new(),
        _ => format!("estimated {:.1} %, ", 100.0 * acceptance.estimated_error),
    };
    let most = 100.0 * max_error;
    writeln!(
        out,
        "{count} labels accepted for at most {most:.1} % errors {how} ({estimated}from {left_out} labels left out)"
    )?;
    if !job.labelling.calibration.fitted {
        return writeln!(out, "  with so few labels nothing can be promised: give at least 5 of each class");
    }
    match acceptance.smallest_promise {
        Some(smallest) if smallest > max_error => {
            writeln!(out, "  the smallest share that could be promised is {:.1} %", 100.0 * smallest)
        }
        Some(_) => Ok(()),
        None => writeln!(out, "  no share of errors could be promised; more labels would help"),
    }
}

/// Given labels that the others contradict.
fn doubtful(out: &mut dyn Write, job: &Job) -> std::io::Result<()> {
    const SHOWN: usize = 5;
    let doubtful = job.labelling.doubtful_labels();
    if doubtful.is_empty() {
        return Ok(());
    }
    writeln!(out, "check {} given labels that the others contradict:", doubtful.len())?;
    for label in doubtful.iter().take(SHOWN) {
        let classes = &job.given.classes;
        let (class, predicted) = (&classes[label.class], &classes[label.predicted]);
        writeln!(out, "  {} is labelled {class} and looks like {predicted}", job.table.id(label.row))?;
    }
    Ok(())
}

/// Classes with the number of rows labelled with them, the largest first.
fn class_sizes(out: &mut dyn Write, job: &Job) -> std::io::Result<()> {
    const SHOWN: usize = 12;
    let mut order: Vec<(usize, usize)> = sizes(job).into_iter().enumerate().collect();
    order.sort_by_key(|&(class, rows)| (std::cmp::Reverse(rows), class));
    let shown = order.iter().take(SHOWN).map(|&(class, rows)| format!("{} {rows}", job.given.classes[class]));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = order.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more classes") } else { String::new() };
    writeln!(out, "rows by class: {shown}{more}")
}

fn sizes(job: &Job) -> Vec<usize> {
    let mut sizes = vec![0usize; job.given.classes.len()];
    for (row, label) in job.labelling.rows.iter().enumerate() {
        if !job.rejected[row] {
            sizes[label.class] += 1;
        }
    }
    sizes
}

fn document(job: &Job, written: &Written, max_error: Option<f64>) -> serde_json::Value {
    let calibration = job.labelling.calibration;
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let count = |source: super::columns::Source| {
        (0..job.labelling.rows.len()).filter(|&row| line(job, row).source == source).count()
    };
    json!({
        "rows": job.table.rows(),
        "dim": job.table.dim(),
        "classes": job.given.classes,
        "class_rows": sizes(job),
        "given": count(super::columns::Source::Given),
        "inferred": count(super::columns::Source::Inferred),
        "rejected": count(super::columns::Source::Rejected),
        "sampled_rows": job.labelling.sampled_rows,
        "members": job.labelling.members.iter().map(|share| json!({
            "name": share.member.name(), "weight": share.weight, "right": share.right,
        })).collect::<Vec<_>>(),
        "doubtful_labels": job.labelling.doubtful_labels().iter().map(|label| json!({
            "id": job.table.id(label.row),
            "label": job.given.classes[label.class],
            "looks_like": job.given.classes[label.predicted],
        })).collect::<Vec<_>>(),
        "calibrated": calibration.fitted,
        "temperature": calibration.temperature,
        "labels_left_out": calibration.labels_left_out,
        "max_error": max_error,
        "estimated_error": job.acceptance.as_ref().map(|acceptance| acceptance.estimated_error),
        "promise": job.acceptance.as_ref().map(|acceptance| acceptance.promise),
        "smallest_promise": job.acceptance.as_ref().and_then(|acceptance| acceptance.smallest_promise),
        "accepted": job.accepted.iter().filter(|accepted| **accepted).count(),
        "changed": written.changes.as_ref().map(|changes| changes.changed),
        "output": path(&written.output),
        "model": path(&written.model),
        "report": path(&written.report),
        "review": path(&written.review),
        "review_rows": written.review_rows,
    })
}
