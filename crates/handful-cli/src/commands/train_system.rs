//! `handful train FEATURES --system NAME`: a system learnt from tasks on frozen features. Of images, `train_network` trains the
//! network too.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use handful::methods::trained::find_system;
use handful_data::lock::FolderLock;
use handful_data::{OpenOptions, TableFormat, open_table};
use handful_vision::episodes::{
    EpisodicEvent, EpisodicJob, EpisodicSettings, best_head, last_state, train_system,
};
use indicatif::ProgressBar;

use crate::commands::entrants::changes;
use crate::commands::train::{TrainArgs, stop_on_ctrl_c};
use crate::error::CliError;
use crate::progress::bar_like;

/// What only the training of a system has.
#[derive(Args)]
pub struct SystemArgs {
    /// Train this system on tasks: of a table of base-class features a head, of a dataset of images the network too;
    /// `handful params` lists systems, and of images there is also maml
    #[arg(long, value_name = "NAME")]
    pub system: Option<String>,
    /// With --system and features: those of the validation classes
    #[arg(long, value_name = "FEATURES")]
    validation: Option<PathBuf>,
    /// With --system: classes of a task
    #[arg(long, default_value_t = 5)]
    pub(super) ways: usize,
    /// With --system: labelled rows per class of a task
    #[arg(long, default_value_t = 1)]
    pub(super) shots: usize,
    /// With --system: rows per class of a task that the loss is taken on
    #[arg(long)]
    queries: Option<usize>,
    /// With --system: steps of training
    #[arg(long)]
    steps: Option<usize>,
    /// With --system: tasks of each validation
    #[arg(long, value_name = "COUNT")]
    validation_tasks: Option<usize>,
    /// With --system: steps between validations
    #[arg(long, value_name = "STEPS")]
    validate_every: Option<usize>,
    /// With --system: change one of its constants
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// With --system and images: measure the best network on this many tasks of the novel classes when it is trained, at 1
    /// and at 5 labelled images per class
    #[arg(long, value_name = "COUNT")]
    pub(super) evaluate_tasks: Option<usize>,
}

impl SystemArgs {
    /// Whether features are given rather than images.
    pub fn is_of_features(&self, path: &Path) -> bool {
        self.validation.is_some() || (path.is_file() && TableFormat::of_path(path).is_ok())
    }
}

/// A recipe with what the command line changes of it.
pub(super) fn changed(args: &TrainArgs, recipe: EpisodicSettings) -> Result<EpisodicSettings, CliError> {
    let own = &args.system;
    let settings = EpisodicSettings {
        ways: own.ways,
        queries: own.queries.unwrap_or(recipe.queries),
        steps: own.steps.unwrap_or(recipe.steps),
        batch: args.batch.unwrap_or(recipe.batch),
        rate: args.rate.unwrap_or(recipe.rate),
        weight_decay: args.weight_decay.unwrap_or(recipe.weight_decay),
        validation_tasks: own.validation_tasks.unwrap_or(recipe.validation_tasks),
        validate_every: own.validate_every.unwrap_or(recipe.validate_every),
        ..recipe
    };
    settings.check()?;
    Ok(settings)
}

/// What is told of a training of so many steps.
pub(super) struct Watch {
    bar: ProgressBar,
    steps: usize,
    start: Instant,
}

impl Watch {
    pub(super) fn new(steps: usize) -> Self {
        Self { bar: bar_like(steps, "{msg}  {wide_bar} {eta} left"), steps, start: Instant::now() }
    }

    pub(super) fn take(&self, event: &EpisodicEvent) {
        let steps = self.steps;
        match event {
            EpisodicEvent::Step(done, loss) => {
                self.bar.set_position(*done as u64);
                self.bar.set_message(format!("step {done}/{steps}  loss {loss:.3}"));
            }
            EpisodicEvent::Validated(done, accuracy) => self.bar.suspend(|| {
                let seconds = self.start.elapsed().as_secs_f64();
                eprintln!("step {done}/{steps}: validation {:.2}%, {seconds:.0} s", 100.0 * accuracy);
            }),
        }
    }

    pub(super) fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// Trains a system.
pub fn run(args: &TrainArgs, name: &str) -> Result<(), CliError> {
    let own = &args.system;
    let entry = find_system(name)?;
    let system = entry.system(own.shots, &changes(&own.set)?)?;
    let Some(validation) = &own.validation else {
        return Err(CliError::Usage(
            "a system is chosen on validation classes: give their features with --validation".to_owned(),
        ));
    };
    let settings = changed(args, EpisodicSettings::of(name, own.shots, args.seed))?;
    let save_every = Duration::try_from_secs_f64(args.save_every)
        .map_err(|_| CliError::Usage(format!("--save-every is {}, but must be a time", args.save_every)))?;
    let base = open_table(&args.dataset, &OpenOptions::default())?;
    let validation = open_table(validation, &OpenOptions::default())?;
    if base.dim() != validation.dim() {
        return Err(CliError::Usage(format!(
            "{} has {} dimensions, {} has {}: they must come from the same network",
            base.path().display(),
            base.dim(),
            validation.path().display(),
            validation.dim()
        )));
    }
    if let (Some(of_base), Some(of_validation)) = (base.embedder(), validation.embedder())
        && !of_base.agrees(of_validation)
    {
        return Err(CliError::Usage(format!(
            "{} is of {of_base}, {} of {of_validation}: they must come from the same network",
            base.path().display(),
            validation.path().display(),
        )));
    }
    let shared = base.class_names().iter().find(|name| validation.class_names().contains(name));
    if let Some(class) = shared {
        return Err(CliError::Usage(format!(
            "the class {class:?} is in both tables; validation classes must be others than those trained on"
        )));
    }
    for table in [&base, &validation] {
        if table.class_count() < settings.ways {
            return Err(CliError::Usage(format!(
                "{} has {} classes, but a task needs {}",
                table.path().display(),
                table.class_count(),
                settings.ways
            )));
        }
    }
    base.check_finite()?;
    validation.check_finite()?;
    let _lock = FolderLock::take(&args.output)?;
    if !args.resume && last_state(&args.output).exists() {
        return Err(CliError::Usage(format!(
            "{} holds a training already; go on with --resume, or give another folder",
            args.output.display()
        )));
    }

    let stop = stop_on_ctrl_c()?;
    let steps = settings.steps;
    let job = EpisodicJob {
        base: &base,
        validation: &validation,
        system: system.as_ref(),
        settings,
        folder: &args.output,
        command: command_line(),
        resume: args.resume,
        save_every,
        stop: &stop,
    };
    let watch = Watch::new(steps);
    let outcome = train_system(&job, &mut |event| watch.take(&event))?;
    watch.end();
    if !outcome.finished {
        eprintln!("stopped after {} steps; go on with --resume", outcome.steps);
        return Ok(());
    }
    let best = best_head(&args.output);
    eprintln!("the best head ({:.2}% on validation) is {}", 100.0 * outcome.best, best.display());
    Ok(())
}

/// What was typed, without the folder of the program.
pub(super) fn command_line() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!("handful {}", arguments.join(" "))
}
