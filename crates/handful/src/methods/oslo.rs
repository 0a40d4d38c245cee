//! `oslo`: prototypes that ignore outliers in the pool (Open-Set Likelihood Optimization, Boudiaf et al. 2023).
//!
//! ```text
//! xi_i   = sigmoid( sum_k zeta_ik cos(z_i, mu_k) / t_xi ),      zeta_i = softmax_k( xi_i cos(z_i, mu_k) / t_zeta )
//! mu_k   = mean with weights 1 (labelled rows of k) and xi_i zeta_ik (unlabelled rows)
//! ```
//!
//! ebennequin/few-shot-open-set (`osem.py`): t_xi = 0.05, t_zeta = 0.1, zeta from 1/N, 2 rounds, features minus the
//! base-class mean at unit length (preset `authors`; needs that mean). `default` centres support and unlabelled rows on
//! their own means instead. The credibility of a row is xi, how much it looks like any of the classes: the outlier score
//! is one minus it.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError};
use crate::fit::classifier::{prototypes, softmax_rows};
use crate::linalg::Matrix;
use crate::methods::Setting;
use crate::methods::common::answer::{answer, one_hot};
use crate::methods::common::feature_rows::FeatureRows;
use crate::methods::common::{check_count, check_positive, comparator};
use crate::methods::single_fit::unlabelled_rows;
use crate::self_training::UnlabeledRows;
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::{Step, Transform};

/// Parameters of `oslo`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OsloParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// Which unlabelled rows of a semi-supervised task are learnt from.
    pub unlabelled: UnlabeledRows,
    /// t_xi, the temperature of being an inlier.
    pub inlier_temperature: f64,
    /// t_zeta, the temperature of the classes.
    pub class_temperature: f64,
    /// Rounds.
    pub steps: usize,
}

comparator!(OsloParams, "oslo", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self {
        transform: Transform::new(vec![Step::L2, Step::CentreParts, Step::L2]),
        ..Self::authors()
    },
    "authors" => Self::authors(),
});

/// Inlier score and class probabilities of some rows.
struct Latent {
    inlier: Vec<f64>,
    classes: Matrix<f64>,
}

impl OsloParams {
    fn authors() -> Self {
        Self {
            transform: Transform::new(vec![Step::Centre, Step::L2]),
            unlabelled: UnlabeledRows::Pool,
            inlier_temperature: 0.05,
            class_temperature: 0.1,
            steps: 2,
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("inlier_temperature", self.inlier_temperature)?;
        check_positive("class_temperature", self.class_temperature)?;
        check_count("steps", self.steps)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.apply(task)?;
        let rows = unlabelled_rows(&task, self.unlabelled);
        let unlabelled = rows.as_ref();
        let mut centres = prototypes(task.support(), task.support_labels(), task.ways());
        let own = FeatureRows::new(unlabelled);
        let mut latent = self.latent(&own, &centres, None);
        if unlabelled.rows() > 0 {
            let all = FeatureRows::stacked(task.support(), unlabelled);
            let given = one_hot(task.support_labels(), task.ways());
            for step in 0..self.steps {
                if step > 0 {
                    latent = self.latent(&own, &centres, Some(&latent.classes));
                }
                let mut weights = latent.classes.clone();
                for (row, inlier) in latent.inlier.iter().enumerate() {
                    weights.row_mut(row).iter_mut().for_each(|weight| *weight *= inlier);
                }
                centres = all.weighted_means(&given.stack(&weights));
            }
            latent = self.latent(&own, &centres, Some(&latent.classes));
        }
        let label = |rows: &Matrix<f32>| self.latent(&FeatureRows::new(rows), &centres, None);
        let mut solution = answer(&task, self.unlabelled, &latent.classes, |rows| label(rows).classes);
        // The rows that were learnt from are the unlabelled ones unless the task has a pool and they were not it.
        solution.credibility = if task.is_transductive() || self.unlabelled == UnlabeledRows::Pool {
            latent.inlier
        } else {
            label(task.pool()).inlier
        };
        Ok(solution)
    }

    /// Both latent variables; class probabilities start uniform where none are given.
    fn latent(&self, rows: &FeatureRows, centres: &Matrix<f32>, classes: Option<&Matrix<f64>>) -> Latent {
        let mut cosines = rows.cosines(centres);
        let ways = centres.rows() as f64;
        let mut inlier = Vec::with_capacity(rows.count());
        for row in 0..cosines.rows() {
            let own = cosines.row_mut(row);
            let mean: f64 = match classes {
                Some(classes) => own.iter().zip(classes.row(row)).map(|(cosine, zeta)| cosine * zeta).sum(),
                None => own.iter().sum::<f64>() / ways,
            };
            let xi = 1.0 / (1.0 + (-mean / self.inlier_temperature).exp());
            inlier.push(xi);
            own.iter_mut().for_each(|cosine| *cosine *= xi / self.class_temperature);
        }
        softmax_rows(&mut cosines);
        Latent { inlier, classes: cosines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{PerClass, clouds, mean_accuracy};
    use crate::task::Unlabeled;

    #[test]
    fn latent_variables_are_those_of_the_formulas() {
        let row = Matrix::from_vec(1, 2, vec![0.6, 0.8]);
        let rows = FeatureRows::new(&row);
        let centres = Matrix::from_vec(2, 2, vec![1.0, 0.0, 0.0, 1.0]);
        let latent = OsloParams::authors().latent(&rows, &centres, None);
        let xi = 1.0 / (1.0 + f64::exp(-0.7 / 0.05));
        let p = 1.0 / (1.0 + (xi * -0.2 / 0.1).exp());
        assert!((latent.inlier[0] - xi).abs() < 1e-6 && (latent.classes.row(0)[1] - p).abs() < 1e-6);
    }

    #[test]
    fn outliers_get_low_credibility() {
        // Ten clouds; five are the classes, the rows of the other five are outliers.
        let known = clouds(10, 60, PerClass { shots: 1, queries: 15, pool: None }, 0.5, 2);
        let inside: Vec<usize> = (0..5).collect();
        let task = Task::new(
            0,
            5,
            known.task.support().gather(&inside),
            inside,
            Unlabeled::Query,
            known.task.query().clone(),
        )
        .expect("valid");
        let credibility =
            build("oslo", None, &[]).expect("valid").solve(&task).expect("solvable").credibility;
        let ranked = |inside: usize, outside: usize| credibility[inside] > credibility[outside];
        let truth = &known.query;
        let rows = |open: bool| (0..150).filter(move |&row| (truth[row] >= 5) == open);
        let (inliers, outliers): (Vec<usize>, Vec<usize>) = (rows(false).collect(), rows(true).collect());
        let pairs = inliers.iter().flat_map(|&a| outliers.iter().map(move |&b| (a, b)));
        let right = pairs.filter(|&(a, b)| ranked(a, b)).count();
        assert!(right as f64 > 0.95 * (75 * 75) as f64, "{right} of 5625 pairs");
    }

    #[test]
    fn without_outliers_it_beats_the_nearest_mean() {
        let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), None);
        assert!(mean_accuracy(&*build("oslo", None, &[]).expect("valid"), None) > nearest);
    }
}
