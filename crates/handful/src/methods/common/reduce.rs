//! A task in fewer dimensions.

use crate::linalg::Matrix;
use crate::linalg::subspace::Subspace;
use crate::methods::common::answer::split_rows;
use crate::methods::common::feature_rows::FeatureRows;
use crate::task::{Task, Unlabeled};

/// Every row of a task: labelled, unlabelled, query (once, where the query is what is unlabelled).
pub(crate) fn all_rows(task: &Task<f32>) -> Matrix<f32> {
    let labelled = task.support().stack(task.pool());
    if task.is_transductive() { labelled } else { labelled.stack(task.query()) }
}

/// A task whose rows, in the order of [`all_rows`], are replaced by others.
pub(crate) fn with_rows(task: &Task<f32>, rows: &Matrix<f32>) -> Task<f32> {
    let (support, others) = split_rows(rows, task.support().rows());
    match task.unlabeled() {
        Unlabeled::Query => task.with_features(support, Unlabeled::Query, others),
        Unlabeled::Pool(pool) => {
            let (pool, query) = split_rows(&others, pool.rows());
            task.with_features(support, Unlabeled::Pool(pool), query)
        }
    }
}

/// A task projected on the top right singular vectors of all its rows, uncentred.
pub(crate) fn principal_task(task: &Task<f32>, dimensions: usize) -> Task<f32> {
    let rows = all_rows(task);
    let gram = FeatureRows::new(&rows).gram();
    let coordinates = Subspace::new(&gram, dimensions).coordinates(&gram);
    with_rows(task, &coordinates.cast())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::common::test_tasks::usual;

    #[test]
    fn rows_go_back_to_their_parts() {
        for pool in [None, Some(3)] {
            let task = usual(pool, 0.5, 1).task;
            assert_eq!(with_rows(&task, &all_rows(&task)), task);
        }
    }

    #[test]
    fn all_dimensions_keep_products_and_few_are_few() {
        let task = usual(Some(3), 0.5, 1).task;
        let same = principal_task(&task, 1000);
        let dot = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let before = dot(task.support().row(1), task.query().row(2));
        let after = dot(same.support().row(1), same.query().row(2));
        assert!((before - after).abs() < 1e-3 * before.abs());
        assert_eq!(principal_task(&task, 7).dim(), 7);
    }
}
