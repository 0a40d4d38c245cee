//! The file's values as the defaults of the definitions.

use clap::builder::OsStr;
use clap::{Arg, ArgAction, Command};

use super::file::{Config, Entry};
use crate::error::{CliError, nearest, sentence_of};

/// Options that a file cannot set: they say which file it is, or do something else than the command.
const NOT_HERE: [&str; 4] = ["config", "no-config", "help", "version"];

/// Puts the values of a file into the definitions.
///
/// # Errors
/// A command or an option that is not there, or a value that the option does not take; with file, line and key.
pub fn apply(mut command: Command, config: &Config) -> Result<Command, CliError> {
    // What the definitions imply (help, global options) is part of them from here on.
    for entry in &config.entries {
        let target = section(&command, config, entry)?;
        let Some(key) = &entry.key else { continue };
        let arg = option(target, config, entry, key)?.clone();
        check(&arg, config, entry, key)?;
        command = with_default(command, &entry.section, &arg, &entry.values);
    }
    Ok(command)
}

/// The command that a section names.
fn section<'a>(root: &'a Command, config: &Config, entry: &Entry) -> Result<&'a Command, CliError> {
    let mut at = root;
    for name in &entry.section {
        let Some(inner) = at.find_subcommand(name) else {
            let known: Vec<&str> = at.get_subcommands().map(Command::get_name).collect();
            let path = entry.section.join(".");
            let reason = format!("there is no such command{}", did_you_mean(name, &known));
            return Err(config.wrong(entry.line, &format!("[{path}]"), &reason));
        };
        at = inner;
    }
    Ok(at)
}

/// The option that a key names.
fn option<'a>(command: &'a Command, config: &Config, entry: &Entry, key: &str) -> Result<&'a Arg, CliError> {
    let options = || options(command);
    if let Some(arg) = options().find(|arg| arg.get_long() == Some(key)) {
        return Ok(arg);
    }
    let known: Vec<&str> = options().filter_map(Arg::get_long).collect();
    let place = match entry.section.join(" ") {
        empty if empty.is_empty() => {
            "an option stands in the section of its command, such as [bench]".to_owned()
        }
        name => format!("handful {name} has no option --{key}{}", did_you_mean(key, &known)),
    };
    Err(config.wrong(entry.line, key, &place))
}

/// Options of a command that a file can set.
pub fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| arg.get_long().is_some_and(|long| !NOT_HERE.contains(&long)))
}

fn did_you_mean(given: &str, known: &[&str]) -> String {
    nearest(given, known.iter().copied()).map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

/// Parses the values as the command line would, with everything that concerns other options left out.
fn check(arg: &Arg, config: &Config, entry: &Entry, key: &str) -> Result<(), CliError> {
    let is_flag = matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::SetFalse);
    if is_flag {
        let right = !entry.list && ["true", "false"].contains(&entry.values[0].as_str());
        return if right { Ok(()) } else { Err(config.wrong(entry.line, key, "write true or false")) };
    }
    let several = matches!(arg.get_action(), ArgAction::Append) || arg.get_value_delimiter().is_some();
    if entry.list && !several {
        return Err(config.wrong(entry.line, key, "it takes one value, not a list"));
    }
    let mut alone = Arg::new("value")
        .long(key.to_owned())
        .action(arg.get_action().clone())
        .value_parser(arg.get_value_parser().clone())
        .allow_hyphen_values(true);
    if let Some(delimiter) = arg.get_value_delimiter() {
        alone = alone.value_delimiter(delimiter);
    }
    let parser = Command::new("handful").no_binary_name(true).disable_help_flag(true).arg(alone);
    let typed = entry.values.iter().map(|value| format!("--{key}={value}"));
    match parser.try_get_matches_from(typed) {
        Ok(_) => Ok(()),
        Err(error) => Err(config.wrong(entry.line, key, &sentence_of(&error))),
    }
}

fn with_default(command: Command, section: &[String], arg: &Arg, values: &[String]) -> Command {
    match section.split_first() {
        Some((name, rest)) => command.mut_subcommand(name, |inner| with_default(inner, rest, arg, values)),
        None => command.mut_arg(arg.get_id().clone(), |arg| {
            arg.default_values(values.iter().map(|value| OsStr::from(value.clone()))).required(false)
        }),
    }
}
