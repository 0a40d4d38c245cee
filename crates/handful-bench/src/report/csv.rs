//! A table as comma-separated values: one line per row, intervals and numbers of tasks in columns of their own.

use super::TableView;

/// Renders a table.
pub fn render(table: &TableView) -> String {
    let mut header = vec!["group".to_owned(), "method".to_owned(), "knows class sizes".to_owned()];
    for heading in &table.headings {
        header.push(heading.text.clone());
        if !heading.printed {
            header.push(format!("{} ±", heading.text));
        }
    }
    let mut out = line(&header);
    for row in &table.rows {
        let mut fields = vec![row.group.clone(), row.label.clone(), row.knows_class_sizes.to_string()];
        for (cell, heading) in row.cells.iter().zip(&table.headings) {
            fields.push(cell.value.clone());
            if !heading.printed {
                fields.push(cell.interval.clone().unwrap_or_default());
            }
        }
        out.push_str(&line(&fields));
    }
    out
}

fn line(fields: &[String]) -> String {
    let quoted = fields.iter().map(|field| {
        if field.contains([',', '"', '\n']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.clone()
        }
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}
