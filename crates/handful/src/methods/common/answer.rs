//! From what a method learnt about some unlabelled rows to the solution of the whole task.

use crate::fit::head::Example;
use crate::linalg::Matrix;
use crate::self_training::UnlabeledRows;
use crate::solution::Solution;
use crate::task::{Task, Unlabeled};

/// Puts together a solution from the probabilities of the rows that were learnt from (those that
/// [`crate::methods::single_fit::unlabelled_rows`] gave), labelling rows outside of them with `label`.
pub(crate) fn answer(
    task: &Task<f32>,
    which: UnlabeledRows,
    learnt: &Matrix<f64>,
    label: impl Fn(&Matrix<f32>) -> Matrix<f64>,
) -> Solution<f32> {
    let learnt: Matrix<f32> = learnt.cast();
    match (task.unlabeled(), which) {
        (Unlabeled::Query, _) => Solution::from_probabilities(learnt.clone(), learnt),
        (Unlabeled::Pool(_), UnlabeledRows::Pool) => {
            Solution::from_probabilities(label(task.query()).cast(), learnt)
        }
        (Unlabeled::Pool(pool), UnlabeledRows::Query) => {
            Solution::from_probabilities(learnt, label(pool).cast())
        }
        (Unlabeled::Pool(pool), UnlabeledRows::Both) => {
            let (pool, query) = split_rows(&learnt, pool.rows());
            Solution::from_probabilities(query, pool)
        }
    }
}

/// The solution of a method that labels every row by itself.
pub(crate) fn inductive_answer(
    task: &Task<f32>,
    label: impl Fn(&Matrix<f32>) -> Matrix<f64>,
) -> Solution<f32> {
    let query: Matrix<f32> = label(task.query()).cast();
    let unlabelled = match task.unlabeled() {
        Unlabeled::Query => query.clone(),
        Unlabeled::Pool(pool) => label(pool).cast(),
    };
    Solution::from_probabilities(query, unlabelled)
}

/// The first `count` rows, and the others.
pub(crate) fn split_rows(rows: &Matrix<f32>, count: usize) -> (Matrix<f32>, Matrix<f32>) {
    let (first, others) = rows.as_slice().split_at(count * rows.columns());
    let columns = rows.columns();
    (
        Matrix::from_vec(count, columns, first.to_vec()),
        Matrix::from_vec(rows.rows() - count, columns, others.to_vec()),
    )
}

/// One column per class, one where the row has that label.
pub(crate) fn one_hot(labels: &[usize], ways: usize) -> Matrix<f64> {
    let mut out = Matrix::zeros(labels.len(), ways);
    for (row, &label) in labels.iter().enumerate() {
        out.row_mut(row)[label] = 1.0;
    }
    out
}

/// The labelled rows of a task, which come first among all its rows, as examples of a graph.
pub(crate) fn labelled_examples(labels: &[usize]) -> Vec<Example> {
    let example = |(row, &class): (usize, &usize)| Example { row, class, weight: 1.0 };
    labels.iter().enumerate().map(example).collect()
}

/// Divides each row by its sum; a row without any weight becomes uniform.
pub(crate) fn normalise_rows(rows: &mut Matrix<f64>) {
    let columns = rows.columns();
    for row in 0..rows.rows() {
        let row = rows.row_mut(row);
        let total: f64 = row.iter().sum();
        if total > 0.0 && total.is_finite() {
            row.iter_mut().for_each(|value| *value /= total);
        } else {
            row.fill(1.0 / columns as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(unlabeled: Unlabeled<f32>) -> Task<f32> {
        let rows = Matrix::from_vec(2, 1, vec![0.0, 1.0]);
        Task::new(0, 2, rows.clone(), vec![0, 1], unlabeled, rows).expect("valid")
    }

    #[test]
    fn learnt_rows_go_where_they_came_from_and_the_others_are_labelled() {
        let label = |rows: &Matrix<f32>| Matrix::from_vec(rows.rows(), 2, [0.25, 0.75].repeat(rows.rows()));
        let learnt = |rows: usize| Matrix::from_vec(rows, 2, [1.0, 0.0].repeat(rows));
        let pool = || Unlabeled::Pool(Matrix::from_vec(3, 1, vec![0.0, 0.5, 1.0]));

        let solution = answer(&task(Unlabeled::Query), UnlabeledRows::Pool, &learnt(2), label);
        assert_eq!(solution.query, solution.unlabeled);
        let solution = answer(&task(pool()), UnlabeledRows::Pool, &learnt(3), label);
        assert_eq!((solution.unlabeled.row(2)[0], solution.query.row(1)[0]), (1.0, 0.25));
        let solution = answer(&task(pool()), UnlabeledRows::Query, &learnt(2), label);
        assert_eq!((solution.unlabeled.row(2)[0], solution.query.row(1)[0]), (0.25, 1.0));
        let solution = answer(&task(pool()), UnlabeledRows::Both, &learnt(5), label);
        assert_eq!((solution.unlabeled.rows(), solution.query.rows()), (3, 2));
    }

    #[test]
    fn a_row_without_weight_becomes_uniform() {
        let mut rows = Matrix::from_vec(2, 2, vec![1.0, 3.0, 0.0, 0.0]);
        normalise_rows(&mut rows);
        assert_eq!(rows.as_slice(), &[0.25, 0.75, 0.5, 0.5]);
    }
}
