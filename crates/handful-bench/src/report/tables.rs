//! Tables of accuracies from their layouts and results.

use super::charts::{Interval, Line, intervals};
use super::{CellView, Figure, Heading, RowView, Section, TableView, claims};
use crate::reproduce::layout::{Layout, Row};
use crate::reproduce::results::Record;

/// A section for a table of accuracies; without a table if nothing of it was computed.
pub fn section(layout: &Layout, records: &[&Record], asked: usize) -> Section {
    let table = (!records.is_empty()).then(|| table(layout, records, asked));
    Section {
        id: layout.table,
        title: layout.title.to_owned(),
        about: layout.about.clone(),
        table,
        checks: claims::checks(layout, records),
        figures: if layout.table == "table2" { charts(layout, records) } else { Vec::new() },
        ..Section::default()
    }
}

/// The accuracies of each group of rows with their intervals.
fn charts(layout: &Layout, records: &[&Record]) -> Vec<Figure> {
    let mut groups: Vec<&str> = layout.rows.iter().map(|row| row.group).collect();
    groups.dedup();
    let series: Vec<String> = layout.columns.iter().map(|column| column.key.to_owned()).collect();
    let value = |row: &Row, column: &str| {
        let record = records.iter().find(|r| r.row == row.key && r.column == column)?;
        Some(Interval { mean: 100.0 * record.accuracy, half: 100.0 * record.ci95 })
    };
    let mut figures = Vec::new();
    for (at, group) in groups.into_iter().enumerate() {
        let rows = layout.rows.iter().filter(|row| row.group == group);
        let line = |row: &Row| Line {
            name: row.label.clone(),
            values: layout.columns.iter().map(|column| value(row, column.key)).collect(),
        };
        let mut lines: Vec<Line> = rows.map(line).collect();
        lines.retain(|line| line.values.iter().any(Option::is_some));
        if !lines.is_empty() {
            figures.push(Figure {
                id: format!("table2-{}", at + 1),
                caption: format!("{group}: accuracy with 95% intervals."),
                svg: intervals(&lines, &series, "accuracy %", false),
            });
        }
    }
    figures
}

fn table(layout: &Layout, records: &[&Record], asked: usize) -> TableView {
    let find =
        |row: &Row, column: &str| records.iter().find(|r| r.row == row.key && r.column == column).copied();
    let reference = (layout.table == "differences").then_some("authors");
    let mut headings: Vec<Heading> = Vec::new();
    for column in &layout.columns {
        headings.push(Heading { text: column.key.to_owned(), printed: false });
        if reference.is_some() {
            headings.push(Heading { text: format!("{}, difference", column.key), printed: false });
        }
    }
    headings.extend(layout.paper_columns.iter().map(|c| Heading { text: c.heading.clone(), printed: true }));

    // Compared over the tasks that both have: a mean over 100 tasks says little beside one over 10,000 others.
    let best = |row: &Row, column: &str| {
        // A result from elsewhere has no tasks to compare.
        let Some(own) = find(row, column).filter(|own| !own.right.is_empty()) else { return false };
        let rivals = layout.rows.iter().filter(|other| other.group == row.group);
        let mut rivals =
            rivals.filter_map(|other| find(other, column)).filter(|other| !other.right.is_empty());
        rivals.all(|other| {
            let comparable = other.knows_class_sizes == own.knows_class_sizes;
            !comparable || own.minus(other).is_none_or(|difference| difference.mean >= 0.0)
        })
    };
    let mut rows = Vec::new();
    for row in &layout.rows {
        let mut cells = Vec::new();
        for column in &layout.columns {
            let record = find(row, column.key);
            cells.push(record.map_or_else(CellView::default, |record| CellView {
                value: format!("{:.2}", 100.0 * record.accuracy),
                interval: Some(format!("{:.2}", 100.0 * record.ci95)),
                tasks: (record.tasks != asked).then_some(record.tasks),
                best: reference.is_none() && best(row, column.key),
            }));
            if let Some(reference) = reference {
                let base = records.iter().find(|r| r.row == reference && r.column == column.key);
                let difference = record.filter(|record| record.row != reference).zip(base);
                let difference = difference.and_then(|(record, base)| record.minus(base));
                cells.push(difference.map_or_else(CellView::default, |difference| CellView {
                    value: format!("{:+.2}", 100.0 * difference.mean),
                    interval: Some(format!("{:.2}", 100.0 * difference.ci95)),
                    ..CellView::default()
                }));
            }
        }
        for column in &layout.paper_columns {
            let value = layout.printed(row.key, column).map(|value| format!("{value:.2}"));
            cells.push(CellView { value: value.unwrap_or_default(), ..CellView::default() });
        }
        let known = records.iter().find(|r| r.row == row.key).is_some_and(|r| r.knows_class_sizes);
        if cells.iter().any(|cell| !cell.value.is_empty()) {
            rows.push(RowView {
                group: row.group.to_owned(),
                label: row.label.clone(),
                knows_class_sizes: known,
                cells,
            });
        }
    }
    mark_best_printed(&mut rows, &headings);
    TableView { headings, rows }
}

/// The paper's columns get their own best, per group, as the paper marks them.
fn mark_best_printed(rows: &mut [RowView], headings: &[Heading]) {
    for (column, _) in headings.iter().enumerate().filter(|(_, heading)| heading.printed) {
        let groups: Vec<String> = rows.iter().map(|row| row.group.clone()).collect();
        for group in groups {
            let value = |row: &RowView| row.cells[column].value.parse::<f64>().ok();
            let most = rows
                .iter()
                .filter(|row| row.group == group)
                .filter_map(value)
                .fold(f64::NEG_INFINITY, f64::max);
            for row in rows.iter_mut().filter(|row| row.group == group) {
                row.cells[column].best = value(row) == Some(most);
            }
        }
    }
}
