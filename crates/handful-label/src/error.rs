//! Why a pool could not be labelled.

use super::pool::ReadError;

/// What is wrong with the labels or the pool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// A parameter outside its range.
    #[error(transparent)]
    Parameter(#[from] handful::error::ParamError),
    /// Labels of fewer than two classes.
    #[error("the labels name {ways} class, and there must be at least 2 to tell apart")]
    TooFewClasses {
        /// Classes with a label.
        ways: usize,
    },
    /// A label for a row that does not exist.
    #[error("row {row} is labelled, but the pool has {rows} rows")]
    RowRange {
        /// The row.
        row: usize,
        /// Rows of the pool.
        rows: usize,
    },
    /// A class number without a label, or a label beyond the classes.
    #[error("class {class} has no labelled row")]
    EmptyClass {
        /// The class.
        class: usize,
    },
    /// The same features under two classes: nothing can tell them apart.
    #[error("rows {first} and {second} have the same features but different labels")]
    Contradiction {
        /// A labelled row.
        first: usize,
        /// Another one with the same features and another class.
        second: usize,
    },
    /// NaN or infinity.
    #[error("row {row}, column {column} is {value}; features must be finite")]
    NotFinite {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// A method could not do the pool as one task.
    #[error("{method} cannot label this pool: {source}")]
    Method {
        /// The method.
        method: &'static str,
        /// Why.
        source: handful::error::TaskError,
    },
    /// A pool beyond what a method's kernel can hold.
    #[error(
        "{method} compares every row with every other and is limited to {most} rows; the pool has {rows}"
    )]
    TooManyRows {
        /// The method.
        method: &'static str,
        /// Rows of the pool.
        rows: usize,
        /// The most it can do.
        most: usize,
    },
    /// Features of another width than the model's.
    #[error("the model was fitted to features of {expected} columns, and these have {found}")]
    Columns {
        /// Columns of the model.
        expected: usize,
        /// Columns found.
        found: usize,
    },
    /// Nothing to choose from.
    #[error("every row of the pool is labelled already")]
    NothingToChoose,
    /// The pool could not be read to its end.
    #[error("{0}")]
    Read(ReadError),
}
