//! Rows that belong to none of the classes.
//!
//! How familiar a row is starts as the largest cosine between its smoothed features and a class's mean labelled row.
//! The least familiar rows of the pool, in a few clusters, then stand for "something else": a head that may also
//! answer with one of them says how much of a row's probability is left for the known classes. A pool without
//! strangers has least familiar rows too; so nothing is rejected by that number alone, but by comparison with labelled
//! rows that were left out (see [`crate::Labelling::reject`]).

use handful::Matrix;
use handful::fit::head::{Example, SoftmaxHead};
use handful::graph::kernel_graph::spherical_means;
use handful::graph::neighbours::Neighbours;
use handful::linalg::{dot, unit};

/// Share of the pool, least familiar first, that stands for everything else.
const STRANGE_SHARE: f64 = 0.3;
/// Clusters of those rows.
const CLUSTERS: usize = 5;
/// Rows that are clustered at most.
const MOST: usize = 4000;
/// How many labels each cluster weighs.
const CLUSTER_WEIGHT: f64 = 5.0;

/// The largest cosine of each row with a class's mean labelled row.
fn nearest_class(features: &Matrix<f32>, given: &[Example], ways: usize) -> Vec<f32> {
    nearest_mean(features, &class_means(features, given, ways))
}

/// The mean labelled row of each class, of unit length.
pub(crate) fn class_means(features: &Matrix<f32>, given: &[Example], ways: usize) -> Matrix<f32> {
    let mut means = Matrix::<f32>::zeros(ways, features.columns());
    for example in given {
        let mean = means.row_mut(example.class).iter_mut();
        mean.zip(features.row(example.row)).for_each(|(mean, value)| *mean += value);
    }
    (0..ways).for_each(|class| unit(means.row_mut(class)));
    means
}

/// The largest cosine of each row with one of the means.
pub(crate) fn nearest_mean(features: &Matrix<f32>, means: &Matrix<f32>) -> Vec<f32> {
    let nearest = Neighbours::find(features, means, 1);
    let cosine = |row: usize| dot(features.row(row), means.row(nearest.of_row(row)[0] as usize));
    (0..features.rows()).map(cosine).collect()
}

/// The clusters of the least familiar rows, as examples of classes behind the known ones.
fn strangers(
    features: &Matrix<f32>,
    familiarity: &[f32],
    given: &[Example],
    ways: usize,
) -> (Vec<Example>, usize) {
    let mut order: Vec<usize> = (0..familiarity.len()).collect();
    order.sort_by(|&a, &b| familiarity[a].total_cmp(&familiarity[b]).then(a.cmp(&b)));
    order.truncate((familiarity.len() as f64 * STRANGE_SHARE) as usize);
    let mut is_given = vec![false; familiarity.len()];
    given.iter().for_each(|example| is_given[example.row] = true);
    order.retain(|&row| !is_given[row]);
    let step = order.len().div_ceil(MOST).max(1);
    let rows: Vec<usize> = order.into_iter().step_by(step).collect();
    if rows.len() < 2 * CLUSTERS {
        return (Vec::new(), 0);
    }
    let sample = features.gather(&rows);
    let centres = spherical_means(&sample, CLUSTERS, 10);
    let nearest = Neighbours::find(&sample, &centres, 1);
    let weight = CLUSTER_WEIGHT * CLUSTERS as f64 / rows.len() as f64;
    let example =
        |(at, &row): (usize, &usize)| Example { row, class: ways + nearest.of_row(at)[0] as usize, weight };
    (rows.iter().enumerate().map(example).collect(), CLUSTERS)
}

/// The probability of each row that it belongs to one of the known classes rather than to a cluster of strangers.
fn known_probability(
    features: &Matrix<f32>,
    given: &[Example],
    strangers: &[Example],
    (ways, clusters): (usize, usize),
    inverse_penalty: f64,
) -> Matrix<f32> {
    let examples: Vec<Example> = given.iter().chain(strangers).copied().collect();
    let head = SoftmaxHead::fit(features, &examples, ways + clusters, inverse_penalty, None);
    let probabilities = head.probabilities(features);
    let known: Vec<f32> = probabilities.iter_rows().map(|row| row[..ways].iter().sum()).collect();
    Matrix::from_vec(known.len(), 1, known)
}

/// How familiar every row is; `smooth` spreads what is known of a row among its neighbours.
pub(crate) fn familiarity(
    features: &Matrix<f32>,
    given: &[Example],
    ways: usize,
    look_for_strangers: bool,
    inverse_penalty: f64,
    smooth: impl Fn(&Matrix<f32>) -> Matrix<f32>,
) -> Vec<f32> {
    let cosine = nearest_class(features, given, ways);
    if !look_for_strangers {
        return cosine;
    }
    let (strangers, clusters) = strangers(features, &cosine, given, ways);
    if clusters == 0 {
        return cosine;
    }
    let known = known_probability(features, given, &strangers, (ways, clusters), inverse_penalty);
    smooth(&known).as_slice().to_vec()
}
