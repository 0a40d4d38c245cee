//! `handful label`: a handful of labels in, the whole pool labelled out.

mod columns;
mod demonstration;
mod evaluate;
mod explain;
mod images;
mod output;
mod page;
mod report;
mod review;
mod rule;
mod texts;
mod vectors;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use demonstration::demonstrate;
pub use images::{ImagePool, open as open_image_folder};
pub use texts::open as open_texts;

use clap::{Args, ValueEnum};
use handful_data::datasets::Pictures;
use handful_data::labels::{Duplicates, GivenLabels, RowsById};
use handful_data::{ClassVectors, FeatureTable, atomic};
use handful_label::{
    Acceptance, LabelError, LabelModel, LabelParams, Labelling, ModelError, PreparedPool, Promise,
    memory_estimate,
};

use crate::commands::bench::Format;
use crate::commands::network::{LayerArg, NetworkArgs};
use crate::commands::table::TableArgs;
use crate::commands::task_content::TaskContentArgs;
use crate::commands::text::TextArgs;
use crate::error::CliError;
use crate::memory;
use columns::Columns;
use output::OutputFormat;
use rule::RuleArgs;
use vectors::VectorArgs;

/// Share of labelled rows that may look as strange as a rejected row.
const REJECT_MISS: f64 = 0.05;

/// Arguments of `handful label`.
#[derive(Args)]
pub struct LabelArgs {
    /// Feature table (.npy .npz .safetensors .parquet .csv …), a folder of images, or a .csv with a column of texts
    pool: PathBuf,
    /// Labels you know: a file `id,label`, a filled-in review.csv, or Label Studio's JSON or CSV. May be repeated;
    /// later files win
    #[arg(long, value_name = "FILE")]
    labels: Vec<PathBuf>,
    /// What becomes of a row that one file labels twice, differently
    #[arg(long, value_enum, default_value_t = DuplicatesArg::Error, value_name = "CHOICE")]
    duplicates: DuplicatesArg,
    #[command(flatten)]
    table: TableArgs,
    /// Where to write the labelled pool: .csv, .jsonl, .parquet, .json (Label Studio), or a folder for --as links
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Format of the output, where the extension does not say it
    #[arg(long = "as", value_enum, value_name = "FORMAT")]
    output_format: Option<OutputFormat>,
    #[command(flatten)]
    task_content: TaskContentArgs,
    /// Accept only labels whose estimated share of errors stays below this; the others go to the review file
    #[arg(long, value_name = "SHARE")]
    max_error: Option<f64>,
    /// What --max-error promises: `high-probability` (this pool keeps it, in 95 pools of 100) or `expected` (on average)
    #[arg(long, value_name = "KIND", default_value = "high-probability", value_parser = promise)]
    promise: Promise,
    /// Labels of rows that were drawn by chance (`choose --random`): --max-error then rests on them alone
    #[arg(long, value_name = "FILE")]
    audit: Vec<PathBuf>,
    /// Keep what was learnt in this file, for `handful predict`
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// File for the rows to check by hand, most informative first [default: review.csv beside the output]
    #[arg(long, value_name = "FILE")]
    review: Option<PathBuf>,
    /// Also write a page: contact sheet, classes, confusion of labels left out, reliability, map, rows to check
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Mark rows that belong to none of the classes as rejected
    #[arg(long)]
    reject: bool,
    /// Explain the label of this row: its nearest labelled rows, and when it was selected. May be repeated
    #[arg(long, value_name = "ID")]
    explain: Vec<String>,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    layer: LayerArg,
    #[command(flatten)]
    text: TextArgs,
    #[command(flatten)]
    vectors: VectorArgs,
    /// Report images that cannot be read and go on without them
    #[arg(long)]
    skip_bad: bool,
    /// Folder where features of images are kept, by the content of image and weights
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    rule: RuleArgs,
    /// Threads; 0 for one per core. The labels do not depend on it
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    evaluation: evaluate::EvaluateArgs,
}

/// What becomes of a row that one file labels twice, differently.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DuplicatesArg {
    /// Say so and stop
    Error,
    /// The first label counts
    KeepFirst,
    /// None of them counts
    Drop,
}

impl From<DuplicatesArg> for Duplicates {
    fn from(choice: DuplicatesArg) -> Self {
        match choice {
            DuplicatesArg::Error => Self::Error,
            DuplicatesArg::KeepFirst => Self::KeepFirst,
            DuplicatesArg::Drop => Self::Drop,
        }
    }
}

/// A pool that has been labelled: what every output is written from.
pub struct Job {
    pub table: FeatureTable,
    pub given: GivenLabels,
    pub labelling: Labelling,
    pub prepared: PreparedPool,
    pub model: LabelModel,
    /// Rows of no class; all false without --reject.
    pub rejected: Vec<bool>,
    /// Rows whose label is accepted; all true without --max-error.
    pub accepted: Vec<bool>,
    /// What --max-error came to.
    pub acceptance: Option<Acceptance>,
    /// The images, where the pool is a folder of images.
    pub pictures: Option<Pictures>,
    /// The texts, where it is a table of such.
    pub texts: Option<Vec<String>>,
}

/// Runs the command.
pub fn run(args: &LabelArgs) -> Result<(), CliError> {
    if let Some(share) = args.max_error.filter(|share| !(*share > 0.0 && *share < 1.0)) {
        return Err(CliError::Usage(format!("--max-error {share}: give a share above 0 and below 1")));
    }
    let threads = rayon::ThreadPoolBuilder::new().num_threads(args.threads).build();
    let threads = threads.map_err(|error| CliError::Failed(format!("cannot start threads: {error}")))?;
    threads.install(|| run_in_threads(args))
}

fn run_in_threads(args: &LabelArgs) -> Result<(), CliError> {
    if let Some(draws) = args.evaluation.evaluate {
        let table = args.table.open(&args.pool)?;
        table.check_finite()?;
        return evaluate::run(&args.evaluation, draws, &table, &args.rule, args.format);
    }
    let Some(output) = args.output.as_ref().map(Some).or((!args.explain.is_empty()).then_some(None)) else {
        return Err(CliError::Usage("say where to write the labels with -o FILE".into()));
    };
    // Found out before the work rather than after it.
    let format = output.map(|path| OutputFormat::of(path, args.output_format)).transpose()?;
    for file in output
        .into_iter()
        .filter(|_| format != Some(OutputFormat::Links))
        .chain(&args.review)
        .chain(&args.save)
        .chain(&args.report)
    {
        atomic::check_destination(file)?;
    }
    for written in output.into_iter().chain(&args.review).chain(&args.save).chain(&args.report) {
        let mut read = args.labels.iter().chain([&args.pool]);
        if let Some(read) = read.find(|read| same_file(read, written)) {
            return Err(CliError::Usage(format!(
                "{}: it is read by this run and would be overwritten; write to another file",
                read.display()
            )));
        }
    }
    if let Some(review) = args.review.as_ref().filter(|review| review::is_filled_in(review)) {
        return Err(CliError::Usage(format!(
            "{}: somebody has written in it; give it with --labels, and the next review another name",
            review.display()
        )));
    }
    let job = job(args)?;
    let rows_to_explain =
        args.explain.iter().map(|id| row_of_id(&job.table, id)).collect::<Result<Vec<_>, _>>()?;
    let mut written = report::Written::default();
    if let (Some(path), Some(format)) = (output, format) {
        written.changes = report::changes(path, format, &job)?;
        if let Some(review) = review_path(args, path)? {
            written.review_rows = Some(review::write(&review, &job)?);
            written.review = Some(review);
        }
        let content = args.task_content.of(job.pictures.as_ref(), job.texts.as_deref())?;
        output::write(path, format, &Columns::of(&job), &job, &content)?;
        written.output = Some(path.clone());
    }
    if let Some(path) = &args.save {
        job.model.save(path).map_err(model_error)?;
        written.model = Some(path.clone());
    }
    if let Some(path) = &args.report {
        page::write(path, &args.pool, &job, args.max_error)?;
        written.report = Some(path.clone());
    }
    report::print(args.format, &job, &written, args.max_error)?;
    rows_to_explain.into_iter().try_for_each(|row| explain::print(&job, row))
}

/// Where the review goes: as asked, or with --max-error beside the output, under the first of review.csv,
/// review-2.csv, … that holds nothing somebody filled in.
fn review_path(args: &LabelArgs, output: &Path) -> Result<Option<PathBuf>, CliError> {
    if let Some(review) = &args.review {
        if same_file(review, output) || review == output {
            return Err(CliError::Usage("the review file and the output are the same file".into()));
        }
        return Ok(Some(review.clone()));
    }
    let numbered = |number: usize| match number {
        1 => output.with_file_name("review.csv"),
        number => output.with_file_name(format!("review-{number}.csv")),
    };
    let free = |path: &PathBuf| {
        path != output && !args.labels.iter().any(|read| same_file(read, path)) && !review::is_filled_in(path)
    };
    Ok(args.max_error.and_then(|_| (1..).map(numbered).find(free)))
}

/// Whether two paths are one existing file.
fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn job(args: &LabelArgs) -> Result<Job, CliError> {
    let (mut pictures, mut texts, mut network, mut skipped) = (None, None, None, Vec::new());
    let (table, from_folders) = if args.pool.is_dir() {
        let (layer, cache) = (args.layer.layer.as_deref(), args.cache.as_deref());
        let pool = images::open(&args.pool, &args.network, layer, cache, args.skip_bad)?;
        (pictures, network, skipped) = (Some(pool.pictures), Some(pool.network), pool.skipped);
        (pool.table, pool.labels)
    } else if let Some(pool) = open_texts(&args.pool, &args.text, &args.network, args.cache.as_deref())? {
        (network, texts) = (Some(pool.network), Some(pool.texts));
        (pool.table, pool.labels)
    } else {
        (args.table.open(&args.pool)?, Vec::new())
    };
    let vectors = args.vectors.read(&table)?;
    let given = given_labels(args, &table, from_folders, &skipped, vectors.as_ref())?;
    check_something_to_label(args, &table, &given)?;
    let needed = memory_estimate(table.rows(), table.dim(), given.classes.len(), &LabelParams::default());
    memory::check(needed, &format!("labelling {} rows with {} classes", table.rows(), given.classes.len()))?;
    let pool = args.vectors.beside(Arc::new(table.clone()), vectors.as_ref(), &given.classes)?;
    let prepared = args.rule.prepare(pool, args.reject)?.map_err(|error| worded(error, &table, &given))?;
    let audit = audit_rows(args, &table)?;
    let fit = prepared
        .fit_audited(&given.labels, given.classes.len(), &audit)
        .map_err(|error| worded(error, &table, &given))?;
    let labelling = fit.labelling;
    let model = fit.model.with_classes(&given.classes).with_network(network);
    let rejected = if args.reject {
        labelling.reject(REJECT_MISS).ok_or_else(|| {
            CliError::Usage(format!(
                "--reject needs at least {} labels of classes with two or more, to know what a familiar row looks \
                 like; there are {}",
                handful_label::calibration::ENOUGH,
                labelling.left_out.len()
            ))
        })?
    } else {
        vec![false; table.rows()]
    };
    let may: Vec<bool> = rejected.iter().map(|rejected| !rejected).collect();
    let acceptance = args.max_error.map(|max_error| labelling.accept(max_error, args.promise, &may));
    let accepted = acceptance.as_ref().map_or(may, |acceptance| acceptance.accepted.clone());
    Ok(Job { table, given, labelling, prepared, model, rejected, accepted, acceptance, pictures, texts })
}

/// Refuses a pool whose rows all have labels, unless a model is wanted: that can label other rows.
fn check_something_to_label(
    args: &LabelArgs,
    table: &FeatureTable,
    given: &GivenLabels,
) -> Result<(), CliError> {
    let labelled: HashSet<usize> = given.labels.iter().map(|&(row, _)| row).collect();
    if labelled.len() < table.rows() || args.save.is_some() {
        return Ok(());
    }
    Err(CliError::Usage(format!(
        "{}: every row has a label already, so nothing is left to label; for a model that labels other rows add --save FILE",
        table.path().display()
    )))
}

/// The rows of the audit files. Rows that `choose` picked for coverage are no sample of the pool, and are not taken for one.
fn audit_rows(args: &LabelArgs, table: &FeatureTable) -> Result<Vec<usize>, CliError> {
    if args.audit.is_empty() {
        return Ok(Vec::new());
    }
    let given = GivenLabels::read(table, Vec::new(), &args.audit, args.duplicates.into())?;
    let mut rows: Vec<usize> = given.labels.iter().map(|&(row, _)| row).collect();
    for path in &args.audit {
        let chosen = covering_ids(path);
        rows.retain(|&row| !chosen.contains(&table.id(row)));
    }
    if rows.len() < handful_label::calibration::ENOUGH {
        return Err(CliError::Usage(format!(
            "--audit: {} labelled rows drawn by chance are too few to promise anything; label at least {} \
             (handful choose --random {})",
            rows.len(),
            handful_label::calibration::ENOUGH,
            10 * handful_label::calibration::ENOUGH
        )));
    }
    Ok(rows)
}

/// The ids that a file of `choose` marks as picked for coverage.
fn covering_ids(path: &Path) -> HashSet<String> {
    let Ok(mut reader) = csv::ReaderBuilder::new().flexible(true).from_path(path) else {
        return HashSet::new();
    };
    let reason = reader.headers().ok().and_then(|header| header.iter().position(|name| name == "reason"));
    let records = reader.records().filter_map(Result::ok);
    let covering = |record: csv::StringRecord| {
        (record.get(reason?)? == "coverage").then(|| record.get(0).unwrap_or_default().to_owned())
    };
    records.filter_map(covering).collect()
}

fn promise(text: &str) -> Result<Promise, String> {
    match text {
        "high-probability" => Ok(Promise::HighProbability),
        "expected" => Ok(Promise::Expected),
        _ => Err("write high-probability or expected".into()),
    }
}

/// A model that cannot be read or does not fit is the input's fault; one that cannot be written is the machine's.
pub fn model_error(error: ModelError) -> CliError {
    match error {
        ModelError::Write(error) => error.into(),
        other => CliError::usage(other),
    }
}

fn given_labels(
    args: &LabelArgs,
    table: &FeatureTable,
    from_folders: Vec<(usize, String)>,
    skipped: &[String],
    vectors: Option<&ClassVectors>,
) -> Result<GivenLabels, CliError> {
    if args.labels.is_empty() && args.audit.is_empty() && from_folders.is_empty() && vectors.is_none() {
        return Err(CliError::Usage(
            "there is no label to learn from: give --labels FILE with lines `id,label`".into(),
        ));
    }
    let files: Vec<PathBuf> = args.labels.iter().chain(&args.audit).cloned().collect();
    let duplicates = args.duplicates.into();
    let given = GivenLabels::read_skipping(table, from_folders, &files, duplicates, skipped)?;
    let given = given.with_classes(vectors.iter().flat_map(|vectors| vectors.names()));
    if given.classes.is_empty() {
        return Err(CliError::Usage("the label files label no row".into()));
    }
    given.notes.iter().for_each(crate::terminal::note);
    Ok(given)
}

fn row_of_id(table: &FeatureTable, id: &str) -> Result<usize, CliError> {
    let rows = RowsById::of(table);
    rows.find(id).ok_or_else(|| CliError::Usage(rows.unknown(id)))
}

/// The engine speaks of row and class numbers; people know ids and names.
fn worded(error: LabelError, table: &FeatureTable, given: &GivenLabels) -> CliError {
    let path = table.path().display();
    match error {
        LabelError::TooFewClasses { .. } => {
            let only = given.classes.first().map_or(String::new(), |name| format!(" (`{name}`)"));
            CliError::Usage(format!(
                "the labels name only one class{only}; give labels of at least two classes"
            ))
        }
        LabelError::Contradiction { first, second } => CliError::Usage(format!(
            "{path}: rows `{}` (labelled {}) and `{}` (labelled {}) have the same features, so nothing can tell their \
             classes apart; remove one of the two labels",
            table.id(first),
            given.name_of_row(first).unwrap_or_default(),
            table.id(second),
            given.name_of_row(second).unwrap_or_default()
        )),
        LabelError::NotFinite { row, column, value } => CliError::Usage(format!(
            "{path}: row `{}`, column {column} is {value}; features must be finite",
            table.id(row)
        )),
        LabelError::Read(error) => CliError::Failed(error.to_string()),
        other => CliError::usage(other),
    }
}
