//! `handful bench`: methods on a feature table, on identical tasks; all of them, or a range that is merged later.

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use handful_bench::part::Part;
use handful_bench::prototypes::ClassPrototypes;
use handful_bench::report::study::{self as study_page, StudyPage};
use handful_bench::study::{Score, Study, Tasks};
use handful_bench::table::{self, Group};
use handful_data::{ClassVectors, FeatureTable, atomic, content_digest, read_task_list};
use serde_json::{Value, json};

use crate::commands::entrants::EntrantArgs;
use crate::commands::merge::{self, MergeArgs};
use crate::commands::setting::SettingArgs;
use crate::commands::table::TableArgs;
use crate::commands::tune::{self, TuneArgs};
use crate::error::CliError;
use crate::progress::{run_with_bar, solve_with_bar};
use crate::terminal::{Paint, printable};

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
    /// Make one result of the parts that `bench --task-range` wrote, the same as that of one process
    Merge(MergeArgs),
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
    /// Solve only these of the tasks, from A up to but not including B, and print a part for `bench merge`
    #[arg(long, value_name = "A..B", value_parser = task_range, conflicts_with_all = ["format", "per_task", "report"])]
    task_range: Option<Range<usize>>,
    #[command(flatten)]
    print: PrintArgs,
}

/// What is printed of a study.
#[derive(Args)]
pub struct PrintArgs {
    /// What to print
    #[arg(long, value_enum, default_value_t = StudyFormat::Table)]
    format: StudyFormat,
    /// Include the accuracy of every task in the JSON
    #[arg(long)]
    per_task: bool,
    /// Also write a page with charts: accuracies, paired differences, accuracy against time
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

/// What a study found at one number of labelled rows.
pub struct Found {
    pub shots: usize,
    pub scores: Vec<Score>,
}

fn task_range(text: &str) -> Result<Range<usize>, String> {
    let ends = text.split_once("..").and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    let (from, to): (usize, usize) = ends.ok_or("write it as A..B, such as 0..1000")?;
    if from < to { Ok(from..to) } else { Err(format!("there is no task from {from} up to {to}")) }
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
    /// A LaTeX table for booktabs, the best in bold
    Latex,
    /// One JSON document
    Json,
}

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<(), CliError> {
    match (&args.command, &args.study.features) {
        (Some(BenchCommand::Tune(args)), _) => tune::run(args),
        (Some(BenchCommand::Merge(args)), _) => merge::run(args),
        (None, Some(features)) => study(features, &args.study),
        (None, None) => Err(CliError::Usage("bench needs a feature table: handful bench FEATURES".into())),
    }
}

fn study(path: &Path, args: &StudyArgs) -> Result<(), CliError> {
    let entrants = args.entrants.build()?;
    let features = args.table.read(path)?;
    args.print.check()?;
    let settings = args.setting.each()?;
    if settings.len() > 1 && (args.tasks_from.is_some() || args.task_range.is_some()) {
        let option = if args.tasks_from.is_some() { "--tasks-from" } else { "--task-range" };
        return Err(CliError::Usage(format!("{option} goes with one number of --shots")));
    }
    let tasks = settings.iter().map(|setting| match &args.tasks_from {
        Some(path) => Ok(Tasks::Listed(read_task_list(path, &features)?)),
        None => setting.tasks(&features),
    });
    let tasks: Vec<Tasks> = tasks.collect::<Result<_, CliError>>()?;
    let Some(first) = tasks.first().filter(|tasks| !tasks.is_empty()) else {
        return Err(CliError::Usage("there is no task to solve: the task list is empty".into()));
    };

    let base = args.base.as_deref().map(|path| args.table.read(path)).transpose()?;
    let base_mean = base.map(|base| base.mean_row()).transpose()?;
    let prototypes = args.prototypes(&features)?;
    let labels: Vec<String> =
        entrants.iter().map(|entrant| table::label(entrant.method.name(), &entrant.preset)).collect();
    let reference = reference(args.reference.as_deref(), &labels)?;
    let study = |tasks| {
        Study::new(&features, tasks)
            .threads(args.threads)
            .reference(reference)
            .prototypes(prototypes.as_ref())
            .base_mean(base_mean.as_deref())
    };
    let about = json!({
        "heading": heading(&features, args, first),
        "features": {
            "path": features.path().display().to_string(),
            "rows": features.rows(),
            "dim": features.dim(),
            "sha256": features.sha256(),
        },
        "setting": setting(args, first),
    });
    match &args.task_range {
        Some(range) => {
            if range.end > first.len() {
                return Err(CliError::Usage(format!(
                    "--task-range {}..{}: there are {} tasks",
                    range.start,
                    range.end,
                    first.len()
                )));
            }
            let identity = args.identity(&features)?;
            let solved = solve_with_bar(&study(first), &entrants, range.clone())?;
            print_json(&Part::new(identity, about, first.len(), range.start, reference, solved))
        }
        None => {
            let mut found = Vec::new();
            for (tasks, setting) in tasks.iter().zip(&settings) {
                let scores = run_with_bar(&study(tasks), &entrants)?;
                found.push(Found { shots: setting.first_shots(), scores });
            }
            print(&about, reference, found, &args.print)
        }
    }
}

impl PrintArgs {
    /// Found out before the work rather than after it.
    pub fn check(&self) -> Result<(), CliError> {
        Ok(self.report.as_deref().map(atomic::check_destination).transpose().map(drop)?)
    }
}

/// Prints the scores of a study, and writes its page; `about` says what it was.
pub fn print(
    about: &Value,
    reference: usize,
    mut found: Vec<Found>,
    args: &PrintArgs,
) -> Result<(), CliError> {
    if let Some(path) = &args.report {
        let command = crate::command_line();
        let page =
            study_page::render(&StudyPage { about, reference, groups: &groups(&found), command: &command });
        atomic::write(path, |out| out.write_all(page.as_bytes()))?;
    }
    let mut out = std::io::stdout().lock();
    match args.format {
        StudyFormat::Table => {
            let heading = about["heading"].as_str().unwrap_or_default();
            let paint = Paint::for_stream(&out);
            write!(out, "{}\n\n{}", printable(heading), paint.table(&groups(&found)))?;
            let scores = found.first().map_or(&[][..], |found| &found.scores);
            if let Some(reference) = scores.get(reference).filter(|_| scores.len() > 1) {
                let label = table::label(&reference.name, &reference.preset);
                writeln!(out, "\nDifferences are to {}, task by task.", printable(&label))?;
            }
        }
        StudyFormat::Markdown => write!(out, "{}", table::markdown(&groups(&found)))?,
        StudyFormat::Csv => write!(out, "{}", table::csv(&groups(&found)))?,
        StudyFormat::Latex => write!(out, "{}", table::latex(&groups(&found)))?,
        StudyFormat::Json => {
            if !args.per_task {
                found.iter_mut().flat_map(|found| &mut found.scores).for_each(|score| score.per_task = None);
            }
            let mut document = json!({"features": about["features"], "setting": about["setting"]});
            match found.as_slice() {
                [one] => document["methods"] = json!(one.scores),
                several => {
                    let group = |found: &Found| json!({"shots": found.shots, "methods": found.scores});
                    document["results"] = several.iter().map(group).collect();
                }
            }
            return print_json(&document);
        }
    }
    Ok(out.flush()?)
}

fn groups(found: &[Found]) -> Vec<Group<'_>> {
    found.iter().map(|found| Group { shots: found.shots, scores: &found.scores }).collect()
}

fn print_json(document: &impl serde::Serialize) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, document).map_err(std::io::Error::from)?;
    writeln!(out)?;
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

    /// What two parts of one study have in common, wherever their files lie.
    fn identity(&self, features: &FeatureTable) -> Result<Value, CliError> {
        let digest = |path: &Option<PathBuf>| match path {
            Some(path) => match std::fs::read(path) {
                Ok(bytes) => Ok(json!(content_digest(&bytes))),
                Err(error) => Err(CliError::Usage(format!("{}: {error}", path.display()))),
            },
            None => Ok(Value::Null),
        };
        let setting = if self.tasks_from.is_some() { Value::Null } else { self.setting.document() };
        Ok(json!({
            "features": {"sha256": features.sha256(), "rows": features.rows(), "dim": features.dim()},
            "setting": setting,
            "tasks_from": digest(&self.tasks_from)?,
            "base": digest(&self.base)?,
            "class_vectors": digest(&self.class_vectors)?,
            "class_vector_rows": self.class_vector_rows,
        }))
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

fn setting(args: &StudyArgs, tasks: &Tasks) -> Value {
    let mut setting = match &args.tasks_from {
        Some(path) => json!({"tasks": tasks.len(), "tasks_from": path.display().to_string()}),
        None => args.setting.document(),
    };
    if let Some(path) = &args.class_vectors {
        setting["class_vectors"] =
            json!({"path": path.display().to_string(), "rows": args.class_vector_rows});
    }
    setting
}
