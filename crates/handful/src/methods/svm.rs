//! `svm`: the multi-class support vector machine of Crammer and Singer, as MetaOptNet-SVM has it, inductive.
//!
//! ```text
//! min_a  1/2 sum_m |sum_i a_im x_i|^2 + (r/2) |a|^2 - sum_i a_{i,y_i}
//! s.t.   a_im <= C [m = y_i],   sum_m a_im = 0
//! logits_m(z) = sum_i a_im <x_i, z>
//! ```
//!
//! Defaults (kjunelee/MetaOptNet, `models/classification_heads.py`): C = 0.1 and r = 1, the identity that their code adds to
//! the quadratic program and the text does not have; they stop after 15 interior-point steps. Here the dual is solved
//! exactly: one labelled row at a time, whose own problem is a projection, until the largest change is below
//! `tolerance`. `default` is the same on unit-length features; `authors` on raw ones. `scale` only shapes the
//! probabilities (they learn it in training).

use serde::{Deserialize, Serialize};

use crate::error::check_range;
use crate::error::{ParamError, TaskError};
use crate::fit::classifier::softmax_rows;
use crate::linalg::Matrix;
use crate::linalg::subspace::multiply;
use crate::methods::Setting;
use crate::methods::common::answer::inductive_answer;
use crate::methods::common::feature_rows::FeatureRows;
use crate::methods::common::{check_count, check_positive, comparator};
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `svm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SvmParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// C, the most a labelled row can count.
    pub c: f64,
    /// r, the weight of |a|^2.
    pub dual_ridge: f64,
    /// Stop when no dual variable changes by more than this part of C in a sweep.
    pub tolerance: f64,
    /// The most sweeps over the labelled rows.
    pub max_sweeps: usize,
    /// What logits are multiplied by before the softmax.
    pub scale: f64,
}

comparator!(SvmParams, "svm", Setting::Inductive, knows_class_sizes: |_| false, presets: {
    "default" => Self { transform: Transform::new(vec![Step::L2]), scale: 50.0, ..Self::authors() },
    "authors" => Self::authors(),
});

impl SvmParams {
    fn authors() -> Self {
        let transform = Transform::none();
        Self { transform, c: 0.1, dual_ridge: 1.0, tolerance: 1e-6, max_sweeps: 1000, scale: 1.0 }
    }

    /// The dual alone, as exactly as its derivative needs it.
    pub(crate) fn for_training(c: f64, dual_ridge: f64) -> Self {
        Self { c, dual_ridge, tolerance: 1e-12, ..Self::authors() }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("c", self.c)?;
        check_range("dual_ridge", self.dual_ridge, self.dual_ridge >= 0.0, "a number from 0 up")?;
        check_positive("tolerance", self.tolerance)?;
        check_count("max_sweeps", self.max_sweeps)?;
        check_positive("scale", self.scale)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.apply(task)?;
        let gram = FeatureRows::new(task.support()).gram();
        let dual = self.solve_dual(&gram, task.support_labels(), task.ways());
        Ok(inductive_answer(&task, |rows| {
            let mut logits = multiply(&FeatureRows::new(rows).products(task.support()), &dual);
            logits.as_mut_slice().iter_mut().for_each(|logit| *logit *= self.scale);
            softmax_rows(&mut logits);
            logits
        }))
    }

    /// Coordinate descent over labelled rows, each solved exactly.
    pub(crate) fn solve_dual(&self, gram: &Matrix<f64>, labels: &[usize], ways: usize) -> Matrix<f64> {
        let mut dual: Matrix<f64> = Matrix::zeros(labels.len(), ways);
        // Row i: sum_j G_ij a_j, kept up to date.
        let mut pulls: Matrix<f64> = Matrix::zeros(labels.len(), ways);
        let mut wanted = vec![0.0; ways];
        let mut limits = vec![0.0; ways];
        for _ in 0..self.max_sweeps {
            let mut largest: f64 = 0.0;
            for (row, &label) in labels.iter().enumerate() {
                let own = gram.row(row)[row] + self.dual_ridge;
                if own <= 0.0 {
                    // A zero row without ridge does not appear in the problem.
                    continue;
                }
                for (class, wanted) in wanted.iter_mut().enumerate() {
                    let target = f64::from(u8::from(class == label));
                    let others = pulls.row(row)[class] - gram.row(row)[row] * dual.row(row)[class];
                    *wanted = (target - others) / own;
                    limits[class] = self.c * target;
                }
                let shift = balancing_shift(&wanted, &limits);
                for class in 0..ways {
                    let new = (wanted[class] - shift).min(limits[class]);
                    let change = new - dual.row(row)[class];
                    if change != 0.0 {
                        dual.row_mut(row)[class] = new;
                        for other in 0..labels.len() {
                            pulls.row_mut(other)[class] += gram.row(other)[row] * change;
                        }
                        largest = largest.max(change.abs());
                    }
                }
            }
            if largest <= self.tolerance * self.c {
                break;
            }
        }
        dual
    }
}

/// The theta for which `sum_m min(limit_m, wanted_m - theta) = 0`; exists because the limits do not sum below zero.
fn balancing_shift(wanted: &[f64], limits: &[f64]) -> f64 {
    let mut bends: Vec<(f64, f64, f64)> =
        wanted.iter().zip(limits).map(|(&wanted, &limit)| (wanted - limit, wanted, limit)).collect();
    // Above its bend an entry is free; going down from the largest bend, entries reach their limits one by one.
    bends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut free_sum, mut free, mut fixed) = (0.0, 0usize, limits.iter().sum::<f64>());
    for (at, &(_, wanted, limit)) in bends.iter().enumerate() {
        free_sum += wanted;
        free += 1;
        fixed -= limit;
        let shift = (free_sum + fixed) / free as f64;
        if bends.get(at + 1).is_none_or(|next| shift <= next.0) {
            return shift;
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dense::inner_products;

    fn rows() -> Matrix<f64> {
        let value = |at: usize| ((at * 7919 + 13) % 1009) as f64 / 500.0 - 1.0;
        Matrix::from_vec(7, 4, (0..28).map(value).collect())
    }

    const LABELS: [usize; 7] = [0, 1, 2, 0, 1, 2, 0];

    #[test]
    fn the_shift_balances() {
        for (wanted, limits) in [
            (vec![0.3, -0.2, 0.9], vec![0.0, 0.1, 0.0]),
            (vec![5.0, 5.0, -7.0], vec![0.1, 0.0, 0.0]),
            (vec![0.0, 0.0], vec![0.0, 0.1]),
        ] {
            let shift = balancing_shift(&wanted, &limits);
            let sum: f64 = wanted.iter().zip(&limits).map(|(w, l)| (w - shift).min(*l)).sum();
            assert!(sum.abs() < 1e-12, "{wanted:?} {limits:?}: {sum}");
        }
    }

    #[test]
    fn optimality_conditions_hold() {
        let params = SvmParams { tolerance: 1e-12, ..SvmParams::authors() };
        for c in [0.05, 0.1, 10.0] {
            let params = SvmParams { c, ..params.clone() };
            let gram = inner_products(&rows(), &rows());
            let dual = params.solve_dual(&gram, &LABELS, 3);
            for (i, &label) in LABELS.iter().enumerate() {
                let a = dual.row(i);
                assert!(a.iter().sum::<f64>().abs() < 1e-9);
                // Gradient of the objective in a_im; equal for entries below their limit, not larger at the limit.
                let gradient = |m: usize| -> f64 {
                    let pull: f64 = (0..7).map(|j| gram.row(i)[j] * dual.row(j)[m]).sum();
                    pull + a[m] - f64::from(u8::from(m == label))
                };
                let limit = |m: usize| if m == label { c } else { 0.0 };
                let free: Vec<usize> = (0..3).filter(|&m| a[m] < limit(m) - 1e-9).collect();
                assert!((0..3).all(|m| a[m] <= limit(m) + 1e-12));
                for &m in &free {
                    assert!((gradient(m) - gradient(free[0])).abs() < 1e-6);
                    for held in (0..3).filter(|held| !free.contains(held)) {
                        assert!(gradient(held) <= gradient(m) + 1e-6);
                    }
                }
            }
        }
    }

    #[test]
    fn duplicates_and_zero_rows_are_solved() {
        let gram = Matrix::from_vec(3, 3, vec![0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]);
        let params = SvmParams { dual_ridge: 0.0, ..SvmParams::authors() };
        let dual = params.solve_dual(&gram, &[0, 1, 1], 2);
        assert!(dual.as_slice().iter().all(|value| value.is_finite()));
    }
}
