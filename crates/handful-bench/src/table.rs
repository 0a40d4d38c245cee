//! Scores as a table: aligned for the terminal, Markdown, CSV or LaTeX.
//!
//! A study at several numbers of labelled rows is one table: a [`Group`] of columns for each.

mod latex;
mod layout;

use std::fmt::Write;

use handful::methods::Setting;
use handful_data::spreadsheet::guarded;

use crate::statistics::Estimate;
use crate::study::Score;

pub use latex::latex;
pub use layout::{Last, Look, align, align_within, wrapped};

/// What a study found at one number of labelled rows.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Labelled rows per class.
    pub shots: usize,
    /// The scores, every group's in the same order.
    pub scores: &'a [Score],
}

impl<'a> Group<'a> {
    /// The only group of a table, which does not print its number of labelled rows.
    pub fn alone(scores: &'a [Score]) -> Self {
        Self { shots: 0, scores }
    }
}

/// One line per method: accuracy with interval, paired difference to the reference with what speaks for it, time, prior
/// knowledge; columns that the setting gives no figures for are left out.
pub fn render(scores: &[Score]) -> String {
    align(&cells(scores))
}

/// The same for a terminal: within its width, the best numbers marked.
pub fn render_within(groups: &[Group<'_>], look: &Look<'_>) -> String {
    let best: Vec<(usize, usize)> = best(groups).into_iter().map(|(row, column)| (row + 1, column)).collect();
    align_within(&lines(groups), &best, Last::Words, look)
}

/// Where the best accuracies stand in the table.
fn best(groups: &[Group<'_>]) -> Vec<(usize, usize)> {
    let step = if groups.len() > 1 { group_columns(groups).len() } else { 0 };
    best_rows(groups).into_iter().map(|(row, group)| (row, 1 + group * step)).collect()
}

/// The best accuracies, as row and group: the highest mean of those with equal knowledge of class sizes, where there is
/// another to beat.
pub(crate) fn best_rows(groups: &[Group<'_>]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        for (row, score) in group.scores.iter().enumerate() {
            let same = |other: &&Score| other.prior.knows_class_sizes == score.prior.knows_class_sizes;
            let rivals: Vec<&Score> = group.scores.iter().filter(same).collect();
            if rivals.len() > 1 && rivals.iter().all(|rival| rival.accuracy <= score.accuracy) {
                found.push((row, at));
            }
        }
    }
    found
}

/// The same as a Markdown table.
pub fn markdown(groups: &[Group<'_>]) -> String {
    let lines = lines(groups);
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        let escaped: Vec<String> = line.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(out, "| {} |", escaped.join(" | "));
        if at == 0 {
            let rule = |column: usize| if column == 0 || column + 1 == line.len() { "---" } else { "---:" };
            let _ = writeln!(out, "|{}|", (0..line.len()).map(rule).collect::<Vec<_>>().join("|"));
        }
    }
    out
}

/// The same for spreadsheets: every figure in a column of its own, fractions, empty where there is none. Several groups
/// follow each other, under a column for their number of labelled rows.
pub fn csv(groups: &[Group<'_>]) -> String {
    let several = groups.len() > 1;
    let mut out = String::from(if several { "shots," } else { "" });
    out.push_str(
        "method,preset,accuracy,ci95,difference,difference_ci95,p_paired_t,p_sign_flip,wins,ties,losses,\
         macro_accuracy,macro_accuracy_ci95,open_set_auroc,distractor_auroc,seconds,tasks_per_second,\
         uses_unlabelled,knows_class_sizes\n",
    );
    for group in groups {
        for score in group.scores {
            if several {
                let _ = write!(out, "{},", group.shots);
            }
            csv_line(&mut out, score);
        }
    }
    out
}

fn csv_line(out: &mut String, score: &Score) {
    let mean = |estimate: Option<Estimate>| number(estimate.map(|estimate| estimate.mean));
    let ci95 = |estimate: Option<Estimate>| number(estimate.map(|estimate| estimate.ci95));
    let found = score.significance;
    let count = |value: Option<usize>| value.map_or_else(String::new, |value| value.to_string());
    let fields = [
        score.name.clone(),
        quoted(&score.preset),
        score.accuracy.to_string(),
        score.ci95.to_string(),
        mean(score.difference),
        ci95(score.difference),
        number(found.and_then(|found| found.p_paired_t)),
        number(found.map(|found| found.p_sign_flip)),
        count(found.map(|found| found.wins)),
        count(found.map(|found| found.ties)),
        count(found.map(|found| found.losses)),
        mean(score.macro_accuracy),
        ci95(score.macro_accuracy),
        mean(score.open_set_auroc),
        mean(score.distractor_auroc),
        score.seconds.to_string(),
        score.tasks_per_second.to_string(),
        (score.prior.setting == Setting::UsesUnlabeled).to_string(),
        score.prior.knows_class_sizes.to_string(),
    ];
    out.push_str(&fields.join(","));
    out.push('\n');
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn quoted(text: &str) -> String {
    let text = guarded(text);
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}

/// A column: its heading and what it says of a score.
type Column = (&'static str, fn(&Score) -> String);

/// The table of one group, or of several with the figures of each beside each other.
fn lines(groups: &[Group<'_>]) -> Vec<Vec<String>> {
    let [first, _, ..] = groups else { return groups.first().map_or_else(Vec::new, |one| cells(one.scores)) };
    let columns = group_columns(groups);
    let mut heading = vec!["method".to_owned()];
    for group in groups {
        let own = columns.iter().map(|(name, _)| (*name).to_owned());
        heading.extend(own.enumerate().map(|(at, name)| match at {
            0 => format!("{}-shot %", group.shots),
            _ => name,
        }));
    }
    heading.push("knows".to_owned());
    let mut lines = vec![heading];
    for (row, score) in first.scores.iter().enumerate() {
        let mut line = vec![label(&score.name, &score.preset)];
        for group in groups {
            let figures = group.scores.get(row);
            line.extend(columns.iter().map(|(_, cell)| figures.map_or_else(String::new, cell)));
        }
        line.push(prior(score));
        lines.push(line);
    }
    lines
}

/// The columns that every group of several has.
fn group_columns(groups: &[Group<'_>]) -> Vec<Column> {
    let any = |has: fn(&Score) -> bool| groups.iter().flat_map(|group| group.scores).any(has);
    let mut columns: Vec<Column> = vec![("accuracy %", accuracy)];
    if any(|score| score.macro_accuracy.is_some()) {
        columns.push(("macro %", |score| percent(score.macro_accuracy)));
    }
    if any(|score| score.difference.is_some()) {
        columns.push(("difference", difference));
        columns.push(("p (t)", |score| p_value(score.significance.and_then(|found| found.p_paired_t))));
    }
    columns.push(("ms/task", milliseconds));
    columns
}

fn accuracy(score: &Score) -> String {
    format!("{:.2} ± {:.2}", 100.0 * score.accuracy, 100.0 * score.ci95)
}

fn difference(score: &Score) -> String {
    score.difference.map_or_else(String::new, |difference| {
        format!("{:+.2} ± {:.2}", 100.0 * difference.mean, 100.0 * difference.ci95)
    })
}

fn cells(scores: &[Score]) -> Vec<Vec<String>> {
    let any = |has: fn(&Score) -> bool| scores.iter().any(has);
    let mut columns: Vec<Column> =
        vec![("method", |score| label(&score.name, &score.preset)), ("accuracy %", accuracy)];
    if any(|score| score.macro_accuracy.is_some()) {
        columns.push(("macro %", |score| percent(score.macro_accuracy)));
    }
    if any(|score| score.open_set_auroc.is_some()) {
        columns.push(("open-set AUROC %", |score| percent(score.open_set_auroc)));
    }
    if any(|score| score.distractor_auroc.is_some()) {
        columns.push(("distractor AUROC %", |score| percent(score.distractor_auroc)));
    }
    if any(|score| score.difference.is_some()) {
        columns.push(("difference", difference));
        columns.push(("p (t)", |score| p_value(score.significance.and_then(|found| found.p_paired_t))));
        columns.push(("p (flips)", |score| p_value(score.significance.map(|found| found.p_sign_flip))));
        columns.push(("wins/ties/losses", |score| {
            score
                .significance
                .map_or_else(String::new, |found| format!("{}/{}/{}", found.wins, found.ties, found.losses))
        }));
    }
    columns.extend([("ms/task", milliseconds as fn(&Score) -> String), ("knows", prior)]);

    let mut lines = vec![columns.iter().map(|(heading, _)| (*heading).to_owned()).collect()];
    lines.extend(scores.iter().map(|score| columns.iter().map(|(_, cell)| cell(score)).collect()));
    lines
}

/// `name`, `name:preset`, or `name[key=value]` for a variant of the default preset.
pub fn label(name: &str, preset: &str) -> String {
    match preset.strip_prefix("default") {
        Some(variant) if variant.is_empty() || variant.starts_with('[') => format!("{name}{variant}"),
        _ => format!("{name}:{preset}"),
    }
}

fn percent(estimate: Option<Estimate>) -> String {
    estimate.map_or_else(String::new, |estimate| {
        format!("{:.2} ± {:.2}", 100.0 * estimate.mean, 100.0 * estimate.ci95)
    })
}

fn p_value(p: Option<f64>) -> String {
    match p {
        None => String::new(),
        Some(p) if p < 0.0005 => "<0.001".to_owned(),
        Some(p) => format!("{p:.3}"),
    }
}

fn milliseconds(score: &Score) -> String {
    let per_task = if score.tasks_per_second > 0.0 { 1000.0 / score.tasks_per_second } else { 0.0 };
    if per_task < 10.0 { format!("{per_task:.2}") } else { format!("{per_task:.0}") }
}

fn prior(score: &Score) -> String {
    let setting = match score.prior.setting {
        Setting::Inductive => "labelled rows",
        Setting::UsesUnlabeled => "+ unlabelled rows",
    };
    let sizes = if score.prior.knows_class_sizes { " + class sizes" } else { "" };
    format!("{setting}{sizes}")
}

#[cfg(test)]
mod tests {
    use handful::methods::PriorKnowledge;

    use super::*;
    use crate::study::compare;

    pub(super) fn scores() -> Vec<Score> {
        let score = |name: &str, preset: &str, per_task: &[f64]| Score {
            name: name.to_owned(),
            preset: preset.to_owned(),
            params: serde_json::Value::Null,
            prior: PriorKnowledge { setting: Setting::Inductive, knows_class_sizes: false },
            accuracy: Estimate::of(per_task).mean,
            ci95: Estimate::of(per_task).ci95,
            seconds: 1.0,
            tasks_per_second: 500.0,
            macro_accuracy: None,
            open_set_auroc: None,
            distractor_auroc: None,
            difference: None,
            significance: None,
            per_task: Some(per_task.to_vec()),
        };
        let mut scores =
            vec![score("a", "default", &[0.5, 0.5]), score("b", "default[x=1,y=2]", &[0.75, 0.5])];
        compare(&mut scores, 0);
        scores
    }

    #[test]
    fn markdown_has_a_rule_and_as_many_cells_in_every_line() {
        let text = markdown(&[Group::alone(&scores())]);
        let bars: Vec<usize> = text.lines().map(|line| line.matches('|').count()).collect();
        assert!(bars.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
        assert!(text.contains("| b[x=1,y=2] | 62.50 ± 17.32 | +12.50 ± 17.32 |"), "{text}");
        assert!(text.contains("1/1/0"), "{text}");
    }

    #[test]
    fn csv_quotes_what_holds_a_comma_and_leaves_missing_figures_empty() {
        let text = csv(&[Group::alone(&scores())]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
        assert!(lines[1].starts_with("a,default,0.5,0,,,,,,,,,,,,1,500,false,false"), "{}", lines[1]);
        assert!(lines[2].starts_with("b,\"default[x=1,y=2]\",0.625,"), "{}", lines[2]);
    }

    #[test]
    fn several_groups_are_one_table() {
        let (one, five) = (scores(), scores());
        let groups = [Group { shots: 1, scores: &one }, Group { shots: 5, scores: &five }];
        let text = markdown(&groups);
        assert!(
            text.starts_with("| method | 1-shot % | difference | p (t) | ms/task | 5-shot % |"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 4, "{text}");
        let csv = csv(&groups);
        assert_eq!(csv.lines().filter(|line| line.starts_with("5,")).count(), 2, "{csv}");
        assert_eq!(best(&groups), [(1, 1), (1, 5)]);
    }
}
