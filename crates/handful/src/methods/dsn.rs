//! `dsn`: the nearest class subspace (Deep Subspace Networks, Simon et al. 2020), inductive.
//!
//! ```text
//! U_c = top singular vectors of the class's rows, minus their mean mu_c,
//! score_c(z) = -|(I - U_c U_c^T)(z - mu_c)|^2 / T
//! ```
//!
//! chrysts/dsn_fewshot has two readings: its Conv-4 code subtracts the class mean and takes the distance (preset
//! `default`, the paper's text); its ResNet-12 code subtracts nothing and divides the squared distance by d (preset
//! `resnet12`). Both use K - 1 vectors for K shots. With unequal shots every class gets as many as the class with the
//! fewest rows, so that residuals compare. At one shot there is no subspace; the paper then takes the mirror image as a second
//! row, and so does this where features of both were kept (`embed --views`): the labelled rows become two each, the rows to
//! label stay those of the image itself. Without them the method says that it cannot. DSN-MR, the transductive form, is not
//! here.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::classifier::softmax_rows;
use crate::linalg::Matrix;
use crate::linalg::dense::inner_products;
use crate::linalg::subspace::Subspace;
use crate::methods::common::answer::inductive_answer;
use crate::methods::common::feature_rows::FeatureRows;
use crate::methods::common::{check_positive, comparator};
use crate::methods::{MethodParams, Setting};
use crate::parts::PartKind;
use crate::solution::Solution;
use crate::task::{Task, Unlabeled};
use crate::transform::{Step, Transform};

/// Where a class's subspace starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// At the class mean: an affine subspace.
    ClassMean,
    /// At zero.
    Zero,
}

/// Parameters of `dsn`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DsnParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Where a subspace starts.
    pub origin: Origin,
    /// T of the probabilities.
    pub temperature: f64,
}

comparator!(DsnParams, "dsn", Setting::Inductive, knows_class_sizes: |_| false, presets: {
    "default" => Self::with(Origin::ClassMean),
    "resnet12" => Self::with(Origin::Zero),
});

/// A class's subspace: where it starts and an orthonormal basis.
struct ClassSpace {
    origin: Matrix<f32>,
    basis: Matrix<f32>,
}

impl DsnParams {
    fn with(origin: Origin) -> Self {
        Self { transform: Transform::new(vec![Step::L2]), origin, temperature: 2.0 / 15.0 }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("temperature", self.temperature)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let doubled = with_mirror_images(task)?;
        let task = self.transform.apply(doubled.as_ref().unwrap_or(task))?;
        let mut members = vec![Vec::new(); task.ways()];
        for (row, &label) in task.support_labels().iter().enumerate() {
            members[label].push(row);
        }
        let fewest = members.iter().map(Vec::len).min().unwrap_or(0);
        if fewest < 2 {
            return Err(TaskError::Unsupported {
                method: Self::NAME,
                reason: "a class subspace needs at least 2 labelled rows of every class; features of `handful embed \
                         --views` have the mirror image as a second"
                    .into(),
            });
        }
        let spaces: Vec<ClassSpace> =
            members.iter().map(|rows| self.class_space(&task.support().gather(rows), fewest - 1)).collect();
        Ok(inductive_answer(&task, |rows| {
            let features = FeatureRows::new(rows);
            let mut scores = Matrix::zeros(rows.rows(), task.ways());
            for (class, space) in spaces.iter().enumerate() {
                for (row, residual) in space.residuals(&features).into_iter().enumerate() {
                    scores.row_mut(row)[class] = -residual / self.temperature;
                }
            }
            softmax_rows(&mut scores);
            scores
        }))
    }

    fn class_space(&self, rows: &Matrix<f32>, dimensions: usize) -> ClassSpace {
        let mut origin = Matrix::zeros(1, rows.columns());
        let mut centred = rows.clone();
        if self.origin == Origin::ClassMean {
            origin = Matrix::from_vec(1, rows.columns(), rows.mean_row());
            for row in 0..centred.rows() {
                centred.row_mut(row).iter_mut().zip(origin.row(0)).for_each(|(value, mean)| *value -= mean);
            }
        }
        let subspace = Subspace::new(&inner_products(&centred, &centred).cast(), dimensions);
        let basis = FeatureRows::new(&centred).weighted_sums(subspace.coefficients());
        ClassSpace { origin, basis }
    }
}

impl ClassSpace {
    /// `|z - o|^2 - sum_k <u_k, z - o>^2`, the squared distance to the subspace.
    fn residuals(&self, rows: &FeatureRows) -> Vec<f64> {
        let distances = rows.squared_distances(&self.origin);
        let along = rows.products(&self.basis);
        let start = FeatureRows::new(&self.origin).products(&self.basis);
        let inside = |row: &[f64]| -> f64 {
            row.iter().zip(start.row(0)).map(|(value, start)| (value - start).powi(2)).sum()
        };
        let residual = |(distance, along): (&[f64], &[f64])| (distance[0] - inside(along)).max(0.0);
        distances.iter_rows().zip(along.iter_rows()).map(residual).collect()
    }
}

/// Of a task with a class of one row, one whose labelled rows are image and mirror image, where both are known.
pub(super) fn with_mirror_images(task: &Task<f32>) -> Result<Option<Task<f32>>, TaskError> {
    let labels = task.support_labels();
    let single = |class: usize| labels.iter().filter(|&&label| label == class).count() == 1;
    let Some(parts) = task.parts().filter(|parts| parts.kind() == PartKind::Views) else { return Ok(None) };
    if !(0..task.ways()).any(single) {
        return Ok(None);
    }
    let count = parts.count();
    // The first view is the image itself.
    let images = |views: &Matrix<f32>| views.gather(&(0..views.rows()).step_by(count).collect::<Vec<_>>());
    let both = labels.iter().flat_map(|&label| std::iter::repeat_n(label, count)).collect();
    let unlabeled = match task.unlabeled() {
        Unlabeled::Query => Unlabeled::Query,
        Unlabeled::Pool(_) => Unlabeled::Pool(images(parts.pool())),
    };
    let support = parts.support().clone();
    Task::new(task.id(), task.ways(), support, both, unlabeled, images(parts.query())).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::parts::TaskParts;

    fn task(labels: Vec<usize>) -> Task<f32> {
        // Class 0 on the line x = 0 (any y), class 1 on the line y = 0 (any x), third dimension apart.
        let support =
            Matrix::from_vec(4, 3, vec![0.0, 1.0, 0.0, 0.0, 3.0, 0.0, 2.0, 0.0, 1.0, 6.0, 0.0, 1.0]);
        let query = Matrix::from_vec(2, 3, vec![0.5, 90.0, 0.0, 90.0, 0.25, 1.0]);
        Task::new(0, 2, support, labels, Unlabeled::Query, query).expect("valid")
    }

    #[test]
    fn rows_belong_to_the_nearest_line() {
        let raw = [("transform".to_owned(), "none".to_owned())];
        for preset in ["default", "resnet12"] {
            let method = build("dsn", Some(preset), &raw).expect("valid");
            let labels = method.solve(&task(vec![0, 0, 1, 1])).expect("solvable").query_labels();
            assert_eq!(labels, vec![0, 1], "{preset}");
        }
    }

    #[test]
    fn residuals_are_distances_to_the_affine_line() {
        let params = DsnParams::with(Origin::ClassMean);
        let space = params.class_space(&Matrix::from_vec(2, 2, vec![0.0, 1.0, 2.0, 1.0]), 1);
        // The line y = 1: (5, 4) is 3 away, whatever its x.
        let residuals = space.residuals(&FeatureRows::new(&Matrix::from_vec(1, 2, vec![5.0, 4.0])));
        assert!((residuals[0] - 9.0).abs() < 1e-4);
    }

    #[test]
    fn one_shot_is_refused_in_one_sentence() {
        let method = build("dsn", None, &[]).expect("valid");
        let error = method.solve(&task(vec![0, 1, 1, 1])).expect_err("one row of class 0");
        assert!(error.to_string().contains("at least 2 labelled rows"), "{error}");
        assert!(error.to_string().contains("embed --views"), "{error}");
    }

    #[test]
    fn at_one_shot_the_mirror_image_is_the_second_row() {
        let views = Matrix::from_vec(4, 3, vec![0.0, 1.0, 0.0, 0.0, 3.0, 0.0, 2.0, 0.0, 1.0, 6.0, 0.0, 1.0]);
        let images = Matrix::from_vec(2, 3, vec![0.5, 90.0, 0.0, 90.0, 0.25, 1.0]);
        // The mirror images of the rows to label must not matter, nor must the means.
        let both =
            Matrix::from_vec(4, 3, [images.row(0), &[7.0, -3.0, 5.0], images.row(1), &[1.0; 3]].concat());
        let features = |rows: usize| Matrix::from_vec(rows, 3, vec![1.0; 3 * rows]);
        let one_shot = Task::new(0, 2, features(2), vec![0, 1], Unlabeled::Query, features(2));
        let parts = TaskParts::new(PartKind::Views, 2, views, Matrix::zeros(0, 3), both);
        let one_shot = one_shot.and_then(|task| task.with_parts(parts)).expect("valid");
        let method = build("dsn", None, &[("transform".to_owned(), "none".to_owned())]).expect("valid");
        let two_shot = method.solve(&task(vec![0, 0, 1, 1])).expect("solvable");
        assert_eq!(method.solve(&one_shot).expect("solvable").query, two_shot.query);
    }
}
