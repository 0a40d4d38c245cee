//! The page of a study: `bench --report`.

use std::fmt::Write;

use serde_json::Value;

use super::charts::{Interval, Line, Timed, accuracy_against_time, intervals};
use super::page::{document, escape, figure, header, table as html_table};
use crate::study::Score;
use crate::table::{Group, label};

/// What the page is made from.
pub struct StudyPage<'a> {
    /// Heading, features and setting, as `bench` has them.
    pub about: &'a Value,
    /// The method that differences are taken to.
    pub reference: usize,
    /// The scores, by number of labelled rows.
    pub groups: &'a [Group<'a>],
    /// The command that made it.
    pub command: &'a str,
}

/// Renders the page.
pub fn render(page: &StudyPage<'_>) -> String {
    let heading = page.about["heading"].as_str().unwrap_or_default();
    let (features, setting) = heading.split_once('\n').unwrap_or((heading, ""));
    let mut body = header(
        "handful bench",
        features,
        &format!("{setting}. Every method got the same tasks."),
        &[
            ("accuracy", "Accuracy"),
            ("differences", "Differences"),
            ("time", "Time"),
            ("parameters", "Parameters"),
            ("again", "Run it again"),
        ],
    );
    accuracy(&mut body, page);
    differences(&mut body, page);
    time(&mut body, page);
    parameters(&mut body, page);
    again(&mut body, page);
    body.push_str("</main>\n");
    document(&format!("Study: {features}"), &body)
}

fn series(page: &StudyPage<'_>) -> Vec<String> {
    page.groups.iter().map(|group| format!("{}-shot", group.shots)).collect()
}

/// A line of a chart for every method.
fn lines(page: &StudyPage<'_>, value: fn(&Score) -> Option<Interval>) -> Vec<Line> {
    let methods = page.groups.first().map_or(&[][..], |group| group.scores);
    let line = |(row, score): (usize, &Score)| Line {
        name: label(&score.name, &score.preset),
        values: page.groups.iter().map(|group| group.scores.get(row).and_then(value)).collect(),
    };
    methods.iter().enumerate().map(line).collect()
}

fn accuracy(out: &mut String, page: &StudyPage<'_>) {
    out.push_str("<section id=\"accuracy\"><h2>Accuracy</h2>\n");
    out.push_str(
        "<p>Mean over the tasks in %, ± half of its 95% interval. <b>Bold</b>: the highest mean of those with equal \
         knowledge of class sizes. <span class=\"tag\">unlabelled</span>: learns from unlabelled rows, too. \
         <span class=\"tag\">sizes</span>: is told how many rows of each class there are.</p>\n",
    );
    out.push_str(&html_table(&table(page)));
    let value = |score: &Score| Some(Interval { mean: 100.0 * score.accuracy, half: 100.0 * score.ci95 });
    let svg = intervals(&lines(page, value), &series(page), "accuracy %, 95% intervals of the means", false);
    let _ = writeln!(
        out,
        "<div class=\"figures\">{}</div></section>",
        figure(
            "accuracies",
            &svg,
            "Accuracy of every method. The intervals are those of each mean alone: for comparisons look at the differences.",
        )
    );
}

fn table(page: &StudyPage<'_>) -> Vec<Vec<String>> {
    let several = page.groups.len() > 1;
    let best = crate::table::best_rows(page.groups);
    let mut heading = vec![String::new()];
    for group in page.groups {
        heading.push(if several { format!("{}-shot", group.shots) } else { "accuracy %".to_owned() });
        heading.push("ms a task".to_owned());
    }
    let mut lines = vec![heading];
    let methods = page.groups.first().map_or(&[][..], |group| group.scores);
    for (row, score) in methods.iter().enumerate() {
        let mut line = vec![name(score)];
        for (at, group) in page.groups.iter().enumerate() {
            let Some(score) = group.scores.get(row) else { continue };
            let mean = format!("{:.2}", 100.0 * score.accuracy);
            let mean = if best.contains(&(row, at)) { format!("<b>{mean}</b>") } else { mean };
            line.push(format!("{mean} <small>± {:.2}</small>", 100.0 * score.ci95));
            line.push(format!("{:.2}", milliseconds(score)));
        }
        lines.push(line);
    }
    lines
}

/// What speaks for the differences, at one number of labelled rows.
fn compared(scores: &[Score]) -> Vec<Vec<String>> {
    let heading = ["", "difference", "p (t)", "p (flips)", "wins / ties / losses"];
    let mut lines = vec![heading.map(str::to_owned).to_vec()];
    for score in scores {
        let Some(difference) = score.difference else { continue };
        let found = score.significance;
        lines.push(vec![
            escape(&label(&score.name, &score.preset)),
            format!("{:+.2} <small>± {:.2}</small>", 100.0 * difference.mean, 100.0 * difference.ci95),
            found.and_then(|found| found.p_paired_t).map_or_else(none, p_value),
            found.map(|found| found.p_sign_flip).map_or_else(none, p_value),
            found.map_or_else(none, |found| format!("{}/{}/{}", found.wins, found.ties, found.losses)),
        ]);
    }
    lines
}

fn none() -> String {
    "<span class=\"none\">–</span>".to_owned()
}

fn p_value(p: f64) -> String {
    if p < 0.0005 { "&lt;0.001".to_owned() } else { format!("{p:.3}") }
}

fn milliseconds(score: &Score) -> f64 {
    if score.tasks_per_second > 0.0 { 1000.0 / score.tasks_per_second } else { 0.0 }
}

fn name(score: &Score) -> String {
    use handful::methods::Setting;
    let mut name = escape(&label(&score.name, &score.preset));
    if score.prior.setting == Setting::UsesUnlabeled {
        name.push_str(" <span class=\"tag\">unlabelled</span>");
    }
    if score.prior.knows_class_sizes {
        name.push_str(" <span class=\"tag\">sizes</span>");
    }
    name
}

fn differences(out: &mut String, page: &StudyPage<'_>) {
    let methods = page.groups.first().map_or(&[][..], |group| group.scores);
    let Some(reference) = methods.get(page.reference).filter(|_| methods.len() > 1) else { return };
    let reference = label(&reference.name, &reference.preset);
    let value = |score: &Score| {
        let difference = score.difference?;
        Some(Interval { mean: 100.0 * difference.mean, half: 100.0 * difference.ci95 })
    };
    let mut shown = lines(page, value);
    shown.retain(|line| line.values.iter().any(Option::is_some));
    let svg = intervals(&shown, &series(page), &format!("points of accuracy ahead of {reference}"), true);
    let _ = write!(
        out,
        "<section id=\"differences\"><h2>Paired differences</h2>\n<p>Each method against <b>{}</b>, task by task. An \
         interval that does not touch zero is more than chance; grey ones touch it. The p-values are of the paired t test \
         and of flipped signs.</p>\n<div class=\"figures\">{}</div>\n",
        escape(&reference),
        figure("paired", &svg, &format!("Differences to {reference} in points, with 95% intervals."))
    );
    for group in page.groups {
        if page.groups.len() > 1 {
            let _ = writeln!(out, "<h3>{}-shot</h3>", group.shots);
        }
        out.push_str(&html_table(&compared(group.scores)));
    }
    out.push_str("</section>\n");
}

fn time(out: &mut String, page: &StudyPage<'_>) {
    out.push_str(
        "<section id=\"time\"><h2>Accuracy against time</h2>\n<p>Time inside the method on this machine; the axis is \
         logarithmic.</p>\n<div class=\"figures\">",
    );
    for group in page.groups {
        let point = |score: &Score| Timed {
            name: label(&score.name, &score.preset),
            milliseconds: milliseconds(score),
            accuracy: 100.0 * score.accuracy,
        };
        let points: Vec<Timed> = group.scores.iter().map(point).collect();
        let shots = if page.groups.len() > 1 { format!(", {}-shot", group.shots) } else { String::new() };
        let caption = format!("Accuracy against milliseconds a task{shots}.");
        out.push_str(&figure(&format!("time-{}", group.shots), &accuracy_against_time(&points), &caption));
    }
    out.push_str("</div></section>\n");
}

fn parameters(out: &mut String, page: &StudyPage<'_>) {
    out.push_str(
        "<section id=\"parameters\"><h2>Parameters</h2><p>Complete parameters of every method as it was run.</p>\n",
    );
    for score in page.groups.first().map_or(&[][..], |group| group.scores) {
        let map = score.params.as_object().into_iter().flatten();
        let lines = map.map(|(key, value)| {
            format!("{key} = {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        });
        let _ = writeln!(
            out,
            "<details><summary>{}</summary><pre>{}</pre></details>",
            escape(&label(&score.name, &score.preset)),
            escape(&lines.collect::<Vec<_>>().join("\n"))
        );
    }
    out.push_str("</section>\n");
}

fn again(out: &mut String, page: &StudyPage<'_>) {
    let _ =
        write!(out, "<section id=\"again\"><h2>Run it again</h2>\n<pre>{}</pre>\n<dl>", escape(page.command));
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for (key, value) in page.about["setting"].as_object().into_iter().flatten() {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", escape(key), escape(&text(value)));
    }
    let _ = writeln!(
        out,
        "<dt>features</dt><dd>SHA-256 <code>{}</code></dd><dt>version</dt><dd>handful {}</dd><dt>machine</dt>\
         <dd>{} {}, {} kernels</dd></dl></section>",
        escape(&text(&page.about["features"]["sha256"])),
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        escape(&handful::instruction_set())
    );
}
