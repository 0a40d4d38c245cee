//! How fast the engine is, against what the machine could do: `cargo bench -p handful`.
//!
//! Every figure is the best of several runs, and the ratios are taken within one run, so that they hold on a busy or
//! a different machine too.

use std::hint::black_box;
use std::time::Instant;

use handful::Matrix;
use handful::fit::{FitParams, Fitter};
use handful::kernels::{Kernels, PaddedRows, Path};
use handful::methods::presets;
use handful::methods::{Method, build};
use handful::paper::objective::ObjectiveKind;
use handful::scalar::Scalar;
use handful::task::{Task, Unlabeled};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Seconds of the fastest of `runs` calls.
fn best(runs: usize, mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..runs).map(time).fold(f64::INFINITY, f64::min)
}

/// Non-negative rows with a class direction each, like pooled features.
fn rows(count: usize, columns: usize, seed: u64) -> Matrix<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut matrix = Matrix::zeros(count, columns);
    for row in 0..count {
        for (column, value) in matrix.row_mut(row).iter_mut().enumerate() {
            let centre = if column % 5 == row % 5 { 0.6 } else { 0.0 };
            *value = (rng.random_range(-0.8f32..1.0) + centre).max(0.0);
        }
    }
    matrix
}

fn task(columns: usize) -> Task<f32> {
    Task::new(0, 5, rows(5, columns, 1), (0..5).collect(), Unlabeled::Query, rows(75, columns, 2))
        .expect("valid")
}

/// Operations of one step: two products over all rows, and the pass over the kernel of the unlabelled ones.
fn step_operations(rows: f64, unlabelled: f64, columns: f64, ways: f64) -> f64 {
    let products = 4.0 * rows * columns * ways;
    // Per pair the inner product and the weighted sum; exponentials, softmax and Adam are not counted.
    products + unlabelled * unlabelled * 4.0 * ways
}

fn main() {
    // Cargo passes --bench; a filter or --test makes no sense here.
    let kernels = f32::kernels();
    println!("path {}; every path this machine has is listed under kernels\n", kernels.path());
    let peak = peak(kernels);
    println!("multiply-add peak, one core      {:8.1} GFLOP/s", peak / 1e9);
    for path in Path::available() {
        if let Some(kernels) = Kernels::on(path) {
            products(kernels, peak);
        }
    }
    println!();
    fit(640, peak);
    fit(1280, peak);
    println!();
    tasks();
    println!();
    threads();
}

fn peak(kernels: &Kernels<f32>) -> f64 {
    const ROUNDS: usize = 20_000_000;
    let mut operations = 0.0;
    let seconds = best(5, || operations = kernels.peak_operations(ROUNDS));
    operations / seconds
}

fn products(kernels: &Kernels<f32>, peak: f64) {
    let (z, w) = (PaddedRows::from_matrix(&rows(80, 640, 1)), PaddedRows::from_matrix(&rows(5, 640, 2)));
    let mut out = PaddedRows::zeros(5, 80);
    let mut gradient = PaddedRows::zeros(5, 640);
    const CALLS: usize = 2000;
    let operations = 2.0 * 80.0 * 640.0 * 5.0 * CALLS as f64;
    let scores = best(5, || (0..CALLS).for_each(|_| kernels.scores(&z, &w, &[0.0; 5], black_box(&mut out))));
    let back =
        best(5, || (0..CALLS).for_each(|_| kernels.weight_gradient(&z, &out, black_box(&mut gradient))));
    for (name, seconds) in [("scores (80x640)(640x5)", scores), ("gradient (5x80)(80x640)", back)] {
        let rate = operations / seconds;
        println!(
            "{:9} {name:24} {:8.1} GFLOP/s  {:4.0}% of peak",
            kernels.path().to_string(),
            rate / 1e9,
            100.0 * rate / peak
        );
    }
}

/// One fit of 1000 steps, hybrid, 5 + 75 rows, on the best path.
fn fit(columns: usize, peak: f64) {
    let params = FitParams { steps: 1000, ..presets::authors().fit };
    assert_eq!(params.objective.kind, ObjectiveKind::Hybrid);
    let task = task(columns);
    let mut fitter =
        Fitter::new(&params, 5, task.support(), task.support_labels(), task.query()).expect("a small kernel");
    let seconds = best(7, || drop(black_box(fitter.fit(&[], None))));
    let operations = 1000.0 * step_operations(80.0, 75.0, columns as f64, 5.0);
    let rate = operations / seconds;
    println!(
        "one fit, 1000 steps, hybrid, d={columns:4}, 5 ways, 5+75 rows   {:7.2} ms  {:6.1} GFLOP/s  {:3.0}% of peak",
        1e3 * seconds,
        rate / 1e9,
        100.0 * rate / peak
    );
}

/// Whole tasks: 5-way 1-shot, 75 queries, d = 1280.
fn tasks() {
    let task = task(1280);
    let time = |name: &str, method: &dyn Method, runs: usize| {
        let seconds = best(runs, || drop(black_box(method.solve(&task))));
        println!("{name:44} {:8.2} ms", 1e3 * seconds);
        seconds
    };
    let dm_ida = |preset: &str, changes: &[(&str, &str)]| {
        let changes: Vec<_> =
            changes.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        build("dm-ida", Some(preset), &changes).expect("a preset")
    };
    println!("one task, d=1280, one core");
    time("dm-ida, preset authors", dm_ida("authors", &[]).as_ref(), 3);
    let long = [("steps", "1000"), ("basis", "original"), ("learning_rate", "0.001")];
    // Smoothing ends in the few dimensions the rows span, so all dimensions means without it.
    let long = time("dm-ida, plain with 1000 steps, all dimensions", dm_ida("plain", &long).as_ref(), 3);
    time("dm-ida, preset default", dm_ida("default", &[]).as_ref(), 10);
    let fast = time("dm-ida, preset fast", dm_ida("fast", &[]).as_ref(), 10);
    println!("fast is {:.0}x faster than 1000 steps", long / fast);
    time("tim-gd, preset default", build("tim-gd", None, &[]).expect("known").as_ref(), 10);
    time("protonet", build("protonet", None, &[]).expect("known").as_ref(), 30);
}

/// Two threads against one, each with tasks of its own.
fn threads() {
    let task = task(1280);
    let method = build("dm-ida", Some("fast"), &[]).expect("a preset");
    let solve = || (0..40).for_each(|_| drop(black_box(method.solve(&task))));
    let one = best(3, || {
        solve();
        solve();
    });
    let two = best(3, || {
        std::thread::scope(|scope| {
            scope.spawn(solve);
            scope.spawn(solve);
        });
    });
    println!("two threads are {:.2}x one", one / two);
}
