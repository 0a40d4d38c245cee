//! `handful embed`: images or texts into a table of features.

use std::path::{Path, PathBuf};

use clap::Args;
use handful::parts::PartKind;
use handful_data::datasets::{DatasetKind, ImageDataset, Part, open_dataset, open_images};
use handful_data::{FeatureTable, TableFormat, write_half_npz, write_table};

use crate::commands::data::{PartArg, dataset_kind};
use crate::commands::embedding::{Cache, embed};
use crate::commands::network::{LayerArg, NetworkArgs, Unless, describe};
use crate::commands::text::{self, TextArgs};
use crate::error::CliError;

/// Arguments of `handful embed`.
#[derive(Args)]
pub struct EmbedArgs {
    /// A folder of images, a dataset (folder of class folders or archive), image files, a .txt list of files, or a .csv
    /// with a column of texts
    #[arg(required = true)]
    images: Vec<PathBuf>,
    /// Table to write: .npy .npz .safetensors .parquet .csv .tsv
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    layer: LayerArg,
    #[command(flatten)]
    text: TextArgs,
    /// Only this part of the dataset
    #[arg(long, value_enum)]
    part: Option<PartArg>,
    /// Read the path as this dataset
    #[arg(long, value_name = "DATASET", value_parser = dataset_kind)]
    dataset: Option<DatasetKind>,
    /// Report images that cannot be read and go on without them
    #[arg(long)]
    skip_bad: bool,
    /// Folder where features of images are kept, by the content of image and weights
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// Keep the places of the network's last feature map beside the features, for `deepemd`; .npz only
    #[arg(long, conflicts_with_all = ["views", "mirror"])]
    maps: bool,
    /// Keep the features of the image and of its mirror image beside their mean, for `dsn` at one shot; .npz only
    #[arg(long)]
    views: bool,
    /// Write an .npz of 16-bit features, compressed: two fifths of the size, two and a half decimal digits
    #[arg(long)]
    half: bool,
}

impl EmbedArgs {
    /// What is kept beside the features.
    fn parts(&self) -> Option<PartKind> {
        match (self.maps, self.views) {
            (true, _) => Some(PartKind::Maps),
            (_, true) => Some(PartKind::Views),
            _ => None,
        }
    }
}

/// Runs the command.
pub fn run(args: &EmbedArgs) -> Result<(), CliError> {
    check_output(args)?;
    if let [path] = args.images.as_slice()
        && args.dataset.is_none()
        && text::is_wanted(path, &args.text)
    {
        if let Some(parts) = args.parts() {
            return Err(CliError::Usage(format!("--{}: texts have none, only images do", parts.name())));
        }
        let texts = text::open(path, &args.text, &args.network.weights, Cache::of(args.cache.as_deref()))?;
        return finish(args, &texts.table, texts.kept, &texts.encoder);
    }
    let images = source(args)?;
    // Benchmarks are embedded once and would only fill the cache; and what is printed of them must not depend on which
    // networks somebody has fetched.
    let is_benchmark = images.kind() != DatasetKind::Folder || args.part.is_some();
    let unless = if is_benchmark { Unless::Shipped } else { Unless::Best };
    let networks = args.network.open_keeping(args.layer.layer.as_deref(), unless, args.parts())?;
    let cache =
        if is_benchmark && args.cache.is_none() { Cache::None } else { Cache::of(args.cache.as_deref()) };
    let embedding = embed(&images, "images", &networks, cache, args.skip_bad)?;
    finish(args, &embedding.table, embedding.kept, &describe(&networks))
}

/// Writes the table and says what it holds.
fn finish(args: &EmbedArgs, table: &FeatureTable, kept: usize, network: &str) -> Result<(), CliError> {
    write(args, table)?;
    let kept = if kept > 0 { format!(" ({kept} rows kept from an earlier run)") } else { String::new() };
    let parts = table.parts().map_or_else(String::new, |parts| {
        format!(", {} of {} x {} beside each", parts.kind().name(), parts.count(), parts.width())
    });
    eprintln!(
        "{}: {} rows x {} columns{kept}{parts}, {} classes, {network}",
        args.output.display(),
        table.rows(),
        table.dim(),
        table.class_count()
    );
    Ok(())
}

fn write(args: &EmbedArgs, table: &FeatureTable) -> Result<(), CliError> {
    if args.half {
        return Ok(write_half_npz(&args.output, table)?);
    }
    Ok(write_table(&args.output, table)?)
}

/// Finds out before the work, not after it, that its result cannot be written.
fn check_output(args: &EmbedArgs) -> Result<(), CliError> {
    use TableFormat::{Csv, Npy, Npz, Parquet, Safetensors, Tsv};
    let output = &args.output;
    let is_npz = output.extension().is_some_and(|extension| extension == "npz");
    for (option, wanted) in [("half", args.half), ("maps", args.maps), ("views", args.views)] {
        if wanted && !is_npz {
            return Err(CliError::Usage(format!("{}: --{option} writes .npz only", output.display())));
        }
    }
    if !matches!(TableFormat::of_path(output), Ok(Npy | Npz | Safetensors | Parquet | Csv | Tsv)) {
        return Err(CliError::Usage(format!(
            "{}: tables are written as .npy, .npz, .safetensors, .parquet, .csv or .tsv",
            output.display()
        )));
    }
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match std::fs::metadata(folder) {
        Ok(facts) if facts.is_dir() => Ok(()),
        Ok(_) => Err(CliError::Usage(format!("{}: it is not a folder to write to", folder.display()))),
        Err(error) => Err(CliError::Usage(format!("{}: {error}", folder.display()))),
    }
}

/// The images: a dataset where the one path is one, else files and folders.
fn source(args: &EmbedArgs) -> Result<ImageDataset, CliError> {
    let part = args.part.map(Part::from);
    let asked = args.dataset.is_some() || part.is_some();
    match args.images.as_slice() {
        [path] if asked || is_dataset(path) => Ok(open_dataset(path, args.dataset, part)?),
        _ if asked => {
            Err(CliError::Usage("--dataset and --part need one dataset, but several paths are given".into()))
        }
        paths => Ok(open_images(&listed(paths)?)?),
    }
}

/// Whether the path is a dataset of a known kind rather than a folder or file of images.
fn is_dataset(path: &Path) -> bool {
    DatasetKind::detect(path).is_ok_and(|kind| kind != DatasetKind::Folder)
}

/// Files and folders, with lists replaced by what they name.
fn listed(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let is_list = |path: &Path| path.extension().is_some_and(|extension| extension == "txt");
    let mut images = Vec::new();
    for path in paths {
        if is_list(path) { images.extend(read_list(path)?) } else { images.push(path.clone()) }
    }
    Ok(images)
}

/// One path a line, seen from where the program runs.
fn read_list(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliError::Usage(format!("{}: {error}", path.display())))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(PathBuf::from).collect())
}
