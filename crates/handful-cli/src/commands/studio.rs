//! `handful studio`: label a pool in the browser.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use clap::Args;
use handful_data::datasets::open_images;
use handful_data::labels::{Duplicates, GivenLabels};
use handful_data::{OpenOptions, open_table, shipped};
use handful_label::Session;
use handful_label::session::Event;
use handful_studio::{Pictures, Server, Serving, Studio, StudioError, StudioPool};

use super::label::open_image_folder;
use super::network::{LayerArg, NetworkArgs};
use crate::error::CliError;

/// What a pool is opened with, here and in `handful serve`.
#[derive(Args, Clone, Debug)]
pub struct PoolArgs {
    /// Folder of images, or feature table (.npy .npz .safetensors .parquet .csv …); without it the features that come
    /// with the program
    pub pool: Option<PathBuf>,
    /// Folder with the images of a feature table's rows: their paths seen from there are the ids
    #[arg(long, value_name = "FOLDER")]
    pub images: Option<PathBuf>,
    /// Labels to begin with: a file `id,label`. May be repeated; later files win
    #[arg(long, value_name = "FILE")]
    pub labels: Vec<PathBuf>,
    /// File that keeps every answer [default: POOL.session.jsonl, beside the pool]
    #[arg(long, value_name = "FILE")]
    pub session: Option<PathBuf>,
    /// Share of errors at which labels count as accepted
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    pub max_error: f64,
    #[command(flatten)]
    pub network: NetworkArgs,
    #[command(flatten)]
    pub layer: LayerArg,
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
    /// Port on 127.0.0.1; 0 for a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Print the address and open no browser
    #[arg(long)]
    no_open: bool,
}

/// Runs the command.
pub fn run(args: &StudioArgs) -> Result<(), CliError> {
    let studio = args.pool.open()?;
    let server = Server::bind(studio, args.port, Serving::Page).map_err(studio_error)?;
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
    pub fn open(&self) -> Result<Arc<Studio>, CliError> {
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
        let (pool, given) = self.pool()?;
        if let Some((table, from_folders)) = given {
            if session.events() == 0 {
                let given = GivenLabels::read(&table, from_folders, &self.labels, Duplicates::Error)?;
                begin(&mut session, &given, &pool).map_err(|error| studio_error(error.into()))?;
            } else if !self.labels.is_empty() {
                eprintln!(
                    "handful: {} has answers already and goes on with those; --labels is for the beginning",
                    path.display()
                );
            }
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

    /// The pool made ready, and its table with the labels of its folders where there are labels to begin with.
    #[allow(clippy::type_complexity, reason = "used once, right above")]
    fn pool(
        &self,
    ) -> Result<(StudioPool, Option<(handful_data::FeatureTable, Vec<(usize, String)>)>), CliError> {
        let name = |path: &Path| {
            path.canonicalize()
                .ok()
                .and_then(|whole| Some(whole.file_name()?.to_string_lossy().into_owned()))
                .unwrap_or_else(|| path.display().to_string())
        };
        let (name, table, network, pictures, folder_labels) = match &self.pool {
            None => ("demo".to_owned(), shipped::features()?, None, None, Vec::new()),
            Some(path) if path.is_dir() => {
                let (layer, cache) = (self.layer.layer.as_deref(), self.cache.as_deref());
                let pool = open_image_folder(path, &self.network, layer, cache, self.skip_bad)?;
                let of_row = pool.image_of_row.into_iter().map(Some).collect();
                let pictures = Pictures { dataset: pool.dataset, of_row };
                (name(path), pool.table, Some(pool.network), Some(pictures), pool.labels)
            }
            Some(path) => {
                let table = open_table(path, &OpenOptions::default())?;
                let pictures = self.images.as_ref().map(|folder| -> Result<Pictures, CliError> {
                    let pictures = Pictures::by_id(&table, open_images(std::slice::from_ref(folder))?);
                    let found = pictures.of_row.iter().flatten().count();
                    if found == 0 {
                        return Err(CliError::Usage(format!(
                            "{}: none of its images is named like a row of {} (`{}`)",
                            folder.display(),
                            path.display(),
                            table.id(0)
                        )));
                    }
                    Ok(pictures)
                });
                (name(path), table, None, pictures.transpose()?, Vec::new())
            }
        };
        let given =
            (!folder_labels.is_empty() || !self.labels.is_empty()).then(|| (table.clone(), folder_labels));
        let pool = StudioPool::new(name, table, network, pictures).map_err(CliError::usage)?;
        Ok((pool, given))
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
