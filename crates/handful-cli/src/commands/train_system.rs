//! `handful train FEATURES --system NAME`: a system learnt from tasks on frozen features.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use handful::methods::trained::find_system;
use handful_data::lock::FolderLock;
use handful_data::{OpenOptions, open_table};
use handful_vision::episodes::{
    EpisodicEvent, EpisodicJob, EpisodicSettings, best_head, last_state, train_system,
};

use crate::commands::entrants::changes;
use crate::commands::train::{TrainArgs, stop_on_ctrl_c};
use crate::error::CliError;
use crate::progress::bar_like;

/// What only the training of a system has.
#[derive(Args)]
pub struct SystemArgs {
    /// Train this system on tasks, from a table of base-class features instead of images; `handful params` lists them
    #[arg(long, value_name = "NAME")]
    pub system: Option<String>,
    /// With --system: features of the validation classes
    #[arg(long, value_name = "FEATURES")]
    validation: Option<PathBuf>,
    /// With --system: classes of a task
    #[arg(long, default_value_t = 5)]
    ways: usize,
    /// With --system: labelled rows per class of a task
    #[arg(long, default_value_t = 1)]
    shots: usize,
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
    set: Vec<String>,
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
    let mut settings = EpisodicSettings::of(name, own.shots, args.seed);
    settings.ways = own.ways;
    settings.steps = own.steps.unwrap_or(settings.steps);
    settings.batch = args.batch.unwrap_or(settings.batch);
    settings.rate = args.rate.unwrap_or(settings.rate);
    settings.weight_decay = args.weight_decay.unwrap_or(settings.weight_decay);
    settings.validation_tasks = own.validation_tasks.unwrap_or(settings.validation_tasks);
    settings.validate_every = own.validate_every.unwrap_or(settings.validate_every);
    settings.check()?;
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
    let bar = bar_like(steps, "{msg}  {wide_bar} {eta} left");
    let start = Instant::now();
    let outcome = train_system(&job, &mut |event| match event {
        EpisodicEvent::Step(done, loss) => {
            bar.set_position(done as u64);
            bar.set_message(format!("step {done}/{steps}  loss {loss:.3}"));
        }
        EpisodicEvent::Validated(done, accuracy) => bar.suspend(|| {
            let seconds = start.elapsed().as_secs_f64();
            eprintln!("step {done}/{steps}: validation {:.2}%, {seconds:.0} s", 100.0 * accuracy);
        }),
    })?;
    bar.finish_and_clear();
    if !outcome.finished {
        eprintln!("stopped after {} steps; go on with --resume", outcome.steps);
        return Ok(());
    }
    let best = best_head(&args.output);
    eprintln!("the best head ({:.2}% on validation) is {}", 100.0 * outcome.best, best.display());
    Ok(())
}

/// What was typed, without the folder of the program.
fn command_line() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!("handful {}", arguments.join(" "))
}
