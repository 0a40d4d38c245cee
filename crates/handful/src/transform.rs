//! Feature transforms: what is done to the features of a task before anything is learnt.
//!
//! A transform is a named sequence of steps, written `power+l2+centre-parts+l2`. The published recipes are such
//! sequences: SimpleShot's UN is `none`, its L2N `l2`, its CL2N `centre+l2` with the base-class mean, PT-MAP's
//! preprocessing `power+l2+centre-parts+l2`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::TaskError;
use crate::fit::basis::Basis;
use crate::graph::smoothing::smooth;
use crate::linalg::Matrix;
use crate::linalg::sums::squared_length;
use crate::scalar::Scalar;
use crate::signed::are_signed;
use crate::task::{Task, Unlabeled};

/// One step of a [`Transform`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Divide each row by its Euclidean norm (a zero row stays zero).
    L2,
    /// Subtract the mean feature of the base classes, which the task must carry.
    Centre,
    /// Square root of each entry's size, with the entry's sign; nothing where the features are signed (`root.rs`). PT-MAP's
    /// power transform, which the literature applies to non-negative features only.
    Power,
    /// Subtract from the support rows their own mean and from the unlabelled and query rows theirs (PT-MAP). The
    /// support mean is the mean of the class means, so that unequal shots do not move it.
    CentreParts,
    /// Subtract from every row the mean of all rows of the task, labelled or not (PEMnE-BMS). Unlike centring by parts it
    /// does not assume that the unlabelled rows have as many of each class as the labelled ones.
    CentreAll,
    /// Move every row towards the rows most like it, over all parts of the task (`smoothing.rs`). Written
    /// `smooth:K:PERCENT`, as `smooth:10:80` for ten neighbours and alpha = 0.8. It also rotates the features into the
    /// space their rows span, so no step that looks at single features may follow.
    Smooth {
        /// k, the neighbours of a row.
        neighbours: u16,
        /// alpha in hundredths.
        percent: u8,
    },
}

const STEP_NAMES: [(&str, Step); 5] = [
    ("l2", Step::L2),
    ("centre", Step::Centre),
    ("power", Step::Power),
    ("centre-parts", Step::CentreParts),
    ("centre-all", Step::CentreAll),
];
const SMOOTH: &str = "smooth:";

/// A named sequence of steps; see the module for the notation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Transform {
    steps: Vec<Step>,
}

/// A transform's name that has a step nobody knows.
#[derive(Debug, thiserror::Error, PartialEq)]
#[error(
    "unknown transform step {step:?}; a transform is none, or steps joined by +: l2, centre, power, centre-parts, \
     centre-all, smooth:10:80 (neighbours from 1, percent below 100; neither power nor centre may follow it)"
)]
pub struct UnknownStep {
    step: String,
}

impl Transform {
    /// Makes a transform of these steps.
    pub fn new(steps: Vec<Step>) -> Self {
        Self { steps }
    }

    /// Leaves features as they are.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the steps in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Tells whether it looks at rows without labels to smooth the features.
    pub fn smooths(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Smooth { .. }))
    }

    /// Leaves the smoothing out, for measures that would find in smoothed features what the smoothing put there.
    pub fn without_smoothing(&self) -> Self {
        let kept = self.steps.iter().filter(|step| !matches!(step, Step::Smooth { .. }));
        Self { steps: kept.copied().collect() }
    }

    /// The same without a copy where there is nothing to do.
    pub(crate) fn applied<'a, T: Scalar>(&self, task: &'a Task<T>) -> Result<Cow<'a, Task<T>>, TaskError> {
        if self.steps.is_empty() { Ok(Cow::Borrowed(task)) } else { self.apply(task).map(Cow::Owned) }
    }

    /// Applies the steps to every part of a task.
    ///
    /// # Errors
    /// [`TaskError::NoBaseMean`] where a step centres on base classes that the task does not know.
    pub fn apply<T: Scalar>(&self, task: &Task<T>) -> Result<Task<T>, TaskError> {
        let mut support = task.support().clone();
        let mut query = task.query().clone();
        let mut pool = match task.unlabeled() {
            Unlabeled::Query => None,
            Unlabeled::Pool(pool) => Some(pool.clone()),
        };
        for step in &self.steps {
            if let Step::Smooth { neighbours, percent } = *step {
                let unlabeled = pool.take().map_or(Unlabeled::Query, Unlabeled::Pool);
                let smoothed = smoothed(&task.with_features(support, unlabeled, query), neighbours, percent);
                (support, query) = (smoothed.support().clone(), smoothed.query().clone());
                if let Unlabeled::Pool(rows) = smoothed.unlabeled() {
                    pool = Some(rows.clone());
                }
                continue;
            }
            let mut parts = vec![&mut support, &mut query];
            if let Some(pool) = &mut pool {
                parts.push(pool);
            }
            match step {
                Step::L2 => parts.into_iter().for_each(|rows| normalise(rows)),
                Step::Power => {
                    if !are_signed(parts.iter().map(|rows| rows.as_slice())) {
                        parts.into_iter().for_each(|rows| signed_root(rows));
                    }
                }
                Step::Centre => {
                    let mean = task.base_mean().ok_or(TaskError::NoBaseMean)?;
                    parts.into_iter().for_each(|rows| subtract(rows, mean));
                }
                Step::Smooth { .. } => {}
                Step::CentreAll => {
                    let columns = parts.first().map_or(0, |rows| rows.columns());
                    let filled = parts.iter().filter(|rows| rows.rows() > 0);
                    let all = filled.fold(Matrix::zeros(0, columns), |all, rows| all.stack(rows));
                    let mean = all.mean_row();
                    parts.into_iter().for_each(|rows| subtract(rows, &mean));
                }
                Step::CentreParts => {
                    let means =
                        crate::fit::classifier::prototypes(&support, task.support_labels(), task.ways());
                    subtract(&mut support, &means.mean_row());
                    // One mean for all rows without labels: pool and query come from the same classes, and a mean
                    // over both is the steadier one.
                    let mean = match &pool {
                        Some(pool) if pool.rows() > 0 => pool.stack(&query).mean_row(),
                        _ => query.mean_row(),
                    };
                    subtract(&mut query, &mean);
                    if let Some(pool) = &mut pool {
                        subtract(pool, &mean);
                    }
                }
            }
        }
        Ok(task.with_features(support, pool.map_or(Unlabeled::Query, Unlabeled::Pool), query))
    }
}

/// All rows of a task together, smoothed in the space they span: that has at most as many dimensions as there are rows,
/// and inner products are all that counts.
fn smoothed<T: Scalar>(task: &Task<T>, neighbours: u16, percent: u8) -> Task<T> {
    let task = Basis::Span.applied(Cow::Borrowed(task));
    let mut rows = task.support().stack(task.query());
    if let Unlabeled::Pool(pool) = task.unlabeled() {
        rows = rows.stack(pool);
    }
    let rows = smooth(&rows, usize::from(neighbours), f64::from(percent) / 100.0);
    let part = |start: usize, count: usize| rows.gather(&(start..start + count).collect::<Vec<_>>());
    let (support, query) = (task.support().rows(), task.query().rows());
    let unlabeled = match task.unlabeled() {
        Unlabeled::Query => Unlabeled::Query,
        Unlabeled::Pool(pool) => Unlabeled::Pool(part(support + query, pool.rows())),
    };
    task.with_features(part(0, support), unlabeled, part(support, query))
}

fn normalise<T: Scalar>(rows: &mut Matrix<T>) {
    for row in 0..rows.rows() {
        let row = rows.row_mut(row);
        let norm = squared_length(row).to_f64().sqrt();
        if norm > 0.0 {
            let scale = T::from_f64(1.0 / norm);
            row.iter_mut().for_each(|value| *value *= scale);
        }
    }
}

fn signed_root<T: Scalar>(rows: &mut Matrix<T>) {
    for value in rows.as_mut_slice() {
        *value = if *value < T::ZERO { -(-*value).sqrt() } else { value.sqrt() };
    }
}

fn subtract<T: Scalar>(rows: &mut Matrix<T>, mean: &[T]) {
    for row in 0..rows.rows() {
        rows.row_mut(row).iter_mut().zip(mean).for_each(|(value, &mean)| *value -= mean);
    }
}

impl FromStr for Transform {
    type Err = UnknownStep;

    fn from_str(name: &str) -> Result<Self, UnknownStep> {
        if name == "none" {
            return Ok(Self::none());
        }
        let mut steps = Vec::new();
        for part in name.split('+') {
            let plain = STEP_NAMES.iter().find(|(name, _)| *name == part).map(|&(_, step)| step);
            let step = plain.or_else(|| smooth_step(part)).filter(|step| {
                let smoothed = steps.iter().any(|step| matches!(step, Step::Smooth { .. }));
                !(smoothed && matches!(step, Step::Power | Step::Centre))
            });
            steps.push(step.ok_or_else(|| UnknownStep { step: part.to_owned() })?);
        }
        Ok(Self { steps })
    }
}

/// `smooth:10:80`.
fn smooth_step(part: &str) -> Option<Step> {
    let (neighbours, percent) = part.strip_prefix(SMOOTH)?.split_once(':')?;
    let (neighbours, percent) = (neighbours.parse().ok()?, percent.parse().ok()?);
    (neighbours > 0 && percent < 100).then_some(Step::Smooth { neighbours, percent })
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_str("none");
        }
        for (at, step) in self.steps.iter().enumerate() {
            let joint = if at == 0 { "" } else { "+" };
            match step {
                Step::Smooth { neighbours, percent } => write!(f, "{joint}{SMOOTH}{neighbours}:{percent}")?,
                _ => {
                    let name =
                        STEP_NAMES.iter().find(|(_, known)| known == step).map_or("", |&(name, _)| name);
                    write!(f, "{joint}{name}")?;
                }
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for Transform {
    type Error = UnknownStep;

    fn try_from(name: String) -> Result<Self, UnknownStep> {
        name.parse()
    }
}

impl From<Transform> for String {
    fn from(transform: Transform) -> String {
        transform.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(support: Vec<f64>, query: Vec<f64>) -> Task<f64> {
        let labels = (0..support.len() / 2).map(|row| row.min(1)).collect();
        let support = Matrix::from_vec(support.len() / 2, 2, support);
        let query = Matrix::from_vec(query.len() / 2, 2, query);
        Task::new(0, 2, support, labels, Unlabeled::Query, query).expect("a valid task")
    }

    #[test]
    fn names_round_trip_and_unknown_steps_are_refused() {
        for name in ["none", "l2", "centre+l2", "power+l2+centre-parts+l2", "power+l2+smooth:10:80+l2"] {
            assert_eq!(name.parse::<Transform>().map(|transform| transform.to_string()), Ok(name.to_owned()));
        }
        assert_eq!("l2+foo".parse::<Transform>(), Err(UnknownStep { step: "foo".into() }));
        for name in ["smooth:0:50", "smooth:5:100", "smooth:5", "smooth:5:50+power", "smooth:5:50+centre"] {
            assert!(name.parse::<Transform>().is_err(), "{name}");
        }
    }

    #[test]
    fn steps_apply_in_order() {
        let given = task(vec![9.0, 16.0, 4.0, 0.0], vec![0.0, 0.0]);
        let done = "power+l2".parse::<Transform>().expect("known").apply(&given).expect("non-negative");
        let close = |(got, want): (&f64, f64)| (got - want).abs() < 1e-12;
        assert!(done.support().as_slice().iter().zip([0.6, 0.8, 1.0, 0.0]).all(close));
        assert_eq!(done.query().as_slice(), &[0.0, 0.0], "a zero row stays zero");
    }

    #[test]
    fn parts_are_centred_separately_and_unequal_shots_do_not_move_the_support_mean() {
        // Class 0 has one row, class 1 two: the mean of class means is (3, 0), the mean of rows (11/3, 0).
        let given = task(vec![1.0, 0.0, 4.0, 0.0, 6.0, 0.0], vec![10.0, 0.0, 20.0, 2.0]);
        let done = "centre-parts".parse::<Transform>().expect("known").apply(&given).expect("valid");
        assert_eq!(done.support().as_slice(), &[-2.0, 0.0, 1.0, 0.0, 3.0, 0.0]);
        assert_eq!(done.query().as_slice(), &[-5.0, -1.0, 5.0, 1.0]);
    }

    #[test]
    fn given_mean_is_subtracted_and_its_length_checked() {
        let given = task(vec![1.0, 2.0, 3.0, 4.0], vec![5.0, 6.0]);
        let centre = "centre".parse::<Transform>().expect("known");
        assert_eq!(centre.apply(&given), Err(TaskError::NoBaseMean));
        assert!(matches!(
            given.clone().with_base_mean(vec![1.0]),
            Err(TaskError::MeanDimensions { got: 1, .. })
        ));
        let done =
            centre.apply(&given.with_base_mean(vec![1.0, 1.0]).expect("two dimensions")).expect("valid");
        assert_eq!(done.query().as_slice(), &[4.0, 5.0]);
    }

    #[test]
    fn power_keeps_the_sign_of_a_few_and_leaves_signed_features_alone() {
        let root = |query: Vec<f64>| {
            let given = task(vec![1.0, 2.0, 3.0, 4.0], query);
            let done = "power".parse::<Transform>().expect("known").apply(&given).expect("valid");
            done.query().as_slice().to_vec()
        };
        assert_eq!(root(vec![25.0, -0.25]), [5.0, -0.5]);
        assert_eq!(root(vec![25.0, -36.0]), [25.0, -36.0]);
    }
}
