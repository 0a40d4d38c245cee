//! What is labelled: rows with ids, perhaps with images, prepared once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use handful_data::FeatureTable;
use handful_data::datasets::{ImageDataset, Pictures};
use handful_data::labelled::TaskContent;
use handful_label::{LabelError, LabelParams, PreparedPool, Rule};

/// A pool made ready to be labelled.
pub struct StudioPool {
    /// What the page calls it.
    pub name: String,
    /// Its rows' ids.
    pub ids: Vec<String>,
    /// What made the features, where it is known.
    pub network: Option<String>,
    /// The images.
    pub pictures: Option<Pictures>,
    /// The texts.
    pub texts: Option<Vec<String>>,
    /// The folder that Label Studio serves local files from; without it exported tasks have small images in them.
    pub image_root: Option<PathBuf>,
    /// What `handful label` would prepare: its fits are those that are exported.
    pub prepared: PreparedPool,
    /// The same with the quick rule and no labels left out, for the moment after an answer.
    pub(crate) quick: PreparedPool,
    row_of_id: HashMap<String, usize>,
}

impl StudioPool {
    /// Prepares a pool, which has neither images nor texts yet.
    ///
    /// # Errors
    /// Those of [`PreparedPool::new`].
    pub fn new(name: String, table: FeatureTable) -> Result<Self, LabelError> {
        let ids: Vec<String> = (0..table.rows()).map(|row| table.id(row)).collect();
        let row_of_id = ids.iter().enumerate().map(|(row, id)| (id.clone(), row)).collect();
        let table = Arc::new(table);
        let prepared = PreparedPool::new(table.clone(), &LabelParams::default())?;
        let quick = LabelParams { left_out_parts: 0, ..LabelParams::of_rule(Rule::Fast) };
        let quick = PreparedPool::new(table, &quick)?;
        let (network, pictures, texts, image_root) = (None, None, None, None);
        Ok(Self { name, ids, network, pictures, texts, image_root, prepared, quick, row_of_id })
    }

    /// What an exported task shows of a row.
    pub(crate) fn task_content(&self) -> TaskContent<'_> {
        match (&self.image_root, &self.pictures, &self.texts) {
            (Some(root), pictures, _) => {
                TaskContent::LocalFiles { root: root.clone(), pictures: pictures.as_ref() }
            }
            (None, Some(pictures), _) => TaskContent::Embedded(pictures),
            (None, None, Some(texts)) => TaskContent::Texts(texts),
            (None, None, None) => TaskContent::Ids,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ids.len()
    }

    /// The row with an id.
    pub fn row_of_id(&self, id: &str) -> Option<usize> {
        self.row_of_id.get(id).copied()
    }

    /// The image of a row.
    pub fn image(&self, row: usize) -> Option<(&ImageDataset, usize)> {
        let pictures = self.pictures.as_ref()?;
        Some((&pictures.dataset, pictures.image(row)?))
    }
}
