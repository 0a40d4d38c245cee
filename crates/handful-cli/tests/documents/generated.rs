//! Pages that are made from the program: one for each method, the overview of them, and the reference of commands.
//!
//! `HANDFUL_BLESS=1` writes them (`cargo xtask book` does that), so that they cannot say anything else than the program.

use std::fmt::Write as _;
use std::path::PathBuf;

use handful::methods::{self, METHODS, Setting};
use serde_json::Value;

use crate::markdown::root;
use crate::support::handful;

/// Stands at the top of every page that is made.
const NOTE: &str = "<!-- Made from the program by `cargo xtask book`; edit the program. -->";

/// Names of the pages that are not as the program would make them.
pub fn stale() -> Vec<String> {
    let bless = std::env::var_os("HANDFUL_BLESS").is_some();
    let mut stale = Vec::new();
    for (path, text) in made() {
        let full = root().join("docs/src").join(&path);
        if std::fs::read_to_string(&full).is_ok_and(|there| there == text) {
            continue;
        }
        if bless {
            std::fs::write(&full, text).expect("written");
        } else {
            stale.push(path.display().to_string());
        }
    }
    stale
}

fn made() -> Vec<(PathBuf, String)> {
    let mut pages = vec![(PathBuf::from("reference/commands.md"), commands())];
    for entry in METHODS {
        pages.push((format!("methods/{}.md", entry.name).into(), method(entry.name, entry.presets)));
    }
    pages
}

/// A method: what its file says at the top, what it knows, its presets, and what was measured of it.
fn method(name: &str, presets: &[&str]) -> String {
    let (file, docs) = module_docs(name);
    let mut page = format!("{NOTE}\n\n# {name}\n\n{docs}\n");
    let link = format!("[`{file}`](../../../{file})");
    let _ = write!(
        page,
        "Code: {link}.\n\n## What it knows\n\n| preset | besides the labelled rows |\n|---|---|\n"
    );
    for preset in presets {
        let _ = writeln!(page, "| `{name}:{preset}` | {} |", knowledge(name, preset));
    }
    page += "\n## Parameters\n\n";
    page += &parameters(name, presets);
    let _ = write!(page, "\nChange any with `--set`; `handful params {name}` prints them.\n");
    page += &citations(name);
    page += &measured(name);
    page
}

/// Whom to cite, as `handful params` ends.
fn citations(name: &str) -> String {
    let run = handful(&["params", name]);
    let lines: Vec<&str> = run.succeeded().lines().skip_while(|line| !line.starts_with('@')).collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!("\n## Cite\n\n```text\n{}\n```\n", lines.join("\n"))
    }
}

/// The first lines of the file that a method is written in.
fn module_docs(name: &str) -> (String, String) {
    let stem = match name {
        "self-training" => "self_training_confidence".to_owned(),
        other => other.replace('-', "_"),
    };
    let folder = "crates/handful/src/methods";
    let candidates = [format!("{folder}/{stem}.rs"), format!("{folder}/{stem}/mod.rs")];
    let file =
        candidates.into_iter().find(|file| root().join(file).exists()).expect("a file for each method");
    let text = std::fs::read_to_string(root().join(&file)).expect("a file");
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let docs: String = lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect();
    (file, docs)
}

fn knowledge(name: &str, preset: &str) -> &'static str {
    let prior = methods::build(name, Some(preset), &[]).expect("a preset that is there").prior();
    match (prior.setting, prior.knows_class_sizes) {
        (Setting::Inductive, _) => "nothing",
        (Setting::UsesUnlabeled, false) => "the unlabelled rows",
        (Setting::UsesUnlabeled, true) => {
            "the unlabelled rows, and that every class has the same number of them"
        }
    }
}

/// Every parameter of the first preset, and what the others change: a column for each would not fit on a page.
fn parameters(name: &str, presets: &[&str]) -> String {
    let read = |preset: &str| {
        let params = methods::build(name, Some(preset), &[]).expect("a preset that is there").params();
        params.as_object().expect("parameters are an object").clone()
    };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let first = read(presets[0]);
    let mut table = format!("| key | {} |\n|---|---|\n", presets[0]);
    for (key, value) in &first {
        let _ = writeln!(table, "| `{key}` | `{}` |", text(value));
    }
    if presets.len() > 1 {
        table += "\n| preset | what it changes |\n|---|---|\n";
    }
    for preset in &presets[1..] {
        let changed = read(preset).into_iter().filter(|(key, value)| first.get(key) != Some(value));
        let changed: Vec<_> = changed.map(|(key, value)| format!("`{key}={}`", text(&value))).collect();
        let _ = writeln!(table, "| {preset} | {} |", changed.join(", "));
    }
    table
}

/// The method's rows in the comparison of all methods.
fn measured(name: &str) -> String {
    let comparison = root().join("docs/src/results/comparison.md");
    let text = std::fs::read_to_string(comparison).expect("the comparison");
    let lines: Vec<&str> = text.lines().collect();
    let mut section = String::new();
    for (at, pair) in lines.windows(2).enumerate() {
        if !(pair[0].starts_with("| ") && pair[1].starts_with("|---")) {
            continue;
        }
        let rows: Vec<&&str> = lines[at + 2..]
            .iter()
            .take_while(|line| line.starts_with('|'))
            .filter(|line| {
                let first = line[1..].split('|').next().unwrap_or("").trim().trim_matches('`');
                first.split(':').next() == Some(name)
            })
            .collect();
        if !rows.is_empty() {
            let _ = write!(section, "\n{}\n{}\n", pair[0], pair[1]);
            rows.iter().for_each(|row| section += &format!("{row}\n"));
        }
    }
    if section.is_empty() {
        return "\n## Measured\n\nIt is not in [the comparison](../results/comparison.md).\n".to_owned();
    }
    format!(
        "\n## Measured\n\nIts rows in [the comparison of all methods](../results/comparison.md), which says what each column is.\n{section}"
    )
}

/// The help of every command.
pub fn commands() -> String {
    let mut page = format!(
        "{NOTE}\n\n# Commands\n\nWhat `--help` prints, for every command. A command exits with 0 when it has done what was \
         asked, with 2 when\nsomething about the input is wrong, and with 1 when something else went wrong; what went wrong is one \
         sentence on\nstandard error.\n\n```text\n{}```\n",
        help(&[])
    );
    for name in subcommands(&help(&[])) {
        section(&mut page, &[&name]);
    }
    page
}

fn section(page: &mut String, path: &[&str]) {
    let text = help(path);
    let _ =
        write!(page, "\n{} handful {}\n\n```text\n{text}```\n", "#".repeat(1 + path.len()), path.join(" "));
    for name in subcommands(&text) {
        section(page, &[path, &[&name]].concat());
    }
}

fn help(path: &[&str]) -> String {
    let run = handful(&[path, &["--help"]].concat());
    let lines = run.succeeded().lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

/// The names under `Commands:`.
fn subcommands(help: &str) -> Vec<String> {
    let lines =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let first = names.filter_map(|line| line.split_whitespace().next());
    first.filter(|name| *name != "help").map(str::to_owned).collect()
}
