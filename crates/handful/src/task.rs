//! A few-shot task as a method sees it: no truth, no file, no row number.

use std::sync::Arc;

use crate::error::TaskError;
use crate::linalg::Matrix;
use crate::parts::TaskParts;
use crate::scalar::Scalar;

/// Rows without labels that a method may learn from.
#[derive(Clone, Debug, PartialEq)]
pub enum Unlabeled<T> {
    /// The query rows themselves: the transductive setting.
    Query,
    /// A separate pool: the semi-supervised setting. It may be empty.
    Pool(Matrix<T>),
}

/// A few labelled rows per class, rows without labels, and rows to label.
///
/// Made by [`Task::new`], which checks everything a method relies on: at least two classes, every class with at least
/// one support row, one number of dimensions, only finite numbers. The type has no room for the truth about the
/// query, so no method can see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Task<T> {
    id: u64,
    ways: usize,
    support: Matrix<T>,
    support_labels: Vec<usize>,
    unlabeled: Unlabeled<T>,
    query: Matrix<T>,
    base_mean: Option<Vec<T>>,
    parts: Option<Arc<TaskParts>>,
}

impl<T: Scalar> Task<T> {
    /// Checks and assembles a task. `id` seeds whatever a method draws at random, so equal tasks get equal answers.
    ///
    /// # Errors
    /// [`TaskError`] names the part, row and value that no method could work with.
    pub fn new(
        id: u64,
        ways: usize,
        support: Matrix<T>,
        support_labels: Vec<usize>,
        unlabeled: Unlabeled<T>,
        query: Matrix<T>,
    ) -> Result<Self, TaskError> {
        if ways < 2 {
            return Err(TaskError::TooFewWays { ways });
        }
        if support_labels.len() != support.rows() {
            return Err(TaskError::LabelCount { labels: support_labels.len(), rows: support.rows() });
        }
        let mut seen = vec![false; ways];
        for (row, &label) in support_labels.iter().enumerate() {
            *seen.get_mut(label).ok_or(TaskError::LabelRange { row, label, ways })? = true;
        }
        if let Some(class) = seen.iter().position(|&seen| !seen) {
            return Err(TaskError::EmptyClass { class });
        }
        if support.columns() == 0 {
            return Err(TaskError::NoDimensions);
        }
        check_part("support", &support, support.columns())?;
        check_part("query", &query, support.columns())?;
        if let Unlabeled::Pool(pool) = &unlabeled {
            check_part("unlabeled", pool, support.columns())?;
        }
        // An empty part takes the width of the others, so that methods can stack and multiply without looking.
        let as_wide = |rows: Matrix<T>| {
            if rows.rows() == 0 { Matrix::zeros(0, support.columns()) } else { rows }
        };
        let query = as_wide(query);
        let unlabeled = match unlabeled {
            Unlabeled::Query => Unlabeled::Query,
            Unlabeled::Pool(pool) => Unlabeled::Pool(as_wide(pool)),
        };
        Ok(Self { id, ways, support, support_labels, unlabeled, query, base_mean: None, parts: None })
    }

    /// Adds the mean feature of the base classes, for transforms that centre on it.
    ///
    /// # Errors
    /// [`TaskError::MeanDimensions`] for a mean of another length than the features.
    pub fn with_base_mean(mut self, mean: Vec<T>) -> Result<Self, TaskError> {
        if mean.len() != self.dim() {
            return Err(TaskError::MeanDimensions { got: mean.len(), expected: self.dim() });
        }
        self.base_mean = Some(mean);
        Ok(self)
    }

    /// Returns the mean feature of the base classes, where it is known.
    pub fn base_mean(&self) -> Option<&[T]> {
        self.base_mean.as_deref()
    }

    /// Adds what the rows are made of, for methods that compare that.
    ///
    /// # Errors
    /// [`TaskError`] for vectors that are not those of this task's rows.
    pub fn with_parts(mut self, parts: TaskParts) -> Result<Self, TaskError> {
        let pool = if self.is_transductive() { 0 } else { self.pool().rows() };
        parts.check(self.support.rows(), pool, self.query.rows())?;
        self.parts = Some(Arc::new(parts));
        Ok(self)
    }

    /// Returns what the rows are made of, where that is known.
    pub fn parts(&self) -> Option<&TaskParts> {
        self.parts.as_deref()
    }

    /// Returns the seed of whatever a method draws at random.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the number of classes.
    pub fn ways(&self) -> usize {
        self.ways
    }

    /// Returns the number of feature dimensions.
    pub fn dim(&self) -> usize {
        self.support.columns()
    }

    /// Returns the labelled rows.
    pub fn support(&self) -> &Matrix<T> {
        &self.support
    }

    /// Returns the class of each support row.
    pub fn support_labels(&self) -> &[usize] {
        &self.support_labels
    }

    /// Returns the rows to label.
    pub fn query(&self) -> &Matrix<T> {
        &self.query
    }

    /// Returns which rows without labels may be learnt from.
    pub fn unlabeled(&self) -> &Unlabeled<T> {
        &self.unlabeled
    }

    /// Returns the rows without labels: the pool, or the query rows of a transductive task.
    pub fn pool(&self) -> &Matrix<T> {
        match &self.unlabeled {
            Unlabeled::Query => &self.query,
            Unlabeled::Pool(pool) => pool,
        }
    }

    /// Tells whether the query rows are the unlabelled rows.
    pub fn is_transductive(&self) -> bool {
        matches!(self.unlabeled, Unlabeled::Query)
    }

    /// Returns the mean number of support rows per class.
    pub fn mean_shots(&self) -> f64 {
        self.support.rows() as f64 / self.ways as f64
    }

    /// The same task with other features; used by transforms, which keep the number of rows of each part.
    pub(crate) fn with_features(
        &self,
        support: Matrix<T>,
        unlabeled: Unlabeled<T>,
        query: Matrix<T>,
    ) -> Self {
        Self {
            id: self.id,
            ways: self.ways,
            support_labels: self.support_labels.clone(),
            support,
            unlabeled,
            query,
            base_mean: None,
            parts: None,
        }
    }

    /// Converts to another precision.
    pub fn cast<U: Scalar>(&self) -> Task<U> {
        Task {
            id: self.id,
            ways: self.ways,
            support: self.support.cast(),
            support_labels: self.support_labels.clone(),
            unlabeled: match &self.unlabeled {
                Unlabeled::Query => Unlabeled::Query,
                Unlabeled::Pool(pool) => Unlabeled::Pool(pool.cast()),
            },
            query: self.query.cast(),
            base_mean: self
                .base_mean
                .as_ref()
                .map(|mean| mean.iter().map(|v| U::from_f64(v.to_f64())).collect()),
            parts: self.parts.clone(),
        }
    }
}

fn check_part<T: Scalar>(part: &'static str, rows: &Matrix<T>, expected: usize) -> Result<(), TaskError> {
    // An empty part has nothing to disagree with, whatever width its maker gave it.
    if rows.rows() > 0 && rows.columns() != expected {
        return Err(TaskError::Dimensions { part, columns: rows.columns(), expected });
    }
    match rows.first_non_finite() {
        Some((row, column, value)) => Err(TaskError::NotFinite { part, row, column, value }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::PartKind;

    fn rows(count: usize, columns: usize) -> Matrix<f32> {
        Matrix::from_vec(count, columns, vec![1.0; count * columns])
    }

    #[test]
    fn every_class_needs_an_example() {
        let task = Task::new(0, 3, rows(2, 4), vec![0, 2], Unlabeled::Query, rows(1, 4));
        assert_eq!(task, Err(TaskError::EmptyClass { class: 1 }));
    }

    #[test]
    fn label_out_of_range_is_named() {
        let task = Task::new(0, 2, rows(2, 4), vec![0, 2], Unlabeled::Query, rows(1, 4));
        assert_eq!(task, Err(TaskError::LabelRange { row: 1, label: 2, ways: 2 }));
    }

    #[test]
    fn nan_is_located_in_each_part() {
        let mut bad = rows(3, 4);
        bad.row_mut(2)[1] = f32::NAN;
        for (support, unlabeled, query, part) in [
            (bad.gather(&[2, 0]), Unlabeled::Query, rows(1, 4), "support"),
            (rows(2, 4), Unlabeled::Query, bad.clone(), "query"),
            (rows(2, 4), Unlabeled::Pool(bad.clone()), rows(1, 4), "unlabeled"),
        ] {
            let error =
                Task::new(0, 2, support, vec![0, 1], unlabeled, query).expect_err("NaN must be refused");
            assert!(matches!(error, TaskError::NotFinite { part: p, column: 1, .. } if p == part), "{error}");
        }
    }

    #[test]
    fn vectors_of_rows_must_be_those_of_the_task() {
        let task = || Task::new(0, 2, rows(2, 4), vec![0, 1], Unlabeled::Query, rows(3, 4)).expect("valid");
        let parts = |support: usize, query: Matrix<f32>| {
            TaskParts::new(PartKind::Maps, 5, rows(support, 6), rows(0, 0), query)
        };
        assert_eq!(
            task().with_parts(parts(10, rows(15, 6))).expect("they fit").parts().map(TaskParts::count),
            Some(5)
        );
        assert!(matches!(
            task().with_parts(parts(9, rows(15, 6))),
            Err(TaskError::PartShape { part: "support", got: [9, 6], expected: [10, 6], .. })
        ));
        assert!(matches!(
            task().with_parts(parts(10, rows(15, 7))),
            Err(TaskError::PartShape { part: "query", .. })
        ));
        let mut bad = rows(15, 6);
        bad.row_mut(7)[2] = f32::NAN;
        assert!(matches!(
            task().with_parts(parts(10, bad)),
            Err(TaskError::NotFinite { part: "query", row: 1, column: 2, .. })
        ));
    }

    #[test]
    fn parts_must_agree_in_width_unless_empty() {
        let wide = Task::new(0, 2, rows(2, 4), vec![0, 1], Unlabeled::Pool(rows(1, 5)), rows(1, 4));
        assert_eq!(wide, Err(TaskError::Dimensions { part: "unlabeled", columns: 5, expected: 4 }));
        let empty = Task::new(0, 2, rows(2, 4), vec![0, 1], Unlabeled::Pool(rows(0, 0)), rows(0, 9));
        let empty = empty.expect("nothing to disagree with");
        assert_eq!((empty.pool().columns(), empty.query().columns()), (4, 4));
    }
}
