//! `handful bench tune`: search a parameter grid on validation classes, write the best as a preset file.
//!
//! Where the class names are those of CIFAR-FS the part is enforced: rows of other parts are left out, and a table with
//! none of the wanted part is refused. Other tables are taken as what the user says they are.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use handful_bench::grid::{Found, GridError, Search, search};
use handful_bench::preset_file::section;
use handful_bench::study::Study;
use handful_bench::table;
use handful_data::datasets::{Part, cifar_fs_part};
use handful_data::{FeatureTable, atomic};

use crate::commands::entrants::{Contender, EntrantArgs};
use crate::commands::setting::SettingArgs;
use crate::commands::table::TableArgs;
use crate::error::CliError;
use crate::progress::run_with_bar;

/// Arguments of `handful bench tune`.
#[derive(Args)]
pub struct TuneArgs {
    /// Feature table of the classes to tune on
    features: PathBuf,
    /// Which classes these are. Novel classes are for reporting, not for choosing parameters
    #[arg(long, value_enum, default_value_t = TunePart::Val)]
    part: TunePart,
    #[command(flatten)]
    entrants: EntrantArgs,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    setting: SettingArgs,
    /// How to search
    #[arg(long, value_enum, default_value_t = SearchArg::Grid)]
    search: SearchArg,
    /// With --search coordinate, the most settings of a method to try; the same number for all is a fair comparison
    #[arg(long, value_name = "SETTINGS", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    budget: u32,
    /// Preset file to write, for `--preset FILE` or `--method name:FILE`; without it, standard output
    #[arg(short, long, value_name = "FILE.toml")]
    output: Option<PathBuf>,
    /// Threads; 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TunePart {
    /// Validation classes
    Val,
    /// Base classes
    Base,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SearchArg {
    /// Every combination
    Grid,
    /// One key at a time, until a whole round changes nothing; starts at the first value of each
    Coordinate,
}

impl From<GridError> for CliError {
    fn from(error: GridError) -> Self {
        Self::usage(error)
    }
}

/// Runs the command.
pub fn run(args: &TuneArgs) -> Result<(), CliError> {
    let contenders = args.entrants.contenders()?;
    if contenders.iter().all(|contender| contender.axes.is_empty()) {
        return Err(CliError::Usage(
            "nothing to search: give the values to try as --grid key=value,value".into(),
        ));
    }
    if args.output.as_ref().is_some_and(|path| path.extension().is_none_or(|extension| extension != "toml")) {
        return Err(CliError::Usage("-o: a preset file must end in .toml".into()));
    }
    args.output.as_deref().map(atomic::check_destination).transpose()?;
    let features = restricted(args.table.read(&args.features)?, args.part)?;
    let tasks = args.setting.tasks(&features)?;
    let study = Study::new(&features, &tasks).threads(args.threads);

    let mut sections = Vec::new();
    for contender in &contenders {
        let found = tune(&study, contender, args.search, args.budget as usize)?;
        let best = contender.entrant(&found.changes)?;
        let label = table::label(best.method.name(), &best.preset);
        let count = tasks.len();
        eprintln!(
            "{label}: {:.2}% ({} settings tried on {count} tasks each)",
            100.0 * found.score,
            found.tried
        );
        let origin = format!(
            "handful {}, bench tune: {:.2}% on {} classes of {} ({}), best of {} combinations",
            env!("CARGO_PKG_VERSION"),
            100.0 * found.score,
            features.class_count(),
            args.features.file_name().unwrap_or_default().to_string_lossy(),
            args.setting.describe(),
            found.tried,
        );
        sections.push(section(contender.name, &best.method.params(), &origin));
    }
    let text = sections.join("\n");
    match &args.output {
        Some(path) => atomic::write(path, |out| out.write_all(text.as_bytes()))?,
        None => std::io::stdout().lock().write_all(text.as_bytes())?,
    }
    Ok(())
}

fn tune(study: &Study<'_>, contender: &Contender, how: SearchArg, budget: usize) -> Result<Found, CliError> {
    let how = match how {
        SearchArg::Grid => Search::Grid,
        SearchArg::Coordinate => Search::Coordinate { budget },
    };
    search(&contender.axes, how, |points| {
        let entrants = points.iter().map(|point| contender.entrant(point)).collect::<Result<Vec<_>, _>>()?;
        Ok(run_with_bar(study, &entrants)?.into_iter().map(|score| score.accuracy).collect())
    })
}

/// The rows of the wanted part, where the names of the classes tell which part they are of.
fn restricted(features: FeatureTable, part: TunePart) -> Result<FeatureTable, CliError> {
    let wanted = match part {
        TunePart::Val => Part::Validation,
        TunePart::Base => Part::Base,
    };
    let parts: Vec<Option<Part>> = features.class_names().iter().map(|name| cifar_fs_part(name)).collect();
    if parts.iter().any(Option::is_none) || parts.iter().all(|part| *part == Some(wanted)) {
        return Ok(features);
    }
    let rows: Vec<usize> = (0..features.rows())
        .filter(|&row| features.class_of_row(row).is_some_and(|class| parts[class] == Some(wanted)))
        .collect();
    if rows.is_empty() {
        return Err(CliError::Usage(format!(
            "{}: none of its classes is a {} class of CIFAR-FS ({} is a {} class)",
            features.path().display(),
            wanted.name(),
            features.class_names()[0],
            parts[0].map_or("novel", Part::name),
        )));
    }
    Ok(features.select(&rows)?)
}
