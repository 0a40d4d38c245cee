//! What the methods with one fit share: transform the features, fit once, predict.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::basis::Basis;
use crate::fit::{FitParams, Fitter};
use crate::linalg::Matrix;
use crate::scalar::Scalar;
use crate::self_training::UnlabeledRows;
use crate::solution::{FitTrace, Solution, Trace};
use crate::task::{Task, Unlabeled};
use crate::transform::Transform;

/// Parameters of a method that fits once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SingleFitParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// In which basis the classifier is fitted.
    pub basis: Basis,
    /// Which unlabelled rows of a semi-supervised task the fit looks at.
    pub unlabelled: UnlabeledRows,
    /// The fit.
    #[serde(flatten)]
    pub fit: FitParams,
}

impl SingleFitParams {
    /// Checks every value's range.
    ///
    /// # Errors
    /// [`ParamError::OutOfRange`] names the first value that is wrong.
    pub fn check(&self) -> Result<(), ParamError> {
        self.fit.check()
    }

    /// Solves a task; fills the trace of the fit if `with_trace`.
    ///
    /// # Errors
    /// [`TaskError`] where the transform or the kernel cannot take the task.
    pub fn solve<T: Scalar>(
        &self,
        task: &Task<T>,
        with_trace: TraceWanted,
    ) -> Result<Solution<T>, TaskError> {
        let task = self.basis.applied(self.transform.applied(task)?);
        let rows = unlabelled_rows(&task, self.unlabelled);
        let fit = self.fit.for_shots(task.mean_shots());
        let mut fitter =
            Fitter::new(&fit, task.ways(), task.support(), task.support_labels(), rows.as_ref())?;
        let mut trace = (with_trace == TraceWanted::Yes).then(FitTrace::default);
        let classifier = fitter.fit(&[], trace.as_mut());
        let mut solution = Solution::from_probabilities(
            classifier.probabilities(task.query()),
            classifier.probabilities(task.pool()),
        );
        solution.classifier = Some(classifier);
        solution.trace = trace.map(|fit| Trace { fits: vec![fit], rounds: Vec::new() });
        Ok(solution)
    }
}

/// Whether a solve should keep diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceWanted {
    /// Keep them.
    Yes,
    /// Do not.
    No,
}

/// Either borrowed from the task or stacked for the occasion.
pub(crate) enum Rows<'a, T> {
    Borrowed(&'a Matrix<T>),
    Owned(Matrix<T>),
}

impl<T> Rows<'_, T> {
    pub fn as_ref(&self) -> &Matrix<T> {
        match self {
            Rows::Borrowed(rows) => rows,
            Rows::Owned(rows) => rows,
        }
    }
}

/// The unlabelled rows a fit looks at; in a transductive task always the query.
pub(crate) fn unlabelled_rows<T: Scalar>(task: &Task<T>, which: UnlabeledRows) -> Rows<'_, T> {
    match (task.unlabeled(), which) {
        (Unlabeled::Query, _) | (_, UnlabeledRows::Query) => Rows::Borrowed(task.query()),
        (Unlabeled::Pool(pool), UnlabeledRows::Pool) => Rows::Borrowed(pool),
        (Unlabeled::Pool(pool), UnlabeledRows::Both) if pool.rows() == 0 => Rows::Borrowed(task.query()),
        (Unlabeled::Pool(pool), UnlabeledRows::Both) => Rows::Owned(pool.stack(task.query())),
    }
}

/// Implements the two traits for a parameter type that wraps [`SingleFitParams`].
macro_rules! single_fit_method {
    ($params:ident, $name:literal, $setting:expr, presets: { $($preset:literal => $make:expr),+ $(,)? }) => {
        /// Parameters of this method; see the module.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $params(pub crate::methods::single_fit::SingleFitParams);

        impl crate::methods::MethodParams for $params {
            type Method = crate::methods::Checked<Self>;
            const NAME: &'static str = $name;
            const PRESETS: &'static [&'static str] = &[$($preset),+];

            fn default_preset() -> Self {
                Self([$(|| $make),+][0]())
            }

            fn preset(name: &str) -> Option<Self> {
                match name {
                    $($preset => Some(Self($make)),)+
                    _ => None,
                }
            }

            fn check(self) -> Result<Self::Method, crate::error::ParamError> {
                self.0.check()?;
                $setting.check_transform(&self.0.transform)?;
                Ok(crate::methods::Checked(self))
            }
        }

        impl crate::methods::Solve for $params {
            fn prior(&self) -> crate::methods::PriorKnowledge {
                crate::methods::PriorKnowledge { setting: $setting, knows_class_sizes: false }
            }

            fn solve(
                &self,
                task: &crate::task::Task<f32>,
            ) -> Result<crate::solution::Solution<f32>, crate::error::TaskError> {
                self.0.solve(task, crate::methods::single_fit::TraceWanted::No)
            }
        }
    };
}

pub(crate) use single_fit_method;
