//! Vectors of whole classes behind the rows of a pool: what is known of a class besides examples.
//!
//! A prototype is a labelled row that is not of the pool. It is never left out, so that what labels left out say is said of
//! examples alone; and it counts as much as it is told to. A class may have no other label: that is labelling without examples.

use std::sync::Arc;

use handful::Matrix;

use crate::pool::{PoolRows, ReadError};

/// Vectors of classes and what they count.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototypes {
    /// The vectors, of the pool's columns.
    pub vectors: Matrix<f32>,
    /// The class of each.
    pub classes: Vec<usize>,
    /// How many labels each counts as.
    pub weight: f64,
}

/// A pool with prototypes behind its rows.
pub struct PrototypePool {
    pool: Arc<dyn PoolRows>,
    prototypes: Prototypes,
}

impl PrototypePool {
    /// Puts prototypes behind a pool.
    ///
    /// # Panics
    /// If the vectors have other columns than the pool, or are not as many as their classes.
    pub fn new(pool: Arc<dyn PoolRows>, prototypes: Prototypes) -> Self {
        assert_eq!(prototypes.vectors.columns(), pool.dim(), "vectors of another space");
        assert_eq!(prototypes.vectors.rows(), prototypes.classes.len(), "a vector for each class");
        Self { pool, prototypes }
    }
}

impl PoolRows for PrototypePool {
    fn rows(&self) -> usize {
        self.pool.rows() + self.prototypes.classes.len()
    }

    fn dim(&self) -> usize {
        self.pool.dim()
    }

    fn gather(&self, rows: &[usize]) -> Matrix<f32> {
        let own = self.pool.rows();
        if rows.iter().all(|&row| row < own) {
            return self.pool.gather(rows);
        }
        let inside: Vec<usize> = rows.iter().copied().filter(|&row| row < own).collect();
        let gathered = self.pool.gather(&inside);
        let mut at = 0;
        let mut values = Vec::with_capacity(rows.len() * self.dim());
        for &row in rows {
            if row < own {
                values.extend_from_slice(gathered.row(at));
                at += 1;
            } else {
                values.extend_from_slice(self.prototypes.vectors.row(row - own));
            }
        }
        Matrix::from_vec(rows.len(), self.dim(), values)
    }

    fn for_each_block(&self, visit: &mut dyn FnMut(usize, &[f32])) -> Result<(), ReadError> {
        self.pool.for_each_block(visit)?;
        visit(self.pool.rows(), self.prototypes.vectors.as_slice());
        Ok(())
    }

    fn prototypes(&self) -> Option<&Prototypes> {
        Some(&self.prototypes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LabelParams, PreparedPool, Rule};

    /// Two groups of rows around two axes.
    fn rows() -> Matrix<f32> {
        let value = |row: usize, column: usize| {
            let noise = ((row * 37 + column * 101) % 97) as f32 / 97.0 - 0.5;
            f32::from(u8::from(column == row % 2)) + 0.2 * noise
        };
        let values = (0..60).flat_map(|row| (0..5).map(move |column| value(row, column)));
        Matrix::from_vec(60, 5, values.collect())
    }

    fn prepared(weight: f64, rule: Rule) -> PreparedPool {
        let vectors = Matrix::from_vec(2, 5, vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        let prototypes = Prototypes { vectors, classes: vec![0, 1], weight };
        let pool = PrototypePool::new(Arc::new(rows()), prototypes);
        PreparedPool::new(Arc::new(pool), &LabelParams::of_rule(rule)).expect("finite")
    }

    #[test]
    fn a_pool_is_labelled_by_prototypes_alone() {
        for rule in [Rule::Adaptive, Rule::Fast, Rule::Smoothing] {
            let pool = prepared(1.0, rule);
            assert_eq!(pool.rows(), 60);
            let labelling = pool.fit(&[], 2).expect("prototypes will do").labelling;
            assert_eq!(labelling.rows.len(), 60);
            assert!(labelling.rows.iter().enumerate().all(|(at, row)| row.class == at % 2 && !row.given));
            assert!(labelling.left_out.is_empty() && !labelling.calibration.fitted);
        }
    }

    #[test]
    fn only_examples_are_left_out() {
        let pool = prepared(3.0, Rule::Adaptive);
        let labels: Vec<(usize, usize)> = (0..12).map(|row| (row, row % 2)).collect();
        let fit = pool.fit(&labels, 2).expect("labels");
        assert!(!fit.labelling.left_out.is_empty());
        assert!(fit.labelling.left_out.iter().all(|out| out.row < 12));
        assert_eq!(fit.labelling.rows.iter().filter(|row| row.given).count(), 12);
        assert!(pool.fit(&[(60, 0), (1, 1)], 2).is_err(), "a prototype is no row of the pool");
        let review = pool.review(&fit.labelling, &[true; 60], 5).expect("rows");
        assert!(review.rows.iter().all(|chosen| chosen.row < 60));
    }

    #[test]
    fn rows_come_in_the_order_asked_for() {
        let vectors = Matrix::from_vec(1, 5, vec![9.0; 5]);
        let prototypes = Prototypes { vectors, classes: vec![0], weight: 1.0 };
        let pool = PrototypePool::new(Arc::new(rows()), prototypes);
        let found = pool.gather(&[3, 60, 1]);
        assert_eq!((found.row(0), found.row(1)[0], found.row(2)), (rows().row(3), 9.0, rows().row(1)));
        let mut seen = 0;
        pool.for_each_block(&mut |first, values| {
            assert_eq!(first, seen);
            seen += values.len() / 5;
        })
        .expect("in memory");
        assert_eq!(seen, 61);
    }
}
