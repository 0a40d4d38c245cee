//! The tests of the Python package: a virtual environment under `target/`, the wheel built and installed in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{root, run};

/// What the tests need besides the wheel; those of a kind that breaks things between releases are pinned.
const TOOLS: [&str; 14] = [
    "maturin>=1.9,<2",
    "mypy==2.4.1",
    "ruff==0.17.5",
    "pytest>=8,<10",
    "numpy",
    "scikit-learn>=1.6,<2",
    "pandas",
    "polars",
    "pyarrow",
    "pillow",
    "tqdm",
    "nbclient",
    "ipykernel",
    "joblib",
];

/// Builds the wheel, installs it, and runs what is checked of it.
///
/// # Errors
/// The command that failed.
pub fn test() -> Result<(), String> {
    let environment = root().join("target").join("python");
    let python = Interpreter::make(&environment)?;
    python.pip(&TOOLS)?;
    let wheels = root().join("target").join("wheels");
    // Wheels of earlier runs would be installed with the new one.
    let _ = std::fs::remove_dir_all(&wheels);
    // The profile of the tests: what Rust's own tests have compiled is not compiled again.
    let profile = ["build", "--profile", "dev", "--locked", "--out"].map(OsString::from);
    run(python.tool("maturin").args(profile).arg(&wheels))?;
    let wheel = std::fs::read_dir(&wheels)
        .ok()
        .and_then(|mut files| files.find_map(|file| Some(file.ok()?.path()).filter(|path| is_wheel(path))))
        .ok_or_else(|| format!("{}: maturin left no wheel there", wheels.display()))?;
    run(python.module("pip").args(["install", "--quiet", "--force-reinstall", "--no-deps"]).arg(wheel))?;
    // The folder python/ holds the package without its extension module: the tests must find the installed one.
    run(python.module("pytest").args(["-q", "--durations=5", "python/tests"]))?;
    run(python.tool("ruff").args(["check", "--quiet", "python"]))?;
    run(python.tool("ruff").args(["format", "--quiet", "--check", "python"]))?;
    run(&mut python.tool("mypy"))?;
    let stubs = ["handful._handful", "--mypy-config-file", "pyproject.toml"];
    run(python.tool("stubtest").args(stubs))
}

fn is_wheel(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "whl")
}

/// The Python of a virtual environment.
struct Interpreter {
    bin: PathBuf,
}

impl Interpreter {
    /// Makes the environment, unless it is there.
    fn make(folder: &Path) -> Result<Self, String> {
        let bin = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
        let python = Self { bin };
        // Half an environment, as a machine without ensurepip leaves it, has no pip.
        let works =
            python.module("pip").arg("--version").output().is_ok_and(|output| output.status.success());
        if !works {
            let base = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
            run(Command::new(base).args(["-m", "venv", "--clear"]).arg(folder)).map_err(|error| {
                format!(
                    "{error}; the tests of the Python package need Python 3.10 or later with its module venv (Debian: \
                     apt-get install python3-venv), or name one in PYTHON; `cargo xtask test rust` goes without"
                )
            })?;
        }
        Ok(python)
    }

    fn pip(&self, packages: &[&str]) -> Result<(), String> {
        let options = ["install", "--quiet", "--disable-pip-version-check"];
        run(self.module("pip").args(options).args(packages))
    }

    fn module(&self, name: &str) -> Command {
        let mut command = self.tool("python");
        command.args(["-m", name]);
        command
    }

    fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(self.bin.join(name));
        command.current_dir(root());
        // Other tools look for their neighbours there.
        command.env("VIRTUAL_ENV", self.bin.parent().unwrap_or(&self.bin));
        command.env_remove("PYTHONPATH");
        command
    }
}
