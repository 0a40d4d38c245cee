//! What the rows of a table are made of, where the file says so.

use std::sync::Arc;

use handful::Matrix;
use handful::parts::PartKind;

/// The vectors of every row: places of a feature map, or views of an image.
#[derive(Clone, Debug)]
pub struct RowParts {
    kind: PartKind,
    count: usize,
    /// A row for each row of the table, with all its vectors one after the other.
    vectors: Arc<Matrix<f32>>,
}

impl RowParts {
    /// `count` vectors for each row, one after the other in a row of `vectors`. None where they do not divide it.
    pub fn new(kind: PartKind, count: usize, vectors: Matrix<f32>) -> Option<Self> {
        let divides = count > 0 && vectors.columns() > 0 && vectors.columns().is_multiple_of(count);
        divides.then(|| Self { kind, count, vectors: Arc::new(vectors) })
    }

    /// What they are.
    pub fn kind(&self) -> PartKind {
        self.kind
    }

    /// How many a row has.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many numbers each has.
    pub fn width(&self) -> usize {
        self.vectors.columns() / self.count
    }

    /// A row of all vectors for each row of the table.
    pub fn vectors(&self) -> &Matrix<f32> {
        &self.vectors
    }

    /// The vectors of some rows, each a row of its own.
    ///
    /// # Panics
    /// If a row is beyond the table.
    pub fn gather(&self, rows: &[usize]) -> Matrix<f32> {
        let values = self.vectors.gather(rows).as_slice().to_vec();
        Matrix::from_vec(rows.len() * self.count, self.width(), values)
    }

    /// The same for some rows of the table only.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        Self { vectors: Arc::new(self.vectors.gather(rows)), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_a_row_come_one_after_the_other() {
        let vectors = Matrix::from_vec(2, 6, (0..12).map(|at| at as f32).collect());
        let parts = RowParts::new(PartKind::Maps, 3, vectors.clone()).expect("they divide");
        assert_eq!((parts.count(), parts.width()), (3, 2));
        let gathered = parts.gather(&[1]);
        assert_eq!((gathered.rows(), gathered.row(1)), (3, &[8.0, 9.0][..]));
        assert_eq!(parts.select(&[1, 0]).gather(&[0]), gathered);
        assert!(RowParts::new(PartKind::Maps, 4, vectors).is_none());
    }
}
