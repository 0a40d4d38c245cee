//! Scores as a table: aligned for the terminal, Markdown, or CSV.

use std::fmt::Write;

use handful::methods::Setting;
use handful_data::spreadsheet::guarded;

use crate::statistics::Estimate;
use crate::study::Score;

/// One line per method: accuracy with interval, paired difference to the reference with what speaks for it, time, prior
/// knowledge; columns that the setting gives no figures for are left out.
pub fn render(scores: &[Score]) -> String {
    align(&cells(scores))
}

/// The same as a Markdown table.
pub fn markdown(scores: &[Score]) -> String {
    let lines = cells(scores);
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

/// The same for spreadsheets: every figure in a column of its own, fractions, empty where there is none.
pub fn csv(scores: &[Score]) -> String {
    let mut out = String::from(
        "method,preset,accuracy,ci95,difference,difference_ci95,p_paired_t,p_sign_flip,wins,ties,losses,\
         macro_accuracy,macro_accuracy_ci95,open_set_auroc,distractor_auroc,seconds,tasks_per_second,\
         uses_unlabelled,knows_class_sizes\n",
    );
    for score in scores {
        let mean = |estimate: Option<Estimate>| number(estimate.map(|estimate| estimate.mean));
        let ci95 = |estimate: Option<Estimate>| number(estimate.map(|estimate| estimate.ci95));
        let found = score.significance;
        let count = |value: Option<usize>| value.map_or_else(String::new, |value| value.to_string());
        let fields = [
            score.name.to_owned(),
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
    out
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

fn cells(scores: &[Score]) -> Vec<Vec<String>> {
    let any = |has: fn(&Score) -> bool| scores.iter().any(has);
    let mut columns: Vec<Column> = vec![
        ("method", |score| label(score.name, &score.preset)),
        ("accuracy %", |score| format!("{:.2} ± {:.2}", 100.0 * score.accuracy, 100.0 * score.ci95)),
    ];
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
        columns.push(("difference", |score| {
            score.difference.map_or_else(String::new, |difference| {
                format!("{:+.2} ± {:.2}", 100.0 * difference.mean, 100.0 * difference.ci95)
            })
        }));
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

/// First and last column to the left, numbers to the right.
pub fn align(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let gap = if column == 0 { "" } else { "   " };
            let _ = if column == 0 || column + 1 == columns {
                write!(out, "{gap}{cell:<width$}")
            } else {
                write!(out, "{gap}{cell:>width$}")
            };
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
        if at == 0 {
            let rule = widths.iter().map(|&width| "─".repeat(width)).collect::<Vec<_>>().join("   ");
            out.push_str(&rule);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use handful::methods::PriorKnowledge;

    use super::*;
    use crate::study::compare;

    fn scores() -> Vec<Score> {
        let score = |name, preset: &str, per_task: &[f64]| Score {
            name,
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
    fn columns_line_up_whatever_their_width() {
        let cells = |a: &str, b: &str, c: &str| vec![a.to_owned(), b.to_owned(), c.to_owned()];
        let text = align(&[cells("m", "score", "x"), cells("longer", "1", "y")]);
        assert_eq!(text, "m        score   x\n──────   ─────   ─\nlonger       1   y\n");
    }

    #[test]
    fn markdown_has_a_rule_and_as_many_cells_in_every_line() {
        let text = markdown(&scores());
        let bars: Vec<usize> = text.lines().map(|line| line.matches('|').count()).collect();
        assert!(bars.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
        assert!(text.contains("| b[x=1,y=2] | 62.50 ± 17.32 | +12.50 ± 17.32 |"), "{text}");
        assert!(text.contains("1/1/0"), "{text}");
    }

    #[test]
    fn csv_quotes_what_holds_a_comma_and_leaves_missing_figures_empty() {
        let text = csv(&scores());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
        assert!(lines[1].starts_with("a,default,0.5,0,,,,,,,,,,,,1,500,false,false"), "{}", lines[1]);
        assert!(lines[2].starts_with("b,\"default[x=1,y=2]\",0.625,"), "{}", lines[2]);
    }
}
