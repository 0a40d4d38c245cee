//! What can be wrong with a task or with parameters, always with the value that was wrong.

/// A task that no method can solve, or that one method cannot.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum TaskError {
    /// There must be something to tell apart.
    #[error("a task needs at least 2 classes, got {ways}")]
    TooFewWays {
        /// Number of classes asked for.
        ways: usize,
    },
    /// The number of labels differs from the number of support rows.
    #[error("{labels} labels for {rows} support rows")]
    LabelCount {
        /// Number of labels given.
        labels: usize,
        /// Number of support rows given.
        rows: usize,
    },
    /// A label outside `0..ways`.
    #[error("support row {row} has label {label}, but the task has {ways} classes (0 to {})", ways - 1)]
    LabelRange {
        /// Support row with that label.
        row: usize,
        /// The label.
        label: usize,
        /// Number of classes.
        ways: usize,
    },
    /// A class nobody gave an example of.
    #[error("class {class} has no labelled row")]
    EmptyClass {
        /// The class.
        class: usize,
    },
    /// Rows of different length in one task.
    #[error("{part} rows have {columns} dimensions, support rows {expected}")]
    Dimensions {
        /// Which rows: `query` or `unlabeled`.
        part: &'static str,
        /// Their number of dimensions.
        columns: usize,
        /// The support rows' number of dimensions.
        expected: usize,
    },
    /// Features without dimensions.
    #[error("support rows have no dimensions")]
    NoDimensions,
    /// NaN or infinity.
    #[error("{part} row {row}, column {column} is {value}; features must be finite")]
    NotFinite {
        /// Which rows: `support`, `query` or `unlabeled`.
        part: &'static str,
        /// Row within that part.
        row: usize,
        /// Column.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// The exact kernel of the pool would not fit.
    #[error(
        "the dependence kernel of {rows} unlabelled rows needs {} MB, the limit is {limit_mb} MB; \
         raise memory_limit_mb or use an objective without dependence",
        bytes / 1_000_000
    )]
    KernelTooLarge {
        /// Unlabelled rows.
        rows: usize,
        /// Bytes the kernel would take.
        bytes: u64,
        /// The limit in force, in megabytes.
        limit_mb: u64,
    },
    /// A setting that one method has no answer to.
    #[error("{method} cannot solve this task: {reason}")]
    Unsupported {
        /// The method.
        method: &'static str,
        /// What it lacks.
        reason: String,
    },
    /// A method that compares all rows with all rows, and too many of them.
    #[error(
        "{method} compares every row with every other and takes at most {limit} rows, this task has {rows}"
    )]
    TooManyRows {
        /// The method.
        method: &'static str,
        /// Rows of the task.
        rows: usize,
        /// The most it takes.
        limit: usize,
    },
    /// A transform that centres on the base classes, and a task that does not know them.
    #[error("the transform step `centre` needs the mean feature of the base classes, and none was given")]
    NoBaseMean,
    /// Vectors of rows that are not those of the task.
    #[error("{kind} of the {part} rows are {got:?} numbers, but must be {expected:?}")]
    PartShape {
        /// Which rows: `support`, `query` or `unlabeled`.
        part: &'static str,
        /// What the vectors are.
        kind: &'static str,
        /// How many vectors, and of how many numbers.
        got: [usize; 2],
        /// What it must be.
        expected: [usize; 2],
    },
    /// A given centre of the wrong length.
    #[error("the centring mean has {got} dimensions, the features {expected}")]
    MeanDimensions {
        /// Length of the mean.
        got: usize,
        /// Dimensions of the features.
        expected: usize,
    },
}

/// Parameters that no fit can run with.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum ParamError {
    /// A value outside its range.
    #[error("{key} = {value}: must be {expected}")]
    OutOfRange {
        /// The parameter.
        key: &'static str,
        /// Its value.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A key the method does not have.
    #[error("{method} has no parameter {key:?}; it has {known}")]
    UnknownKey {
        /// The method.
        method: &'static str,
        /// The key given.
        key: String,
        /// All keys of the method.
        known: String,
    },
    /// A value of the wrong kind.
    #[error("{key} = {value}: {reason}")]
    BadValue {
        /// The parameter.
        key: String,
        /// The text given.
        value: String,
        /// Why it was refused.
        reason: String,
    },
    /// A preset the method does not have.
    #[error("{method} has no preset {preset:?}; it has {known}")]
    UnknownPreset {
        /// The method.
        method: &'static str,
        /// The preset given.
        preset: String,
        /// All presets of the method.
        known: String,
    },
    /// A method there is none of.
    #[error("there is no method {name:?}; there are {known}")]
    UnknownMethod {
        /// The name given.
        name: String,
        /// All methods.
        known: String,
    },
}

/// The most steps, rounds or rows that a parameter may ask for: far beyond every use, and still an end.
pub(crate) const MOST_COUNT: u64 = 1_000_000;

/// Refuses a parameter that is not finite or out of its range.
///
/// # Errors
/// [`ParamError::OutOfRange`].
pub fn check_range(
    key: &'static str,
    value: f64,
    in_range: bool,
    expected: &'static str,
) -> Result<(), ParamError> {
    if in_range && value.is_finite() {
        return Ok(());
    }
    Err(ParamError::OutOfRange { key, value: value.to_string(), expected })
}
