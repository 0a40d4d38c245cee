//! What a row of a task is made of, where that is known: the places of a feature map, or views of an image.
//!
//! Features of an image are a mean (over the places of the last map, over the image and its mirror image). Most methods want
//! just that; a few compare what it is the mean of. So parts are beside the features and every other method goes on as if
//! they were not there.

use serde::{Deserialize, Serialize};

use crate::error::TaskError;
use crate::linalg::Matrix;

/// What the vectors of a row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// The places of the network's last feature map.
    Maps,
    /// The image, and its mirror image.
    Views,
}

impl PartKind {
    /// Its name, which is that of its array in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Maps => "maps",
            Self::Views => "views",
        }
    }
}

/// The vectors of each row of a task; those of one row stand one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskParts {
    kind: PartKind,
    count: usize,
    support: Matrix<f32>,
    pool: Matrix<f32>,
    query: Matrix<f32>,
}

impl TaskParts {
    /// Vectors of the rows of each part of a task, `count` of them for each row; `pool` is empty for a transductive task.
    ///
    /// # Panics
    /// If `count` is zero.
    pub fn new(
        kind: PartKind,
        count: usize,
        support: Matrix<f32>,
        pool: Matrix<f32>,
        query: Matrix<f32>,
    ) -> Self {
        assert!(count > 0, "a row is made of something");
        Self { kind, count, support, pool, query }
    }

    /// What they are.
    pub fn kind(&self) -> PartKind {
        self.kind
    }

    /// How many vectors a row has.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Those of the labelled rows.
    pub fn support(&self) -> &Matrix<f32> {
        &self.support
    }

    /// Those of the pool.
    pub fn pool(&self) -> &Matrix<f32> {
        &self.pool
    }

    /// Those of the rows to label.
    pub fn query(&self) -> &Matrix<f32> {
        &self.query
    }

    /// Refuses vectors that do not belong to so many rows, or are no numbers.
    pub(crate) fn check(&self, support: usize, pool: usize, query: usize) -> Result<(), TaskError> {
        let width = self.support.columns();
        let of = [
            ("support", &self.support, support),
            ("unlabeled", &self.pool, pool),
            ("query", &self.query, query),
        ];
        for (part, vectors, rows) in of {
            if vectors.rows() != rows * self.count || (vectors.rows() > 0 && vectors.columns() != width) {
                let (got, expected) = ([vectors.rows(), vectors.columns()], [rows * self.count, width]);
                return Err(TaskError::PartShape { part, kind: self.kind.name(), got, expected });
            }
            if let Some((row, column, value)) = vectors.first_non_finite() {
                return Err(TaskError::NotFinite { part, row: row / self.count, column, value });
            }
        }
        Ok(())
    }
}
