//! `handful embed`: images into a table of features.

use std::path::{Path, PathBuf};

use clap::Args;
use handful::Matrix;
use handful_data::datasets::{DatasetKind, ImageDataset, Part, open_dataset, open_images};
use handful_data::{ClassIndex, FeatureTable, write_half_npz, write_table};
use handful_vision::backbone::Backbone;
use handful_vision::extract::extract;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::commands::data::{PartArg, dataset_kind};
use crate::commands::network::NetworkArgs;
use crate::error::CliError;

/// Arguments of `handful embed`.
#[derive(Args)]
pub struct EmbedArgs {
    /// A dataset (folder of class folders or archive), folders of images, image files, or a .txt list of files
    #[arg(required = true)]
    images: Vec<PathBuf>,
    /// Table to write: .npy .npz .safetensors .parquet .csv .tsv
    #[arg(short, long = "out", value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    network: NetworkArgs,
    /// Layer of an .onnx file to take the features from, if not the last pooled one
    #[arg(long = "output", value_name = "NAME")]
    layer: Option<String>,
    /// Only this part of the dataset
    #[arg(long, value_enum)]
    part: Option<PartArg>,
    /// Read the path as this dataset
    #[arg(long, value_name = "DATASET", value_parser = dataset_kind)]
    dataset: Option<DatasetKind>,
    /// Report images that cannot be read and go on without them
    #[arg(long)]
    skip_bad: bool,
    /// Also write the mean feature of this dataset's base classes, for centring, beside the output (x.mean.npy)
    #[arg(long, value_name = "DATASET")]
    base: Option<PathBuf>,
    /// Write an .npz of 16-bit features, compressed: two fifths of the size, two and a half decimal digits
    #[arg(long)]
    half: bool,
}

/// An image that was left out, and why.
#[derive(Debug)]
pub struct BadImage {
    /// Its id: the path as given or as found.
    pub id: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Embeds image files, and images in folders however deep; ids are their paths. With `skip_bad` unreadable images are
/// left out and listed, otherwise the first is an error.
pub fn embed_paths(
    paths: &[PathBuf],
    backbone: &Backbone,
    skip_bad: bool,
) -> Result<(FeatureTable, Vec<BadImage>), CliError> {
    embed_dataset(&open_images(paths)?, backbone, skip_bad)
}

/// Embeds the images of a dataset, with their classes.
pub fn embed_dataset(
    dataset: &ImageDataset,
    backbone: &Backbone,
    skip_bad: bool,
) -> Result<(FeatureTable, Vec<BadImage>), CliError> {
    let bar = bar(dataset.len());
    let extraction = extract(backbone, dataset, skip_bad, &|images| bar.inc(images as u64))?;
    bar.finish_and_clear();
    let bad: Vec<BadImage> = (extraction.bad.iter())
        .map(|(image, error)| BadImage { id: dataset.id(*image).to_owned(), reason: error.to_string() })
        .collect();
    if extraction.images.is_empty() {
        return Err(CliError::Usage(match bad.first() {
            Some(first) => {
                format!("none of the {} images can be read; the first: {}", bad.len(), first.reason)
            }
            None => "there are no images".to_owned(),
        }));
    }
    let rows = extraction.images.len();
    let features = Matrix::from_vec(rows, backbone.features(), extraction.features);
    let ids = extraction.images.iter().map(|&image| dataset.id(image).to_owned()).collect();
    let classes = dataset.classes();
    let labels: Vec<Option<&String>> = (extraction.images.iter())
        .map(|&image| classes.class_of_row(image).map(|class| &classes.names()[class]))
        .collect();
    let classes = ClassIndex::from_names_in_order(&labels, classes.names());
    let table = FeatureTable::from_memory("images", features, Some(ids), classes)?;
    table.check_finite()?;
    Ok((table, bad))
}

/// Runs the command.
pub fn run(args: &EmbedArgs) -> Result<(), CliError> {
    if args.half && args.output.extension().is_none_or(|extension| extension != "npz") {
        return Err(CliError::Usage(format!("{}: --half writes .npz only", args.output.display())));
    }
    check_writable(&args.output)?;
    let backbone = args.network.open(args.layer.as_deref())?;
    let (table, bad) = match dataset(args)? {
        Some(dataset) => embed_dataset(&dataset, &backbone, args.skip_bad)?,
        None => embed_paths(&loose_images(&args.images)?, &backbone, args.skip_bad)?,
    };
    for image in &bad {
        eprintln!("handful: skipped {}: {}", image.id, image.reason);
    }
    if args.half {
        write_half_npz(&args.output, &table)?
    } else {
        write_table(&args.output, &table)?
    }
    eprintln!(
        "{}: {} rows x {} columns, {} classes, {} ({})",
        args.output.display(),
        table.rows(),
        table.dim(),
        table.class_count(),
        backbone.description(),
        &backbone.sha256()[..12]
    );
    match &args.base {
        Some(base) => write_base_mean(base, args, &backbone),
        None => Ok(()),
    }
}

/// Finds out before the work, not after it, that its result cannot be written.
fn check_writable(output: &Path) -> Result<(), CliError> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match std::fs::metadata(folder) {
        Ok(facts) if facts.is_dir() => Ok(()),
        Ok(_) => Err(CliError::Usage(format!("{}: it is not a folder to write to", folder.display()))),
        Err(error) => Err(CliError::Usage(format!("{}: {error}", folder.display()))),
    }
}

/// The dataset, where the one path is one.
fn dataset(args: &EmbedArgs) -> Result<Option<ImageDataset>, CliError> {
    let part = args.part.map(Part::from);
    let asked = args.dataset.is_some() || part.is_some();
    match args.images.as_slice() {
        [path] if asked || has_classes(path) => Ok(Some(open_dataset(path, args.dataset, part)?)),
        _ if asked => {
            Err(CliError::Usage("--dataset and --part need one dataset, but several paths are given".into()))
        }
        _ => Ok(None),
    }
}

/// Files and folders, with lists replaced by what they name.
fn loose_images(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let is_list = |path: &Path| path.extension().is_some_and(|extension| extension == "txt");
    let mut images = Vec::new();
    for path in paths {
        if is_list(path) { images.extend(read_list(path)?) } else { images.push(path.clone()) }
    }
    Ok(images)
}

/// Whether the path is a dataset with classes rather than loose images.
fn has_classes(path: &Path) -> bool {
    match DatasetKind::detect(path) {
        Ok(DatasetKind::Folder) => open_dataset(path, Some(DatasetKind::Folder), None).is_ok(),
        Ok(_) => true,
        Err(_) => false,
    }
}

/// One path a line, seen from where the program runs.
fn read_list(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliError::Usage(format!("{}: {error}", path.display())))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(PathBuf::from).collect())
}

/// The mean feature of the base classes, as one row of numbers.
fn write_base_mean(base: &Path, args: &EmbedArgs, backbone: &Backbone) -> Result<(), CliError> {
    let dataset = open_dataset(base, args.dataset, Some(Part::Base))?;
    let (table, _) = embed_dataset(&dataset, backbone, args.skip_bad)?;
    let rows: Vec<usize> = (0..table.rows()).collect();
    let mean = table.gather(&rows).mean_row();
    let table = FeatureTable::from_memory(
        "base mean",
        Matrix::from_vec(1, mean.len(), mean),
        None,
        ClassIndex::unlabeled(1),
    )?;
    let path = args.output.with_extension("mean.npy");
    write_table(&path, &table)?;
    eprintln!("{}: mean of {} base images", path.display(), rows.len());
    Ok(())
}

fn bar(images: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(images as u64), ProgressDrawTarget::stderr());
    // A template that does not parse would only cost the looks.
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} images  {per_sec}  {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
