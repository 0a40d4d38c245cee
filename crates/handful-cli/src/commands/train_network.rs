//! `handful train DATASET --system NAME`: a network learnt from tasks of images, with the head or MAML above it.

use std::time::Duration;

use handful::error::ParamError;
use handful::methods::trained::{System, find_system};
use handful_data::EpisodeSpec;
use handful_data::datasets::{Part, open_dataset};
use handful_data::lock::FolderLock;
use handful_vision::backbone::BackboneHeader;
use handful_vision::device::device;
use handful_vision::episodes::network::{
    Learner, Maml, NetworkJob, NetworkSettings, Novel, evaluate, network_head, train_network,
};
use handful_vision::episodes::{EpisodicSettings, best_head, last_state};
use serde_json::Value;

use crate::commands::entrants::changes;
use crate::commands::train::{TrainArgs, stop_on_ctrl_c};
use crate::commands::train_system::{Watch, changed, command_line};
use crate::error::CliError;

/// Labelled images per class of the tasks of novel classes.
const EVALUATED_SHOTS: [usize; 2] = [1, 5];

/// Trains a network on tasks, and measures it on novel classes where that is asked for.
pub fn run(args: &TrainArgs, name: &str) -> Result<(), CliError> {
    let own = &args.system;
    let system = head(args, name)?;
    let learner = match &system {
        Some(system) => Learner::Head(system.as_ref()),
        None => Learner::Maml(maml(&own.set)?),
    };
    let settings = changed(args, EpisodicSettings::through_network(name, own.shots, args.seed))?;
    let device = device(&args.device)?;
    let look = args.settings(None)?;
    let begin_with = args.begin_with(&look, &device)?;
    let save_every = Duration::try_from_secs_f64(args.save_every)
        .map_err(|_| CliError::Usage(format!("--save-every is {}, but must be a time", args.save_every)))?;
    let part = |part| open_dataset(&args.dataset, args.kind, Some(part));
    let (base, validation) = (part(Part::Base)?, part(Part::Validation)?);
    let novel = own.evaluate_tasks.map(|_| part(Part::Novel)).transpose()?;
    let _lock = FolderLock::take(&args.output)?;
    if !args.resume && last_state(&args.output).exists() {
        return Err(CliError::Usage(format!(
            "{} holds a training already; go on with --resume, or give another folder",
            args.output.display()
        )));
    }
    eprintln!(
        "{}: tasks of {} classes to train on, of {} to validate on",
        base.kind(),
        base.classes().len(),
        validation.classes().len()
    );

    let stop = stop_on_ctrl_c()?;
    let (watch, queries) = (Watch::new(settings.steps), settings.queries);
    let job = NetworkJob {
        base: &base,
        validation: &validation,
        learner,
        settings,
        network: NetworkSettings {
            backbone: BackboneHeader { backbone: look.backbone, preparation: look.preparation },
            augmentation: look.augmentation,
        },
        begin_with,
        folder: &args.output,
        command: command_line(),
        resume: args.resume,
        save_every,
        device: &device,
        stop: &stop,
    };
    let outcome = train_network(&job, &mut |event| watch.take(&event))?;
    watch.end();
    if !outcome.finished {
        eprintln!("stopped after {} steps; go on with --resume", outcome.steps);
        return Ok(());
    }
    let (network, head) = (best_head(&args.output), network_head(&args.output));
    let best = 100.0 * outcome.best;
    eprintln!(
        "the best network ({best:.2}% on validation) is {}, its head {}",
        network.display(),
        head.display()
    );
    let (Some(dataset), Some(tasks)) = (&novel, own.evaluate_tasks) else { return Ok(()) };
    let least = job.learner.least_shots();
    let specs: Vec<EpisodeSpec> = EVALUATED_SHOTS
        .into_iter()
        .filter(|&shots| shots >= least)
        .map(|shots| EpisodeSpec { ways: own.ways, shots, queries, ..EpisodeSpec::default() })
        .collect();
    let novel = Novel { dataset, specs: &specs, tasks, seed: args.seed };
    for found in evaluate(&args.output, &job.learner, &novel, &device)? {
        let [accuracy, ci95] = [found.accuracy, found.ci95].map(|share| 100.0 * share);
        println!("{name}: {}-shot {accuracy:.2} ± {ci95:.2} on {tasks} tasks of novel classes", found.shots);
    }
    Ok(())
}

/// The system above the network; MAML has none.
fn head(args: &TrainArgs, name: &str) -> Result<Option<Box<dyn System>>, CliError> {
    if name == Maml::NAME {
        return Ok(None);
    }
    let entry = find_system(name).map_err(|error| match error {
        ParamError::UnknownMethod { name, known } => {
            ParamError::UnknownMethod { name, known: format!("{known}, {}", Maml::NAME) }
        }
        other => other,
    })?;
    Ok(Some(entry.network_system(args.system.shots, &changes(&args.system.set)?)?))
}

/// MAML with some of its constants changed.
fn maml(set: &[String]) -> Result<Maml, CliError> {
    let Ok(Value::Object(mut constants)) = serde_json::to_value(Maml::default()) else {
        return Ok(Maml::default());
    };
    for (key, text) in changes(set)? {
        let known = constants.keys().cloned().collect::<Vec<_>>().join(", ");
        let Some(place) = constants.get_mut(&key) else {
            return Err(CliError::Usage(format!("--set {key}: maml has no such constant; it has {known}")));
        };
        *place = serde_json::from_str(&text).map_err(|_| {
            CliError::Usage(format!("--set {key}={text}: it must be a number, or true or false"))
        })?;
    }
    let maml: Maml = serde_json::from_value(Value::Object(constants))
        .map_err(|error| CliError::Usage(format!("--set: {error}")))?;
    maml.check()?;
    Ok(maml)
}
