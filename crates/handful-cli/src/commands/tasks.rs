//! `handful tasks`: draw task lists, and look at them.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use handful_data::{Episode, FeatureTable, atomic, read_task_list, write_task_list};
use serde_json::json;

use crate::commands::bench::Format;
use crate::commands::setting::SettingArgs;
use crate::commands::table::TableArgs;
use crate::error::CliError;

/// Arguments of `handful tasks`.
#[derive(Args)]
pub struct TasksArgs {
    #[command(subcommand)]
    command: TasksCommand,
}

#[derive(Subcommand)]
enum TasksCommand {
    /// Draw tasks from a feature table and write them as JSON lines
    Sample(Box<SampleArgs>),
    /// Check a task list against its feature table and show what it holds
    Show(ShowArgs),
}

#[derive(Args)]
struct SampleArgs {
    /// Feature table
    features: PathBuf,
    /// File to write instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    setting: SettingArgs,
}

#[derive(Args)]
struct ShowArgs {
    /// Task list (JSON lines)
    tasks: PathBuf,
    /// Feature table that the list is for
    features: PathBuf,
    #[command(flatten)]
    table: TableArgs,
    /// Show this task, from 0, with the ids of its rows
    #[arg(long, value_name = "NUMBER")]
    task: Option<usize>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Runs the command.
pub fn run(args: &TasksArgs) -> Result<(), CliError> {
    match &args.command {
        TasksCommand::Sample(args) => sample(args),
        TasksCommand::Show(args) => show(args),
    }
}

fn sample(args: &SampleArgs) -> Result<(), CliError> {
    args.output.as_deref().map(atomic::check_destination).transpose()?;
    let table = args.table.open(&args.features)?;
    let (sampler, count) = args.setting.sampler(&table)?;
    let episodes = (0..count as u64).map(|index| sampler.episode(index));
    match &args.output {
        Some(path) => {
            atomic::write(path, |out| write_task_list(out, table.rows(), table.dim(), episodes))?;
        }
        None => write_task_list(std::io::stdout().lock(), table.rows(), table.dim(), episodes)?,
    }
    Ok(())
}

fn show(args: &ShowArgs) -> Result<(), CliError> {
    let table = args.table.open(&args.features)?;
    let episodes = read_task_list(&args.tasks, &table)?;
    let mut out: Box<dyn Write> = match args.format {
        Format::Table => Box::new(crate::terminal::stdout()),
        Format::Json => Box::new(std::io::stdout().lock()),
    };
    match args.task {
        Some(number) => {
            let episode = episodes.get(number).ok_or_else(|| {
                let last = episodes.len() - 1;
                CliError::Usage(format!("--task is {number}, but the list has tasks 0 to {last}"))
            })?;
            show_one(&mut out, number, episode, &table, args.format)?;
        }
        None => show_all(&mut out, &episodes, args)?,
    }
    Ok(out.flush()?)
}

/// The smallest and the largest number of something over all tasks.
struct Range {
    least: usize,
    most: usize,
}

impl Range {
    fn of(counts: impl Iterator<Item = usize>) -> Self {
        let (least, most) =
            counts.fold((usize::MAX, 0), |(least, most), count| (least.min(count), most.max(count)));
        Self { least: least.min(most), most }
    }

    fn text(&self) -> String {
        if self.least == self.most {
            self.most.to_string()
        } else {
            format!("{} to {}", self.least, self.most)
        }
    }
}

fn show_all(out: &mut impl Write, episodes: &[Episode], args: &ShowArgs) -> std::io::Result<()> {
    let sizes = |lists: fn(&Episode) -> &Vec<Vec<usize>>| {
        Range::of(episodes.iter().flat_map(move |episode| lists(episode).iter().map(Vec::len)))
    };
    let ranges = [
        ("ways", Range::of(episodes.iter().map(|episode| episode.classes.len()))),
        ("shots", sizes(|episode| &episode.support)),
        ("queries", sizes(|episode| &episode.query)),
        ("unlabeled", sizes(|episode| &episode.unlabeled)),
        ("distractors", Range::of(episodes.iter().map(|episode| episode.distractors.len()))),
        ("open_queries", Range::of(episodes.iter().map(|episode| episode.open_query.len()))),
    ];
    let classes: BTreeSet<usize> =
        episodes.iter().flat_map(|episode| episode.classes.iter().copied()).collect();
    match args.format {
        Format::Json => {
            let mut document = json!({"tasks": episodes.len(), "classes": classes.len()});
            for (name, range) in ranges {
                document[name] = json!([range.least, range.most]);
            }
            writeln!(out, "{document}")
        }
        Format::Table => {
            writeln!(
                out,
                "{}: {} tasks over {} classes",
                args.tasks.display(),
                episodes.len(),
                classes.len()
            )?;
            let [ways, shots, queries, unlabeled, distractors, open] = ranges.map(|(_, range)| range.text());
            writeln!(out, "{ways} ways; per class {shots} shots, {queries} queries, {unlabeled} unlabeled")?;
            writeln!(out, "per task {distractors} distractors, {open} open-set queries")
        }
    }
}

fn show_one(
    out: &mut impl Write,
    number: usize,
    episode: &Episode,
    table: &FeatureTable,
    format: Format,
) -> std::io::Result<()> {
    if format == Format::Json {
        return writeln!(out, "{}", json!(episode));
    }
    let ids = |rows: &[usize]| rows.iter().map(|&row| table.id(row)).collect::<Vec<_>>().join(" ");
    writeln!(out, "task {number}")?;
    for (way, &class) in episode.classes.iter().enumerate() {
        writeln!(out, "  {}", table.class_names()[class])?;
        for (name, lists) in
            [("support", &episode.support), ("unlabeled", &episode.unlabeled), ("query", &episode.query)]
        {
            if let Some(rows) = lists.get(way).filter(|rows| !rows.is_empty()) {
                writeln!(out, "    {name}: {}", ids(rows))?;
            }
        }
    }
    for (name, rows) in [("distractors", &episode.distractors), ("open-set queries", &episode.open_query)] {
        if !rows.is_empty() {
            writeln!(out, "  {name}: {}", ids(rows))?;
        }
    }
    Ok(())
}
