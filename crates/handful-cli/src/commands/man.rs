//! `handful man`: man pages, from the same definitions as the command line.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man;
use handful_data::atomic;

use crate::error::CliError;

/// Arguments of `handful man`.
#[derive(Args)]
pub struct ManArgs {
    /// Folder for the pages: handful.1, handful-bench.1, handful-bench-tune.1, …
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs the command.
pub fn run(args: &ManArgs) -> Result<(), CliError> {
    std::fs::create_dir_all(&args.folder)
        .map_err(|error| CliError::Usage(format!("{}: {error}", args.folder.display())))?;
    let mut root = crate::definitions().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    collect(&root, "", &mut pages)?;
    for (name, page) in &pages {
        let path = args.folder.join(format!("{name}.1"));
        atomic::write(&path, |out| out.write_all(page))?;
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} pages in {}", pages.len(), args.folder.display())?;
    Ok(out.flush()?)
}

/// The page of a command and those of its subcommands.
fn collect(command: &Command, above: &str, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), CliError> {
    let name = if above.is_empty() {
        command.get_name().to_owned()
    } else {
        format!("{above}-{}", command.get_name())
    };
    let mut page = Vec::new();
    // The long version differs from machine to machine; pages should not.
    let shown = command.clone().name(name.clone()).version(env!("CARGO_PKG_VERSION")).long_version(None);
    Man::new(shown).render(&mut page)?;
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        collect(inner, &name, pages)?;
    }
    pages.push((name, page));
    Ok(())
}
