//! The tables and claims for a terminal.

use std::fmt::Write;

use super::{CellView, Report, TableView};
use crate::table::{Last, Look, align_within, wrapped};

/// Where a claim begins, behind the verdict on it.
const BEHIND_VERDICT: usize = 17;

/// Every section's table, its claims, and what is missing.
pub fn render(report: &Report, look: &Look<'_>) -> String {
    let mut out = String::new();
    for section in &report.sections {
        let _ = writeln!(out, "{}\n", wrapped(&(look.clean)(&section.title), look.width, 2));
        if let Some(table) = &section.table {
            out.push_str(&aligned(table, look));
            out.push('\n');
        }
        for check in &section.checks {
            let line = format!("  {:14} {} ({})", check.verdict.word(), check.claim, check.detail);
            let _ = writeln!(out, "{}", wrapped(&(look.clean)(&line), look.width, BEHIND_VERDICT));
        }
        for part in &section.missing {
            let line = format!("  left out: {part}");
            let _ = writeln!(out, "{}", wrapped(&(look.clean)(&line), look.width, BEHIND_VERDICT));
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

fn aligned(table: &TableView, look: &Look<'_>) -> String {
    let headings = table.headings.iter().map(|heading| heading.text.clone());
    let mut lines: Vec<Vec<String>> = vec![std::iter::once(String::new()).chain(headings).collect()];
    let mut best = Vec::new();
    let mut group = "";
    for row in &table.rows {
        if row.group != group {
            group = &row.group;
            lines.push(vec![format!("[{group}]")]);
        }
        let sizes = if row.knows_class_sizes { " *" } else { "" };
        let label = format!("{}{sizes}", row.label);
        let marked = row.cells.iter().enumerate().filter(|(_, cell)| cell.best);
        best.extend(marked.map(|(column, _)| (lines.len(), column + 1)));
        lines.push(std::iter::once(label).chain(row.cells.iter().map(worded)).collect());
    }
    let mut out = align_within(&lines, &best, Last::Numbers, look);
    for footnote in table.footnotes() {
        let _ = writeln!(out, "{}", wrapped(&(look.clean)(footnote), look.width, 2));
    }
    if table.rows.iter().any(|row| row.knows_class_sizes) {
        out.push_str("* is told the class sizes\n");
    }
    out
}
