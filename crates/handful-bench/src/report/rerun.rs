//! The commands that give a report again.

use std::path::Path;

use crate::reproduce::Target;
use crate::reproduce::results::Record;

/// The tables and figures that `all` computes; the cross-domain table only where there are features for it.
const ALWAYS_IN_ALL: [&str; 8] =
    ["table1", "table2", "table4", "table5", "table6", "figure1", "theorem3", "picture"];

/// One line for each target, as a shell reads it; nothing without results.
pub fn commands(records: &[Record]) -> Vec<String> {
    let Some(run) = records.first().map(|record| &record.run) else { return Vec::new() };
    let main = records.iter().find(|record| record.features.sha256 == run.features_sha256);
    let cross = records.iter().find(|record| record.table == "table3");
    let mut options = String::new();
    if let Some(record) = main {
        options.push_str(&source("--features", &record.features.name));
    }
    if let Some(record) = cross {
        options.push_str(&source("--cross-features", &record.features.name));
    }
    options.push_str(&format!(
        " --preset {} --tasks {} --seed {} --benchmark {}{} --out OUT",
        quoted(&run.preset),
        run.tasks,
        run.seed,
        quoted(&run.benchmark),
        if run.full { " --full" } else { "" }
    ));
    let has = |table: &str| records.iter().any(|record| record.table == table);
    let mut targets: Vec<&str> = Vec::new();
    if ALWAYS_IN_ALL.iter().all(|table| has(table)) {
        targets.push("all");
        targets.extend(has("differences").then_some("differences"));
    } else {
        targets.extend(Target::NAMES.iter().map(|(name, _)| *name).filter(|name| has(name)));
    }
    targets.into_iter().map(|target| format!("handful reproduce {target}{options}")).collect()
}

/// Features that come along need no option, and those that were made on the way have no file.
fn source(option: &str, name: &str) -> String {
    if name.starts_with('<') {
        String::new()
    } else if Path::new(name).extension().is_none() && option == "--features" {
        " --dataset IMAGES".to_owned()
    } else {
        format!(" {option} {}", quoted(name))
    }
}

/// A word as a shell reads it.
fn quoted(text: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "._-/+=:@%,".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
