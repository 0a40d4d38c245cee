//! `tafssl`: a task-adapted subspace, then prototypes or clusters in it (Lichtenstein et al. 2020).
//!
//! ```text
//! centre (transductive: support and query on their own means; semi-supervised: all on that of support and pool), unit length
//! B = top r right singular vectors (pca), or r independent components (ica), of support and unlabelled rows
//! z <- z B, unit length,      p_c(z) ~ exp(-|z - mu_c|^2)
//! msp: four times, prototypes from the labelled rows and the D best unlabelled rows of each class, D the largest for
//!      which every class's D-th best probability is above 0.3
//! bkm: one cluster k per class; P(c|q) = sum_k P(k|q) P(c|q,k),  P(c|q,k) ~ sum over labelled s of c of
//!      exp(-|s_k - q_k|^2) P(k|s), with s_k and q_k centred on the cluster's labelled and unlabelled mean
//! ```
//!
//! moseslichten/TAFSSL (`src/utils/proto*.py`): r = 10 for `msp` and `bkm`, 4 for the plain `nearest` prototype. Presets are
//! the paper's four combinations; `default` is `ica-msp`, its best. Their FastICA starts at random, unseeded, and is
//! retried on warnings; here it starts at the principal axes. Their k-means starts at random; here at the prototypes, one
//! cluster per class. In a semi-supervised task the query takes no part before it is labelled.

mod clusters;

use serde::{Deserialize, Serialize};

use crate::error::check_range;
use crate::error::{ParamError, TaskError};
use crate::fit::classifier::{prototypes, softmax_rows};
use crate::graph::dense::check_size;
use crate::linalg::Matrix;
use crate::linalg::subspace::Subspace;
use crate::methods::common::answer::answer;
use crate::methods::common::feature_rows::{FeatureRows, unit_rows};
use crate::methods::common::ica::sources;
use crate::methods::common::reduce::with_rows;
use crate::methods::common::{check_count, check_positive, comparator};
use crate::methods::{MethodParams, Setting};
use crate::self_training::UnlabeledRows;
use crate::solution::Solution;
use crate::task::{Task, Unlabeled};
use crate::transform::{Step, Transform};

/// Which directions features are projected on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Projection {
    /// Principal ones.
    Pca,
    /// Independent ones.
    Ica,
}

/// How rows are labelled in the subspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Labeller {
    /// By the nearest prototype.
    Nearest,
    /// By mean-shift propagation: prototypes refined with the surest rows.
    Msp,
    /// By Bayesian k-means.
    Bkm,
}

/// Parameters of `tafssl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TafsslParams {
    /// What is done to the features before they are centred.
    pub transform: Transform,
    /// Which directions features are projected on.
    pub projection: Projection,
    /// r, the number of them.
    pub dimensions: usize,
    /// How rows are labelled.
    pub labeller: Labeller,
    /// Rounds of `msp`.
    pub rounds: usize,
    /// Probability that every class's chosen rows must be above in `msp`.
    pub threshold: f64,
    /// Temperature of a row's clusters in `bkm`; only in semi-supervised tasks, in transductive ones the nearest counts.
    pub cluster_temperature: f64,
}

comparator!(TafsslParams, "tafssl", Setting::UsesUnlabeled, knows_class_sizes: |_| false, presets: {
    "default" => Self::with(Projection::Ica, Labeller::Msp),
    "ica-msp" => Self::with(Projection::Ica, Labeller::Msp),
    "ica-bkm" => Self::with(Projection::Ica, Labeller::Bkm),
    "pca-msp" => Self::with(Projection::Pca, Labeller::Msp),
    "pca-bkm" => Self::with(Projection::Pca, Labeller::Bkm),
    "pca" => Self { dimensions: 4, ..Self::with(Projection::Pca, Labeller::Nearest) },
    "ica" => Self { dimensions: 4, ..Self::with(Projection::Ica, Labeller::Nearest) },
});

impl TafsslParams {
    fn with(projection: Projection, labeller: Labeller) -> Self {
        Self {
            transform: Transform::none(),
            projection,
            dimensions: 10,
            labeller,
            rounds: 4,
            threshold: 0.3,
            cluster_temperature: 0.1,
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_count("dimensions", self.dimensions)?;
        let threshold = self.threshold;
        check_range(
            "threshold",
            threshold,
            (0.0..1.0).contains(&threshold),
            "a number from 0 up and below 1",
        )?;
        check_positive("cluster_temperature", self.cluster_temperature)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = centred(&self.transform.apply(task)?)?;
        check_size(Self::NAME, task.support().rows() + task.pool().rows())?;
        let task = self.projected(&task);
        let (support, labels, ways) = (task.support(), task.support_labels(), task.ways());
        if self.labeller == Labeller::Bkm {
            let soft = (!task.is_transductive()).then_some(self.cluster_temperature);
            let model = clusters::Clusters::new(support, labels, ways, task.pool(), soft);
            return Ok(answer(&task, UnlabeledRows::Pool, &model.label(task.pool()), |rows| {
                model.label(rows)
            }));
        }
        let mut centres = prototypes(support, labels, ways);
        if self.labeller == Labeller::Msp {
            for _ in 0..self.rounds {
                centres = self.refined(&task, &probabilities(task.pool(), &centres));
            }
        }
        let label = |rows: &Matrix<f32>| probabilities(rows, &centres);
        Ok(answer(&task, UnlabeledRows::Pool, &label(task.pool()), label))
    }

    /// The task in the subspace of its labelled and unlabelled rows, at unit length.
    fn projected(&self, task: &Task<f32>) -> Task<f32> {
        let learnt = task.support().stack(task.pool());
        let all = if task.is_transductive() { learnt.clone() } else { learnt.stack(task.query()) };
        let features = FeatureRows::new(&all);
        let mut coordinates: Matrix<f32> = match self.projection {
            Projection::Pca => {
                let products = features.products(&learnt);
                let gram = products.gather(&(0..learnt.rows()).collect::<Vec<_>>());
                Subspace::new(&gram, self.dimensions).coordinates(&products).cast()
            }
            Projection::Ica => features.products(&sources(&learnt, self.dimensions)).cast(),
        };
        unit_rows(&mut coordinates);
        with_rows(task, &coordinates)
    }

    /// Class means of the labelled rows and the D surest unlabelled ones of each class.
    fn refined(&self, task: &Task<f32>, probabilities: &Matrix<f64>) -> Matrix<f32> {
        let ways = task.ways();
        let above =
            |class: usize| probabilities.iter_rows().filter(|row| row[class] > self.threshold).count();
        let taken = (0..ways).map(above).min().unwrap_or(0);
        let (mut rows, mut labels) = (Vec::new(), task.support_labels().to_vec());
        for class in 0..ways {
            let mut order: Vec<usize> = (0..probabilities.rows()).collect();
            let surer = |&a: &usize, &b: &usize| {
                probabilities.row(b)[class].total_cmp(&probabilities.row(a)[class]).then(a.cmp(&b))
            };
            order.sort_by(surer);
            rows.extend(&order[..taken]);
            labels.extend(vec![class; taken]);
        }
        prototypes(&task.support().stack(&task.pool().gather(&rows)), &labels, ways)
    }
}

/// Softmax of minus the squared distances.
fn probabilities(rows: &Matrix<f32>, centres: &Matrix<f32>) -> Matrix<f64> {
    let mut scores = FeatureRows::new(rows).squared_distances(centres);
    scores.as_mut_slice().iter_mut().for_each(|value| *value = -*value);
    softmax_rows(&mut scores);
    scores
}

/// Centred as the setting asks for, and at unit length.
fn centred(task: &Task<f32>) -> Result<Task<f32>, TaskError> {
    let unit = Transform::new(vec![Step::L2]);
    let Unlabeled::Pool(pool) = task.unlabeled() else {
        return Transform::new(vec![Step::CentreParts, Step::L2]).apply(task);
    };
    let mean = task.support().stack(pool).mean_row();
    let minus = |rows: &Matrix<f32>| {
        let mut rows = rows.clone();
        for row in 0..rows.rows() {
            rows.row_mut(row).iter_mut().zip(&mean).for_each(|(value, mean)| *value -= mean);
        }
        rows
    };
    let moved = task.with_features(minus(task.support()), Unlabeled::Pool(minus(pool)), minus(task.query()));
    unit.apply(&moved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::build;
    use crate::methods::common::test_tasks::{mean_accuracy, usual};

    #[test]
    fn every_combination_beats_the_nearest_mean() {
        for pool in [None, Some(15)] {
            let nearest = mean_accuracy(&*build("simpleshot", None, &[]).expect("valid"), pool);
            for preset in TafsslParams::PRESETS {
                let method = build("tafssl", Some(preset), &[]).expect("valid");
                assert!(mean_accuracy(&*method, pool) > nearest, "{preset} {pool:?}");
            }
        }
    }

    #[test]
    fn refinement_takes_as_many_rows_of_each_class_as_every_class_has_sure_ones() {
        let task = usual(None, 0.5, 1).task;
        let params = TafsslParams::with(Projection::Pca, Labeller::Msp);
        // Class 0 has one row above the threshold, every other class all of them.
        let mut given = Matrix::from_vec(75, 5, vec![0.9; 375]);
        (1..75).for_each(|row| given.row_mut(row)[0] = 0.1);
        given.row_mut(40)[3] = 0.95;
        let centres = params.refined(&task, &given);
        for (class, row) in [(0, 0), (3, 40)] {
            let wanted = 0.5 * (task.support().row(class)[7] + task.query().row(row)[7]);
            assert!((centres.row(class)[7] - wanted).abs() < 1e-5);
        }
    }

    #[test]
    fn the_query_takes_no_part_in_a_semi_supervised_subspace() {
        let known = usual(Some(15), 0.9, 3);
        let method = build("tafssl", None, &[]).expect("valid");
        let all = method.solve(&known.task).expect("solvable");
        let task = known.task.with_features(
            known.task.support().clone(),
            known.task.unlabeled().clone(),
            known.task.query().gather(&[4]),
        );
        let one = method.solve(&task).expect("solvable");
        assert_eq!(one.query.row(0), all.query.row(4));
    }
}
