//! The images of a table's rows.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::image_names::is_image;
use super::{ImageDataset, open_images};
use crate::{DataError, FeatureTable};

/// Images, and which is each row's.
#[derive(Debug)]
pub struct Pictures {
    /// The images.
    pub dataset: ImageDataset,
    /// The image of each row, where it has one.
    pub of_row: Vec<Option<usize>>,
}

impl Pictures {
    /// Finds the images of a table's rows by their ids.
    pub fn by_id(table: &FeatureTable, dataset: ImageDataset) -> Self {
        let of_id: HashMap<&str, usize> =
            (0..dataset.len()).map(|image| (dataset.id(image), image)).collect();
        let of_row = (0..table.rows()).map(|row| of_id.get(table.id(row).as_str()).copied()).collect();
        Self { dataset, of_row }
    }

    /// Finds the images that a table names by their paths, seen from the table's own folder; `None` where its ids are no
    /// such paths. A path that leads out of the folder is none of its images.
    ///
    /// # Errors
    /// An image that cannot be looked at.
    pub fn beside(table: &FeatureTable) -> Result<Option<Self>, DataError> {
        let Some(folder) = table.path().parent() else { return Ok(None) };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let Ok(inside) = folder.canonicalize() else { return Ok(None) };
        let mut files: Vec<PathBuf> = Vec::new();
        let mut of_row = Vec::with_capacity(table.rows());
        for row in 0..table.rows() {
            let id = PathBuf::from(table.id(row));
            let plain = id.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            let file = (plain && is_image(&id)).then(|| folder.join(&id));
            let file = file.filter(|file| file.canonicalize().is_ok_and(|whole| whole.starts_with(&inside)));
            of_row.push(file.as_ref().map(|_| files.len()));
            files.extend(file);
        }
        if files.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { dataset: open_images(&files)?, of_row }))
    }

    /// The image of a row.
    pub fn image(&self, row: usize) -> Option<usize> {
        *self.of_row.get(row)?
    }

    /// The file of a row's image, where it has one of its own.
    pub fn file(&self, row: usize) -> Option<&Path> {
        self.dataset.file(self.image(row)?)
    }

    /// The number of rows that have an image.
    pub fn count(&self) -> usize {
        self.of_row.iter().flatten().count()
    }
}

#[cfg(test)]
mod tests {
    use handful::Matrix;

    use super::*;

    #[test]
    fn images_beside_a_table_are_found_and_those_outside_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let pool = folder.path().join("pool");
        std::fs::create_dir_all(pool.join("a")).expect("a folder");
        for file in ["pool/a/1.png", "pool/2.jpg", "secret.png"] {
            std::fs::write(folder.path().join(file), "x").expect("written");
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path().join("secret.png"), pool.join("link.png")).expect("a link");
        let ids = ["a/1.png", "2.jpg", "../secret.png", "link.png", "missing.png", "/etc/passwd", "note"];
        let outside = folder.path().join("secret.png");
        let ids: Vec<String> =
            ids.iter().map(|id| (*id).to_owned()).chain([outside.display().to_string()]).collect();
        let features = Matrix::zeros(ids.len(), 2);
        let table = FeatureTable::from_features(&pool.join("table.csv"), features, ids).expect("a table");
        let pictures = Pictures::beside(&table).expect("looked at").expect("found");
        assert_eq!(pictures.of_row, [Some(0), Some(1), None, None, None, None, None, None]);
        assert_eq!((pictures.count(), pictures.file(1)), (2, Some(pool.join("2.jpg").as_path())));
        let none = FeatureTable::from_features(
            &pool.join("table.csv"),
            Matrix::zeros(1, 2),
            vec!["a row".to_owned()],
        );
        assert!(Pictures::beside(&none.expect("a table")).expect("looked at").is_none());
    }
}
