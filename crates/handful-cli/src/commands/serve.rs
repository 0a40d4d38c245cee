//! `handful serve --label-studio`: predictions for Label Studio that improve while people annotate there.

use std::io::Write;

use clap::Args;
use handful_studio::{Server, Serving, Token};

use super::listen::ListenArgs;
use super::studio::{PoolArgs, studio_error};
use crate::error::CliError;

/// Arguments of `handful serve`.
#[derive(Args)]
pub struct ServeArgs {
    /// Speak the protocol of Label Studio's machine-learning backends
    #[arg(long, required = true)]
    label_studio: bool,
    #[command(flatten)]
    pool: PoolArgs,
    #[command(flatten)]
    listen: ListenArgs,
    /// Port
    #[arg(long, default_value_t = 9090)]
    port: u16,
    /// Ask for no token: whoever can reach the address can annotate
    #[arg(long, conflicts_with = "token")]
    no_token: bool,
}

/// Runs the command.
pub fn run(args: &ServeArgs) -> Result<(), CliError> {
    let mut listen = args.listen.listen(args.port)?;
    if args.no_token {
        listen.token = Token::None;
    }
    let studio = args.pool.open(None)?;
    let server = Server::bind(studio, &listen, Serving::LabelStudio).map_err(studio_error)?;
    let origin = server.origin();
    let mut out = std::io::stdout().lock();
    writeln!(out, "{origin}")?;
    out.flush()?;
    drop(out);
    match server.token() {
        Some(token) => eprintln!(
            "handful: in Label Studio's settings, connect the model {origin} with basic authentication, user `handful`, \
             password {token}; add a webhook to {origin}/webhook for annotations, with the header \
             `Authorization: Bearer {token}`"
        ),
        None => eprintln!(
            "handful: in Label Studio's settings, connect the model {origin} and add a webhook to {origin}/webhook for \
             annotations"
        ),
    }
    server.run().map_err(studio_error)
}
