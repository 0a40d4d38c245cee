//! `handful config`: which defaults are in force, and where each comes from.

use std::io::Write;

use clap::{Arg, Args, Command};

use crate::config::{self, Config, Entry};
use crate::error::{CliError, nearest};
use crate::terminal::printable;

/// Arguments of `handful config`.
#[derive(Args)]
pub struct ConfigArgs {
    /// A command, such as `label` or `bench tune`: all of its options. Without one, what the file sets
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the command.
pub fn run(args: &ConfigArgs, config: Option<&Config>) -> Result<(), CliError> {
    let lines = if args.command.is_empty() { of_file(config) } else { of_command(&args.command, config)? };
    let mut out = std::io::stdout().lock();
    match config {
        Some(config) => writeln!(out, "# {}", printable(&config.path.display().to_string()))?,
        None => writeln!(out, "# no handful.toml is in force")?,
    }
    let width = lines.iter().map(|(text, _)| text.chars().count()).max().unwrap_or(0);
    for (text, source) in lines {
        writeln!(out, "{}", printable(format!("{text:width$}   # {source}").trim_end()))?;
    }
    Ok(out.flush()?)
}

/// A line as it could stand in the file, and where it comes from.
type Line = (String, String);

fn of_file(config: Option<&Config>) -> Vec<Line> {
    let entries = config.iter().flat_map(|config| &config.entries);
    let line = |entry: &Entry| {
        let key = entry.key.as_ref()?;
        let path = [entry.section.as_slice(), std::slice::from_ref(key)].concat().join(".");
        Some((format!("{path} = {}", written(&entry.values, entry.list)), format!("line {}", entry.line)))
    };
    entries.filter_map(line).collect()
}

fn of_command(path: &[String], config: Option<&Config>) -> Result<Vec<Line>, CliError> {
    let definitions = crate::definitions();
    let mut command: &Command = &definitions;
    for name in path {
        command = command.find_subcommand(name).ok_or_else(|| {
            let known = command.get_subcommands().map(Command::get_name);
            let near =
                nearest(name, known).map_or_else(String::new, |near| format!("; did you mean {near}?"));
            CliError::Usage(format!("config: there is no command {name:?}{near}"))
        })?;
    }
    let line = |arg: &Arg| {
        let key = arg.get_long()?;
        let of_file = config.iter().flat_map(|config| &config.entries);
        let mut of_file = of_file.filter(|entry| entry.section == path && entry.key.as_deref() == Some(key));
        Some(match of_file.next() {
            Some(entry) => {
                (format!("{key} = {}", written(&entry.values, entry.list)), format!("line {}", entry.line))
            }
            None => {
                let values = arg.get_default_values().iter();
                let values: Vec<String> = values.map(|value| value.to_string_lossy().into_owned()).collect();
                match (arg.get_action().takes_values(), values.is_empty()) {
                    (false, _) => (format!("{key} = false"), "default".to_owned()),
                    (true, true) => (format!("# {key}"), "not set".to_owned()),
                    (true, false) => {
                        (format!("{key} = {}", written(&values, values.len() > 1)), "default".to_owned())
                    }
                }
            }
        })
    };
    Ok(config::options(command).filter_map(line).collect())
}

/// Values as TOML has them.
fn written(values: &[String], list: bool) -> String {
    let one = |value: &String| match value.as_str() {
        "true" | "false" => value.clone(),
        number if number.parse::<f64>().is_ok_and(f64::is_finite) => number.to_owned(),
        text => format!("{text:?}"),
    };
    let values: Vec<String> = values.iter().map(one).collect();
    if list { format!("[{}]", values.join(", ")) } else { values.concat() }
}
