//! `handful predict` over many tables: each gets its labels beside it, whole or not at all.
//!
//! A record (`NAME.predicted.json`) is written after the labels and says which model they come from, so that a run that was
//! stopped goes on where it was, and labels of another model, or of a shard that has changed, are made anew. Several shards
//! are at work at once: one is read while another is computed and a third is written.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use handful_data::labelled::LabelledFormat;
use handful_data::{TableFormat, atomic, content_digest};
use rayon::ThreadPool;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::predict::{PredictArgs, Predictor, ShardFormat, Tally};
use crate::commands::bench::Format;
use crate::error::CliError;
use crate::progress::bar;

/// More at once would only take memory: the rows of a shard are labelled by all threads.
const MOST_AT_ONCE: usize = 8;

/// Where labels of a shard lie, and what says that they are whole.
struct Shard {
    rows: PathBuf,
    labels: PathBuf,
    record: PathBuf,
}

/// What labels were made from.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Origin {
    version: String,
    model: String,
    reject: bool,
    bytes: u64,
    modified: u64,
}

#[derive(Serialize, Deserialize)]
struct Record {
    #[serde(flatten)]
    origin: Origin,
    #[serde(flatten)]
    tally: Tally,
}

/// Labels every shard.
pub fn run(
    args: &PredictArgs,
    predictor: &Predictor<'_>,
    rows: &[PathBuf],
    threads: &ThreadPool,
) -> Result<(), CliError> {
    let shards = shards(rows, args.format_of_shards)?;
    check_widths(args, predictor, &shards)?;
    let model = std::fs::read(&args.model).map_err(CliError::Output)?;
    let model = content_digest(&model);
    let (next, resumed, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let total = Mutex::new(Tally::of(predictor.model.ways()));
    let failures: Mutex<BTreeMap<usize, CliError>> = Mutex::new(BTreeMap::new());
    let bar = bar(shards.len(), "shards");
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(shard) = shards.get(at) else { return };
            match shard.label(args, predictor, &model, threads) {
                Ok((tally, was_there)) => {
                    locked(&total).add(&tally);
                    resumed.fetch_add(usize::from(was_there), Ordering::Relaxed);
                    bar.inc(1);
                }
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    locked(&failures).insert(at, error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.current_num_threads().min(MOST_AT_ONCE).min(shards.len()) {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();
    if let Some((_, error)) = locked(&failures).pop_first() {
        return Err(error);
    }
    let total = locked(&total);
    print(args, predictor, &shards, &total, resumed.into_inner())
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn print(
    args: &PredictArgs,
    predictor: &Predictor<'_>,
    shards: &[Shard],
    total: &Tally,
    resumed: usize,
) -> Result<(), CliError> {
    let header = predictor.model.header();
    let mut out = std::io::stdout().lock();
    if args.format == Format::Json {
        let document = json!({
            "shards": shards.len(), "labelled_before": resumed, "rows": total.rows, "dim": header.dim,
            "classes": header.classes, "class_rows": total.class_rows, "rejected": total.rejected,
            "outputs": shards.iter().map(|shard| shard.labels.display().to_string()).collect::<Vec<_>>(),
        });
        serde_json::to_writer(&mut out, &document).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        let plural = if shards.len() == 1 { "shard" } else { "shards" };
        writeln!(
            out,
            "{} {plural}, {} rows x {}, {} classes",
            shards.len(),
            total.rows,
            header.dim,
            predictor.model.ways()
        )?;
        if total.rejected > 0 {
            writeln!(out, "{} rows look like none of the classes: rejected", total.rejected)?;
        }
        if resumed > 0 {
            writeln!(out, "{resumed} of them had their labels already")?;
        }
        writeln!(out, "written beside each: {} and so on", shards[0].labels.display())?;
    }
    Ok(out.flush()?)
}

/// Refuses tables of other features before anything is written, as far as that is known without reading them whole.
fn check_widths(args: &PredictArgs, predictor: &Predictor<'_>, shards: &[Shard]) -> Result<(), CliError> {
    for shard in shards {
        let format = TableFormat::of_path(&shard.rows)?;
        if matches!(format, TableFormat::Npy | TableFormat::Safetensors) {
            predictor.check_columns(&shard.rows, &args.table.open(&shard.rows)?)?;
        }
    }
    Ok(())
}

impl Shard {
    fn of(rows: PathBuf, format: ShardFormat) -> Self {
        let extension = match format {
            ShardFormat::Csv => "predicted.csv",
            ShardFormat::Jsonl => "predicted.jsonl",
            ShardFormat::Parquet => "predicted.parquet",
        };
        // The name up to its own extension, whatever other dots are in it.
        let beside = |extension: &str| {
            let mut name = rows.file_stem().unwrap_or_default().to_owned();
            name.push(".");
            name.push(extension);
            rows.with_file_name(name)
        };
        Self { labels: beside(extension), record: beside("predicted.json"), rows }
    }

    /// Labels the shard, unless it has its labels already.
    fn label(
        &self,
        args: &PredictArgs,
        predictor: &Predictor<'_>,
        model: &str,
        threads: &ThreadPool,
    ) -> Result<(Tally, bool), CliError> {
        let origin = self.origin(args, model)?;
        if let Some(tally) = self.done(&origin, predictor.model.ways()) {
            return Ok((tally, true));
        }
        let table = args.table.open(&self.rows)?;
        let labels = threads.install(|| predictor.label(&self.rows, &table))?;
        let format = match args.format_of_shards {
            ShardFormat::Csv => LabelledFormat::Csv,
            ShardFormat::Jsonl => LabelledFormat::Jsonl,
            ShardFormat::Parquet => LabelledFormat::Parquet,
        };
        // A record of other labels must not outlive them.
        match std::fs::remove_file(&self.record) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(CliError::Failed(format!("{}: {error}", self.record.display())));
            }
            _ => {}
        }
        let tally = predictor.write(&self.labels, format, &table, &labels)?;
        let record = Record { origin, tally };
        atomic::write(&self.record, |out| Ok(serde_json::to_writer(out, &record)?))?;
        Ok((record.tally, false))
    }

    fn origin(&self, args: &PredictArgs, model: &str) -> Result<Origin, CliError> {
        let failed = |error| CliError::Usage(format!("{}: {error}", self.rows.display()));
        let metadata = std::fs::metadata(&self.rows).map_err(failed)?;
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(Origin {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: model.to_owned(),
            reject: args.reject,
            bytes: metadata.len(),
            modified: modified.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or_default(),
        })
    }

    /// What was counted, if these labels are there. A record that cannot be read is none.
    fn done(&self, origin: &Origin, ways: usize) -> Option<Tally> {
        let record: Record = serde_json::from_slice(&std::fs::read(&self.record).ok()?).ok()?;
        let whole = record.origin == *origin && record.tally.class_rows.len() == ways;
        (whole && self.labels.is_file()).then_some(record.tally)
    }
}

/// The shards that are named, and those of folders in the order of their names.
fn shards(paths: &[PathBuf], format: ShardFormat) -> Result<Vec<Shard>, CliError> {
    let mut files = Vec::new();
    for path in paths {
        let failed = |error: std::io::Error| CliError::Usage(format!("{}: {error}", path.display()));
        if std::fs::metadata(path).map_err(failed)?.is_dir() {
            let found = tables_in(path).map_err(failed)?;
            if found.is_empty() {
                return Err(CliError::Usage(format!(
                    "{}: there is no table of features in it; labels of a folder of images need -o FILE",
                    path.display()
                )));
            }
            check_numbered(&found)?;
            files.extend(found);
        } else {
            TableFormat::of_path(path)?;
            files.push(path.clone());
        }
    }
    let mut named: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    for file in &files {
        let labels = Shard::of(file.clone(), format).labels;
        if let Some(other) = named.insert(labels.clone(), file.clone()) {
            return Err(CliError::Usage(format!(
                "{} and {}: both would have their labels in {}",
                other.display(),
                file.display(),
                labels.display()
            )));
        }
    }
    Ok(files.into_iter().map(|file| Shard::of(file, format)).collect())
}

/// Tables of features in a folder: not the labels beside them, nor the labels and ids of `.npy` files.
fn tables_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let beside = name.contains(".predicted.")
            || ["labels.npy", "ids.npy"].iter().any(|end| name == *end || name.ends_with(&format!(".{end}")));
        if !name.starts_with('.') && !beside && path.is_file() && TableFormat::of_path(&path).is_ok() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Where names say how many shards there are (`train-00003-of-00008`), all must be there.
fn check_numbered(files: &[PathBuf]) -> Result<(), CliError> {
    let mut sets: BTreeMap<(&str, usize), Vec<usize>> = BTreeMap::new();
    for file in files {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let Some((before, total)) = stem.rsplit_once("-of-") else { continue };
        let Some((name, number)) = before.rsplit_once('-') else { continue };
        if let (Ok(total), Ok(number)) = (total.parse(), number.parse()) {
            sets.entry((name, total)).or_default().push(number);
        }
    }
    for ((name, total), mut numbers) in sets {
        numbers.sort_unstable();
        // Numbers begin with 0 or with 1.
        let first = usize::from(numbers.last() == Some(&total));
        if let Some(missing) = (first..first + total).find(|number| numbers.binary_search(number).is_err()) {
            let folder = files[0].parent().unwrap_or(Path::new("")).display();
            return Err(CliError::Usage(format!(
                "{folder}: shard {missing} of {total} of {name} is missing; {} are there",
                numbers.len()
            )));
        }
    }
    Ok(())
}
