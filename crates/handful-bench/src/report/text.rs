//! The tables and claims for a terminal.

use std::fmt::Write;

use super::{CellView, Report, TableView};

/// Every section's table, its claims, and what is missing.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    for section in &report.sections {
        let _ = writeln!(out, "{}\n", section.title);
        if let Some(table) = &section.table {
            out.push_str(&aligned(table));
            out.push('\n');
        }
        for check in &section.checks {
            let _ = writeln!(out, "  {:14} {} ({})", check.verdict.word(), check.claim, check.detail);
        }
        for part in &section.missing {
            let _ = writeln!(out, "  left out: {part}");
        }
        out.push('\n');
    }
    out
}

/// A value with its interval and, where it differs, its number of tasks.
pub(super) fn worded(cell: &CellView) -> String {
    let interval = cell.interval.as_ref().map(|interval| format!(" ± {interval}")).unwrap_or_default();
    let tasks = cell.tasks.map(|tasks| format!(" ({tasks})")).unwrap_or_default();
    format!("{}{interval}{tasks}", cell.value)
}

fn aligned(table: &TableView) -> String {
    let mut lines: Vec<Vec<String>> = vec![
        std::iter::once(String::new())
            .chain(table.headings.iter().map(|heading| heading.text.clone()))
            .collect(),
    ];
    let mut group = "";
    for row in &table.rows {
        if row.group != group {
            group = &row.group;
            lines.push(vec![format!("[{group}]")]);
        }
        let sizes = if row.knows_class_sizes { " *" } else { "" };
        let label = format!("{}{sizes}", row.label);
        lines.push(std::iter::once(label).chain(row.cells.iter().map(worded)).collect());
    }
    let columns = table.headings.len() + 1;
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ =
                if column == 0 { write!(out, "{cell:<width$}") } else { write!(out, "   {cell:>width$}") };
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    for footnote in table.footnotes() {
        let _ = writeln!(out, "{footnote}");
    }
    if table.rows.iter().any(|row| row.knows_class_sizes) {
        out.push_str("* is told the class sizes\n");
    }
    out
}
