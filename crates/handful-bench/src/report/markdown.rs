//! The report as Markdown, with its figures as files beside it.

use std::fmt::Write;

use super::text::worded;
use super::{Report, TableView, rerun};

/// Renders the whole report.
pub fn render(report: &Report) -> String {
    let mut out =
        String::from("# Reproduction of dependency maximisation and instance discriminant analysis\n\n");
    if let Some(record) = report.records.first() {
        let (run, features) = (&record.run, &record.features);
        let _ = writeln!(
            out,
            "Features {} ({} x {}, {} classes, SHA-256 `{}`), preset `{}`, {} tasks, seed {}, handful {}.\n",
            code(&features.name),
            features.rows,
            features.dim,
            features.classes,
            run.features_sha256,
            run.preset,
            run.tasks,
            run.seed,
            run.version
        );
        out.push_str(
            "Accuracy in % with its 95% interval; a number in brackets is the number of tasks where it is not the one \
             above; bold is the best with equal prior knowledge, * is told the class sizes.\n\n",
        );
    }
    for section in &report.sections {
        let _ = writeln!(out, "## {}\n\n{}\n", section.title, section.about);
        if let Some(table) = &section.table {
            out.push_str(&table_lines(table));
            out.push('\n');
        }
        if !section.checks.is_empty() {
            out.push_str("| claim | | |\n|---|---|---|\n");
            for check in &section.checks {
                let _ = writeln!(
                    out,
                    "| {} | {} | {} |",
                    escape(&check.claim),
                    check.verdict.word(),
                    escape(&check.detail)
                );
            }
            out.push('\n');
        }
        for part in &section.missing {
            let _ = writeln!(out, "Left out: {}\n", escape(part));
        }
        for figure in &section.figures {
            let _ = writeln!(out, "![{}]({}.svg)\n", escape(&figure.caption), figure.id);
        }
    }
    let again = rerun::commands(&report.records);
    if !again.is_empty() {
        let lines: String =
            again.iter().map(|command| format!("    {}\n", command.replace('\n', " "))).collect();
        let _ = write!(out, "## Run it again\n\n{lines}");
    }
    out
}

/// Text in which Markdown sees no markup.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '&' => out.extend(['\\', character]),
            _ => out.push(character),
        }
    }
    out
}

/// Text as code, between more backticks than it has in a row.
fn code(text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", text.replace(['\n', '\r'], " "))
}

fn table_lines(table: &TableView) -> String {
    let headings = table.headings.iter().map(|heading| escape(&heading.text)).collect::<Vec<_>>().join(" | ");
    let mut out = format!("| | {headings} |\n|---|{}\n", "---:|".repeat(table.headings.len()));
    let groups = table.rows.iter().any(|row| row.group != table.rows[0].group);
    let mut group = "";
    for row in &table.rows {
        if groups && row.group != group {
            group = &row.group;
            let _ = writeln!(out, "| *{}* |{}", escape(group), " |".repeat(table.headings.len()));
        }
        let cells = row.cells.iter().map(|cell| match cell.best {
            true if !cell.value.is_empty() => {
                worded(cell).replacen(&cell.value, &format!("**{}**", cell.value), 1)
            }
            _ => worded(cell),
        });
        let sizes = if row.knows_class_sizes { " \\*" } else { "" };
        let _ =
            writeln!(out, "| {}{sizes} | {} |", escape(&row.label), cells.collect::<Vec<_>>().join(" | "));
    }
    for footnote in table.footnotes() {
        let _ = writeln!(out, "\n{footnote}");
    }
    out
}
