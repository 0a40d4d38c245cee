//! `label --report`: the labelled pool on a page, for whoever has to decide whether to believe it.

mod checks;
mod sheet;

use std::fmt::Write as _;
use std::path::Path;

use handful_bench::report::charts::{Dot, map, reliability};
use handful_bench::report::page::{document, escape, figure, header, table, thousands};
use handful_data::atomic;
use handful_label::Promise;

use super::Job;
use crate::error::CliError;

/// A label with at least this probability counts as certain where nothing was promised.
const CERTAIN: f32 = 0.9;
/// Rows on the map; more are thinned out evenly.
const MOST_DOTS: usize = 4_000;

/// Writes the page.
pub fn write(path: &Path, pool: &Path, job: &Job, max_error: Option<f64>) -> Result<(), CliError> {
    let page = render(pool, job, max_error)?;
    Ok(atomic::write(path, |out| out.write_all(page.as_bytes()))?)
}

fn render(pool: &Path, job: &Job, max_error: Option<f64>) -> Result<String, CliError> {
    let file = pool.file_name().unwrap_or(pool.as_os_str()).to_string_lossy().into_owned();
    let lead = format!(
        "{} rows, {} labels of {} classes given, everything else inferred. Certain here means {}.",
        thousands(job.table.rows()),
        thousands(job.given.labels.len()),
        job.given.classes.len(),
        match max_error {
            Some(share) => format!("accepted for at most {:.1} % errors", 100.0 * share),
            None => format!("a probability of at least {CERTAIN}"),
        }
    );
    let mut sections = vec![("summary", "Summary"), ("classes", "Classes")];
    if job.pictures.is_some() {
        sections.push(("sheet", "Contact sheet"));
    }
    sections.extend([
        ("trust", "Trust"),
        ("map", "Map"),
        ("check", "Check these"),
        ("again", "Run it again"),
    ]);
    let mut body = header("handful label", &file, &lead, &sections);
    summary(&mut body, job, max_error);
    classes(&mut body, job);
    sheet::by_class(&mut body, job);
    trust(&mut body, job);
    pool_map(&mut body, job)?;
    checks::section(&mut body, job)?;
    let _ = write!(
        body,
        "<section id=\"again\"><h2>Run it again</h2>\n<pre>{}</pre>\n<dl><dt>version</dt><dd>handful {}</dd></dl>\
         </section>\n</main>\n",
        escape(&crate::command_line()),
        env!("CARGO_PKG_VERSION")
    );
    Ok(document(&format!("Labels of {file}"), &body))
}

/// Whether a row's label can be relied on.
fn is_certain(job: &Job, row: usize) -> bool {
    match &job.acceptance {
        Some(_) => job.accepted[row],
        None => !job.rejected[row] && job.labelling.rows[row].probability >= CERTAIN,
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

fn summary(out: &mut String, job: &Job, max_error: Option<f64>) {
    let rows = job.table.rows();
    let certain = (0..rows).filter(|&row| is_certain(job, row)).count();
    let left_out = &job.labelling.left_out;
    let right = left_out.iter().filter(|out| out.predicted == out.class).count();
    let rejected = job.rejected.iter().filter(|rejected| **rejected).count();
    let mut cards = vec![
        (
            format!("{:.0}<small> %</small>", percent(certain, rows)),
            format!("of the rows are certain ({})", thousands(certain)),
        ),
        (thousands(rows - certain), "rows left to check".to_owned()),
    ];
    if !left_out.is_empty() {
        cards.push((
            format!("{:.0}<small> %</small>", percent(right, left_out.len())),
            format!("of {} given labels found again when left out", left_out.len()),
        ));
    }
    if rejected > 0 {
        cards.push((thousands(rejected), "rows look like nothing that was labelled".to_owned()));
    }
    out.push_str("<section id=\"summary\"><h2>Summary</h2>\n<div class=\"cards\">");
    for (number, words) in cards {
        let _ = write!(out, "<div class=\"card\"><b>{number}</b><span>{}</span></div>", escape(&words));
    }
    out.push_str("</div>\n");
    if let (Some(max_error), Some(acceptance)) = (max_error, &job.acceptance) {
        let how = match acceptance.promise {
            Promise::HighProbability => "in 95 pools of 100",
            Promise::Expected => "on average over pools, if the labels were drawn by chance",
        };
        let smallest = match acceptance.smallest_promise {
            Some(share) => format!("the smallest share that could be promised is {:.1} %", 100.0 * share),
            None => "no share of errors could be promised; more labels would help".to_owned(),
        };
        let estimated = match acceptance.count {
            0 => String::new(),
            _ => format!(", with an estimated {:.1} % of errors", 100.0 * acceptance.estimated_error),
        };
        let _ = writeln!(
            out,
            "<p>Promised: at most <b>{:.1} %</b> errors among accepted labels, {how}. Accepted: <b>{}</b> inferred \
             labels{estimated}. It rests on {} labels left out; {smallest}.</p>",
            100.0 * max_error,
            thousands(acceptance.count),
            acceptance.labels_left_out
        );
    }
    if !job.labelling.calibration.fitted {
        out.push_str(
            "<p class=\"missing\">Too few labels to calibrate: take probabilities as a ranking, not as shares. Five \
             labels of each class are enough.</p>\n",
        );
    }
    out.push_str("</section>\n");
}

fn classes(out: &mut String, job: &Job) {
    let names = ["class", "given", "rows", "share %", "certain", "mean proba\u{ad}bility"];
    let mut lines = vec![names.map(str::to_owned).to_vec()];
    let total = job.rejected.iter().filter(|rejected| !**rejected).count();
    for (class, name) in job.given.classes.iter().enumerate() {
        let of_class = || {
            (0..job.table.rows()).filter(|&row| job.labelling.rows[row].class == class && !job.rejected[row])
        };
        let rows = of_class().count();
        let sum: f64 = of_class().map(|row| f64::from(job.labelling.rows[row].probability)).sum();
        lines.push(vec![
            escape(name),
            of_class().filter(|&row| job.labelling.rows[row].given).count().to_string(),
            thousands(rows),
            format!("{:.1}", percent(rows, total)),
            format!("{:.0} %", percent(of_class().filter(|&row| is_certain(job, row)).count(), rows)),
            format!("{:.2}", sum / rows.max(1) as f64),
        ]);
    }
    let _ = write!(out, "<section id=\"classes\"><h2>Classes</h2>\n{}</section>\n", table(&lines));
}

/// What became of given labels when they were left out: confusion, and stated against observed.
fn trust(out: &mut String, job: &Job) {
    out.push_str("<section id=\"trust\"><h2>How far to trust it</h2>\n");
    let left_out = &job.labelling.left_out;
    if left_out.is_empty() {
        out.push_str(
            "<p class=\"missing\">No label could be left out: give at least two of a class to see how well it is \
             found.</p></section>\n",
        );
        return;
    }
    let _ = writeln!(
        out,
        "<p>Each given label was left out once and inferred from the others. Left of the table the class that was given, \
         above it the class that was inferred.</p>{}",
        table(&confusion(job))
    );
    let mut bars = vec![(0.0f64, 0usize, 0usize); 10];
    for label in left_out {
        let probability = f64::from(label.probability);
        let bar = &mut bars[((probability * 10.0) as usize).min(9)];
        *bar = (bar.0 + probability, bar.1 + usize::from(label.predicted == label.class), bar.2 + 1);
    }
    let bars: Vec<(f64, f64, usize)> = bars
        .into_iter()
        .filter(|bar| bar.2 > 0)
        .map(|(sum, right, count)| (sum / count as f64, right as f64 / count as f64, count))
        .collect();
    let _ = writeln!(
        out,
        "<div class=\"figures\">{}</div></section>",
        figure(
            "reliability",
            &reliability(&bars),
            "Labels left out: the share that was right against the probability that was stated. On the diagonal \
             probabilities mean what they say; larger dots stand for more labels.",
        )
    );
}

/// Classes by classes; only those that are confused, where there are many.
fn confusion(job: &Job) -> Vec<Vec<String>> {
    const MOST: usize = 24;
    let left_out = &job.labelling.left_out;
    let ways = job.given.classes.len();
    let involved = |class: usize| {
        left_out
            .iter()
            .any(|out| out.predicted != out.class && (out.class == class || out.predicted == class))
    };
    let shown: Vec<usize> = (0..ways).filter(|&class| ways <= MOST || involved(class)).take(MOST).collect();
    let name = |&class: &usize| escape(&job.given.classes[class]);
    let mut lines = vec![std::iter::once(String::new()).chain(shown.iter().map(name)).collect::<Vec<_>>()];
    for class in &shown {
        let mut line = vec![name(class)];
        for predicted in &shown {
            let count =
                left_out.iter().filter(|out| out.class == *class && out.predicted == *predicted).count();
            line.push(match (count, class == predicted) {
                (0, _) => "<span class=\"none\">–</span>".to_owned(),
                (count, true) => format!("<b>{count}</b>"),
                (count, false) => format!("<span class=\"verdict fails\">{count}</span>"),
            });
        }
        lines.push(line);
    }
    lines
}

fn pool_map(out: &mut String, job: &Job) -> Result<(), CliError> {
    let mut drawn = job.prepared.map().map_err(CliError::usage)?;
    while !drawn.is_finished() {
        drawn.improve(50);
    }
    let step = job.table.rows().div_ceil(MOST_DOTS).max(1);
    let dots = drawn.places().into_iter().zip(&job.labelling.rows).enumerate();
    let dots =
        dots.filter(|(row, (_, label))| (row.is_multiple_of(step) || label.given) && !job.rejected[*row]);
    let dots: Vec<Dot> = dots
        .map(|(row, (place, label))| Dot {
            place,
            class: label.class,
            certain: is_certain(job, row),
            given: label.given,
        })
        .collect();
    let _ = write!(
        out,
        "<section id=\"map\"><h2>Map</h2>\n<p>Rows that look alike lie together. Large and ringed: given. Filled: certain. \
         Hollow: not.</p>\n<div class=\"figures\">{}</div></section>\n",
        figure("pool", &map(&dots, &job.given.classes), "The pool by neighbours, coloured by its labels.")
    );
    Ok(())
}
