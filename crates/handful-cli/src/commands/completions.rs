//! `handful completions`: a script for a shell, from the same definitions as the command line.

use std::io::Write;

use clap::Args;
use clap_complete::{Shell, generate};

use crate::error::CliError;

/// Arguments of `handful completions`.
#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
pub fn run(args: &CompletionsArgs) -> Result<(), CliError> {
    // Into memory first: the generator panics where a pipe is closed.
    let mut script = Vec::new();
    generate(args.shell, &mut crate::definitions(), "handful", &mut script);
    let mut out = std::io::stdout().lock();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
