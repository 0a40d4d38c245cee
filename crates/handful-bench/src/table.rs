//! Scores as an aligned table for the terminal.

use std::fmt::Write;

use handful::methods::Setting;

use crate::study::Score;

/// One line per method: accuracy with interval, paired difference to the first, time, prior knowledge.
pub fn render(scores: &[Score]) -> String {
    let header = ["method", "accuracy %", "paired to first", "ms/task", "tasks/s", "knows"];
    let mut lines: Vec<[String; 6]> = vec![header.map(str::to_owned)];
    for score in scores {
        lines.push([
            label(score),
            format!("{:.2} ± {:.2}", 100.0 * score.accuracy, 100.0 * score.ci95),
            score.difference.map_or_else(String::new, |difference| {
                format!("{:+.2} ± {:.2}", 100.0 * difference.mean, 100.0 * difference.ci95)
            }),
            milliseconds(score),
            format!("{:.0}", score.tasks_per_second),
            prior(score),
        ]);
    }
    align(&lines)
}

fn label(score: &Score) -> String {
    match score.preset.as_str() {
        "default" => score.name.to_owned(),
        preset => format!("{}:{preset}", score.name),
    }
}

fn milliseconds(score: &Score) -> String {
    let per_task = if score.tasks_per_second > 0.0 { 1000.0 / score.tasks_per_second } else { 0.0 };
    if per_task < 10.0 { format!("{per_task:.2}") } else { format!("{per_task:.0}") }
}

fn prior(score: &Score) -> String {
    let setting = match score.prior.setting {
        Setting::Inductive => "labelled rows",
        Setting::UsesUnlabelled => "+ unlabelled rows",
    };
    let sizes = if score.prior.knows_class_sizes { " + class sizes" } else { "" };
    format!("{setting}{sizes}")
}

/// First and last column to the left, numbers to the right.
fn align<const N: usize>(lines: &[[String; N]]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let gap = if column == 0 { "" } else { "   " };
            let _ = if column == 0 || column == N - 1 {
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
    use super::*;

    #[test]
    fn columns_line_up_whatever_their_width() {
        let cells = |a: &str, b: &str, c: &str| [a.to_owned(), b.to_owned(), c.to_owned()];
        let text = align(&[cells("m", "score", "x"), cells("longer", "1", "y")]);
        assert_eq!(text, "m        score   x\n──────   ─────   ─\nlonger       1   y\n");
    }
}
