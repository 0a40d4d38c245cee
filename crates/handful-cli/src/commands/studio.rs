//! `handful studio`: label a pool in the browser.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use clap::Args;
use handful_data::datasets::{DatasetKind, Pictures, open_dataset, open_images};
use handful_data::labels::{Duplicates, GivenLabels};
use handful_data::{FeatureTable, shipped};
use handful_label::Session;
use handful_label::session::Event;
use handful_studio::{Server, Serving, Studio, StudioError, StudioPool};

use super::label::{open_image_folder, open_texts};
use super::listen::ListenArgs;
use super::network::{LayerArg, NetworkArgs};
use super::table::TableArgs;
use super::text::TextArgs;
use crate::error::CliError;
use crate::progress;

/// What a pool is opened with, here and in `handful serve`.
#[derive(Args, Clone, Debug)]
pub struct PoolArgs {
    /// Folder of images, feature table (.npy .npz .safetensors .parquet .csv …), or texts (.csv with a column of them, .txt
    /// with one a line); without it the features that come with the program
    pub pool: Option<PathBuf>,
    /// Folder with the images of a feature table's rows: their paths seen from there are the ids. Without it they are
    /// looked for in a column of images, and beside the table
    #[arg(long, value_name = "FOLDER")]
    pub images: Option<PathBuf>,
    /// Labels to begin with: a file `id,label`, or Label Studio's JSON or CSV. May be repeated; later files win
    #[arg(long, value_name = "FILE")]
    pub labels: Vec<PathBuf>,
    /// File that keeps every answer [default: POOL.session.jsonl, beside the pool]
    #[arg(long, value_name = "FILE")]
    pub session: Option<PathBuf>,
    /// Share of errors at which labels count as accepted
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    pub max_error: f64,
    #[command(flatten)]
    pub table: TableArgs,
    #[command(flatten)]
    pub network: NetworkArgs,
    #[command(flatten)]
    pub layer: LayerArg,
    #[command(flatten)]
    pub text: TextArgs,
    /// Report images that cannot be read and go on without them
    #[arg(long)]
    pub skip_bad: bool,
    /// Folder where features of images are kept, by the content of image and weights
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
}

/// Arguments of `handful studio`.
#[derive(Args)]
pub struct StudioArgs {
    #[command(flatten)]
    pool: PoolArgs,
    #[command(flatten)]
    listen: ListenArgs,
    /// Port; 0 for a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The folder that Label Studio serves local files from: exported tasks name images below it; without it they have small
    /// copies of the images in them
    #[arg(long, value_name = "FOLDER")]
    image_root: Option<PathBuf>,
    /// Print the address and open no browser
    #[arg(long)]
    no_open: bool,
}

/// Runs the command.
pub fn run(args: &StudioArgs) -> Result<(), CliError> {
    let listen = args.listen.listen(args.port)?;
    if let Some(root) = args.image_root.as_ref().filter(|root| !root.is_dir()) {
        return Err(CliError::Usage(format!("--image-root {}: it is not a folder", root.display())));
    }
    let studio = args.pool.open(args.image_root.clone())?;
    let server = Server::bind(studio, &listen, Serving::Page).map_err(studio_error)?;
    let address = server.address();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{address}")?;
    out.flush()?;
    drop(out);
    if !args.no_open && !open_browser(&address) {
        eprintln!("handful: no browser was found; open the address above");
    }
    eprintln!("handful: every answer is kept as it is given; end with Ctrl-C");
    server.run().map_err(studio_error)
}

impl PoolArgs {
    /// Opens pool and session, and starts to learn.
    pub fn open(&self, image_root: Option<PathBuf>) -> Result<Arc<Studio>, CliError> {
        if !(self.max_error > 0.0 && self.max_error < 1.0) {
            return Err(CliError::Usage(format!(
                "--max-error {}: give a share above 0 and below 1",
                self.max_error
            )));
        }
        let path = self.session_path()?;
        let mut session = Session::open(&path).map_err(|error| studio_error(error.into()))?;
        if session.cut() > 0 {
            eprintln!("handful: the last answer in {} was not finished and is left out", path.display());
        }
        let rows = self.rows()?;
        let table = rows.table.clone();
        let (pool, labels) = rows.prepare(image_root)?;
        if session.events() == 0 && !(self.labels.is_empty() && labels.is_empty()) {
            let given = GivenLabels::read(&table, labels, &self.labels, Duplicates::Error)?;
            begin(&mut session, &given, &pool).map_err(|error| studio_error(error.into()))?;
        } else if !self.labels.is_empty() {
            eprintln!(
                "handful: {} has answers already and goes on with those; --labels is for the beginning",
                path.display()
            );
        }
        eprintln!("{} rows; answers are kept in {}", pool.rows(), path.display());
        Studio::new(pool, session, self.max_error).map_err(studio_error)
    }

    fn session_path(&self) -> Result<PathBuf, CliError> {
        if let Some(path) = &self.session {
            return Ok(path.clone());
        }
        let Some(pool) = &self.pool else {
            return Ok(std::env::temp_dir().join("handful-demo.session.jsonl"));
        };
        let whole =
            pool.canonicalize().map_err(|error| CliError::Usage(format!("{}: {error}", pool.display())))?;
        let Some(name) = whole.file_name() else {
            return Err(CliError::Usage("say where to keep the answers with --session FILE".into()));
        };
        let mut name = name.to_owned();
        name.push(".session.jsonl");
        Ok(whole.with_file_name(name))
    }

    /// The rows of the pool, whatever it is.
    fn rows(&self) -> Result<Rows, CliError> {
        let Some(path) = &self.pool else { return Ok(Rows::new("demo".to_owned(), shipped::features()?)) };
        let whole = path.canonicalize().ok();
        let name = whole.as_deref().and_then(Path::file_name).unwrap_or(path.as_os_str());
        let name = name.to_string_lossy().into_owned();
        if path.is_dir() {
            let (layer, cache) = (self.layer.layer.as_deref(), self.cache.as_deref());
            let pool = open_image_folder(path, &self.network, layer, cache, self.skip_bad)?;
            let (network, pictures) = (Some(pool.network), Some(pool.pictures));
            return Ok(Rows { network, pictures, labels: pool.labels, ..Rows::new(name, pool.table) });
        }
        if let Some(pool) = open_texts(path, &self.text, &self.network, self.cache.as_deref())? {
            let (network, texts) = (Some(pool.network), Some(pool.texts));
            return Ok(Rows { network, texts, labels: pool.labels, ..Rows::new(name, pool.table) });
        }
        let table = self.table.open(path)?;
        table.check_finite()?;
        let pictures = self.pictures(path, &table)?;
        Ok(Rows { pictures, ..Rows::new(name, table) })
    }

    /// The images of a table's rows: in the folder that was named, in the table itself, or beside it.
    fn pictures(&self, path: &Path, table: &FeatureTable) -> Result<Option<Pictures>, CliError> {
        if let Some(folder) = &self.images {
            let pictures = Pictures::by_id(table, open_images(std::slice::from_ref(folder))?);
            if pictures.count() == 0 {
                return Err(CliError::Usage(format!(
                    "{}: none of its images is named like a row of {} (`{}`)",
                    folder.display(),
                    path.display(),
                    table.id(0)
                )));
            }
            return Ok(Some(pictures));
        }
        if DatasetKind::detect(path).is_ok_and(|kind| kind == DatasetKind::ParquetImages) {
            let dataset = open_dataset(path, Some(DatasetKind::ParquetImages), None)?;
            if dataset.len() == table.rows() {
                let of_row = (0..table.rows()).map(Some).collect();
                return Ok(Some(Pictures { dataset, of_row }));
            }
        }
        Ok(Pictures::beside(table)?)
    }
}

/// The rows of a pool, with all that is known of them.
struct Rows {
    name: String,
    table: FeatureTable,
    network: Option<String>,
    pictures: Option<Pictures>,
    texts: Option<Vec<String>>,
    /// Labels that folders or a column say.
    labels: Vec<(usize, String)>,
}

impl Rows {
    fn new(name: String, table: FeatureTable) -> Self {
        Self { name, table, network: None, pictures: None, texts: None, labels: Vec::new() }
    }

    /// The pool made ready, and the labels it came with.
    fn prepare(self, image_root: Option<PathBuf>) -> Result<(StudioPool, Vec<(usize, String)>), CliError> {
        let spinner = progress::spinner("preparing the pool");
        let pool = StudioPool::new(self.name, self.table);
        spinner.finish_and_clear();
        let mut pool = pool.map_err(CliError::usage)?;
        (pool.network, pool.pictures, pool.texts) = (self.network, self.pictures, self.texts);
        pool.image_root = image_root;
        Ok((pool, self.labels))
    }
}

/// The labels that were given before the first answer, as answers.
fn begin(
    session: &mut Session,
    given: &GivenLabels,
    pool: &StudioPool,
) -> Result<(), handful_label::SessionError> {
    for (class, name) in given.classes.iter().enumerate() {
        let of_class = given.labels.iter().filter(|&&(_, other)| other == class);
        let rows = of_class.map(|&(row, _)| pool.ids[row].clone()).collect();
        session.record(Event::NewClass { name: name.clone(), rows })?;
    }
    Ok(())
}

/// What the studio says, as a fault of the input or of the machine.
pub fn studio_error(error: StudioError) -> CliError {
    match error {
        StudioError::Machine(_) | StudioError::Listen { .. } => CliError::Failed(error.to_string()),
        StudioError::Data(error) => error.into(),
        other => CliError::usage(other),
    }
}

/// Opens the address; says whether a program took it.
fn open_browser(address: &str) -> bool {
    let programs: &[(&str, &[&str])] = if cfg!(target_os = "macos") {
        &[("open", &[])]
    } else if cfg!(windows) {
        &[("explorer", &[])]
    } else {
        &[("xdg-open", &[]), ("gio", &["open"])]
    };
    programs.iter().any(|(program, before)| {
        let mut command = Command::new(program);
        command.args(*before).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    })
}
