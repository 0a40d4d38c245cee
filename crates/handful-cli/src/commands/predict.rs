//! `handful predict`: a saved model on rows that it has never seen, in one table or in many.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use handful_data::labelled::{LabelledFormat, Line, Source, TaskContent, write_labelled};
use handful_data::{FeatureTable, atomic};
use handful_label::{LabelError, LabelModel, RowLabel};
use serde_json::json;

use super::label::{model_error, open_image_folder};
use super::network::{LayerArg, NetworkArgs};
use super::shards;
use super::table::TableArgs;
use crate::commands::bench::Format;
use crate::error::CliError;

/// Arguments of `handful predict`.
#[derive(Args)]
pub struct PredictArgs {
    /// A model of `handful label --save`
    pub model: PathBuf,
    /// With -o, one feature table (.npy .npz .safetensors .parquet .csv …) or a folder of images. Without, shards: tables,
    /// or folders of them, each of which gets its labels beside it as NAME.predicted.csv; those that have them are left out
    #[arg(required = true)]
    pub rows: Vec<PathBuf>,
    /// Where to write the labels (.csv, .jsonl or .parquet)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Format of the labels beside shards
    #[arg(long = "as", value_enum, default_value_t = ShardFormat::Csv, value_name = "FORMAT", conflicts_with = "output")]
    pub format_of_shards: ShardFormat,
    /// Mark rows that belong to none of the classes as rejected
    #[arg(long)]
    pub reject: bool,
    #[command(flatten)]
    pub table: TableArgs,
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
    /// Threads; 0 for one per core. The labels do not depend on it
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Formats of the labels beside a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ShardFormat {
    /// Comma-separated values
    Csv,
    /// One JSON object a line
    Jsonl,
    /// Parquet
    Parquet,
}

/// How many rows went where.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    pub rows: usize,
    pub class_rows: Vec<usize>,
    pub rejected: usize,
}

impl Tally {
    pub fn of(ways: usize) -> Self {
        Self { rows: 0, class_rows: vec![0; ways], rejected: 0 }
    }

    pub fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.rejected += other.rejected;
        self.class_rows.iter_mut().zip(&other.class_rows).for_each(|(all, more)| *all += more);
    }
}

/// A model as the command uses it.
pub struct Predictor<'a> {
    pub model: LabelModel,
    path: &'a Path,
    limit: f32,
}

impl<'a> Predictor<'a> {
    fn load(args: &'a PredictArgs) -> Result<Self, CliError> {
        let model = LabelModel::load(&args.model).map_err(model_error)?;
        let limit = match (args.reject, model.familiarity_limit()) {
            (false, _) => f32::NEG_INFINITY,
            (true, Some(limit)) => limit,
            (true, None) => {
                return Err(CliError::Usage(format!(
                    "--reject: {} was fitted to too few labels to know what a familiar row looks like",
                    args.model.display()
                )));
            }
        };
        Ok(Self { model, path: &args.model, limit })
    }

    /// Refuses a table of other features.
    pub fn check_columns(&self, path: &Path, table: &FeatureTable) -> Result<(), CliError> {
        let (found, expected) = (table.dim(), self.model.header().dim);
        if found == expected {
            return Ok(());
        }
        Err(CliError::Usage(format!(
            "{}: {found} columns, but {} was fitted to features of {expected}",
            path.display(),
            self.path.display()
        )))
    }

    /// Labels the rows of a table.
    pub fn label(&self, path: &Path, table: &FeatureTable) -> Result<Vec<RowLabel>, CliError> {
        self.check_columns(path, table)?;
        match self.model.predict(table) {
            Ok(labelling) => Ok(labelling.rows),
            Err(LabelError::NotFinite { row, column, value }) => Err(CliError::Usage(format!(
                "{}: row `{}`, column {column} is {value}; features must be finite",
                path.display(),
                table.id(row)
            ))),
            Err(LabelError::Read(error)) => Err(CliError::Failed(error.to_string())),
            Err(other) => Err(CliError::usage(other)),
        }
    }

    /// Writes labels.
    pub fn write(
        &self,
        output: &Path,
        format: LabelledFormat,
        table: &FeatureTable,
        labels: &[RowLabel],
    ) -> Result<Tally, CliError> {
        let mut tally = Tally { rows: labels.len(), ..Tally::of(self.model.ways()) };
        let lines = labels.iter().enumerate().map(|(row, label)| {
            let strange = label.familiarity < self.limit;
            if strange {
                tally.rejected += 1;
            } else {
                tally.class_rows[label.class] += 1;
            }
            Line {
                row,
                id: table.id(row),
                label: if strange { "" } else { &self.model.header().classes[label.class] },
                probability: label.probability,
                credibility: label.credibility,
                source: if strange { Source::Rejected } else { Source::Inferred },
                margin: label.margin,
                agreement: label.agreement,
                familiarity: label.familiarity,
            }
        });
        write_labelled(output, format, lines, &TaskContent::Ids)?;
        Ok(tally)
    }
}

/// Runs the command.
pub fn run(args: &PredictArgs) -> Result<(), CliError> {
    let threads = rayon::ThreadPoolBuilder::new().num_threads(args.threads).build();
    let threads = threads.map_err(|error| CliError::Failed(format!("cannot start threads: {error}")))?;
    match (&args.output, args.rows.as_slice()) {
        (Some(output), [rows]) => threads.install(|| one(args, rows, output)),
        (Some(_), _) => Err(CliError::Usage(
            "-o is for one table; without it, each of several tables gets its labels beside it".into(),
        )),
        (None, rows) => shards::run(args, &Predictor::load(args)?, rows, &threads),
    }
}

fn one(args: &PredictArgs, rows: &Path, output: &Path) -> Result<(), CliError> {
    atomic::check_destination(output)?;
    let predictor = Predictor::load(args)?;
    let model = &predictor.model;
    let (table, network) = if rows.is_dir() {
        let (layer, cache) = (args.layer.layer.as_deref(), args.cache.as_deref());
        let pool = open_image_folder(rows, &args.network, layer, cache, args.skip_bad)?;
        (pool.table, Some(pool.network))
    } else {
        (args.table.open(rows)?, None)
    };
    if let (Some(wanted), Some(found)) = (&model.header().network, &network)
        && wanted != found
    {
        return Err(CliError::Usage(format!(
            "{}: fitted to features of {wanted}, and these images were embedded by {found}; name the same network with \
             --weights",
            args.model.display()
        )));
    }
    let labels = predictor.label(rows, &table)?;
    let format = match output.extension().and_then(|extension| extension.to_str()) {
        Some("jsonl") => LabelledFormat::Jsonl,
        Some("parquet") => LabelledFormat::Parquet,
        _ => LabelledFormat::Csv,
    };
    let tally = predictor.write(output, format, &table, &labels)?;
    let mut out = std::io::stdout().lock();
    if args.format == Format::Json {
        let document = json!({
            "rows": table.rows(), "dim": table.dim(), "classes": model.header().classes,
            "class_rows": tally.class_rows, "rejected": tally.rejected, "output": output.display().to_string(),
        });
        serde_json::to_writer(&mut out, &document).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        writeln!(out, "{} rows x {}, {} classes", table.rows(), table.dim(), model.ways())?;
        if tally.rejected > 0 {
            writeln!(out, "{} rows look like none of the classes: rejected", tally.rejected)?;
        }
        writeln!(out, "written: {}", output.display())?;
    }
    Ok(out.flush()?)
}
