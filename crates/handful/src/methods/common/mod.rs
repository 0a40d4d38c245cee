//! What several comparators share: rows and their products with prototypes, Sinkhorn's scaling, neighbour graphs, the
//! logistic fit, and the boilerplate of a method.

pub(crate) mod answer;
pub(crate) mod feature_rows;
pub(crate) mod ica;
pub mod rectification;
pub(crate) mod reduce;
#[cfg(test)]
pub(crate) mod test_tasks;
pub mod transport_map;

/// Implements the two traits for a flat parameter type with `check_values` and `solve_task`.
macro_rules! comparator {
    (
        $params:ident, $name:literal, $setting:expr, knows_class_sizes: $knows:expr,
        presets: { $($preset:literal => $make:expr),+ $(,)? }
    ) => {
        impl crate::methods::MethodParams for $params {
            type Method = crate::methods::Checked<Self>;
            const NAME: &'static str = $name;
            const PRESETS: &'static [&'static str] = &[$($preset),+];

            fn default_preset() -> Self {
                [$(|| $make),+][0]()
            }

            fn preset(name: &str) -> Option<Self> {
                match name {
                    $($preset => Some($make),)+
                    _ => None,
                }
            }

            fn check(self) -> Result<Self::Method, crate::error::ParamError> {
                self.check_values()?;
                $setting.check_transform(&self.transform)?;
                Ok(crate::methods::Checked(self))
            }
        }

        impl crate::methods::Solve for $params {
            fn prior(&self) -> crate::methods::PriorKnowledge {
                let knows: fn(&Self) -> bool = $knows;
                crate::methods::PriorKnowledge { setting: $setting, knows_class_sizes: knows(self) }
            }

            fn solve(
                &self,
                task: &crate::task::Task<f32>,
            ) -> Result<crate::solution::Solution<f32>, crate::error::TaskError> {
                self.solve_task(task)
            }
        }
    };
}

pub(crate) use comparator;

use crate::error::ParamError;
use crate::error::check_range;

/// Refuses a value that is not a finite number above zero.
pub(crate) fn check_positive(key: &'static str, value: f64) -> Result<(), ParamError> {
    check_range(key, value, value > 0.0, "a number above 0")
}

/// Refuses a value outside the open interval from 0 to 1.
pub(crate) fn check_fraction(key: &'static str, value: f64) -> Result<(), ParamError> {
    check_range(key, value, value > 0.0 && value < 1.0, "a number above 0 and below 1")
}

/// Refuses a count of zero.
pub(crate) fn check_count(key: &'static str, value: usize) -> Result<(), ParamError> {
    check_range(key, value as f64, value > 0, "at least 1")
}
