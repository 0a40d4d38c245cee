//! What must not matter, and what must be survived, for every method there is.

use handful::Matrix;
use handful::error::TaskError;
use handful::fit::basis::Basis;
use handful::methods::dm_ida::{DmIda, DmIdaParams};
use handful::methods::presets;
use handful::methods::single_fit::TraceWanted;
use handful::methods::{METHODS, Method, build};
use handful::task::{Task, Unlabeled};
use handful::transform::Transform;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Rows around one centre per class, never negative.
fn rows(labels: &[usize], columns: usize, seed: u64) -> Matrix<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut matrix = Matrix::zeros(labels.len(), columns);
    for (row, &label) in labels.iter().enumerate() {
        for (column, value) in matrix.row_mut(row).iter_mut().enumerate() {
            let centre = if column % 7 == label % 7 { 1.0 } else { 0.3 };
            *value = centre + rng.random_range(-0.3..0.3);
        }
    }
    matrix
}

fn labels(ways: usize, per_class: usize) -> Vec<usize> {
    (0..ways).flat_map(|class| std::iter::repeat_n(class, per_class)).collect()
}

fn task(ways: usize, shots: usize, queries: usize, pool: Option<usize>, columns: usize) -> Task<f32> {
    let support = labels(ways, shots);
    let unlabeled = match pool {
        Some(count) => Unlabeled::Pool(rows(&labels(ways, count), columns, 3)),
        None => Unlabeled::Query,
    };
    let query = rows(&labels(ways, queries), columns, 2);
    Task::new(5, ways, rows(&support, columns, 1), support, unlabeled, query).expect("valid")
}

/// Every method at its default, with short fits.
fn methods() -> Vec<Box<dyn Method>> {
    let quick = |name: &str| {
        let method = build(name, None, &[]).expect("a default");
        match method.params().get("steps") {
            Some(_) => build(name, None, &[("steps".into(), "15".into())]).expect("fewer steps"),
            None => method,
        }
    };
    // These tasks have no feature maps.
    METHODS.iter().filter(|entry| entry.name != "deepemd").map(|entry| quick(entry.name)).collect()
}

fn assert_probabilities(method: &dyn Method, task: &Task<f32>) {
    // The only refusal among the defaults: `dsn` needs two labelled rows of every class for its subspaces.
    let too_few_for_dsn = (0..task.ways())
        .any(|class| task.support_labels().iter().filter(|&&label| label == class).count() < 2);
    let solution = match method.solve(task) {
        Err(TaskError::Unsupported { method: "dsn", .. }) if too_few_for_dsn => return,
        solved => solved.unwrap_or_else(|error| panic!("{}: {error}", method.name())),
    };
    for (part, rows) in [(&solution.query, task.query()), (&solution.unlabeled, task.pool())] {
        assert_eq!((part.rows(), part.columns()), (rows.rows(), task.ways()), "{}", method.name());
        for row in part.iter_rows() {
            let total: f32 = row.iter().sum();
            assert!((total - 1.0).abs() < 1e-3, "{}: {row:?}", method.name());
            assert!(row.iter().all(|p| (-1e-6..=1.0 + 1e-3).contains(p)), "{}: {row:?}", method.name());
        }
    }
    assert_eq!(solution.credibility.len(), task.pool().rows(), "{}", method.name());
    assert!(solution.credibility.iter().all(|value| !value.is_nan()), "{}", method.name());
}

#[test]
fn awkward_tasks_get_probabilities_or_a_sentence() {
    let uneven = {
        let support = vec![0, 1, 1, 1, 2, 2];
        let query = rows(&[0, 1, 2, 2, 2, 2, 2], 12, 2);
        Task::new(0, 3, rows(&support, 12, 1), support, Unlabeled::Query, query).expect("valid")
    };
    let duplicates = {
        let support = labels(3, 2);
        let one = rows(&support, 9, 1).gather(&[0, 0, 2, 2, 4, 4]);
        let query = one.gather(&[0, 0, 0, 2, 2, 4]);
        Task::new(0, 3, one, support, Unlabeled::Query, query).expect("valid")
    };
    let zeros = {
        let support = labels(2, 1);
        Task::new(0, 2, Matrix::zeros(2, 4), support, Unlabeled::Query, Matrix::zeros(3, 4)).expect("valid")
    };
    let tasks = [
        task(2, 1, 5, None, 10),
        task(5, 1, 15, Some(20), 40),
        task(20, 1, 3, None, 8),
        task(5, 5, 1, Some(0), 6),
        task(3, 2, 0, Some(4), 10),
        uneven,
        duplicates,
        zeros,
    ];
    for method in methods() {
        for task in &tasks {
            assert_probabilities(method.as_ref(), task);
        }
    }
}

#[test]
fn a_thousand_classes_and_one_row_each() {
    let ways = 1000;
    let support = labels(ways, 1);
    let rows = rows(&support, 16, 1);
    let task = Task::new(0, ways, rows.clone(), support, Unlabeled::Query, rows.gather(&[0, 500, 999]))
        .expect("valid");
    let method = build("dm-ida", None, &[("steps".into(), "3".into())]).expect("a default");
    assert_probabilities(method.as_ref(), &task);
}

fn same(a: &[usize], b: &[usize]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a == b).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The order of the query rows permutes the answer. Sums are taken in another order, so a row on the border
    /// between two classes may fall either way: one in thirty at most.
    #[test]
    fn query_order_does_not_matter(seed in 0u64..1000) {
        let given = task(3, 2, 10, None, 20);
        let mut order: Vec<usize> = (0..30).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for at in (1..30).rev() {
            order.swap(at, rng.random_range(0..=at));
        }
        let shuffled = Task::new(
            5, 3, given.support().clone(), given.support_labels().to_vec(), Unlabeled::Query, given.query().gather(&order),
        ).expect("valid");
        for name in ["protonet", "baseline", "entropy-min", "tim-gd", "dm", "dm-ida"] {
            let method = build(name, None, &[]).expect("a default");
            let plain = method.solve(&given).expect("solvable").query_labels();
            let plain: Vec<usize> = order.iter().map(|&row| plain[row]).collect();
            let got = method.solve(&shuffled).expect("solvable").query_labels();
            prop_assert!(same(&plain, &got) >= 29, "{name}: {plain:?} against {got:?}");
        }
    }

}

#[test]
fn class_names_do_not_matter() {
    for rename in [[1usize, 2, 0], [2, 1, 0], [0, 2, 1]] {
        let given = task(3, 2, 10, None, 20);
        let renamed: Vec<usize> = given.support_labels().iter().map(|&label| rename[label]).collect();
        let task = Task::new(5, 3, given.support().clone(), renamed, Unlabeled::Query, given.query().clone())
            .expect("valid");
        for name in ["protonet", "baseline", "entropy-min", "tim-gd", "dm", "dm-ida"] {
            let method = build(name, None, &[]).expect("a default");
            let plain: Vec<usize> = method
                .solve(&given)
                .expect("solvable")
                .query_labels()
                .iter()
                .map(|&label| rename[label])
                .collect();
            let got = method.solve(&task).expect("solvable").query_labels();
            assert!(same(&plain, &got) >= 29, "{name}");
        }
    }
}

/// Every row turned by the same rotation: a product of plane rotations through all neighbouring coordinates.
fn turned(rows: &Matrix<f64>, angle: f64) -> Matrix<f64> {
    let mut out = rows.clone();
    for row in 0..out.rows() {
        let row = out.row_mut(row);
        for at in 0..row.len() {
            let next = (at + 1) % row.len();
            let (sin, cos) = (angle + at as f64).sin_cos();
            (row[at], row[next]) = (cos * row[at] - sin * row[next], sin * row[at] + cos * row[next]);
        }
    }
    out
}

/// The default of dm-ida sees features through inner products only, except for the root that its transform takes first:
/// without it, turning all features changes no probability. Neither does the basis it is fitted in. (Not smoothed here:
/// smoothing would write the features in a basis of its own first.)
#[test]
fn turning_the_features_changes_nothing() {
    for shots in [1, 5] {
        let exact = |matrix: &Matrix<f32>| {
            let values = matrix.as_slice().iter().map(|&value| f64::from(value)).collect();
            Matrix::from_vec(matrix.rows(), matrix.columns(), values)
        };
        let given = task(3, shots, 8, None, 60);
        let solved = |support: Matrix<f64>, query: Matrix<f64>, basis: Basis| {
            let rootless: Transform = "l2".parse().expect("a transform");
            let (transform, transform_five_shot) = (rootless.clone(), rootless);
            let params = DmIdaParams { transform, transform_five_shot, basis, ..presets::default() };
            let labels = given.support_labels().to_vec();
            let task = Task::new(5, 3, support, labels, Unlabeled::Query, query).expect("valid");
            DmIda::new(params).expect("valid").solve_in(&task, TraceWanted::No).expect("solvable").query
        };
        let (support, query) = (exact(given.support()), exact(given.query()));
        let plain = solved(support.clone(), query.clone(), Basis::Span);
        let original = solved(support.clone(), query.clone(), Basis::Original);
        let rotated = solved(turned(&support, 0.4), turned(&query, 0.4), Basis::Original);
        for other in [original, rotated] {
            for (a, b) in plain.as_slice().iter().zip(other.as_slice()) {
                assert!((a - b).abs() < 1e-6, "{shots} shots: {a} and {b}");
            }
        }
    }
}

/// Whatever a method draws is seeded by the task, and no sum depends on the thread it runs on.
#[test]
fn equal_tasks_get_equal_bits_on_any_thread() {
    for method in methods() {
        let given = task(4, 2, 8, Some(6), 30);
        let bits = || -> Vec<u32> {
            let solved = method.solve(&given).unwrap_or_else(|error| panic!("{}: {error}", method.name()));
            solved.query.as_slice().iter().map(|value| value.to_bits()).collect()
        };
        let elsewhere = std::thread::scope(|scope| scope.spawn(bits).join().expect("no panic"));
        assert_eq!(bits(), elsewhere, "{}", method.name());
    }
}

#[test]
fn unlabelled_rows_help_when_one_example_misleads() {
    // Two clear clusters; class 1's only example lies between them. The query shows where the clusters are.
    let mut query = Matrix::zeros(40, 2);
    for row in 0..40 {
        let jitter = (row % 10) as f32 * 0.01;
        let centre = if row < 20 { [1.0, 0.1] } else { [0.1, 1.0] };
        query.row_mut(row).copy_from_slice(&[centre[0] + jitter, centre[1] + jitter]);
    }
    let support = Matrix::from_vec(2, 2, vec![1.0, 0.1, 0.95, 0.4]);
    let given = Task::new(0, 2, support, vec![0, 1], Unlabeled::Query, query).expect("valid");
    let right = |name: &str| {
        let found =
            build(name, None, &[]).expect("a default").solve(&given).expect("solvable").query_labels();
        found.iter().enumerate().filter(|&(row, &label)| label == usize::from(row >= 20)).count()
    };
    assert_eq!(right("dm-ida"), 40);
}
