//! `handful demo`: the methods side by side on real features that come with the program, and then the labelling job on
//! the same features.

use std::io::Write;

use clap::Args;
use handful_bench::study::{Study, Tasks};
use handful_bench::table;
use handful_data::{EpisodeSampler, EpisodeSpec, shipped};

use crate::commands::entrants::EntrantArgs;
use crate::commands::label;
use crate::error::CliError;
use crate::progress::run_with_bar;
use crate::terminal::Paint;

/// Arguments of `handful demo`.
#[derive(Args)]
pub struct DemoArgs {
    /// Number of tasks
    #[arg(long, default_value_t = 1000)]
    tasks: usize,
    /// Threads; 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

/// The order tells the story: no unlabelled rows, then each way of using them.
const METHODS: [&str; 6] = ["protonet", "baseline", "entropy-min", "tim-gd", "dm", "dm-ida"];

/// Runs the command.
pub fn run(args: &DemoArgs) -> Result<(), CliError> {
    let features = shipped::features()?;
    let sampler = EpisodeSampler::new(&features, EpisodeSpec::default(), 1)?;
    let tasks = Tasks::Sampled { sampler, count: args.tasks };
    if tasks.is_empty() {
        return Err(CliError::Usage("there is no task to solve: --tasks must be at least 1".into()));
    }
    let entrants =
        EntrantArgs { method: METHODS.map(str::to_owned).to_vec(), ..EntrantArgs::default() }.build()?;

    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} images of {} CIFAR-FS classes that the network behind these {} features never saw. {} tasks:\n\
         5 classes, 1 labelled image of each, 75 others to label. Every method gets the same tasks; those that learn\n\
         from the unlabelled images too say so.\n",
        features.rows(),
        features.class_count(),
        features.dim(),
        args.tasks,
    )?;
    out.flush()?;

    let study = Study::new(&features, &tasks).threads(args.threads);
    let scores = run_with_bar(&study, &entrants)?;
    let paint = Paint::for_stream(&out);
    write!(out, "{}", paint.table(&[table::Group::alone(&scores)]))?;
    label::demonstrate(&features, &mut out)?;
    writeln!(
        out,
        "\nOn your own features:  handful label FEATURES.npz --labels labels.csv -o labelled.csv --max-error 0.05\n\
         Compare methods:       handful bench FEATURES.npz --method protonet,tim-gd,dm-ida --shots 5"
    )?;
    Ok(out.flush()?)
}
