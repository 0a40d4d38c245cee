//! Tasks for tests: Gaussian clouds around well separated, non-negative class means.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::linalg::Matrix;
use crate::methods::Method;
use crate::task::{Task, Unlabeled};

/// A task and the classes of its query rows.
pub(crate) struct Known {
    pub task: Task<f32>,
    pub query: Vec<usize>,
}

/// Numbers of rows of a class.
#[derive(Clone, Copy)]
pub(crate) struct PerClass {
    pub shots: usize,
    pub queries: usize,
    /// None for a transductive task.
    pub pool: Option<usize>,
}

/// `ways` clouds in `dim` dimensions; `noise` 0.3 leaves the classes apart, 1.0 makes them overlap.
pub(crate) fn clouds(ways: usize, dim: usize, per_class: PerClass, noise: f32, seed: u64) -> Known {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let means: Vec<Vec<f32>> =
        (0..ways).map(|_| (0..dim).map(|_| rng.random_range(0.0f32..2.0)).collect()).collect();
    let mut rows = |count: usize| {
        let mut values = Vec::new();
        let labels: Vec<usize> = (0..count * ways).map(|at| at % ways).collect();
        for &label in &labels {
            // Twelve uniforms make a normal good enough, and the absolute value keeps the power transform possible.
            let normal = |rng: &mut ChaCha8Rng| (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0;
            values.extend(means[label].iter().map(|mean| (mean + noise * normal(&mut rng)).abs()));
        }
        (Matrix::from_vec(count * ways, dim, values), labels)
    };
    let (support, labels) = rows(per_class.shots);
    let (query_rows, query) = rows(per_class.queries);
    let unlabeled = per_class.pool.map_or(Unlabeled::Query, |count| Unlabeled::Pool(rows(count).0));
    let task = Task::new(seed, ways, support, labels, unlabeled, query_rows).expect("a valid task");
    Known { task, query }
}

/// Five classes, one shot, fifteen queries each, in 40 dimensions.
pub(crate) fn usual(pool: Option<usize>, noise: f32, seed: u64) -> Known {
    clouds(5, 40, PerClass { shots: 1, queries: 15, pool }, noise, seed)
}

/// Part of the query rows a method labels rightly.
pub(crate) fn accuracy(method: &dyn Method, known: &Known) -> f64 {
    let labels = method.solve(&known.task).expect("solvable").query_labels();
    let right = labels.iter().zip(&known.query).filter(|(a, b)| a == b).count();
    right as f64 / labels.len() as f64
}

/// Mean accuracy over ten usual tasks with overlapping classes.
pub(crate) fn mean_accuracy(method: &dyn Method, pool: Option<usize>) -> f64 {
    (0..10).map(|seed| accuracy(method, &usual(pool, 0.9, seed))).sum::<f64>() / 10.0
}
