//! `handful.toml`: defaults for options, so that a command line only says what is special.
//!
//! ```toml
//! [bench]
//! ways = 16
//! method = ["protonet", "dm-ida"]
//!
//! [bench.tune]
//! search = "coordinate"
//! ```
//!
//! A section is a command, a key the long name of an option. The file's values take the place of the defaults in the
//! definitions that the command line is parsed by: so the command line wins, help shows what is in force, and a value is
//! held to the same rules wherever it comes from.

mod apply;
mod file;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::CliError;

pub use apply::{apply, options};
pub use file::{Config, Entry};

/// Its name in a folder.
const NAME: &str = "handful.toml";

/// Options that say which file it is; they are looked for before anything else is parsed.
const CONFIG: &str = "--config";
const NO_CONFIG: &str = "--no-config";

/// Reads the file that is in force for these arguments, if any.
///
/// # Errors
/// A file that was named and is not there, or one that is not TOML.
pub fn find(args: &[OsString]) -> Result<Option<Config>, CliError> {
    let path = match asked_for(args) {
        Asked::Nothing => return Ok(None),
        Asked::File(path) => path,
        Asked::Usual => match usual_place() {
            Some(path) => path,
            None => return Ok(None),
        },
    };
    let text = std::fs::read_to_string(&path)
        .map_err(|error| CliError::Usage(format!("{}: {error}", path.display())))?;
    Config::parse(path, &text).map(Some)
}

/// What the arguments say of the file.
#[derive(Debug, PartialEq)]
enum Asked {
    /// Nothing: it is where it usually is.
    Usual,
    /// This file.
    File(PathBuf),
    /// None.
    Nothing,
}

fn asked_for(args: &[OsString]) -> Asked {
    let mut asked = Asked::Usual;
    let mut args = args.iter().skip(1).take_while(|arg| *arg != "--");
    while let Some(arg) = args.next() {
        if arg == NO_CONFIG {
            return Asked::Nothing;
        }
        let joined = arg.to_str().and_then(|arg| arg.strip_prefix(CONFIG)?.strip_prefix('='));
        if let Some(path) = joined {
            asked = Asked::File(path.into());
        } else if arg == CONFIG {
            // Without a file behind it the parser says what is wrong.
            asked = args.next().map_or(Asked::Usual, |path| Asked::File(path.into()));
        }
    }
    asked
}

/// In the current folder or the nearest of its parents that has one, else among the user's configuration.
fn usual_place() -> Option<PathBuf> {
    let here = std::env::current_dir().ok();
    let near = here.iter().flat_map(|here| here.ancestors()).map(|folder| folder.join(NAME));
    near.chain(user_folder().map(|folder| folder.join("handful").join(NAME))).find(|path| path.is_file())
}

fn user_folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // The specification of those folders has relative ones ignored.
    let named = variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let usual = if cfg!(windows) { variable("APPDATA") } else { variable("HOME").map(in_home) };
    named.or(usual)
}

fn in_home(home: PathBuf) -> PathBuf {
    home.join(Path::new(".config"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(args: &[&str]) -> Asked {
        asked_for(&args.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_file_is_looked_for_in_the_arguments_first() {
        assert_eq!(asked(&["handful", "bench", "x.npz"]), Asked::Usual);
        assert_eq!(asked(&["handful", "--config", "a.toml", "bench"]), Asked::File("a.toml".into()));
        assert_eq!(asked(&["handful", "bench", "--config=b.toml"]), Asked::File("b.toml".into()));
        assert_eq!(asked(&["handful", "bench", "--config", "a", "--no-config"]), Asked::Nothing);
        assert_eq!(asked(&["handful", "bench", "--", "--no-config"]), Asked::Usual);
    }
}
