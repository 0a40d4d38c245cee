//! The report as one self-contained page: no script, no network, light and dark, from a phone to print.

use std::fmt::Write;

use super::page::{self, escape, thousands};
use super::{CellView, Check, Report, Section, TableView, Verdict, rerun};

/// Renders the whole page.
pub fn render(report: &Report) -> String {
    let mut body = String::new();
    header(&mut body, report);
    summary(&mut body, report);
    for section in &report.sections {
        render_section(&mut body, section);
    }
    parameters(&mut body, report);
    rerun(&mut body, report);
    page::document("Reproduction: dependency maximisation and instance discriminant analysis", &body)
}

fn header(out: &mut String, report: &Report) {
    out.push_str("<header><div class=\"wide\"><p class=\"kicker\">handful reproduce</p>\n");
    out.push_str(
        "<h1>Few-shot learning via dependency maximization and instance discriminant analysis</h1>\n",
    );
    out.push_str("<p class=\"lead\">The tables and figures of Hou and Kung (IJCAI 2021), computed again");
    if let Some(record) = report.records.first() {
        let features = &record.features;
        let _ = write!(
            out,
            " on <b>{}</b> ({} examples of {} classes, {} dimensions)",
            escape(&features.name),
            thousands(features.rows),
            features.classes,
            thousands(features.dim)
        );
    }
    out.push_str(
        ". The paper's columns come from other backbones: compare orders, not levels.</p></div></header>\n",
    );
    out.push_str("<nav><div class=\"wide\"><a href=\"#summary\">Summary</a>");
    for section in &report.sections {
        let short = section.title.split('.').next().unwrap_or(&section.title);
        let _ = write!(out, "<a href=\"#{}\">{}</a>", section.id, escape(short));
    }
    out.push_str("<a href=\"#parameters\">Parameters</a><a href=\"#again\">Run it again</a></div></nav>\n");
}

fn summary(out: &mut String, report: &Report) {
    out.push_str("<main class=\"wide\">\n<section id=\"summary\"><h2>Summary</h2>\n<div class=\"cards\">");
    let accuracy = |row: &str, column: &str| {
        report.records.iter().find(|r| r.table == "table2" && r.row == row && r.column == column)
    };
    for (row, name) in [("tran/dm-ida", "transductive"), ("semi/dm-ida", "50 unlabelled per class")] {
        for column in ["1-shot", "5-shot"] {
            if let Some(record) = accuracy(row, column) {
                let _ = write!(
                    out,
                    "<div class=\"card\"><b>{:.1}<small> ± {:.1} %</small></b><span>DM + IDA, {column}, {name}</span></div>",
                    100.0 * record.accuracy,
                    100.0 * record.ci95
                );
            }
        }
    }
    out.push_str("</div>\n");
    let checks: Vec<&Check> = report.sections.iter().flat_map(|section| &section.checks).collect();
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    if !checks.is_empty() {
        let (holds, open, fails) = (count(Verdict::Holds), count(Verdict::Undecided), count(Verdict::Fails));
        let _ = write!(
            out,
            "<p>Of {} claims of the paper that were checked, column by column, <b>{holds}</b> hold here, \
             <b>{fails}</b> do not, and <b>{open}</b> cannot be decided, because the 95% interval of the paired \
             difference includes zero.</p>\n<div class=\"bar\" role=\"img\" aria-label=\"{holds} hold, {open} undecided, {fails} do \
             not hold\">",
            checks.len()
        );
        for (class, number) in [("holds", holds), ("open", open), ("fails", fails)] {
            if number > 0 {
                let _ = write!(out, "<i class=\"{class}\" style=\"flex:{number}\">{number}</i>");
            }
        }
        out.push_str("</div>\n<div class=\"scroll narrow\"><table class=\"overview\"><thead><tr><th>section</th><th>holds</th><th>undecided</th><th>does not hold</th></tr></thead><tbody>");
        for section in report.sections.iter().filter(|section| !section.checks.is_empty()) {
            let of = |verdict| section.checks.iter().filter(|check| check.verdict == verdict).count();
            let _ = write!(
                out,
                "<tr><th><a href=\"#{}\">{}</a></th><td>{}</td><td>{}</td><td>{}</td></tr>",
                section.id,
                escape(&section.title),
                of(Verdict::Holds),
                of(Verdict::Undecided),
                of(Verdict::Fails)
            );
        }
        out.push_str("</tbody></table></div>\n");
    }
    out.push_str(
        "<p class=\"note\">Accuracy in %, ± half of its 95% interval. All methods get the same tasks, so differences \
         are paired and far surer than the intervals of two means suggest. <b>Bold</b>: best of its group with equal \
         prior knowledge. <span class=\"tag\">sizes</span>: is told how many examples of each class there are. A small \
         number in brackets: the number of tasks, where a slow method got fewer.</p></section>\n",
    );
}

fn render_section(out: &mut String, section: &Section) {
    let _ = write!(
        out,
        "<section id=\"{}\"><h2>{}</h2>\n<p>{}</p>\n",
        section.id,
        escape(&section.title),
        escape(&section.about)
    );
    if let Some(table) = &section.table {
        render_table(out, table);
    }
    for part in &section.missing {
        let _ = writeln!(out, "<p class=\"missing\">Left out. {}</p>", escape(part));
    }
    if !section.figures.is_empty() {
        out.push_str("<div class=\"figures\">");
        for figure in &section.figures {
            out.push_str(&page::figure(&figure.id, &figure.svg, &figure.caption));
        }
        out.push_str("</div>\n");
    }
    if !section.checks.is_empty() {
        let open = if section.checks.len() <= 8 { " open" } else { "" };
        let _ = write!(out, "<details class=\"claims\"{open}><summary>The paper's claims here</summary><ul>");
        for check in &section.checks {
            let class = match check.verdict {
                Verdict::Holds => "holds",
                Verdict::Undecided => "open",
                Verdict::Fails => "fails",
            };
            let _ = write!(
                out,
                "<li><span class=\"verdict {class}\">{}</span><span>{} <small>{}</small></span></li>",
                check.verdict.word(),
                escape(&check.claim),
                escape(&check.detail)
            );
        }
        out.push_str("</ul></details>\n");
    }
    out.push_str("</section>\n");
}

fn render_table(out: &mut String, table: &TableView) {
    out.push_str("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th></th>");
    for heading in &table.headings {
        let class = if heading.printed { " class=\"printed\"" } else { "" };
        let _ = write!(out, "<th{class}>{}</th>", escape(&heading.text));
    }
    out.push_str("</tr></thead>\n<tbody>");
    let mut group = "";
    for row in &table.rows {
        if row.group != group {
            group = &row.group;
            let _ = write!(
                out,
                "<tr class=\"group\"><th colspan=\"{}\"><span>{}</span></th></tr>",
                table.headings.len() + 1,
                escape(group)
            );
        }
        let sizes = if row.knows_class_sizes { " <span class=\"tag\">sizes</span>" } else { "" };
        let _ = write!(out, "<tr><th>{}{sizes}</th>", escape(&row.label));
        for (cell, heading) in row.cells.iter().zip(&table.headings) {
            let class = if heading.printed { " class=\"printed\"" } else { "" };
            let _ = write!(out, "<td{class}>{}</td>", value(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    for footnote in table.footnotes() {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(footnote));
    }
}

fn value(cell: &CellView) -> String {
    if cell.value.is_empty() {
        return "<span class=\"none\">–</span>".to_owned();
    }
    let number = if cell.best { format!("<b>{}</b>", cell.value) } else { cell.value.clone() };
    let interval = cell.interval.as_ref().map(|interval| format!(" <small>± {interval}</small>"));
    let tasks = cell.tasks.map(|tasks| format!(" <small class=\"tasks\">({})</small>", thousands(tasks)));
    format!("{number}{}{}", interval.unwrap_or_default(), tasks.unwrap_or_default())
}

fn parameters(out: &mut String, report: &Report) {
    out.push_str("<section id=\"parameters\"><h2>Parameters</h2><p>Complete parameters of every method as it was run.</p>\n");
    let mut shown: Vec<(String, String)> = Vec::new();
    for record in &report.records {
        let name = format!("{}, {}, {}", record.table, record.row, record.preset);
        let Some(map) = record.params.as_object() else { continue };
        let lines = map.iter().map(|(key, value)| {
            format!("{key} = {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        let title = format!("{} ({name})", record.method);
        if !shown.iter().any(|(_, known)| *known == text) {
            shown.push((title, text));
        }
    }
    for (title, text) in shown {
        let _ = writeln!(
            out,
            "<details><summary>{}</summary><pre>{}</pre></details>",
            escape(&title),
            escape(&text)
        );
    }
    out.push_str("</section>\n");
}

fn rerun(out: &mut String, report: &Report) {
    out.push_str("<section id=\"again\"><h2>Run it again</h2>\n");
    if let Some(record) = report.records.first() {
        let (run, features, machine) = (&record.run, &record.features, &record.machine);
        let _ = write!(
            out,
            "<pre>{}\nhandful reproduce report --out OUT    # this page again, from OUT/results.jsonl</pre>\n\
             <dl><dt>features</dt><dd>{}, SHA-256 <code>{}</code></dd><dt>version</dt><dd>handful {}</dd>\
             <dt>machine</dt><dd>{} {}, {} kernels, {} cores</dd></dl>\n",
            escape(&rerun::commands(&report.records).join("\n")),
            escape(&features.name),
            escape(&run.features_sha256),
            escape(&run.version),
            escape(&machine.os),
            escape(&machine.arch),
            escape(&machine.simd),
            machine.cores
        );
        out.push_str("<p>The same command gives the same accuracies on any number of threads, and when it was stopped and started again.</p>");
    }
    out.push_str("</section>\n</main>\n");
}
