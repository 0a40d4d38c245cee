//! The `handful` command; see the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(handful_cli::run_from_args(std::env::args_os()))
}
