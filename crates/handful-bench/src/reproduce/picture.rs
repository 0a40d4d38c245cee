//! One task in two dimensions: labels before (cross-entropy on the labelled rows alone) and after (the whole method).
//!
//! The plane is that of the two leading discriminant directions of the true classes among the first ten principal
//! components, so that it shows what there is to separate; both pictures share it. The task is the one among the
//! first fifty whose gain is nearest to their mean gain.

use handful::Matrix;
use handful::methods::changed_preset;
use handful::methods::dm_ida::{DmIda, DmIdaParams};
use handful::methods::single_fit::TraceWanted;
use nalgebra::{DMatrix, SymmetricEigen};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::cell::{Cell, Measure, Recipe, Source};
use super::layout::transductive;
use super::work::{Bench, Outcome};
use super::{Plan, ReproduceError, table5};
use crate::study::assemble;

/// Tasks to choose from.
const TASKS: usize = 50;
/// Principal components before the discriminant plane.
const COMPONENTS: usize = 10;

/// One cell.
pub fn cells(plan: &Plan) -> Vec<Cell> {
    vec![Cell {
        table: "picture",
        row: "task".to_owned(),
        column: "1-shot",
        source: Source::Main,
        spec: transductive(5, 1),
        tasks: plan.tasks.min(TASKS),
        recipe: Recipe::at("dm-ida", &plan.preset),
        measure: Measure::Picture,
    }]
}

/// One task, drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// Number of the task.
    pub task: usize,
    /// Names of its classes.
    pub classes: Vec<String>,
    /// Places of the labelled rows.
    pub support: Vec<[f64; 2]>,
    /// Their classes.
    pub support_labels: Vec<usize>,
    /// Places of the unlabelled rows.
    pub points: Vec<[f64; 2]>,
    /// Their true classes.
    pub truth: Vec<usize>,
    /// Labels before.
    pub before: Vec<usize>,
    /// Labels after.
    pub after: Vec<usize>,
    /// Unlabelled rows that joined the labelled ones.
    pub joined: Vec<usize>,
}

/// Solves the tasks both ways, chooses one, and projects it.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Outcome, ReproduceError> {
    let recipe = &bench.cell.recipe;
    let params: DmIdaParams = changed_preset(recipe.preset.as_deref(), &recipe.changes)?;
    let method = DmIda::new(params.clone())?;
    let plain = table5::single_fit(bench.plan, "cross-entropy");
    let plain = DmIda::new(changed_preset(plain.preset.as_deref(), &plain.changes)?)?;
    let (mut results, threads) = bench.over_tasks(|index| {
        let episode = bench.sampler.episode(index as u64);
        let (task, truth) = assemble(bench.table, &episode, index as u64)?;
        let start = std::time::Instant::now();
        let solution = method.solve_in(&task, TraceWanted::Yes)?;
        let time = start.elapsed();
        let rounds = solution.trace.as_ref().map(|trace| trace.rounds.as_slice()).unwrap_or_default();
        let joined = rounds.last().map(|round| round.selected.clone()).unwrap_or_default();
        let transformed = params.transform.apply(&task)?;
        let rows = transformed.support().stack(transformed.query());
        let labels: Vec<usize> = task.support_labels().iter().chain(&truth).copied().collect();
        let places = discriminant_plane(&rows, &labels, task.ways());
        let support = task.support().rows();
        let class_name = |&class: &usize| bench.table.class_names().get(class).cloned().unwrap_or_default();
        let picture = Picture {
            task: index,
            classes: episode.classes.iter().map(class_name).collect(),
            support: places[..support].to_vec(),
            support_labels: task.support_labels().to_vec(),
            points: places[support..].to_vec(),
            before: plain.solve_in(&task, TraceWanted::No)?.query_labels(),
            after: solution.query_labels(),
            truth,
            joined,
        };
        Ok((picture, time))
    })?;
    let right = |labels: &[usize], truth: &[usize]| labels.iter().zip(truth).filter(|(a, b)| a == b).count();
    let gain = |picture: &Picture| {
        right(&picture.after, &picture.truth) as f64 - right(&picture.before, &picture.truth) as f64
    };
    let mean = results.iter().map(|(picture, _)| gain(picture)).sum::<f64>() / results.len().max(1) as f64;
    let counts = results.iter().map(|(picture, _)| right(&picture.after, &picture.truth) as u32).collect();
    let time = results.iter().map(|(_, time)| *time).sum();
    let nearest = (0..results.len())
        .min_by(|&a, &b| (gain(&results[a].0) - mean).abs().total_cmp(&(gain(&results[b].0) - mean).abs()));
    let picture = nearest.map(|at| results.swap_remove(at).0).unwrap_or_default();
    let of = bench.cell.spec.query_count() as u32;
    Ok(Outcome::new(counts, of, time, threads, json!(picture)))
}

/// Coordinates of the rows in the plane of the two leading discriminant directions; see the module.
fn discriminant_plane(rows: &Matrix<f32>, labels: &[usize], ways: usize) -> Vec<[f64; 2]> {
    let (count, columns) = (rows.rows(), rows.columns());
    let mut centred = DMatrix::from_fn(count, columns, |row, column| f64::from(rows.row(row)[column]));
    for mut column in centred.column_iter_mut() {
        let mean = column.mean();
        column.add_scalar_mut(-mean);
    }
    // Unit-length scores: the eigenvectors of the Gram matrix are the whitened principal coordinates.
    let whitened = leading_eigenvectors(&centred * centred.transpose(), COMPONENTS);
    let mut means = DMatrix::zeros(ways, whitened.ncols());
    for (row, &label) in labels.iter().enumerate() {
        let size = labels.iter().filter(|&&other| other == label).count() as f64;
        let mut mean = means.row_mut(label);
        mean += whitened.row(row) / size.sqrt();
    }
    let plane = leading_eigenvectors(means.transpose() * &means, 2);
    let places = &whitened * &plane;
    let at = |row: usize, axis: usize| if axis < places.ncols() { places[(row, axis)] } else { 0.0 };
    let rounded = |value: f64| (value * 1e5).round() / 1e5;
    (0..count).map(|row| [rounded(at(row, 0)), rounded(at(row, 1))]).collect()
}

/// Eigenvectors of the largest eigenvalues as columns, each with its largest entry positive.
fn leading_eigenvectors(matrix: DMatrix<f64>, count: usize) -> DMatrix<f64> {
    let eigen = SymmetricEigen::new(matrix);
    let mut order: Vec<usize> = (0..eigen.eigenvalues.len()).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
    order.truncate(count);
    let mut vectors = eigen.eigenvectors.select_columns(&order);
    for mut column in vectors.column_iter_mut() {
        let largest =
            column.iter().fold(0.0f64, |most, &value| if value.abs() > most.abs() { value } else { most });
        if largest < 0.0 {
            column.neg_mut();
        }
    }
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plane_separates_what_one_direction_among_many_tells_apart() {
        // The classes differ along column 3 only; columns 0 and 1 have more variance and no classes.
        let value = |row: usize, column: usize| match column {
            3 => (row % 3) as f32,
            column => 4.0 * ((row * 31 + column * 17) as f32 * 0.7).sin() / (1.0 + column as f32),
        };
        let rows = Matrix::from_vec(30, 5, (0..150).map(|at| value(at / 5, at % 5)).collect());
        let labels: Vec<usize> = (0..30).map(|row| row % 3).collect();
        let places = discriminant_plane(&rows, &labels, 3);
        let mean = |class: usize| {
            (0..30).filter(|row| row % 3 == class).map(|row| places[row][0]).sum::<f64>() / 10.0
        };
        let spread = (0..30).map(|row| (places[row][0] - mean(row % 3)).abs()).fold(0.0, f64::max);
        assert!((mean(0) - mean(1)).abs() > spread && (mean(1) - mean(2)).abs() > spread);
    }
}
