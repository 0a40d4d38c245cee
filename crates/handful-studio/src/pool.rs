//! What is labelled: rows with ids, perhaps with images, prepared once.

use std::collections::HashMap;
use std::sync::Arc;

use handful_data::FeatureTable;
use handful_data::datasets::ImageDataset;
use handful_label::{LabelError, LabelParams, PreparedPool, Rule};

/// The images of a pool's rows.
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
}

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
    /// What `handful label` would prepare: its fits are those that are exported.
    pub prepared: PreparedPool,
    /// The same with the quick rule and no labels left out, for the moment after an answer.
    pub(crate) quick: PreparedPool,
    /// Two coordinates of each row, from 0 to 1.
    pub(crate) map: Vec<[f32; 2]>,
    row_of_id: HashMap<String, usize>,
}

impl StudioPool {
    /// Prepares a pool.
    ///
    /// # Errors
    /// Those of [`PreparedPool::new`].
    pub fn new(
        name: String,
        table: FeatureTable,
        network: Option<String>,
        pictures: Option<Pictures>,
    ) -> Result<Self, LabelError> {
        let ids: Vec<String> = (0..table.rows()).map(|row| table.id(row)).collect();
        let row_of_id = ids.iter().enumerate().map(|(row, id)| (id.clone(), row)).collect();
        let table = Arc::new(table);
        let prepared = PreparedPool::new(table.clone(), &LabelParams::default())?;
        let quick = LabelParams { left_out_parts: 0, ..LabelParams::of_rule(Rule::Fast) };
        let quick = PreparedPool::new(table, &quick)?;
        let map = map(&prepared)?;
        Ok(Self { name, ids, network, pictures, prepared, quick, map, row_of_id })
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
        Some((&pictures.dataset, (*pictures.of_row.get(row)?)?))
    }
}

/// Rows that are projected together.
const BLOCK: usize = 16_384;

/// The two leading principal coordinates, each stretched over 0 to 1.
fn map(prepared: &PreparedPool) -> Result<Vec<[f32; 2]>, LabelError> {
    let mut map = Vec::with_capacity(prepared.rows());
    let rows: Vec<usize> = (0..prepared.rows()).collect();
    for rows in rows.chunks(BLOCK) {
        let coordinates = prepared.coordinates_of(rows)?;
        let pair = |row: &[f32]| [row.first().copied().unwrap_or(0.0), row.get(1).copied().unwrap_or(0.0)];
        map.extend(coordinates.iter_rows().map(pair));
    }
    for axis in 0..2 {
        let low = map.iter().map(|point| point[axis]).fold(f32::INFINITY, f32::min);
        let high = map.iter().map(|point| point[axis]).fold(f32::NEG_INFINITY, f32::max);
        let width = (high - low).max(f32::MIN_POSITIVE);
        map.iter_mut().for_each(|point| point[axis] = (point[axis] - low) / width);
    }
    Ok(map)
}
