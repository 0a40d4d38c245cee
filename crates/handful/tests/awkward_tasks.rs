//! Every method and preset on tasks that are not five balanced classes in many dimensions: it must answer with
//! probabilities, or say in one sentence why it cannot. And what must not matter, does not: the order of the query rows
//! and the names of the classes.

use handful::Matrix;
use handful::error::TaskError;
use handful::methods::{METHODS, Method, build};
use handful::parts::{PartKind, TaskParts};
use handful::task::{Task, Unlabeled};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Every method with every preset; long fits are cut short, what they compute stays the same.
fn every_method() -> Vec<(String, Box<dyn Method>)> {
    let mut methods = Vec::new();
    for entry in METHODS {
        for preset in entry.presets {
            let short = build(entry.name, Some(preset), &[("steps".into(), "30".into())]);
            let method = short.or_else(|_| build(entry.name, Some(preset), &[])).expect("presets are valid");
            methods.push((format!("{}:{preset}", entry.name), method));
        }
    }
    // Terms of the loss that no preset has.
    for (name, objective) in [("dm", "fisher-dependence"), ("dm-ida", "fisher-hybrid")] {
        let changes =
            [("objective", objective), ("steps", "30")].map(|(key, value)| (key.into(), value.into()));
        let method = build(name, None, &changes).expect("valid");
        methods.push((format!("{name}:{objective}"), method));
    }
    methods
}

/// Non-negative rows around a mean per class.
struct Clouds {
    rng: ChaCha8Rng,
    means: Vec<Vec<f32>>,
    noise: f32,
}

impl Clouds {
    fn new(ways: usize, dim: usize, noise: f32, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut mean = || (0..dim).map(|_| rng.random_range(0.0f32..2.0)).collect();
        let means = (0..ways).map(|_| mean()).collect();
        Self { rng, means, noise }
    }

    /// One row for each label.
    fn rows(&mut self, labels: &[usize]) -> Matrix<f32> {
        let mut values = Vec::new();
        for &label in labels {
            for mean in &self.means[label] {
                let normal = (0..12).map(|_| self.rng.random::<f32>()).sum::<f32>() - 6.0;
                values.push((mean + self.noise * normal).abs());
            }
        }
        Matrix::from_vec(labels.len(), self.means[0].len(), values)
    }
}

/// `each` repeats of every class in turn.
fn in_turn(ways: usize, each: usize) -> Vec<usize> {
    (0..ways * each).map(|at| at % ways).collect()
}

fn task(
    ways: usize,
    support: Matrix<f32>,
    labels: Vec<usize>,
    pool: Option<Matrix<f32>>,
    query: Matrix<f32>,
) -> Task<f32> {
    // For methods that compare feature maps each row is one of a single place.
    let pool_rows = pool.clone().unwrap_or_else(|| Matrix::zeros(0, 0));
    let maps = TaskParts::new(PartKind::Maps, 1, support.clone(), pool_rows, query.clone());
    let unlabeled = pool.map_or(Unlabeled::Query, Unlabeled::Pool);
    let task = Task::new(7, ways, support, labels, unlabeled, query);
    task.and_then(|task| task.with_parts(maps)).expect("a valid task")
}

/// With the mean of where class means lie, for the methods that centre on the base classes.
fn with_mean(task: Task<f32>) -> Task<f32> {
    let mean = vec![1.0; task.dim()];
    task.with_base_mean(mean).expect("one value per dimension")
}

fn awkward_tasks() -> Vec<(&'static str, Task<f32>)> {
    let mut tasks = Vec::new();
    let mut clouds = Clouds::new(5, 30, 0.5, 1);
    let (five, six) = (in_turn(5, 1), in_turn(5, 6));

    let unequal = vec![0, 0, 0, 0, 1, 2, 2, 3, 4, 4, 4];
    let (support, query) = (clouds.rows(&unequal), clouds.rows(&six));
    tasks.push(("unequal shots", task(5, support, unequal, None, query)));

    let (support, pool, query) = (clouds.rows(&five), clouds.rows(&six), clouds.rows(&six));
    tasks.push(("a pool", task(5, support.clone(), five.clone(), Some(pool), query.clone())));
    tasks.push(("an empty pool", task(5, support.clone(), five.clone(), Some(Matrix::zeros(0, 0)), query)));
    tasks.push(("no query", task(5, support.clone(), five.clone(), None, Matrix::zeros(0, 0))));
    tasks.push(("one query", task(5, support.clone(), five.clone(), None, clouds.rows(&[3]))));
    let absent = clouds.rows(&[0, 1, 2, 0, 1, 2, 0, 1]);
    tasks.push(("classes without query", task(5, support.clone(), five.clone(), None, absent)));

    let twice: Vec<usize> = (0..10).map(|at| at / 2).collect();
    let doubled = support.gather(&twice);
    let copies = support.gather(&[0, 0, 0, 1, 2, 3, 4, 4]);
    tasks.push(("duplicates", task(5, doubled, twice, None, copies)));
    let equal = support.gather(&[0; 10]);
    tasks.push(("all rows equal", task(5, equal.clone(), in_turn(5, 2), None, equal)));
    let zeros = Matrix::zeros(10, 30);
    tasks.push(("all rows zero", task(5, zeros.clone(), in_turn(5, 2), None, zeros)));

    for (name, factor) in [("large features", 1e4), ("small features", 1e-4)] {
        let scaled = |rows: Matrix<f32>| {
            let values = rows.as_slice().iter().map(|value| value * factor).collect();
            Matrix::from_vec(rows.rows(), rows.columns(), values)
        };
        let (support, query) = (scaled(clouds.rows(&in_turn(5, 2))), scaled(clouds.rows(&six)));
        tasks.push((name, task(5, support, in_turn(5, 2), None, query)));
    }

    let mut narrow = Clouds::new(5, 2, 0.1, 2);
    let (support, query) = (narrow.rows(&in_turn(5, 3)), narrow.rows(&six));
    tasks.push(("fewer dimensions than classes", task(5, support, in_turn(5, 3), None, query)));

    let mut two = Clouds::new(2, 20, 0.5, 3);
    let (support, query) = (two.rows(&[0, 1]), two.rows(&in_turn(2, 10)));
    tasks.push(("two ways", task(2, support, vec![0, 1], None, query)));

    let mut many = Clouds::new(20, 30, 0.3, 4);
    let (support, query) = (many.rows(&in_turn(20, 2)), many.rows(&in_turn(20, 3)));
    tasks.push(("twenty ways", task(20, support, in_turn(20, 2), None, query)));

    let mut hundred = Clouds::new(100, 40, 0.3, 5);
    let (support, query) = (hundred.rows(&in_turn(100, 1)), hundred.rows(&in_turn(100, 1)));
    tasks.push(("a hundred ways", task(100, support, in_turn(100, 1), None, query)));

    let mut negative = Clouds::new(5, 30, 0.5, 6);
    let mut shifted = |labels: &[usize]| {
        let rows = negative.rows(labels);
        let values = rows.as_slice().iter().map(|value| value - 1.0).collect();
        Matrix::from_vec(rows.rows(), rows.columns(), values)
    };
    let (support, query) = (shifted(&in_turn(5, 2)), shifted(&six));
    tasks.push(("negative features", task(5, support, in_turn(5, 2), None, query)));
    tasks
}

fn check_probabilities(what: &str, probabilities: &Matrix<f32>, rows: usize, ways: usize) {
    assert_eq!((probabilities.rows(), probabilities.columns()), (rows, ways), "{what}");
    for (row, values) in probabilities.iter_rows().enumerate() {
        assert!(values.iter().all(|value| (0.0..=1.0001).contains(value)), "{what}, row {row}: {values:?}");
        let sum: f32 = values.iter().sum();
        assert!((sum - 1.0).abs() < 1e-3, "{what}, row {row}: sum {sum}");
    }
}

#[test]
fn every_method_answers_or_says_why_not() {
    let methods = every_method();
    for (name, task) in awkward_tasks() {
        for (method_name, method) in &methods {
            let what = format!("{method_name} on {name}");
            match method.solve(&task) {
                Ok(solution) => {
                    check_probabilities(&what, &solution.query, task.query().rows(), task.ways());
                    check_probabilities(&what, &solution.unlabeled, task.pool().rows(), task.ways());
                    assert_eq!(solution.credibility.len(), task.pool().rows(), "{what}");
                    assert!(solution.credibility.iter().all(|value| value.is_finite()), "{what}");
                }
                Err(TaskError::NoBaseMean) => {
                    let transform = method.params()["transform"].as_str().unwrap_or_default().to_owned();
                    assert!(transform.contains("centre"), "{what}");
                }
                Err(TaskError::Unsupported { method, reason }) => {
                    assert_eq!(method, "dsn", "{what}: {reason}");
                    let one_shot = task.support_labels().iter().any(|label| {
                        task.support_labels().iter().filter(|other| *other == label).count() == 1
                    });
                    assert!(one_shot, "{what}: {reason}");
                }
                Err(other) => panic!("{what}: {other}"),
            }
        }
    }
}

/// Methods that draw at random, or whose authors' constants are meant for other features than these.
fn is_exempt(method: &str) -> bool {
    matches!(method, "baseline-pp:authors" | "paddle:authors" | "unem:authors")
}

#[test]
fn classes_that_are_apart_are_told_apart() {
    let mut clouds = Clouds::new(5, 40, 0.3, 11);
    let truth = in_turn(5, 12);
    let support = clouds.rows(&in_turn(5, 3));
    let (pool, query) = (clouds.rows(&truth), clouds.rows(&truth));
    for pool in [None, Some(pool)] {
        let task = with_mean(task(5, support.clone(), in_turn(5, 3), pool, query.clone()));
        for (name, method) in every_method().iter().filter(|(name, _)| !is_exempt(name)) {
            let solution = method.solve(&task).unwrap_or_else(|error| panic!("{name}: {error}"));
            let right = solution.query_labels().iter().zip(&truth).filter(|(a, b)| a == b).count();
            assert!(right >= 55, "{name}: {right} of 60 right");
        }
    }
}

/// Largest share of rows whose likeliest class may differ, and mean difference of probabilities: iterations stop at slightly
/// different points when sums are taken in another order, and a row on the border may tip.
const FEW_ROWS: f64 = 0.05;
const SMALL_DIFFERENCE: f64 = 0.01;

fn assert_close(what: &str, got: &Matrix<f32>, wanted: &Matrix<f32>) {
    let count = got.rows() as f64;
    let best = |row: &[f32]| (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b]));
    let tipped = got.iter_rows().zip(wanted.iter_rows()).filter(|(a, b)| best(a) != best(b)).count();
    assert!(tipped as f64 <= FEW_ROWS * count, "{what}: {tipped} rows differ");
    let differences = got.as_slice().iter().zip(wanted.as_slice()).map(|(a, b)| f64::from((a - b).abs()));
    let mean = differences.sum::<f64>() / got.as_slice().len() as f64;
    assert!(mean < SMALL_DIFFERENCE, "{what}: mean difference {mean}");
}

#[test]
fn the_order_of_the_query_and_the_names_of_classes_do_not_matter() {
    let mut clouds = Clouds::new(5, 40, 0.8, 12);
    let labels = in_turn(5, 2);
    let (support, query) = (clouds.rows(&labels), clouds.rows(&in_turn(5, 10)));
    let plain = with_mean(task(5, support.clone(), labels.clone(), None, query.clone()));

    let order: Vec<usize> = (0..50).map(|at| (at * 17 + 5) % 50).collect();
    let reordered = with_mean(task(5, support.clone(), labels.clone(), None, query.gather(&order)));
    let names = [3, 0, 4, 1, 2];
    let new_labels = labels.iter().map(|&label| names[label]).collect();
    let renamed = with_mean(task(5, support, new_labels, None, query));

    for (name, method) in every_method().iter().filter(|(name, _)| !is_exempt(name)) {
        let solution = method.solve(&plain).unwrap_or_else(|error| panic!("{name}: {error}"));
        let other = method.solve(&reordered).expect("solved before").query;
        assert_close(&format!("{name}, reordered"), &other, &solution.query.gather(&order));

        let other = method.solve(&renamed).expect("solved before").query;
        let mut back = Matrix::zeros(50, 5);
        for row in 0..50 {
            for (class, &name) in names.iter().enumerate() {
                back.row_mut(row)[class] = other.row(row)[name];
            }
        }
        assert_close(&format!("{name}, renamed"), &back, &solution.query);
    }
}
