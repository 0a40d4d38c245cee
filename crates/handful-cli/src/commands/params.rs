//! `handful params`: a preset's complete parameters, and whom to cite.

use std::io::Write;

use clap::Args;
use handful::methods::trained::SYSTEMS;
use handful::methods::{self, METHODS};
use handful_data::shipped;

use crate::commands::citations;
use crate::error::CliError;

/// Arguments of `handful params`.
#[derive(Args)]
pub struct ParamsArgs {
    /// The method; without one, all methods and their presets are listed
    method: Option<String>,
    /// The preset; without one, the method's default
    #[arg(long)]
    preset: Option<String>,
}

/// Runs the command.
pub fn run(args: &ParamsArgs) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    let Some(name) = &args.method else {
        let width = METHODS.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        for entry in METHODS {
            writeln!(out, "{:width$}   {}", entry.name, entry.presets.join(", "))?;
        }
        writeln!(out, "\nlearnt from tasks by `handful train --system`, used as name:head.safetensors")?;
        for entry in SYSTEMS {
            let shipped: String = shipped::heads(entry.name).map(|shots| format!(", {shots}-shot")).collect();
            writeln!(out, "{:width$}   {}{shipped}", entry.name, entry.about)?;
        }
        writeln!(out, "\ntrained with a network of its own by `handful train DATASET`")?;
        for (name, about) in [
            (
                "maml",
                "MAML (Finn et al. 2017): a network that a few steps fit to a task; measured by its training",
            ),
            (
                "s2m2",
                "S2M2_R (Mangla et al. 2020): `baseline-pp` on a network of `--rotations`, then `--mixup`",
            ),
        ] {
            writeln!(out, "{name:width$}   {about}")?;
        }
        return Ok(out.flush()?);
    };
    let params = methods::build(name, args.preset.as_deref(), &[])?.params();
    let entries: Vec<(&String, String)> = params.as_object().into_iter().flatten().map(text).collect();
    let width = entries.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    for (key, value) in entries {
        writeln!(out, "{key:width$} = {value}")?;
    }
    writeln!(out)?;
    for citation in citations::of(name) {
        writeln!(out, "{citation}")?;
    }
    Ok(out.flush()?)
}

fn text<'a>((key, value): (&'a String, &serde_json::Value)) -> (&'a String, String) {
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    (key, value)
}
