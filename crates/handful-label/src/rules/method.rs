//! Any method of the benchmark as a rule: the pool is one task, its unlabelled rows the queries.

use handful::Matrix;
use handful::fit::head::Example;
use handful::task::{Task, Unlabeled};
use handful::{Method, Solution};

use crate::error::LabelError;
use crate::members::{Member, Opinions};

/// The most rows: methods may hold a kernel of every row with every other.
pub(crate) const MOST_ROWS: usize = 10_000;

/// Solves the pool as one task; examples are rows of `rows`.
pub(crate) fn infer(
    method: &dyn Method,
    rows: &Matrix<f32>,
    given: &[Example],
    ways: usize,
) -> Result<Opinions, LabelError> {
    let mut is_given = vec![false; rows.rows()];
    given.iter().for_each(|example| is_given[example.row] = true);
    let labelled: Vec<usize> = given.iter().map(|example| example.row).collect();
    let classes: Vec<usize> = given.iter().map(|example| example.class).collect();
    let others: Vec<usize> = (0..rows.rows()).filter(|&row| !is_given[row]).collect();
    let refused = |source| LabelError::Method { method: method.name(), source };
    let task = Task::new(0, ways, rows.gather(&labelled), classes, Unlabeled::Query, rows.gather(&others));
    let solution: Solution<f32> = method.solve(&task.map_err(refused)?).map_err(refused)?;
    let mut said = Matrix::zeros(rows.rows(), ways);
    for example in given {
        said.row_mut(example.row)[example.class] = 1.0;
    }
    for (at, &row) in others.iter().enumerate() {
        said.row_mut(row).copy_from_slice(solution.query.row(at));
    }
    Ok(Opinions { of_member: vec![(Member::Method, said)] })
}
