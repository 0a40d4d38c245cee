//! `handful serve --label-studio`: predictions for Label Studio that improve while people annotate there.

use std::io::Write;

use clap::Args;
use handful_studio::{Server, Serving};

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
    /// Port on 127.0.0.1
    #[arg(long, default_value_t = 9090)]
    port: u16,
}

/// Runs the command.
pub fn run(args: &ServeArgs) -> Result<(), CliError> {
    let studio = args.pool.open()?;
    let server = Server::bind(studio, args.port, Serving::LabelStudio).map_err(studio_error)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", server.address())?;
    out.flush()?;
    drop(out);
    eprintln!(
        "handful: connect it as a model in the project's settings, and add a webhook to {}/webhook for annotations; \
         Label Studio refuses backends on this machine until it is started with ML_BLOCK_LOCAL_IP=false",
        server.address()
    );
    server.run().map_err(studio_error)
}
