//! How long a person waits: preparing a pool, fitting it, fitting it again after one more label, and labelling new rows.
//!
//!     cargo bench -p handful-label
//!
//! Every figure is the best of several runs. Refits keep the calibration of the fit before and are what follows a click.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use handful::Matrix;
use handful_label::{LabelParams, PreparedPool};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Seconds of the fastest of `runs` calls, and what the last one made.
fn best<T>(runs: usize, mut work: impl FnMut() -> T) -> (f64, T) {
    let mut fastest = f64::INFINITY;
    let mut run = || {
        let start = Instant::now();
        let made = black_box(work());
        fastest = fastest.min(start.elapsed().as_secs_f64());
        made
    };
    let mut made = run();
    for _ in 1..runs {
        made = run();
    }
    (fastest, made)
}

/// Non-negative rows around a centre a class, like pooled features.
fn rows(count: usize, columns: usize, ways: usize, seed: u64) -> Matrix<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let centres: Vec<f32> = (0..ways * columns).map(|_| rng.random_range(0.0..1.0)).collect();
    let mut matrix = Matrix::zeros(count, columns);
    for row in 0..count {
        let centre = &centres[row % ways * columns..][..columns];
        let to = matrix.row_mut(row).iter_mut().zip(centre);
        to.for_each(|(to, centre)| *to = (centre + rng.random_range(-1.0f32..1.0)).max(0.0));
    }
    matrix
}

/// Ten labels of each class.
fn labels(ways: usize) -> Vec<(usize, usize)> {
    (0..10 * ways).map(|row| (row, row % ways)).collect()
}

fn main() {
    println!("threads {}", rayon::current_num_threads());
    pool(5_000, 512, 10, 5);
    pool(20_000, 512, 10, 3);
    predict(640, 20);
}

fn pool(count: usize, columns: usize, ways: usize, runs: usize) {
    let source = Arc::new(rows(count, columns, ways, 1));
    let params = LabelParams::default();
    let prepare = || PreparedPool::new(Arc::clone(&source) as Arc<_>, &params).expect("finite rows");
    let (prepared, pool) = best(runs.min(2), prepare);
    let mut given = labels(ways);
    let (fitted, fit) = best(runs.min(2), || pool.fit(&given, ways).expect("valid labels"));
    given.push((10 * ways, 0));
    let evidence = fit.evidence.expect("labels were left out");
    let (refitted, _) = best(runs, || pool.refit(&given, ways, &evidence).expect("valid labels"));
    println!(
        "{count} rows x {columns}, {ways} classes: prepare {:.0} ms, fit {:.0} ms, refit {:.0} ms",
        1e3 * prepared,
        1e3 * fitted,
        1e3 * refitted
    );
}

fn predict(columns: usize, ways: usize) {
    let pool = PreparedPool::new(Arc::new(rows(5_000, columns, ways, 2)), &LabelParams::default());
    let fit = pool.expect("finite rows").fit(&labels(ways), ways).expect("valid labels");
    let new = rows(40_000, columns, ways, 3);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let (seconds, _) = best(3, || one.install(|| fit.model.predict(&new).expect("as wide")));
    println!("predict, d = {columns}, {ways} classes: {:.0} rows/s on one core", new.rows() as f64 / seconds);
}
