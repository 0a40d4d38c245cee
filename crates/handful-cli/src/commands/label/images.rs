//! A folder of images as a pool: which images there are, which are labelled by their folder, and their features.
//!
//! Every image below the folder is a row, named by its path seen from there. Images in `support/CLASS/` are labelled
//! with the name of that folder. Features are kept in a cache under the SHA-256 of weights and image, so that a second
//! run embeds nothing and a changed image or other weights are noticed.

use std::path::{Path, PathBuf};

use handful::Matrix;
use handful_data::{FeatureTable, atomic, content_digest};

use crate::commands::network::NetworkArgs;
use crate::error::CliError;

/// The folder whose subfolders hold labelled images.
const SUPPORT: &str = "support";
const EXTENSIONS: [&str; 5] = ["png", "jpg", "jpeg", "bmp", "webp"];

/// A folder of images, embedded.
pub struct ImagePool {
    pub table: FeatureTable,
    /// Rows that are labelled by their folder.
    pub labels: Vec<(usize, String)>,
    pub files: Vec<PathBuf>,
}

/// Opens a folder; embeds what the cache does not have.
pub fn open(
    folder: &Path,
    network: &NetworkArgs,
    layer: Option<&str>,
    cache: Option<&Path>,
) -> Result<ImagePool, CliError> {
    let cache = match cache {
        Some(cache) => cache.to_owned(),
        None => default_cache()?,
    };
    // The same weights at another size or layer give other features, so that is part of what they are kept under.
    let backbone = format!("{} {}", weights_digest(network)?, network.choices(layer));
    open_with(folder, &backbone, &cache, |images| embed(network, layer, images))
}

fn open_with(
    folder: &Path,
    backbone: &str,
    cache: &Path,
    embed: impl Fn(&[PathBuf]) -> Result<Vec<Vec<f32>>, CliError>,
) -> Result<ImagePool, CliError> {
    let mut files = Vec::new();
    walk(folder, &mut files)?;
    if files.is_empty() {
        let kinds = EXTENSIONS.join(", ");
        return Err(CliError::Usage(format!("{}: it holds no images ({kinds})", folder.display())));
    }
    let ids: Vec<String> = files.iter().map(|file| id_of(folder, file)).collect();
    let labels =
        ids.iter().enumerate().filter_map(|(row, id)| Some((row, class_of(id)?.to_owned()))).collect();
    let features = cached_features(&files, backbone, cache, embed)?;
    let table = FeatureTable::from_features(folder, features, ids)?;
    Ok(ImagePool { table, labels, files })
}

/// All images below a folder in the order of their names; hidden files and folders are left alone.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), CliError> {
    let cannot =
        |error: std::io::Error| CliError::Usage(format!("{}: cannot read it: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(cannot)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(cannot)?;
    paths.sort();
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden {
            continue;
        }
        if path.is_dir() {
            walk(&path, files)?;
        } else if is_image(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_image(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
}

fn id_of(folder: &Path, file: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).to_string_lossy().replace('\\', "/")
}

/// `support/cat/1.png` is a cat.
fn class_of(id: &str) -> Option<&str> {
    let mut parts = id.split('/');
    (parts.next() == Some(SUPPORT)).then_some(())?;
    let class = parts.next()?;
    parts.next().map(|_| class)
}

fn cached_features(
    files: &[PathBuf],
    backbone: &str,
    cache: &Path,
    embed: impl Fn(&[PathBuf]) -> Result<Vec<Vec<f32>>, CliError>,
) -> Result<Matrix<f32>, CliError> {
    let mut keys = Vec::with_capacity(files.len());
    for file in files {
        let image = content_digest(&read(file)?);
        keys.push(content_digest(format!("{backbone} {image}").as_bytes()));
    }
    let place = |key: &str| cache.join(format!("{key}.f32"));
    let mut rows: Vec<Option<Vec<f32>>> = keys.iter().map(|key| load(&place(key))).collect();
    let missing: Vec<usize> = (0..rows.len()).filter(|&row| rows[row].is_none()).collect();
    if !missing.is_empty() {
        let paths: Vec<PathBuf> = missing.iter().map(|&row| files[row].clone()).collect();
        let embedded = embed(&paths)?;
        std::fs::create_dir_all(cache)
            .map_err(|error| CliError::Failed(format!("{}: cannot make it: {error}", cache.display())))?;
        for (&row, features) in missing.iter().zip(embedded) {
            atomic::write(&place(&keys[row]), |out| {
                features.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
            })?;
            rows[row] = Some(features);
        }
    }
    let columns = rows.iter().flatten().map(Vec::len).next().unwrap_or(0);
    let whole = rows.iter().all(|row| row.as_ref().is_some_and(|row| row.len() == columns));
    if !whole {
        return Err(CliError::Failed(format!(
            "{}: the features kept there are of different lengths; delete the folder and run again",
            cache.display()
        )));
    }
    Ok(Matrix::from_vec(rows.len(), columns, rows.into_iter().flatten().flatten().collect()))
}

/// Features kept earlier; a file that is no list of floats counts as missing.
fn load(path: &Path) -> Option<Vec<f32>> {
    let bytes = std::fs::read(path).ok()?;
    let (values, rest) = bytes.as_chunks::<4>();
    (!values.is_empty() && rest.is_empty())
        .then(|| values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
}

fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path)
        .map_err(|error| CliError::Usage(format!("{}: cannot read it: {error}", path.display())))
}

fn default_cache() -> Result<PathBuf, CliError> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    base.or_else(home)
        .map(|base| base.join("handful").join("features"))
        .ok_or_else(|| CliError::Usage("say where features may be kept with --cache FOLDER".into()))
}

/// The digest of a network's weights.
#[cfg(feature = "vision")]
fn weights_digest(network: &NetworkArgs) -> Result<String, CliError> {
    match &network.weights {
        Some(path) => Ok(content_digest(&read(path)?)),
        None => Ok(network.open(None)?.sha256().to_owned()),
    }
}

/// The digest of a network's weights.
#[cfg(not(feature = "vision"))]
fn weights_digest(network: &NetworkArgs) -> Result<String, CliError> {
    network.weights.as_ref().map_or_else(|| Ok(String::new()), |path| Ok(content_digest(&read(path)?)))
}

/// Turns images into features, in the order given; without weights, with the network that comes with the program.
#[cfg(feature = "vision")]
fn embed(network: &NetworkArgs, layer: Option<&str>, images: &[PathBuf]) -> Result<Vec<Vec<f32>>, CliError> {
    let network = network.open(layer)?;
    let (table, _) = crate::commands::embed::embed_paths(images, &network, false)?;
    Ok((0..table.rows()).map(|row| table.gather(&[row]).row(0).to_vec()).collect())
}

/// Turns images into features, in the order given.
#[cfg(not(feature = "vision"))]
fn embed(
    _network: &NetworkArgs,
    _layer: Option<&str>,
    images: &[PathBuf],
) -> Result<Vec<Vec<f32>>, CliError> {
    Err(CliError::Usage(format!(
        "this build has no vision and cannot embed {} images; give a feature file instead",
        images.len()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn images_are_found_labelled_by_folder_and_embedded_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let pool = folder.path().join("pool");
        for (name, bytes) in [
            ("support/cat/1.png", "c"),
            ("support/dog/1.JPG", "d"),
            ("support/loose.png", "l"),
            ("b.png", "b"),
            ("notes.txt", "n"),
            (".hidden/x.png", "x"),
        ] {
            let path = pool.join(name);
            std::fs::create_dir_all(path.parent().expect("inside")).expect("made");
            std::fs::write(path, bytes).expect("written");
        }
        let embedded = Cell::new(0);
        let embed = |images: &[PathBuf]| {
            embedded.set(embedded.get() + images.len());
            Ok(images.iter().map(|path| vec![read(path).expect("there")[0] as f32, 1.0]).collect())
        };
        let open = || open_with(&pool, "network", &folder.path().join("cache"), embed).expect("embedded");
        let first = open();
        assert_eq!(first.table.ids().expect("named").len(), 4);
        assert_eq!(first.table.id(0), "b.png");
        assert_eq!(first.labels, [(1, "cat".to_owned()), (2, "dog".to_owned())]);
        assert_eq!((first.table.gather(&[1]).as_slice(), embedded.get()), (&[99.0, 1.0][..], 4));
        assert_eq!(open().table.gather(&[0, 3]), first.table.gather(&[0, 3]));
        assert_eq!(embedded.get(), 4, "the second run embeds nothing");
        std::fs::write(pool.join("b.png"), "z").expect("written");
        open();
        assert_eq!(embedded.get(), 5, "a changed image is embedded again");
    }
}
