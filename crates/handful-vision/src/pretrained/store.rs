//! Where weights lie: in a folder of our own, or in a Python package of the environment that is active.

use std::path::{Path, PathBuf};

use super::{Present, Pretrained};

/// Names the folder of weights.
const VARIABLE: &str = "HANDFUL_WEIGHTS";

/// Where a network was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In our folder of weights.
    Folder,
    /// In a Python package.
    Python,
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Our folder of weights: `HANDFUL_WEIGHTS`, or `handful/weights` among the user's data.
pub fn folder() -> Option<PathBuf> {
    let data = || variable("XDG_DATA_HOME").or_else(|| Some(variable("HOME")?.join(".local/share")));
    variable(VARIABLE).or_else(|| Some(data()?.join("handful").join("weights")))
}

/// Looks for a network in our folder, then in the Python environment that is active.
pub fn find(network: &'static Pretrained) -> Option<Present> {
    let ours = folder().and_then(|folder| in_folder(network, &folder.join(network.name)));
    ours.or_else(|| {
        let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable);
        environments.flat_map(|root| site_packages(&root)).find_map(|site| in_packages(network, &site))
    })
}

/// The network, if all of its files lie in this folder.
pub(super) fn in_folder(network: &'static Pretrained, folder: &Path) -> Option<Present> {
    let files = network.files.iter().map(|file| (folder.join(file.name), file.bytes));
    present(network, Place::Folder, files)
}

/// The network, if its package is installed here.
pub(super) fn in_packages(network: &'static Pretrained, site: &Path) -> Option<Present> {
    let files = network.files.iter().map(|file| (site.join(file.in_package), file.bytes));
    present(network, Place::Python, files)
}

/// Sizes tell half a file from a whole one; digests are compared when a file is copied or opened.
fn present(
    network: &'static Pretrained,
    place: Place,
    files: impl Iterator<Item = (PathBuf, u64)>,
) -> Option<Present> {
    let whole = |(path, bytes): (PathBuf, u64)| {
        let facts = std::fs::metadata(&path).ok()?;
        (facts.is_file() && facts.len() == bytes).then_some(path)
    };
    Some(Present { network, place, files: files.map(whole).collect::<Option<_>>()? })
}

/// The folders of packages in a Python environment.
fn site_packages(root: &Path) -> Vec<PathBuf> {
    let mut sites = vec![root.join("Lib").join("site-packages")];
    let versions = std::fs::read_dir(root.join("lib")).into_iter().flatten().filter_map(Result::ok);
    sites.extend(versions.map(|version| version.path().join("site-packages")));
    sites.retain(|site| site.is_dir());
    sites.sort();
    sites
}
