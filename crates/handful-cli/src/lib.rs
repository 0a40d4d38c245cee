//! The `handful` command: arguments, progress and wording. Everything else lives in the libraries.
//!
//! A library, so that the Python package carries the same command without a second binary.

mod commands;
mod config;
mod error;
mod memory;
mod progress;
mod terminal;
mod version;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use config::Config;
use error::CliError;

/// Label everything from a handful of examples.
#[derive(Parser)]
#[command(name = "handful", version, about, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Take defaults from this file instead of the nearest handful.toml
    #[arg(long, global = true, value_name = "FILE", help_heading = "Configuration")]
    config: Option<PathBuf>,
    /// Take no defaults from any file
    #[arg(long, global = true, help_heading = "Configuration")]
    no_config: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Compare methods on real features that come with the program: no download, a few seconds
    Demo(commands::demo::DemoArgs),
    /// Compare methods on a feature table, on identical tasks
    Bench(Box<commands::bench::BenchArgs>),
    /// Label a whole pool of features or images from a handful of labels
    Label(Box<commands::label::LabelArgs>),
    /// Say which rows of a pool to label first
    Choose(Box<commands::choose::ChooseArgs>),
    /// Label rows that were never in the pool, with a model of `label --save`
    Predict(Box<commands::predict::PredictArgs>),
    /// Label a pool in the browser, on this machine, while the model learns
    #[cfg(feature = "studio")]
    Studio(Box<commands::studio::StudioArgs>),
    /// Speak the protocol of Label Studio's machine-learning backends
    #[cfg(feature = "studio")]
    Serve(Box<commands::serve::ServeArgs>),
    /// Compute the paper's tables and figures beside its printed ones, with a report
    Reproduce(Box<commands::reproduce::ReproduceArgs>),
    /// Print the complete parameters of a method's preset, with every key that --set can change
    Params(commands::params::ParamsArgs),
    /// Look at, convert and split feature tables and image datasets
    Data(commands::data::DataArgs),
    /// Draw task lists and look at them
    Tasks(commands::tasks::TasksArgs),
    /// Turn images into a table of features
    #[cfg(feature = "vision")]
    Embed(commands::embed::EmbedArgs),
    /// Show and fetch networks that others have trained
    #[cfg(feature = "vision")]
    Weights(commands::weights::WeightsArgs),
    /// Train a backbone on the base classes of an image dataset
    #[cfg(feature = "vision")]
    Train(Box<commands::train::TrainArgs>),
    /// Print which defaults are in force, and where each comes from
    Config(commands::config::ConfigArgs),
    /// Print a script that completes this command's arguments in a shell
    Completions(commands::completions::CompletionsArgs),
    /// Write man pages, one for each command
    Man(commands::man::ManArgs),
}

/// The definitions of every command and option: what is parsed, completed and documented.
pub(crate) fn definitions() -> clap::Command {
    Cli::command().long_version(version::long())
}

/// The arguments as they were typed, for pages that say how they were made.
static COMMAND_LINE: Mutex<String> = Mutex::new(String::new());

/// The command that is running, as one would type it.
pub(crate) fn command_line() -> String {
    COMMAND_LINE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn typed(args: &[OsString]) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./,:=+@%".contains(letter);
    let quoted = |arg: &OsString| {
        let arg = arg.to_string_lossy();
        if !arg.is_empty() && arg.chars().all(plain) {
            arg.into_owned()
        } else {
            format!("'{}'", arg.replace('\'', "'\\''"))
        }
    };
    let words = std::iter::once("handful".to_owned()).chain(args.iter().skip(1).map(quoted));
    words.collect::<Vec<_>>().join(" ")
}

/// Runs the command with these arguments, the program's own name first, and returns the exit code.
pub fn run_from_args(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    *COMMAND_LINE.lock().unwrap_or_else(PoisonError::into_inner) = typed(&args);
    match parse(args) {
        Ok(Ok((cli, config))) => finish(run(cli, config.as_ref())),
        Ok(Err(error)) => error::report_usage(&error),
        Err(error) => finish(Err(error)),
    }
}

/// Arguments over defaults from a file; the inner error is clap's, which may be help that was asked for.
fn parse(args: Vec<OsString>) -> Result<Result<(Cli, Option<Config>), clap::Error>, CliError> {
    let config = config::find(&args)?;
    let command = match &config {
        Some(config) => config::apply(definitions(), config)?,
        None => definitions(),
    };
    let parsed = command.try_get_matches_from(args);
    Ok(parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, config))))
}

fn finish(result: Result<(), CliError>) -> u8 {
    match result {
        Ok(()) => 0,
        // Whoever read our output has closed it (`handful … | head`): there is nobody left to tell.
        Err(CliError::Output(error)) if error::is_closed_pipe(&error) => 0,
        Err(error) => {
            terminal::complain(&error.to_string());
            error.exit_code()
        }
    }
}

/// What is wrong with parameters, in a sentence that names the nearest known name.
pub fn worded(error: handful::error::ParamError) -> String {
    CliError::from(error).to_string()
}

/// glibc hands a freed buffer above a threshold (128 kB at first) back to the kernel, and every task would fetch its half
/// megabyte anew, a page fault for each page: half of a quick method's time. The threshold follows the largest buffer that
/// was ever freed, up to 32 MB, so one is freed here. Its pages are never touched.
fn keep_freed_buffers() {
    const JUST_BELOW_THE_LIMIT: usize = (32 << 20) - (64 << 10);
    drop(std::hint::black_box(Vec::<u8>::with_capacity(JUST_BELOW_THE_LIMIT)));
}

fn run(cli: Cli, config: Option<&Config>) -> Result<(), CliError> {
    keep_freed_buffers();
    handful::forced_path().map_err(CliError::usage)?;
    match cli.command {
        Command::Demo(args) => commands::demo::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Label(args) => commands::label::run(&args),
        Command::Choose(args) => commands::choose::run(&args),
        Command::Predict(args) => commands::predict::run(&args),
        #[cfg(feature = "studio")]
        Command::Studio(args) => commands::studio::run(&args),
        #[cfg(feature = "studio")]
        Command::Serve(args) => commands::serve::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Params(args) => commands::params::run(&args),
        Command::Data(args) => commands::data::run(&args),
        Command::Tasks(args) => commands::tasks::run(&args),
        #[cfg(feature = "vision")]
        Command::Embed(args) => commands::embed::run(&args),
        #[cfg(feature = "vision")]
        Command::Weights(args) => commands::weights::run(&args),
        #[cfg(feature = "vision")]
        Command::Train(args) => commands::train::run(&args),
        Command::Config(args) => commands::config::run(&args, config),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
    }
}
