use super::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Clusters of unequal size in 24 dimensions: rows, classes.
fn clusters(sizes: &[usize], spread: f32) -> (Matrix<f32>, Vec<usize>) {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (mut values, mut classes) = (Vec::new(), Vec::new());
    let centres: Vec<Vec<f32>> =
        sizes.iter().map(|_| (0..24).map(|_| rng.random_range(0.0..1.0)).collect()).collect();
    for (class, &size) in sizes.iter().enumerate() {
        for _ in 0..size {
            values.extend(
                centres[class].iter().map(|c| (c + spread * rng.random_range(-1.0..1.0f32)).max(0.0)),
            );
            classes.push(class);
        }
    }
    (Matrix::from_vec(classes.len(), 24, values), classes)
}

/// The first `each` rows of every class.
fn first_of_each(classes: &[usize], ways: usize, each: usize) -> Vec<(usize, usize)> {
    let of_class = |class| (0..classes.len()).filter(move |&row| classes[row] == class).take(each);
    (0..ways).flat_map(|class| of_class(class).map(move |row| (row, class))).collect()
}

fn accuracy(labelling: &Labelling, classes: &[usize]) -> f64 {
    let right = labelling.rows.iter().zip(classes).filter(|(row, class)| row.class == **class).count();
    right as f64 / classes.len() as f64
}

#[test]
fn unequal_classes_from_unequal_labels() {
    let (pool, classes) = clusters(&[300, 40, 10, 150], 0.35);
    let mut labels = first_of_each(&classes, 4, 1);
    labels.extend([(1, 0), (2, 0), (301, 1)]);
    let labelling = label_pool(&pool, &labels, 4, &LabelParams::default()).expect("valid");
    assert!(accuracy(&labelling, &classes) > 0.97, "{}", accuracy(&labelling, &classes));
    for &(row, class) in &labels {
        assert!(labelling.rows[row].given && labelling.rows[row].class == class);
    }
    assert!(labelling.rows.iter().all(|row| (0.0..=1.0).contains(&row.probability)));
    assert!(!labelling.calibration.fitted, "five labels can be left out, not ten");
}

/// A root of signed features blows their noise up: with it, one label per class gives 82.5% here.
#[test]
fn signed_features_of_few_dimensions_are_labelled_as_well_as_others() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut normal = || (0..12).map(|_| rng.random_range(-1.0..1.0f32)).sum::<f32>() / 2.0;
    let classes: Vec<usize> = (0..240).map(|row| row % 3).collect();
    let centre = |at: usize| if at % 8 == classes[at / 8] { 2.0 } else { 0.0 };
    let pool = Matrix::from_vec(240, 8, (0..240 * 8).map(|at| centre(at) + 0.7 * normal()).collect());
    for each in [1, 2, 5] {
        let labels = first_of_each(&classes, 3, each);
        let labelling = label_pool(&pool, &labels, 3, &LabelParams::default()).expect("valid");
        assert!(accuracy(&labelling, &classes) > 0.85, "{each}: {}", accuracy(&labelling, &classes));
    }
}

#[test]
fn landmarks_come_to_what_the_exact_kernel_says() {
    let (pool, classes) = clusters(&[400, 300, 200], 0.5);
    let labels = first_of_each(&classes, 3, 5);
    let exact = label_pool(&pool, &labels, 3, &LabelParams::default()).expect("valid");
    let few = LabelParams { exact_rows: 100, landmarks: 150, ..LabelParams::default() };
    let landmarks = label_pool(&pool, &labels, 3, &few).expect("valid");
    assert_eq!((exact.landmarks, landmarks.landmarks), (None, Some(150)));
    assert!(accuracy(&exact, &classes) > 0.95);
    assert!((accuracy(&exact, &classes) - accuracy(&landmarks, &classes)).abs() < 0.02);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (pool, classes) = clusters(&[200, 150, 100], 0.6);
    let labels = first_of_each(&classes, 3, 4);
    let params =
        LabelParams { exact_rows: 300, landmarks: 60, look_for_strangers: true, ..LabelParams::default() };
    let with = |threads: usize| {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        threads.install(|| label_pool(&pool, &labels, 3, &params).expect("valid").rows)
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn strangers_look_less_familiar() {
    let (pool, classes) = clusters(&[100, 100, 100, 100], 0.4);
    // The fourth class has no label.
    let labels = first_of_each(&classes, 3, 5);
    let params = LabelParams { look_for_strangers: true, ..LabelParams::default() };
    let labelling = label_pool(&pool, &labels, 3, &params).expect("valid");
    let rejected = labelling.reject(0.05).expect("enough labels");
    let share = |stranger: bool| {
        let rows = (0..400).filter(|&row| (classes[row] == 3) == stranger);
        rows.clone().filter(|&row| rejected[row]).count() as f64 / rows.count() as f64
    };
    assert!(share(true) > 0.8 && share(false) < 0.2, "{} {}", share(true), share(false));
}

#[test]
fn what_cannot_be_labelled_is_refused() {
    let (mut pool, classes) = clusters(&[20, 20], 0.3);
    let labels = first_of_each(&classes, 2, 1);
    let run = |pool: &Matrix<f32>, labels: &[(usize, usize)], ways| {
        label_pool(pool, labels, ways, &LabelParams::default()).expect_err("refused")
    };
    assert!(matches!(run(&pool, &[(0, 0)], 1), LabelError::TooFewClasses { ways: 1 }));
    assert!(matches!(run(&pool, &labels, 3), LabelError::EmptyClass { class: 2 }));
    assert!(matches!(run(&pool, &[(0, 0), (40, 1)], 2), LabelError::RowRange { row: 40, rows: 40 }));
    let copy = pool.row(0).to_vec();
    pool.row_mut(20).copy_from_slice(&copy);
    assert!(matches!(run(&pool, &labels, 2), LabelError::Contradiction { first: 0, second: 20 }));
}

#[test]
fn two_rows_are_a_pool() {
    let pool = Matrix::from_vec(2, 3, vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let labelling = label_pool(&pool, &[(0, 0), (1, 1)], 2, &LabelParams::default()).expect("valid");
    assert!(labelling.rows.iter().all(|row| row.given));
}
