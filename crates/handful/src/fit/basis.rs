//! In which basis the classifier of a task is fitted.
//!
//! Everything in a fit depends on the features only through inner products, except that Adam scales each coordinate
//! of its step by itself. So a task of 80 rows in 1,280 dimensions can be fitted in the 80 dimensions that its rows
//! span, sixteen times cheaper; the path to the optimum differs a little, the objective not at all. With steps measured
//! by length ([`crate::fit::adam`]) the path does not differ either.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::linalg::Matrix;
use crate::linalg::dense::{inner_products, span_coordinates};
use crate::scalar::Scalar;
use crate::task::{Task, Unlabeled};

/// The coordinates a classifier is fitted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Those of the features.
    Original,
    /// An orthonormal basis of the span of all rows of the task, where that has fewer dimensions.
    Span,
}

impl Basis {
    /// Writes a task in this basis; inner products stay what they are. Makes no copy where there is nothing to do.
    pub fn applied<T: Scalar>(self, task: Cow<Task<T>>) -> Cow<Task<T>> {
        let pool_rows = match task.unlabeled() {
            Unlabeled::Query => 0,
            Unlabeled::Pool(pool) => pool.rows(),
        };
        let (support, query) = (task.support().rows(), task.query().rows());
        if self == Basis::Original || support + query + pool_rows >= task.dim() {
            return task;
        }
        let mut rows = task.support().stack(task.query());
        if let Unlabeled::Pool(pool) = task.unlabeled() {
            rows = rows.stack(pool);
        }
        let coordinates = span_coordinates(&inner_products(&rows, &rows));
        let part = |start: usize, count: usize| -> Matrix<T> {
            coordinates.gather(&(start..start + count).collect::<Vec<_>>())
        };
        let unlabeled = match task.unlabeled() {
            Unlabeled::Query => Unlabeled::Query,
            Unlabeled::Pool(_) => Unlabeled::Pool(part(support + query, pool_rows)),
        };
        Cow::Owned(task.with_features(part(0, support), unlabeled, part(support, query)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_task_shrinks_to_its_rows_and_keeps_distances() {
        let value = |at: usize| ((at * 7919 % 101) as f64).sin();
        let matrix = |rows: usize, from: usize| {
            Matrix::from_vec(rows, 50, (0..rows * 50).map(|at| value(at + from)).collect())
        };
        let pool = Unlabeled::Pool(matrix(4, 300));
        let task = Task::new(0, 2, matrix(2, 0), vec![0, 1], pool, matrix(3, 100)).expect("valid");
        let small = Basis::Span.applied(Cow::Borrowed(&task));
        assert_eq!(small.dim(), 9);
        let distance = |task: &Task<f64>, i: usize, j: usize| -> f64 {
            task.query().row(i).iter().zip(task.pool().row(j)).map(|(a, b)| (a - b).powi(2)).sum()
        };
        for i in 0..3 {
            for j in 0..4 {
                assert!((distance(&task, i, j) - distance(&small, i, j)).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_narrow_task_stays_as_it_is() {
        let rows = |count: usize| Matrix::from_vec(count, 2, vec![1.0f32; count * 2]);
        let task = Task::new(0, 2, rows(2), vec![0, 1], Unlabeled::Query, rows(5)).expect("valid");
        assert_eq!(*Basis::Span.applied(Cow::Borrowed(&task)), task);
    }
}
