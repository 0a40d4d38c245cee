//! `handful bench`: methods on a feature table, on identical tasks.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use handful_bench::prototypes::ClassPrototypes;
use handful_bench::study::{Score, Study, Tasks};
use handful_bench::table;
use handful_data::{ClassVectors, FeatureTable, read_task_list};
use serde_json::json;

use crate::commands::entrants::EntrantArgs;
use crate::commands::setting::SettingArgs;
use crate::commands::table::TableArgs;
use crate::commands::tune::{self, TuneArgs};
use crate::error::CliError;
use crate::progress::run_with_bar;
use crate::terminal::printable;

/// More labelled rows than that no vector can be worth, and every one of them is computed with.
const MOST_VECTOR_ROWS: usize = 100;

/// Arguments of `handful bench`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct BenchArgs {
    #[command(subcommand)]
    command: Option<BenchCommand>,
    #[command(flatten)]
    study: StudyArgs,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// Search a parameter grid on validation classes and write the best as a preset file
    Tune(Box<TuneArgs>),
}

#[derive(Args)]
struct StudyArgs {
    /// Feature table, such as an .npz with `features` (rows x dimensions) and `labels`
    #[arg(required = true)]
    features: Option<PathBuf>,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    entrants: EntrantArgs,
    #[command(flatten)]
    setting: SettingArgs,
    /// Tasks made elsewhere (JSON lines, see `handful tasks`) instead of drawn ones
    #[arg(long, value_name = "FILE")]
    tasks_from: Option<PathBuf>,
    /// Features of the base classes, for transforms that centre on their mean (`centre`, as in simpleshot:cl2n)
    #[arg(long, value_name = "FEATURES")]
    base: Option<PathBuf>,
    /// Feature table with a vector for each class (text prototypes, means of old data), or for some: it counts as labelled
    #[arg(long, value_name = "FILE")]
    class_vectors: Option<PathBuf>,
    /// How many labelled rows a vector of --class-vectors counts as
    #[arg(long, value_name = "ROWS", default_value_t = 1, requires = "class_vectors")]
    class_vector_rows: usize,
    /// The method that differences are taken to, as listed in --method; without it, the first
    #[arg(long, value_name = "METHOD")]
    reference: Option<String>,
    /// Threads; 0 for one per core. The results do not depend on it
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// What to print
    #[arg(long, value_enum, default_value_t = StudyFormat::Table)]
    format: StudyFormat,
    /// Include the accuracy of every task in the JSON
    #[arg(long)]
    per_task: bool,
}

/// Output formats of commands that describe something.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// An aligned table
    Table,
    /// One JSON document
    Json,
}

/// Output formats of a study.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StudyFormat {
    /// An aligned table
    Table,
    /// A Markdown table
    Markdown,
    /// Comma-separated values, fractions
    Csv,
    /// One JSON document
    Json,
}

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<(), CliError> {
    match (&args.command, &args.study.features) {
        (Some(BenchCommand::Tune(args)), _) => tune::run(args),
        (None, Some(features)) => study(features, &args.study),
        (None, None) => Err(CliError::Usage("bench needs a feature table: handful bench FEATURES".into())),
    }
}

fn study(path: &Path, args: &StudyArgs) -> Result<(), CliError> {
    let entrants = args.entrants.build()?;
    let features = args.table.read(path)?;
    let tasks = match &args.tasks_from {
        Some(path) => Tasks::Listed(read_task_list(path, &features)?),
        None => args.setting.tasks(&features)?,
    };
    if tasks.is_empty() {
        return Err(CliError::Usage("there is no task to solve: the task list is empty".into()));
    }

    let base = args.base.as_deref().map(|path| args.table.read(path)).transpose()?;
    let base_mean = base.map(|base| base.mean_row()).transpose()?;
    let prototypes = args.prototypes(&features)?;
    let labels: Vec<String> =
        entrants.iter().map(|entrant| table::label(entrant.method.name(), &entrant.preset)).collect();
    let reference = reference(args.reference.as_deref(), &labels)?;
    let study = Study::new(&features, &tasks)
        .threads(args.threads)
        .reference(reference)
        .prototypes(prototypes.as_ref())
        .base_mean(base_mean.as_deref());
    let scores = run_with_bar(&study, &entrants)?;

    let mut out = std::io::stdout().lock();
    match args.format {
        StudyFormat::Table => {
            let heading = heading(&features, args, &tasks);
            write!(out, "{}\n\n{}", printable(&heading), printable(&table::render(&scores)))?;
            if scores.len() > 1 {
                writeln!(out, "\nDifferences are to {}, task by task.", labels[reference])?;
            }
        }
        StudyFormat::Markdown => write!(out, "{}", table::markdown(&scores))?,
        StudyFormat::Csv => write!(out, "{}", table::csv(&scores))?,
        StudyFormat::Json => {
            let document = document(&features, args, &tasks, scores);
            serde_json::to_writer(&mut out, &document).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(out.flush()?)
}

impl StudyArgs {
    fn prototypes(&self, features: &FeatureTable) -> Result<Option<ClassPrototypes>, CliError> {
        let Some(path) = &self.class_vectors else { return Ok(None) };
        if !(1..=MOST_VECTOR_ROWS).contains(&self.class_vector_rows) {
            return Err(CliError::Usage(format!(
                "--class-vector-rows {}: it must be from 1 to {MOST_VECTOR_ROWS}",
                self.class_vector_rows
            )));
        }
        let vectors = ClassVectors::read(path)?;
        Ok(Some(ClassPrototypes::new(&vectors, features, self.class_vector_rows)?))
    }

    /// What is known of classes besides rows, in words.
    fn vectors_in_words(&self) -> String {
        let Some(path) = &self.class_vectors else { return String::new() };
        let rows = if self.class_vector_rows == 1 { "row" } else { "rows" };
        format!(
            "\nvectors of classes from {}, each as {} labelled {rows}",
            path.display(),
            self.class_vector_rows
        )
    }
}

fn reference(wanted: Option<&str>, labels: &[String]) -> Result<usize, CliError> {
    let Some(wanted) = wanted else { return Ok(0) };
    labels.iter().position(|label| label == wanted).ok_or_else(|| {
        CliError::Usage(format!("--reference {wanted}: not among the methods, {}", labels.join(", ")))
    })
}

fn heading(features: &FeatureTable, args: &StudyArgs, tasks: &Tasks) -> String {
    let path = features.path();
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let table =
        format!("{file}: {} rows x {}, {} classes", features.rows(), features.dim(), features.class_count());
    let setting = match &args.tasks_from {
        Some(path) => format!("{} tasks from {}", tasks.len(), path.display()),
        None => args.setting.describe(),
    };
    format!("{table}\n{setting}{}", args.vectors_in_words())
}

fn document(
    features: &FeatureTable,
    args: &StudyArgs,
    tasks: &Tasks,
    mut scores: Vec<Score>,
) -> serde_json::Value {
    if !args.per_task {
        scores.iter_mut().for_each(|score| score.per_task = None);
    }
    let mut setting = match &args.tasks_from {
        Some(path) => json!({"tasks": tasks.len(), "tasks_from": path.display().to_string()}),
        None => args.setting.document(),
    };
    if let Some(path) = &args.class_vectors {
        setting["class_vectors"] =
            json!({"path": path.display().to_string(), "rows": args.class_vector_rows});
    }
    json!({
        "features": {
            "path": features.path().display().to_string(),
            "rows": features.rows(),
            "dim": features.dim(),
            "sha256": features.sha256(),
        },
        "setting": setting,
        "methods": scores,
    })
}
