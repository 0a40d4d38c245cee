//! `handful reproduce`: the paper's tables and figures, with its printed figures beside ours, and a report.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use handful_bench::report;
use handful_bench::reproduce::cell::Skipped;
use handful_bench::reproduce::paper::BENCHMARKS;
use handful_bench::reproduce::results::{self, Store, StoreError};
use handful_bench::reproduce::systems::{Elsewhere, Given, SYSTEMS, Systems, Use, usage};
use handful_bench::reproduce::{self, Inputs, Plan, ReproduceError, Target};
use handful_data::FeatureTable;
use handful_data::heads::HeadSource;
use handful_data::shipped;

use crate::commands::network::{LayerArg, NetworkArgs};
use crate::commands::table::TableArgs;
use crate::error::{CliError, is_device_failure};
use crate::progress::CellBars;
use crate::terminal::Paint;

/// What renders the stored results again without computing anything.
const REPORT: &str = "report";

/// Arguments of `handful reproduce`.
#[derive(Args)]
pub struct ReproduceArgs {
    /// Which table or figure; `report` renders what is in OUT again, `differences` is the text against its authors' code
    #[arg(value_parser = PossibleValuesParser::new(targets()))]
    target: String,
    /// Features of the novel classes, any table that `bench` takes; without any, the ones that come with handful
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// Features of another dataset's novel classes through the same backbone, for table3
    #[arg(long, value_name = "FILE")]
    cross_features: Option<PathBuf>,
    /// An image dataset, to be embedded (with --weights, or the network that comes with handful) instead of --features
    #[arg(long, value_name = "PATH", conflicts_with = "features")]
    dataset: Option<PathBuf>,
    /// Another image dataset, to be embedded by the same network instead of --cross-features, for table3
    #[arg(long, value_name = "PATH", conflicts_with = "cross_features")]
    cross_dataset: Option<PathBuf>,
    /// What a system has learnt: its head (.safetensors), its result (.json), or novel-class features of a network that it
    /// trained; without it, the heads that come with handful for its own features. May be repeated
    #[arg(long, value_name = "NAME=FILE")]
    system: Vec<String>,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    layer: LayerArg,
    /// Tasks per cell; slow cells get a fixed share of them, which every table prints
    #[arg(long, default_value_t = 10_000)]
    tasks: usize,
    /// All tasks for every cell, however slow
    #[arg(long)]
    full: bool,
    /// Preset of dm-ida, and of every other method that has it; the paper's tasks have classes of equal size
    #[arg(long, default_value = "equal-sizes")]
    preset: String,
    /// Seed of the tasks
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The benchmark whose printed figures stand beside ours; told from the file's name if not given
    #[arg(long, value_parser = PossibleValuesParser::new(BENCHMARKS.map(|(key, _)| key)))]
    benchmark: Option<String>,
    /// Folder for results and report; a run that was stopped goes on there
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
    /// Threads; 0 for one per core. The results do not depend on it
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Set results of another run in OUT aside, and replace files that are not a report of ours
    #[arg(long)]
    force: bool,
}

fn targets() -> Vec<&'static str> {
    Target::NAMES.iter().map(|(name, _)| *name).chain([REPORT]).collect()
}

/// Runs the command.
pub fn run(args: &ReproduceArgs) -> Result<(), CliError> {
    let Some(target) = Target::named(&args.target) else {
        let records = results::read(&args.out).map_err(ReproduceError::from)?;
        return finish(args, &records, &[]);
    };
    if args.tasks == 0 {
        return Err(CliError::Usage("there is no task to solve: --tasks must be at least 1".into()));
    }
    let cross = cross_features(args)?;
    let features = main_features(args, target, cross.as_ref())?;
    let (systems, own) = systems(args, &features)?;
    let plan = Plan {
        preset: args.preset.clone(),
        tasks: args.tasks,
        seed: args.seed,
        full: args.full,
        threads: args.threads,
        benchmark: args.benchmark.clone().unwrap_or_else(|| benchmark_of(features.path()).to_owned()),
        cross_classes: cross.as_ref().map(FeatureTable::class_count),
        systems,
    };
    let inputs = Inputs { table: &features, cross: cross.as_ref(), own: &own };
    let (cells, skipped) = reproduce::cells(target, &plan, &inputs)?;
    report::check_folder(&args.out, args.force).map_err(ReproduceError::from)?;
    let stamp = reproduce::stamp(&plan, &features);
    let mut store = Store::open(&args.out, &stamp, args.force).map_err(ReproduceError::from)?;
    let bars = CellBars::new();
    let result = reproduce::run(&cells, &plan, &inputs, &mut store, &bars);
    bars.clear();
    result?;
    finish(args, store.records(), &skipped)
}

/// Writes the report, prints the tables, and says where everything is.
fn finish(args: &ReproduceArgs, records: &[results::Record], skipped: &[Skipped]) -> Result<(), CliError> {
    let report = report::Report::from_results(records, skipped);
    report.write(&args.out).map_err(ReproduceError::from)?;
    let mut out = std::io::stdout().lock();
    write!(out, "{}", Paint::for_stream(&out).report(&report))?;
    writeln!(out, "report: {}", args.out.join("report.html").display())?;
    Ok(out.flush()?)
}

/// The features of another dataset, where they were asked for.
fn cross_features(args: &ReproduceArgs) -> Result<Option<FeatureTable>, CliError> {
    match (&args.cross_features, &args.cross_dataset) {
        (Some(path), _) => Ok(Some(args.table.read(path)?)),
        (None, Some(dataset)) => Ok(Some(embedded_features(dataset, args)?)),
        (None, None) => Ok(None),
    }
}

/// What was given for systems, and the features of their own networks.
fn systems(args: &ReproduceArgs, features: &FeatureTable) -> Result<(Systems, Vec<FeatureTable>), CliError> {
    let (mut systems, mut own) = (Systems::shipped_for(features), Vec::new());
    for text in &args.system {
        let wrong = |reason: String| CliError::Usage(format!("--system {text}: {reason}"));
        let (name, path) =
            text.split_once('=').ok_or_else(|| wrong("write it as the system's name = a file".into()))?;
        let known = || SYSTEMS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let (name, usage) = usage(name).ok_or_else(|| wrong(format!("the systems are {}", known())))?;
        let path = Path::new(path);
        match (path.extension().and_then(|end| end.to_str()), usage) {
            (Some("json"), _) => {
                let results = Elsewhere::read(path)?;
                if let Some(other) = results.iter().find(|result| result.system != name) {
                    return Err(wrong(format!("it is a result of {}", other.system)));
                }
                systems
                    .given
                    .extend(results.into_iter().map(|result| (name.to_owned(), Given::Result(result))));
            }
            (Some("safetensors"), Use::Head) => {
                let source = HeadSource::File(path.to_owned());
                let shots = source.read(name)?.facts().shots;
                systems.given.push((name.to_owned(), Given::Head { shots, source }));
            }
            (_, Use::Head) => return Err(wrong("it needs a head (.safetensors) or a result (.json)".into())),
            (_, Use::Images) => {
                return Err(wrong(
                    "its network is fitted to every task, so only its result (.json) can be given".into(),
                ));
            }
            (_, Use::Network(_)) => {
                systems.given.push((name.to_owned(), Given::Features(own.len())));
                own.push(args.table.read(path)?);
            }
        }
    }
    Ok((systems, own))
}

/// The features that were asked for, or those that come with handful.
fn main_features(
    args: &ReproduceArgs,
    target: Target,
    cross: Option<&FeatureTable>,
) -> Result<FeatureTable, CliError> {
    match (&args.features, &args.dataset) {
        (Some(path), _) => args.table.read(path),
        (None, Some(dataset)) => embedded_features(dataset, args),
        (None, None) if !args.network.weights.is_empty() => match cross {
            // The only table that has no use for features of the network's own dataset.
            Some(cross) if target == Target::Table3 => Ok(cross.clone()),
            _ => Err(CliError::Usage("--weights embed the images of a --dataset, and none is given".into())),
        },
        (None, None) => {
            eprintln!(
                "no --features given: running on the features that come with handful, CIFAR-FS novel classes through a \
                 network far smaller than the paper's"
            );
            Ok(shipped::features()?)
        }
    }
}

/// Novel-class features of an image dataset through a backbone.
#[cfg(feature = "vision")]
fn embedded_features(dataset: &Path, args: &ReproduceArgs) -> Result<FeatureTable, CliError> {
    use crate::commands::embedding::{Cache, embed};
    use crate::commands::network::Unless;
    use handful_data::datasets::{Part, open_dataset};
    let networks = args.network.open(args.layer.layer.as_deref(), Unless::Shipped)?;
    let images = open_dataset(dataset, None, Some(Part::Novel))?;
    // The name tells the report, and the choice of printed figures, which dataset it is.
    Ok(embed(&images, &images.kind().to_string(), &networks, Cache::None, false)?.table)
}

/// Novel-class features of an image dataset through a backbone.
#[cfg(not(feature = "vision"))]
fn embedded_features(dataset: &Path, _args: &ReproduceArgs) -> Result<FeatureTable, CliError> {
    Err(CliError::Usage(format!(
        "--dataset {}: this build has no backbones to embed images with; embed them elsewhere and give --features",
        dataset.display()
    )))
}

/// The benchmark a file's name speaks of; CIFAR-FS if it speaks of none.
fn benchmark_of(path: &Path) -> &'static str {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let hints = [("mini", "mini-imagenet"), ("tiered", "tiered-imagenet"), ("cub", "cub")];
    hints.into_iter().find(|(hint, _)| name.contains(hint)).map_or("cifar-fs", |(_, benchmark)| benchmark)
}

impl From<ReproduceError> for CliError {
    fn from(error: ReproduceError) -> Self {
        match error {
            ReproduceError::Study(error) => error.into(),
            ReproduceError::Store(StoreError::Write(error)) => error.into(),
            ReproduceError::Store(StoreError::Io { ref source, .. }) if is_device_failure(source) => {
                Self::Failed(error.to_string())
            }
            other => Self::usage(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benchmarks_are_told_from_file_names() {
        assert_eq!(benchmark_of(Path::new("x/miniImageNet-novel.npz")), "mini-imagenet");
        assert_eq!(benchmark_of(Path::new("CUB.npz")), "cub");
        assert_eq!(benchmark_of(Path::new("features.npz")), "cifar-fs");
    }
}
