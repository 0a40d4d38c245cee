//! Links to images in folders: of their classes, or in an order.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::{Line, Source};
use crate::DataError;
use crate::atomic::WriteError;

/// Makes a folder with a folder for each class in it, which holds links to the class's images. Rows without a file are left
/// out.
///
/// # Errors
/// As [`write_links`].
pub fn write_class_links<'a, 'f>(
    path: &Path,
    lines: impl Iterator<Item = Line<'a>>,
    file: impl Fn(usize) -> Option<&'f Path>,
) -> Result<(), DataError> {
    let mut folders = Names::default();
    let mut of_folder: HashMap<String, Names> = HashMap::new();
    let links = lines.filter_map(|line| {
        let file = file(line.row)?;
        let class = (line.source != Source::Rejected).then_some(line.label);
        let folder = folders.of(class.unwrap_or_default(), &folder_name(class.unwrap_or("rejected")));
        // Folders of the pool become part of the name.
        let id = &line.id;
        let link = of_folder.entry(folder.clone()).or_default().of(id, &id.replace(['/', '\\'], "--"));
        Some((PathBuf::from(folder).join(link), file))
    });
    write_links(path, links)
}

/// Makes a folder with links, under another name that is changed when it is whole.
///
/// # Errors
/// A folder that exists already or cannot be made.
pub fn write_links<'a>(
    path: &Path,
    links: impl Iterator<Item = (PathBuf, &'a Path)>,
) -> Result<(), DataError> {
    if path.exists() {
        return Err(DataError::content(path, "it exists already; name a new folder"));
    }
    // Without the slash that people put behind a folder: what is half made lies beside it, not in it.
    let path: &Path = &path.components().collect::<PathBuf>();
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    let partial = PathBuf::from(name);
    let make = || -> std::io::Result<()> {
        std::fs::create_dir(&partial)?;
        for (name, file) in links {
            let link = partial.join(name);
            link.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            link_to(file, &link)?;
        }
        std::fs::rename(&partial, path)
    };
    make().map_err(|error| {
        // What is half made is of no use; that it could not be removed is not the news.
        let _ = std::fs::remove_dir_all(&partial);
        WriteError::new(path, error).into()
    })
}

/// Names of files or folders, each for one thing only, also where capitals do not count.
#[derive(Default)]
struct Names {
    of_thing: HashMap<String, String>,
    taken: HashSet<String>,
}

impl Names {
    /// The name of a thing: the one wanted, or that with the first number behind it that is free.
    fn of(&mut self, thing: &str, wanted: &str) -> String {
        if let Some(name) = self.of_thing.get(thing) {
            return name.clone();
        }
        let (stem, extension) = match wanted.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => (stem, format!(".{extension}")),
            _ => (wanted, String::new()),
        };
        let mut name = wanted.to_owned();
        let mut number = 1;
        while !self.taken.insert(name.to_lowercase()) {
            number += 1;
            name = format!("{stem}-{number}{extension}");
        }
        self.of_thing.insert(thing.to_owned(), name.clone());
        name
    }
}

/// A class name that cannot leave its folder.
fn folder_name(class: &str) -> String {
    match class.replace(['/', '\\'], "-") {
        name if name == "." || name == ".." => format!("_{name}"),
        name => name,
    }
}

/// Makes a link to an image, wherever the program is called from.
fn link_to(file: &Path, link: &Path) -> std::io::Result<()> {
    let file = std::fs::canonicalize(file)?;
    #[cfg(unix)]
    return std::os::unix::fs::symlink(file, link);
    #[cfg(not(unix))]
    return std::fs::hard_link(file, link);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_things_have_different_names() {
        let mut names = Names::default();
        assert_eq!(names.of("a/b.png", "a--b.png"), "a--b.png");
        assert_eq!(names.of("a--b.png", "a--b.png"), "a--b-2.png");
        assert_eq!(names.of("A--B.png", "A--B.png"), "A--B-3.png");
        assert_eq!(names.of("a/b.png", "a--b.png"), "a--b.png");
        assert_eq!(
            (names.of("", "rejected"), names.of("rejected", "rejected")),
            ("rejected".into(), "rejected-2".into())
        );
    }
}
