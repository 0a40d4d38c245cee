//! `handful predict`: a saved model on rows that it has never seen.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use handful_data::spreadsheet::guarded;
use handful_data::{FeatureTable, atomic};
use handful_label::{LabelError, LabelModel, RowLabel};
use serde_json::json;

use super::label::{model_error, open_image_folder};
use super::network::{LayerArg, NetworkArgs};
use super::table::TableArgs;
use crate::commands::bench::Format;
use crate::error::CliError;

/// Arguments of `handful predict`.
#[derive(Args)]
pub struct PredictArgs {
    /// A model of `handful label --save`
    model: PathBuf,
    /// Feature table (.npy .npz .safetensors .parquet .csv …), or a folder of images
    rows: PathBuf,
    /// Where to write the labels (.csv)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Mark rows that belong to none of the classes as rejected
    #[arg(long)]
    reject: bool,
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
    /// Threads; 0 for one per core. The labels do not depend on it
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Runs the command.
pub fn run(args: &PredictArgs) -> Result<(), CliError> {
    let threads = rayon::ThreadPoolBuilder::new().num_threads(args.threads).build();
    let threads = threads.map_err(|error| CliError::Failed(format!("cannot start threads: {error}")))?;
    threads.install(|| run_in_threads(args))
}

fn run_in_threads(args: &PredictArgs) -> Result<(), CliError> {
    atomic::check_destination(&args.output)?;
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
    let (table, network) = if args.rows.is_dir() {
        let (layer, cache) = (args.layer.layer.as_deref(), args.cache.as_deref());
        let pool = open_image_folder(&args.rows, &args.network, layer, cache, args.skip_bad)?;
        (pool.table, Some(pool.network))
    } else {
        (args.table.open(&args.rows)?, None)
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
    let mut sizes = vec![0usize; model.ways()];
    let mut rejected = 0usize;
    let labels = predict(&model, &table, args)?;
    atomic::write(&args.output, |out| {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(super::label::COLUMNS)?;
        for (row, label) in labels.iter().enumerate() {
            let strange = label.familiarity < limit;
            let name = if strange { "" } else { &model.header().classes[label.class] };
            if strange {
                rejected += 1
            } else {
                sizes[label.class] += 1
            }
            let number = |value: f32| format!("{value:.4}");
            writer.write_record([
                guarded(&table.id(row)).as_ref(),
                &guarded(name),
                &number(label.probability),
                &number(label.credibility),
                if strange { "rejected" } else { "inferred" },
                &number(label.margin),
                &number(label.agreement),
                &number(label.familiarity),
            ])?;
        }
        writer.flush()
    })?;
    let mut out = std::io::stdout().lock();
    if args.format == Format::Json {
        let document = json!({
            "rows": table.rows(), "dim": table.dim(), "classes": model.header().classes, "class_rows": sizes,
            "rejected": rejected, "output": args.output.display().to_string(),
        });
        serde_json::to_writer(&mut out, &document).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        writeln!(out, "{} rows x {}, {} classes", table.rows(), table.dim(), model.ways())?;
        if rejected > 0 {
            writeln!(out, "{rejected} rows look like none of the classes: rejected")?;
        }
        writeln!(out, "written: {}", args.output.display())?;
    }
    Ok(out.flush()?)
}

fn predict(model: &LabelModel, table: &FeatureTable, args: &PredictArgs) -> Result<Vec<RowLabel>, CliError> {
    let path = args.rows.display();
    match model.predict(table) {
        Ok(labelling) => Ok(labelling.rows),
        Err(LabelError::Columns { expected, found }) => Err(CliError::Usage(format!(
            "{path}: {found} columns, but {} was fitted to features of {expected}",
            args.model.display()
        ))),
        Err(LabelError::NotFinite { row, column, value }) => Err(CliError::Usage(format!(
            "{path}: row `{}`, column {column} is {value}; features must be finite",
            table.id(row)
        ))),
        Err(LabelError::Read(error)) => Err(CliError::Failed(error.to_string())),
        Err(other) => Err(CliError::usage(other)),
    }
}
