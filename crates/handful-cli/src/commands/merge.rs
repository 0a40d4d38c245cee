//! `handful bench merge`: one result of the parts that several processes made.

use std::path::PathBuf;

use clap::Args;
use handful_bench::part::{Part, merge};

use crate::commands::bench::{Found, PrintArgs, print};
use crate::error::CliError;

/// Arguments of `handful bench merge`.
#[derive(Args)]
pub struct MergeArgs {
    /// What `bench --task-range` printed: every task of the study exactly once, in any order
    #[arg(required = true, value_name = "PART")]
    parts: Vec<PathBuf>,
    #[command(flatten)]
    print: PrintArgs,
}

/// Runs the command.
pub fn run(args: &MergeArgs) -> Result<(), CliError> {
    args.print.check()?;
    let parts = args.parts.iter().map(|path| {
        let name = path.display().to_string();
        let text = std::fs::read(path).map_err(|error| CliError::Usage(format!("{name}: {error}")))?;
        let part = Part::read(&name, &text).map_err(CliError::usage)?;
        Ok((name, part))
    });
    let parts = parts.collect::<Result<Vec<_>, CliError>>()?;
    let merged = merge(parts).map_err(CliError::usage)?;
    let shots = merged.about["setting"]["shots"].as_u64().unwrap_or(0) as usize;
    print(&merged.about, merged.reference, vec![Found { shots, scores: merged.scores }], &args.print)
}
