//! Vectors of whole classes beside the labelled rows of a task.
//!
//! A vector counts as so many labelled rows of its class: it is put among them as often. Every method then has it without
//! knowing of it.

use handful::Matrix;
use handful_data::{ClassVectors, DataError, Episode, FeatureTable};

/// The vectors of a table's classes, and how much they count.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassPrototypes {
    /// By class of the table.
    vectors: Vec<Option<Vec<f32>>>,
    rows: usize,
}

impl ClassPrototypes {
    /// The vectors of a table's classes, each counting as `rows` labelled rows.
    ///
    /// # Errors
    /// Vectors of another length than the features', or of none of the table's classes.
    pub fn new(vectors: &ClassVectors, table: &FeatureTable, rows: usize) -> Result<Self, DataError> {
        let found = vectors.of_classes(table.class_names(), table.dim())?;
        Ok(Self { vectors: found.into_iter().map(|vector| vector.map(<[f32]>::to_vec)).collect(), rows })
    }

    /// How many classes have a vector.
    pub fn count(&self) -> usize {
        self.vectors.iter().flatten().count()
    }

    /// Adds the vectors of an episode's classes to its labelled rows.
    pub(crate) fn join(
        &self,
        episode: &Episode,
        support: Matrix<f32>,
        mut labels: Vec<usize>,
    ) -> (Matrix<f32>, Vec<usize>) {
        let columns = support.columns();
        let mut values = support.as_slice().to_vec();
        for (way, &class) in episode.classes.iter().enumerate() {
            if let Some(vector) = self.vectors.get(class).and_then(Option::as_ref) {
                for _ in 0..self.rows {
                    values.extend_from_slice(vector);
                    labels.push(way);
                }
            }
        }
        (Matrix::from_vec(labels.len(), columns, values), labels)
    }
}
