use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::structured::loss_and_gradient;
use super::*;
use crate::linalg::transport::least_cost_flow;
use crate::methods::build;

const PLACES: usize = 4;
const WIDTH: usize = 6;

fn vectors(maps: usize, seed: usize) -> Matrix<f32> {
    // Vectors that resemble each other have several best flows.
    let mut rng = ChaCha8Rng::seed_from_u64(seed as u64);
    Matrix::from_vec(
        maps * PLACES,
        WIDTH,
        (0..maps * PLACES * WIDTH).map(|_| rng.random_range(-0.6..1.4)).collect(),
    )
}

/// A task whose features say nothing, so that only the maps can.
fn task(shots: usize, support: Matrix<f32>, query: Matrix<f32>) -> Task<f32> {
    let (ways, queries) = (support.rows() / PLACES / shots, query.rows() / PLACES);
    let features = |rows: usize| Matrix::from_vec(rows, 2, vec![1.0; 2 * rows]);
    let labels = (0..ways * shots).map(|row| row / shots).collect();
    let task = Task::new(3, ways, features(ways * shots), labels, Unlabeled::Query, features(queries));
    let parts = TaskParts::new(PartKind::Maps, PLACES, support, Matrix::zeros(0, 0), query);
    task.and_then(|task| task.with_parts(parts)).expect("valid")
}

fn place(vectors: &Matrix<f64>, map: usize, place: usize) -> &[f64] {
    vectors.row(map * PLACES + place)
}

fn mean(vectors: &Matrix<f64>, map: usize) -> Vec<f64> {
    let sum = |channel: usize| (0..PLACES).map(|at| place(vectors, map, at)[channel]).sum::<f64>();
    (0..WIDTH).map(|channel| sum(channel) / PLACES as f64).collect()
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Cosine after subtracting the mean of the channels.
fn similarity(a: &[f64], b: &[f64]) -> f64 {
    let centred = |row: &[f64]| {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        row.iter().map(|value| value - mean).collect::<Vec<f64>>()
    };
    let (a, b) = (centred(a), centred(b));
    inner(&a, &b) / (inner(&a, &a) * inner(&b, &b)).sqrt()
}

/// The logit of the module's first lines, pair by pair; weights are those for `weighing` in the place of the class's map.
fn slow_logit(
    query: &Matrix<f64>,
    row: usize,
    classes: &Matrix<f64>,
    weighing: &Matrix<f64>,
    class: usize,
) -> f64 {
    let weights = |own: &Matrix<f64>, map: usize, other: Vec<f64>| -> Vec<f64> {
        let raw: Vec<f64> =
            (0..PLACES).map(|at| inner(place(own, map, at), &other).max(0.0) + 1e-3 + 1e-5).collect();
        raw.iter().map(|weight| weight * PLACES as f64 / raw.iter().sum::<f64>()).collect()
    };
    let (supply, demand) =
        (weights(query, row, mean(weighing, class)), weights(weighing, class, mean(query, row)));
    let pair = |at: usize| similarity(place(query, row, at / PLACES), place(classes, class, at % PLACES));
    let similarities: Vec<f64> = (0..PLACES * PLACES).map(pair).collect();
    let costs: Vec<f64> = similarities.iter().map(|similarity| 1.0 - similarity).collect();
    12.5 / PLACES as f64 * inner(&least_cost_flow(&costs, &supply, &demand), &similarities)
}

#[test]
fn logits_are_those_of_the_definition() {
    let (classes, query) = (vectors(3, 1), vectors(5, 2));
    let maps = |vectors: &Matrix<f32>| Maps::new(vectors.clone(), PLACES);
    let (logits, flows) = DeepemdParams::authors().logits(&maps(&classes), &maps(&query));
    let (classes, query) = (classes.cast(), query.cast());
    for row in 0..5 {
        for class in 0..3 {
            let expected = slow_logit(&query, row, &classes, &classes, class);
            assert!((logits.row(row)[class] - expected).abs() < 1e-4, "{row} {class}");
        }
    }
    // Every pair of maps moves a weight of one for each place.
    let moved: f64 = flows.as_slice().iter().map(|&flow| f64::from(flow)).sum();
    assert!((moved - (3 * 5 * PLACES) as f64).abs() < 1e-3);
    let smooth = DeepemdParams { solver: Solver::Sinkhorn, smoothness: 0.005, ..DeepemdParams::authors() };
    let (smoothed, _) = smooth.logits(&maps(&classes.cast()), &maps(&query.cast()));
    for (smoothed, exact) in smoothed.as_slice().iter().zip(logits.as_slice()) {
        assert!((smoothed - exact).abs() < 0.05, "{smoothed} {exact}");
    }
}

#[test]
fn the_gradient_of_a_prototype_is_the_slope_of_the_loss() {
    let (classes, rows, labels) = (vectors(3, 4), vectors(4, 5), [0, 2, 1, 2]);
    let params = DeepemdParams::authors();
    let maps = |vectors: &Matrix<f32>| Maps::new(vectors.clone(), PLACES);
    let (loss, gradient) = loss_and_gradient(&params, &maps(&classes), &maps(&rows), &labels);
    let (fixed, rows) = (classes.cast::<f64>(), rows.cast::<f64>());
    let slow = |classes: &Matrix<f64>| -> f64 {
        let of_row = |(row, &label): (usize, &usize)| {
            let logits: Vec<f64> =
                (0..3).map(|class| slow_logit(&rows, row, classes, &fixed, class)).collect();
            logits.iter().map(|logit| logit.exp()).sum::<f64>().ln() - logits[label]
        };
        labels.iter().enumerate().map(of_row).sum::<f64>() / 4.0
    };
    assert!((loss - slow(&fixed)).abs() < 1e-4);
    for at in (0..3 * PLACES * WIDTH).step_by(5) {
        let moved = |by: f64| {
            let mut classes = fixed.clone();
            classes.as_mut_slice()[at] += by;
            slow(&classes)
        };
        let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        let own = f64::from(gradient.as_slice()[at]);
        assert!((own - slope).abs() < 1e-3 * slope.abs().max(1.0), "{at}: {own} {slope}");
    }
}

#[test]
fn a_map_is_told_by_its_places_wherever_they_are() {
    let support = vectors(3, 7);
    // The same places in another order, and a little different.
    let order: Vec<usize> =
        [2, 0, 1].iter().flat_map(|map| [3, 1, 0, 2].map(|place| map * PLACES + place)).collect();
    let mut query = support.gather(&order);
    query.as_mut_slice().iter_mut().step_by(3).for_each(|value| *value += 0.01);
    for (key, value) in [("solver", "exact"), ("solver", "sinkhorn")] {
        let method = build("deepemd", None, &[(key.into(), value.into())]).expect("valid");
        let solution = method.solve(&task(1, support.clone(), query.clone())).expect("solvable");
        assert_eq!(solution.query_labels(), [2, 0, 1], "{value}");
    }
}

#[test]
fn structured_prototypes_fit_the_labelled_rows_better_than_their_mean() {
    let task = task(3, vectors(6, 8), vectors(2, 9));
    let parts = task.parts().expect("it has some");
    let params = |epochs: usize| DeepemdParams { prototype_epochs: epochs, ..DeepemdParams::authors() };
    let support = Maps::new(parts.support().clone(), PLACES);
    let loss = |epochs: usize| {
        let classes = params(epochs).classes(&task, parts);
        loss_and_gradient(&params(epochs), &classes, &support, task.support_labels()).0
    };
    assert!(loss(30) < 0.9 * loss(0), "{} {}", loss(30), loss(0));
    // The same task gives the same prototypes.
    assert_eq!(params(5).classes(&task, parts).raw, params(5).classes(&task, parts).raw);
}

#[test]
fn features_without_maps_are_refused_in_one_sentence() {
    let rows = |count: usize| Matrix::from_vec(count, 2, vec![1.0; 2 * count]);
    let task = Task::new(0, 2, rows(2), vec![0, 1], Unlabeled::Query, rows(1)).expect("valid");
    let error = build("deepemd", None, &[]).expect("valid").solve(&task).expect_err("no maps").to_string();
    assert!(error.contains("embed --maps") && !error.contains('\n'), "{error}");
}
