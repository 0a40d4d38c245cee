//! `handful choose`: which rows to label first.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use handful_data::atomic;
use handful_data::datasets::Pictures;
use handful_data::labelled::write_links;
use handful_data::labels::{Duplicates, GivenLabels};
use handful_data::spreadsheet::guarded;
use handful_label::{Choice, LabelParams, PreparedPool};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::json;

use super::label::{ImagePool, open_image_folder};
use super::network::{LayerArg, NetworkArgs};
use super::table::TableArgs;
use super::task_content::TaskContentArgs;
use crate::commands::bench::Format;
use crate::error::CliError;

/// Arguments of `handful choose`.
#[derive(Args)]
pub struct ChooseArgs {
    /// Feature table (.npy .npz .safetensors .parquet .csv …), or a folder of images
    pool: PathBuf,
    /// How many rows to choose
    #[arg(short = 'n', long, value_name = "ROWS")]
    count: usize,
    /// Labels that are known already: their rows are not chosen again, and what they cover is not covered twice
    #[arg(long, value_name = "FILE")]
    labels: Vec<PathBuf>,
    /// Where to write the list: .csv to fill in and feed to `label --labels`, .json for Label Studio, or a folder for
    /// links to the images
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    task_content: TaskContentArgs,
    /// Add this many rows drawn by chance: an audit of what the labels are worth
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    random: usize,
    /// Seed of the rows drawn by chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    layer: LayerArg,
    /// Report images that cannot be read and go on without them
    #[arg(long)]
    skip_bad: bool,
    /// Folder where features of images are kept, by the content of image and weights
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Why a row is on the list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    Coverage,
    Random,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Self::Coverage => "coverage",
            Self::Random => "random",
        }
    }
}

/// Runs the command.
pub fn run(args: &ChooseArgs) -> Result<(), CliError> {
    if args.count == 0 && args.random == 0 {
        return Err(CliError::Usage("-n 0: choose at least one row".into()));
    }
    let kind = Destination::of(&args.output)?;
    if kind != Destination::Links {
        atomic::check_destination(&args.output)?;
        if is_filled_in(&args.output) {
            return Err(CliError::Usage(format!(
                "{}: somebody has filled in labels there; write to another file",
                args.output.display()
            )));
        }
    }
    let image_pool = if args.pool.is_dir() {
        let (layer, cache) = (args.layer.layer.as_deref(), args.cache.as_deref());
        Some(open_image_folder(&args.pool, &args.network, layer, cache, args.skip_bad)?)
    } else {
        None
    };
    let (table, from_folders, pictures, skipped) = match image_pool {
        Some(ImagePool { table, labels, pictures, skipped, .. }) => (table, labels, Some(pictures), skipped),
        None => (args.table.open(&args.pool)?, Vec::new(), None, Vec::new()),
    };
    let labelled: Vec<usize> = if args.labels.is_empty() && from_folders.is_empty() {
        Vec::new()
    } else {
        let (labels, duplicates) = (&args.labels, Duplicates::KeepFirst);
        let given = GivenLabels::read_skipping(&table, from_folders, labels, duplicates, &skipped)?;
        given.labels.iter().map(|&(row, _)| row).collect()
    };
    let free = table.rows() - labelled.len();
    if args.count.saturating_add(args.random) > free {
        return Err(CliError::Usage(format!(
            "-n {}{}: only {free} of the {} rows are unlabelled",
            args.count,
            if args.random > 0 { format!(" and --random {}", args.random) } else { String::new() },
            table.rows()
        )));
    }
    let pool =
        PreparedPool::new(Arc::new(table.clone()), &LabelParams::default()).map_err(CliError::usage)?;
    let audit = drawn(table.rows(), &labelled, args.random, args.seed);
    let mut known = labelled.clone();
    known.extend(&audit);
    let choice = match args.count {
        0 => Choice { rows: Vec::new(), coverage_before: 0.0 },
        count => pool.choose(&known, count).map_err(CliError::usage)?,
    };
    let covering = choice.rows.iter().map(|chosen| (chosen.row, Reason::Coverage, Some(chosen.coverage)));
    let rows: Vec<(usize, Reason, Option<f64>)> =
        covering.chain(audit.iter().map(|&row| (row, Reason::Random, None))).collect();
    match kind {
        Destination::Csv => atomic::write(&args.output, |out| {
            let mut writer = csv::Writer::from_writer(out);
            writer.write_record(["id", "label", "reason", "coverage"])?;
            for &(row, reason, coverage) in &rows {
                let coverage = coverage.map_or(String::new(), |coverage| format!("{coverage:.4}"));
                writer.write_record([guarded(&table.id(row)).as_ref(), "", reason.name(), &coverage])?;
            }
            writer.flush()
        })?,
        Destination::LabelStudio => {
            let content = args.task_content.of(pictures.as_ref(), None)?;
            let task = |&(row, reason, coverage): &(usize, Reason, Option<f64>)| {
                let id = table.id(row);
                let image = content.of(row, &id)?;
                Ok(json!({"data": {"id": id, "image": image, "reason": reason.name(), "coverage": coverage}}))
            };
            let tasks = rows.iter().map(task).collect::<Result<Vec<_>, CliError>>()?;
            atomic::write(&args.output, |out| {
                serde_json::to_writer(out, &tasks).map_err(std::io::Error::from)
            })?;
        }
        Destination::Links => {
            let Some(pictures) = &pictures else {
                return Err(CliError::Usage(
                    "links need a folder of images as the pool; give a .csv or .json for a feature table"
                        .into(),
                ));
            };
            links(&args.output, &rows, pictures)?;
        }
    }
    report(args, &choice, rows.len(), labelled.len(), table.rows())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    Csv,
    LabelStudio,
    Links,
}

impl Destination {
    fn of(path: &Path) -> Result<Self, CliError> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => Ok(Self::Csv),
            Some("json") => Ok(Self::LabelStudio),
            None => Ok(Self::Links),
            Some(_) => Err(CliError::Usage(format!(
                "{}: the list is written as .csv, .json (Label Studio) or a folder of links",
                path.display()
            ))),
        }
    }
}

/// Whether the file holds a list in which a label has been filled in, or something that is no list at all.
fn is_filled_in(path: &Path) -> bool {
    if !path.exists() || path.extension().is_some_and(|extension| extension == "json") {
        return false;
    }
    let Ok(mut reader) = csv::ReaderBuilder::new().flexible(true).from_path(path) else { return true };
    let ours = reader.headers().is_ok_and(|header| header.iter().eq(["id", "label", "reason", "coverage"]));
    let empty = |record: csv::StringRecord| record.get(1).is_some_and(str::is_empty);
    !ours || !reader.records().all(|record| record.is_ok_and(empty))
}

/// Unlabelled rows by chance.
fn drawn(rows: usize, labelled: &[usize], count: usize, seed: u64) -> Vec<usize> {
    let mut taken = vec![false; rows];
    labelled.iter().for_each(|&row| taken[row] = true);
    let mut free: Vec<usize> = (0..rows).filter(|&row| !taken[row]).collect();
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let count = count.min(free.len());
    for at in 0..count {
        let left = (free.len() - at) as u64;
        let other = at + (chance.next_u64() % left) as usize;
        free.swap(at, other);
    }
    free.truncate(count);
    free
}

/// A folder in which the images stand in their order: `0001-name.jpg`.
fn links(folder: &Path, rows: &[(usize, Reason, Option<f64>)], pictures: &Pictures) -> Result<(), CliError> {
    let links = rows.iter().enumerate().filter_map(|(place, &(row, ..))| {
        let file = pictures.file(row)?;
        let name = file.file_name().map_or_else(Default::default, |name| name.to_string_lossy());
        Some((PathBuf::from(format!("{:04}-{name}", place + 1)), file))
    });
    Ok(write_links(folder, links)?)
}

fn report(
    args: &ChooseArgs,
    choice: &Choice,
    rows: usize,
    labelled: usize,
    pool: usize,
) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    let after = choice.rows.last().map_or(choice.coverage_before, |chosen| chosen.coverage);
    if args.format == Format::Json {
        let document = json!({
            "rows": pool, "labelled": labelled, "chosen": choice.rows.len(), "random": args.random,
            "coverage_before": choice.coverage_before, "coverage": after, "output": args.output.display().to_string(),
        });
        serde_json::to_writer(&mut out, &document).map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(out.flush()?);
    }
    writeln!(out, "{pool} rows, {labelled} labelled; {rows} to label, the most useful first")?;
    writeln!(out, "coverage of the pool: {:.3} before, {after:.3} with all of them", choice.coverage_before)?;
    let steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
    let marks = steps.iter().filter_map(|&at| Some((at, choice.rows.get(at - 1)?.coverage)));
    let marks = marks.map(|(at, coverage)| format!("{at}: {coverage:.3}")).collect::<Vec<_>>().join(", ");
    if !marks.is_empty() {
        writeln!(out, "  after {marks}")?;
    }
    if args.random > 0 {
        writeln!(out, "{} of them by chance, marked `random`: an audit of the labels", args.random)?;
    }
    writeln!(
        out,
        "written: {}; fill in `label` and give it to handful label --labels",
        args.output.display()
    )?;
    Ok(out.flush()?)
}
