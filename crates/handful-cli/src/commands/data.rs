//! `handful data`: look at a feature table or dataset, convert a table, list a part of a dataset.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use handful_data::datasets::{DatasetKind, ImageDataset, Part, open_dataset};
use handful_data::spreadsheet::guarded;
use handful_data::{FeatureTable, TableFormat, atomic, write_table};
use serde_json::{Value, json};

use crate::commands::bench::Format;
use crate::commands::table::TableArgs;
use crate::error::CliError;
use crate::terminal::Printable;

/// Arguments of `handful data`.
#[derive(Args)]
pub struct DataArgs {
    #[command(subcommand)]
    command: DataCommand,
}

#[derive(Subcommand)]
enum DataCommand {
    /// Show what a feature table or image dataset holds, and what is suspicious about it
    Inspect(InspectArgs),
    /// Write a feature table in another format, told by the extension
    Convert(ConvertArgs),
    /// List the images of a dataset, or of one of its parts, as `id,label` lines
    Split(SplitArgs),
}

#[derive(Args)]
struct InspectArgs {
    /// Feature table (.npy .npz .safetensors .parquet .csv .tsv .plk .pt …) or image dataset (folder or archive)
    path: PathBuf,
    /// labels.csv (`id,label`) to use instead of the table's own classes
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    #[command(flatten)]
    table: TableArgs,
    /// Only what the header says: shape and classes, at once for a table of any size
    #[arg(long)]
    quick: bool,
    /// Read the path as this image dataset
    #[arg(long, value_name = "DATASET", value_parser = dataset_kind)]
    dataset: Option<DatasetKind>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Args)]
struct ConvertArgs {
    /// Table to read
    input: PathBuf,
    /// Table to write: .npy .npz .safetensors .parquet .csv .tsv
    output: PathBuf,
    /// labels.csv (`id,label`) to use instead of the table's own classes
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    #[command(flatten)]
    table: TableArgs,
}

#[derive(Args)]
struct SplitArgs {
    /// Folder or archive of the dataset
    path: PathBuf,
    /// Which part; all of the dataset without this
    #[arg(long, value_enum)]
    part: Option<PartArg>,
    /// Read the path as this dataset: cifar-fs, fc100, mini-imagenet, tiered-imagenet, cub, omniglot, folder, lists
    #[arg(long, value_name = "DATASET", value_parser = dataset_kind)]
    dataset: Option<DatasetKind>,
    /// File to write instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A part of a dataset, on the command line.
#[derive(Clone, Copy, ValueEnum)]
pub enum PartArg {
    /// Classes to pretrain on
    #[value(alias = "train")]
    Base,
    /// Classes to tune on
    #[value(alias = "val")]
    Validation,
    /// Classes to report on
    #[value(alias = "test")]
    Novel,
}

impl From<PartArg> for Part {
    fn from(part: PartArg) -> Self {
        match part {
            PartArg::Base => Self::Base,
            PartArg::Validation => Self::Validation,
            PartArg::Novel => Self::Novel,
        }
    }
}

/// Reads the name of a dataset.
pub fn dataset_kind(text: &str) -> Result<DatasetKind, String> {
    text.parse().map_err(|error: handful_data::DataError| error.to_string())
}

/// Runs the command.
pub fn run(args: &DataArgs) -> Result<(), CliError> {
    match &args.command {
        DataCommand::Inspect(args) => inspect(args),
        DataCommand::Convert(args) => convert(args),
        DataCommand::Split(args) => split(args),
    }
}

fn inspect(args: &InspectArgs) -> Result<(), CliError> {
    let is_table = args.dataset.is_none() && args.path.is_file() && TableFormat::of_path(&args.path).is_ok();
    let document = if is_table {
        let table = args.table.open_with(&args.path, args.labels.as_ref())?;
        describe_table(&table, args.quick)?
    } else if args.dataset.is_none() && !args.path.is_dir() && !is_dataset(&args.path) {
        // The error names the formats that are known, or says that there is no such file.
        std::fs::metadata(&args.path)
            .map_err(|error| CliError::Usage(format!("{}: {error}", args.path.display())))?;
        TableFormat::of_path(&args.path)?;
        return Ok(());
    } else {
        describe_dataset(&open_dataset(&args.path, args.dataset, None)?, &args.path)
    };
    let mut out = std::io::stdout().lock();
    match args.format {
        Format::Json => writeln!(out, "{document}")?,
        Format::Table => print_document(&mut Printable::new(&mut out), &document)?,
    }
    Ok(out.flush()?)
}

fn is_dataset(path: &Path) -> bool {
    DatasetKind::detect(path).is_ok()
}

/// Facts about a table, in the order they are printed.
fn describe_table(table: &FeatureTable, quick: bool) -> Result<Value, CliError> {
    let mut document = json!({
        "path": table.path().display().to_string(),
        "kind": table.format(),
        "rows": table.rows(),
        "dim": table.dim(),
        "classes": table.class_names().iter().zip(table.rows_of_class())
            .map(|(name, rows)| json!({"name": name, "rows": rows.len()}))
            .collect::<Vec<_>>(),
        "unlabeled_rows": table.rows() - table.rows_of_class().iter().map(Vec::len).sum::<usize>(),
        "ids": table.ids().is_some(),
    });
    if let Some(parts) = table.parts() {
        document["parts"] =
            json!({"kind": parts.kind().name(), "vectors": parts.count(), "numbers": parts.width()});
    }
    if quick {
        return Ok(document);
    }
    let summary = table.summarize()?;
    let first_rows: Vec<Value> = (0..table.rows().min(3))
        .map(|row| {
            let class = table.class_of_row(row).map(|class| table.class_names()[class].clone());
            let features: Vec<f32> = table.gather(&[row]).row(0).iter().take(6).copied().collect();
            json!({"id": table.id(row), "class": class, "features": features})
        })
        .collect();
    document["norms"] =
        json!({"least": summary.least_norm, "mean": summary.mean_norm, "greatest": summary.greatest_norm});
    document["non_finite"] = json!({"count": summary.non_finite, "first": summary.first_non_finite});
    document["negative"] = json!(summary.negative);
    document["zero_rows"] = json!(summary.zero_rows);
    document["duplicate_rows"] = json!({"count": summary.duplicate_rows, "first": summary.first_duplicate});
    document["first_rows"] = first_rows.into();
    Ok(document)
}

fn describe_dataset(dataset: &ImageDataset, path: &Path) -> Value {
    let classes = dataset.classes();
    json!({
        "path": path.display().to_string(),
        "kind": format!("image dataset ({})", dataset.kind()),
        "rows": dataset.len(),
        "classes": classes.names().iter().zip(classes.rows_of_class())
            .map(|(name, rows)| json!({"name": name, "rows": rows.len()}))
            .collect::<Vec<_>>(),
    })
}

/// Classes beyond this many are counted instead of listed.
const LISTED_CLASSES: usize = 30;

fn print_document(out: &mut impl Write, document: &Value) -> std::io::Result<()> {
    let text = |key: &str| document[key].as_str().unwrap_or_default().to_owned();
    writeln!(out, "{}: {}", text("path"), text("kind"))?;
    let classes = document["classes"].as_array().map(Vec::as_slice).unwrap_or_default();
    match document["dim"].as_u64() {
        Some(dim) => writeln!(out, "{} rows x {dim} columns, {} classes", document["rows"], classes.len())?,
        None => writeln!(out, "{} images, {} classes", document["rows"], classes.len())?,
    }
    if let Some(parts) = document.get("parts") {
        let kind = parts["kind"].as_str().unwrap_or_default();
        writeln!(
            out,
            "{kind}: {} vectors of {} numbers beside each row",
            parts["vectors"], parts["numbers"]
        )?;
    }
    if document["unlabeled_rows"].as_u64().is_some_and(|rows| rows > 0) {
        writeln!(out, "{} rows without a class", document["unlabeled_rows"])?;
    }
    let longest =
        classes.iter().filter_map(|class| class["name"].as_str()).map(|name| name.chars().count()).max();
    for class in classes.iter().take(LISTED_CLASSES) {
        let name = class["name"].as_str().unwrap_or_default();
        writeln!(out, "  {name:width$}  {}", class["rows"], width = longest.unwrap_or(0))?;
    }
    if classes.len() > LISTED_CLASSES {
        writeln!(out, "  … and {} more", classes.len() - LISTED_CLASSES)?;
    }
    if document.get("norms").is_none() {
        return Ok(());
    }
    let norm = |key: &str| document["norms"][key].as_f64().unwrap_or(f64::NAN);
    writeln!(out, "norms {:.4} to {:.4}, mean {:.4}", norm("least"), norm("greatest"), norm("mean"))?;
    let place = |value: &Value, words: [&str; 2]| match value.as_array().map(Vec::as_slice) {
        Some([first, second]) => format!(" (first: {} {first}, {} {second})", words[0], words[1]),
        _ => String::new(),
    };
    let bad = &document["non_finite"];
    writeln!(out, "{} values not finite{}", bad["count"], place(&bad["first"], ["row", "column"]))?;
    writeln!(out, "{} values below zero", document["negative"])?;
    let twins = &document["duplicate_rows"];
    writeln!(out, "{} duplicate rows{}", twins["count"], place(&twins["first"], ["row", "row"]))?;
    writeln!(out, "{} rows of zeros", document["zero_rows"])?;
    for row in document["first_rows"].as_array().into_iter().flatten() {
        let class = row["class"].as_str().unwrap_or("-");
        let features: Vec<String> =
            row["features"].as_array().into_iter().flatten().map(Value::to_string).collect();
        writeln!(out, "  {} {class}: {} …", row["id"].as_str().unwrap_or_default(), features.join(" "))?;
    }
    Ok(())
}

fn convert(args: &ConvertArgs) -> Result<(), CliError> {
    let table = args.table.open_with(&args.input, args.labels.as_ref())?;
    table.check_finite()?;
    write_table(&args.output, &table)?;
    let keeps = matches!(TableFormat::of_path(&args.output), Ok(TableFormat::Npz));
    if let Some(parts) = table.parts().filter(|_| !keeps) {
        eprintln!("handful: the {} are left out, for which only .npz has room", parts.kind().name());
    }
    eprintln!(
        "{}: {} rows x {} columns, {} classes",
        args.output.display(),
        table.rows(),
        table.dim(),
        table.class_count()
    );
    Ok(())
}

fn split(args: &SplitArgs) -> Result<(), CliError> {
    let dataset = open_dataset(&args.path, args.dataset, args.part.map(Part::from))?;
    let classes = dataset.classes();
    let write = |out: &mut dyn Write| -> std::io::Result<()> {
        let mut lines = csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(out);
        lines.write_record(["id", "label"])?;
        for image in 0..dataset.len() {
            let label = classes.class_of_row(image).map_or("", |class| &classes.names()[class]);
            lines.write_record([guarded(dataset.id(image)).as_ref(), guarded(label).as_ref()])?;
        }
        lines.flush()
    };
    match &args.output {
        Some(path) => atomic::write(path, write)?,
        None => write(&mut std::io::stdout().lock())?,
    }
    eprintln!("{}: {} images of {} classes", dataset.kind(), dataset.len(), classes.len());
    Ok(())
}
