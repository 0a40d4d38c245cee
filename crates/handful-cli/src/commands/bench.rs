//! `handful bench`: methods on a feature table, on identical tasks.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use handful_bench::study::{Score, Study, Tasks};
use handful_bench::table;
use handful_data::{EpisodeSampler, EpisodeSpec, FeatureTable, read_table, read_task_list};
use serde_json::json;

use crate::commands::entrants::EntrantArgs;
use crate::error::CliError;
use crate::progress::run_with_bar;

/// Arguments of `handful bench`.
#[derive(Args)]
pub struct BenchArgs {
    /// Feature table, such as an .npz with `features` (rows x dimensions) and `labels`
    features: PathBuf,
    #[command(flatten)]
    entrants: EntrantArgs,
    #[command(flatten)]
    setting: SettingArgs,
    /// Tasks made elsewhere (JSON lines, see `handful tasks`) instead of drawn ones
    #[arg(long, value_name = "FILE")]
    tasks_from: Option<PathBuf>,
    /// Threads; 0 for one per core. The results do not depend on it
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Include the accuracy of every task in the JSON
    #[arg(long)]
    per_task: bool,
}

/// What a task is made of.
#[derive(Args)]
pub struct SettingArgs {
    /// Classes of a task
    #[arg(long, default_value_t = 5)]
    pub ways: usize,
    /// Labelled rows per class
    #[arg(long, default_value_t = 1)]
    pub shots: usize,
    /// Rows per class to label and score
    #[arg(long, default_value_t = 15)]
    pub queries: usize,
    /// Unlabelled rows per class besides the queries; 0 makes the queries the unlabelled rows (transductive)
    #[arg(long, default_value_t = 0)]
    pub unlabeled: usize,
    /// Number of tasks
    #[arg(long, default_value_t = 1000)]
    pub tasks: usize,
    /// Seed of the tasks
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Output formats.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// An aligned table
    Table,
    /// One JSON document
    Json,
}

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<(), CliError> {
    let entrants = args.entrants.build()?;
    let features = read_table(&args.features)?;
    let setting = &args.setting;
    let tasks = match &args.tasks_from {
        Some(path) => Tasks::Listed(read_task_list(path, &features)?),
        None => sampled(&features, setting)?,
    };
    if tasks.is_empty() {
        return Err(CliError::Usage("there is no task to solve: --tasks must be at least 1".into()));
    }

    let study = Study { table: &features, tasks: &tasks, threads: args.threads };
    let scores = run_with_bar(&study, &entrants)?;

    let mut out = std::io::stdout().lock();
    match args.format {
        Format::Table => write!(out, "{}\n\n{}", heading(&features, args, &tasks), table::render(&scores))?,
        Format::Json => {
            let document = document(&features, args, &tasks, scores);
            serde_json::to_writer(&mut out, &document).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(out.flush()?)
}

/// Tasks drawn from the table as the setting says.
pub fn sampled(features: &FeatureTable, setting: &SettingArgs) -> Result<Tasks, CliError> {
    let spec = EpisodeSpec {
        ways: setting.ways,
        shots: setting.shots,
        queries: setting.queries,
        unlabeled: setting.unlabeled,
        ..EpisodeSpec::default()
    };
    Ok(Tasks::Sampled { sampler: EpisodeSampler::new(features, spec, setting.seed)?, count: setting.tasks })
}

fn mode(setting: &SettingArgs) -> &'static str {
    if setting.unlabeled == 0 { "transductive" } else { "semi-supervised" }
}

fn heading(features: &FeatureTable, args: &BenchArgs, tasks: &Tasks) -> String {
    let file = args.features.file_name().unwrap_or(args.features.as_os_str()).to_string_lossy().into_owned();
    let table =
        format!("{file}: {} rows x {}, {} classes", features.rows(), features.dim(), features.class_count());
    let setting = &args.setting;
    match &args.tasks_from {
        Some(path) => format!("{table}\n{} tasks from {}", tasks.len(), path.display()),
        None => {
            let pool = match setting.unlabeled {
                0 => String::new(),
                rows => format!(" + {rows} unlabelled"),
            };
            format!(
                "{table}\n{} tasks, {}-way {}-shot, {} queries{pool} per class, {}, seed {}",
                tasks.len(),
                setting.ways,
                setting.shots,
                setting.queries,
                mode(setting),
                setting.seed
            )
        }
    }
}

fn document(
    features: &FeatureTable,
    args: &BenchArgs,
    tasks: &Tasks,
    mut scores: Vec<Score>,
) -> serde_json::Value {
    if !args.per_task {
        scores.iter_mut().for_each(|score| score.per_task = None);
    }
    let setting = &args.setting;
    let setting = match &args.tasks_from {
        Some(path) => json!({"tasks": tasks.len(), "tasks_from": path.display().to_string()}),
        None => json!({
            "ways": setting.ways,
            "shots": setting.shots,
            "queries": setting.queries,
            "unlabeled": setting.unlabeled,
            "tasks": tasks.len(),
            "seed": setting.seed,
            "mode": mode(setting),
        }),
    };
    json!({
        "features": {
            "path": args.features.display().to_string(),
            "rows": features.rows(),
            "dim": features.dim(),
            "sha256": features.sha256(),
        },
        "setting": setting,
        "methods": scores,
    })
}
