use std::sync::Arc;

use super::*;
use handful::Matrix;
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

/// Labels a pool with one call.
fn label_pool(
    pool: &Matrix<f32>,
    labels: &[(usize, usize)],
    ways: usize,
    params: &LabelParams,
) -> Result<Labelling, LabelError> {
    Ok(PreparedPool::new(Arc::new(pool.clone()), params)?.fit(labels, ways)?.labelling)
}

const RULES: [Rule; 3] = [Rule::Adaptive, Rule::Fast, Rule::Smoothing];

fn accuracy(labelling: &Labelling, classes: &[usize]) -> f64 {
    let right = labelling.rows.iter().zip(classes).filter(|(row, class)| row.class == **class).count();
    right as f64 / classes.len() as f64
}

#[test]
fn unequal_classes_from_unequal_labels() {
    let (pool, classes) = clusters(&[300, 40, 10, 150], 0.35);
    let mut labels = first_of_each(&classes, 4, 1);
    labels.extend([(1, 0), (2, 0), (301, 1)]);
    for rule in RULES {
        let labelling = label_pool(&pool, &labels, 4, &LabelParams::of_rule(rule)).expect("valid");
        assert!(accuracy(&labelling, &classes) > 0.97, "{rule:?} {}", accuracy(&labelling, &classes));
        for &(row, class) in &labels {
            assert!(labelling.rows[row].given && labelling.rows[row].class == class);
        }
        assert!(labelling.rows.iter().all(|row| (0.0..=1.0).contains(&row.probability)));
        assert!(!labelling.calibration.fitted, "five labels can be left out, not ten");
    }
}

/// A root of signed features blows their noise up: with it, one label per class gives 82.5% here.
#[test]
fn signed_features_of_few_dimensions_are_labelled_as_well_as_others() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut normal = || (0..12).map(|_| rng.random_range(-1.0..1.0f32)).sum::<f32>() / 2.0;
    let classes: Vec<usize> = (0..240).map(|row| row % 3).collect();
    let centre = |at: usize| if at % 8 == classes[at / 8] { 2.0 } else { 0.0 };
    let pool = Matrix::from_vec(240, 8, (0..240 * 8).map(|at| centre(at) + 0.7 * normal()).collect());
    for (each, rule) in [1, 2, 5].into_iter().flat_map(|each| RULES.map(|rule| (each, rule))) {
        let labels = first_of_each(&classes, 3, each);
        let labelling = label_pool(&pool, &labels, 3, &LabelParams::of_rule(rule)).expect("valid");
        assert!(accuracy(&labelling, &classes) > 0.85, "{each} {rule:?}: {}", accuracy(&labelling, &classes));
    }
}

#[test]
fn a_sample_and_landmarks_come_to_what_the_whole_pool_says() {
    let (pool, classes) = clusters(&[400, 300, 200], 0.5);
    let labels = first_of_each(&classes, 3, 5);
    for (rule, sampled) in [(Rule::Adaptive, 300), (Rule::Fast, 300), (Rule::Smoothing, 150)] {
        let whole = LabelParams::of_rule(rule);
        let exact = label_pool(&pool, &labels, 3, &whole).expect("valid");
        let smoothing = SmoothingParams { landmarks: 150, ..whole.smoothing };
        let few =
            LabelParams { exact_rows: if rule == Rule::Smoothing { 100 } else { 300 }, smoothing, ..whole };
        let few = label_pool(&pool, &labels, 3, &few).expect("valid");
        assert_eq!(exact.sampled_rows, None);
        assert!(few.sampled_rows.is_some_and(|rows| rows.abs_diff(sampled) <= 15), "{:?}", few.sampled_rows);
        assert!(accuracy(&exact, &classes) > 0.95);
        assert!((accuracy(&exact, &classes) - accuracy(&few, &classes)).abs() < 0.02, "{rule:?}");
    }
}

#[test]
fn the_pools_own_rows_are_predicted_as_they_were_labelled_and_new_ones_nearly_as_well() {
    let (all, classes) = clusters(&[300, 250, 200], 0.6);
    let (inside, outside): (Vec<usize>, Vec<usize>) = (0..750).partition(|row| row % 5 > 0);
    let pool = all.gather(&inside);
    let truth: Vec<usize> = inside.iter().map(|&row| classes[row]).collect();
    let labels = first_of_each(&truth, 3, 5);
    for rule in RULES {
        let prepared =
            PreparedPool::new(Arc::new(pool.clone()), &LabelParams::of_rule(rule)).expect("finite");
        let fit = prepared.fit(&labels, 3).expect("valid");
        let again = fit.model.predict(&pool).expect("the same columns");
        for (row, (before, after)) in fit.labelling.rows.iter().zip(&again.rows).enumerate() {
            assert_eq!(before.class, after.class, "{rule:?} row {row}");
            assert!(before.given || (before.probability - after.probability).abs() < 0.02);
        }
        let new = fit.model.predict(&all.gather(&outside)).expect("the same columns");
        let right = new.rows.iter().zip(&outside).filter(|(row, at)| row.class == classes[**at]).count();
        assert!(right as f64 > 0.9 * outside.len() as f64, "{rule:?}: {right} of {}", outside.len());
    }
}

#[test]
fn a_saved_model_gives_the_same_bits_and_a_broken_one_is_refused() {
    let (pool, classes) = clusters(&[60, 50, 40], 0.6);
    let prepared = PreparedPool::new(Arc::new(pool.clone()), &LabelParams::default()).expect("finite");
    let model = prepared.fit(&first_of_each(&classes, 3, 4), 3).expect("valid").model;
    let names = ["ant", "bee", "cat"].map(str::to_owned);
    let model = model.with_classes(&names).with_network(Some("net".into()));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.safetensors");
    model.save(&path).expect("written");
    let loaded = LabelModel::load(&path).expect("whole");
    assert_eq!(loaded.header(), model.header());
    assert_eq!(loaded.predict(&pool).expect("fits").rows, model.predict(&pool).expect("fits").rows);
    assert!(matches!(
        loaded.predict(&Matrix::zeros(2, 5)),
        Err(LabelError::Columns { expected: 24, found: 5 })
    ));

    let bytes = std::fs::read(&path).expect("readable");
    for length in (0..bytes.len()).step_by(997) {
        let error = LabelModel::from_bytes(&bytes[..length], &path).expect_err("cut");
        assert!(matches!(error, ModelError::Broken { .. }), "{length}: {error}");
    }
    let text = r#"\"handful_model\":1"#;
    let at = bytes.windows(text.len()).position(|part| part == text.as_bytes()).expect("the header");
    let mut newer = bytes.clone();
    newer[at + text.len() - 1] = b'7';
    assert!(matches!(LabelModel::from_bytes(&newer, &path), Err(ModelError::Newer { found: 7, .. })));
    assert!(matches!(LabelModel::load(&folder.path().join("no.safetensors")), Err(ModelError::Read { .. })));
}

#[test]
fn one_more_label_without_leaving_any_out_is_nearly_the_whole_fit() {
    let (pool, classes) = clusters(&[120, 100, 80], 0.6);
    let prepared = PreparedPool::new(Arc::new(pool), &LabelParams::default()).expect("finite");
    let mut labels = first_of_each(&classes, 3, 5);
    let before = prepared.fit(&labels, 3).expect("valid");
    labels.push((60, classes[60]));
    let quick = prepared.refit(&labels, 3, &before.evidence.expect("members leave some")).expect("valid");
    let whole = prepared.fit(&labels, 3).expect("valid");
    let same = quick.labelling.rows.iter().zip(&whole.labelling.rows).filter(|(a, b)| a.class == b.class);
    assert!(same.count() >= 297);
    assert!(quick.labelling.rows[60].given);
}

#[test]
fn a_method_of_the_benchmark_labels_a_pool() {
    let (pool, classes) = clusters(&[80, 60], 0.4);
    let labels = first_of_each(&classes, 2, 5);
    let method = || handful::methods::build("dm-ida", Some("authors"), &[]).expect("registered");
    let prepared =
        PreparedPool::for_method(Arc::new(pool), method(), &LabelParams::default()).expect("finite");
    let fit = prepared.fit(&labels, 2).expect("valid");
    assert!(accuracy(&fit.labelling, &classes) > 0.95);
    let large = Matrix::zeros(10_001, 2);
    let refused = PreparedPool::for_method(Arc::new(large), method(), &LabelParams::default()).err();
    assert!(matches!(refused, Some(LabelError::TooManyRows { rows: 10_001, .. })));
}

#[test]
fn wrong_labels_are_found() {
    let (pool, classes) = clusters(&[150, 150, 150], 0.5);
    let mut labels = first_of_each(&classes, 3, 10);
    // Two of thirty are wrong.
    labels[3].1 = 1;
    labels[17].1 = 2;
    let wrong = [labels[3].0, labels[17].0];
    let labelling = label_pool(&pool, &labels, 3, &LabelParams::default()).expect("valid");
    let found: Vec<usize> = labelling.doubtful_labels().iter().map(|label| label.row).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(wrong.iter().all(|row| found.contains(row)));
    assert!(accuracy(&labelling, &classes) > 0.95);
}

#[test]
fn promises_need_evidence_and_are_kept_with_it() {
    let (pool, classes) = clusters(&[300, 200, 100], 0.7);
    let all = vec![true; 600];
    let one = label_pool(&pool, &first_of_each(&classes, 3, 1), 3, &LabelParams::default()).expect("valid");
    assert_eq!(one.accept(0.05, Promise::HighProbability, &all).count, 0, "no label could be left out");
    let ten = label_pool(&pool, &first_of_each(&classes, 3, 10), 3, &LabelParams::default()).expect("valid");
    let refused = ten.accept(0.05, Promise::HighProbability, &all);
    assert_eq!(refused.count, 0, "30 labels are too few to bear 5% out");
    assert_eq!(refused.smallest_promise, Some(0.075));
    let more = label_pool(&pool, &first_of_each(&classes, 3, 20), 3, &LabelParams::default()).expect("valid");
    for promise in [Promise::HighProbability, Promise::Expected] {
        let accepted = more.accept(0.05, promise, &all);
        let wrong =
            (0..600).filter(|&row| accepted.accepted[row] && more.rows[row].class != classes[row]).count();
        assert!(accepted.count > 100, "{promise:?}: {accepted:?}");
        assert!(wrong as f64 <= 0.05 * accepted.count as f64, "{promise:?}: {wrong} of {}", accepted.count);
        assert_eq!(accepted.labels_left_out, 60);
        let taken = more.rows.iter().zip(&accepted.accepted).filter(|(row, taken)| **taken && !row.given);
        let errors = taken.map(|(row, _)| (f64::from(row.error), 1.0 - f64::from(row.probability)));
        let (high, mean) = errors.fold((0.0, 0.0), |sum, (high, mean)| (sum.0 + high, sum.1 + mean));
        let estimated = if promise == Promise::Expected { mean } else { high };
        assert!((accepted.estimated_error - estimated / accepted.count as f64).abs() < 1e-9, "{promise:?}");
        assert!(mean < high, "{promise:?}: the pessimistic end is above what is expected");
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (pool, classes) = clusters(&[200, 150, 100], 0.6);
    let labels = first_of_each(&classes, 3, 4);
    for (rule, exact_rows) in RULES.into_iter().flat_map(|rule| [(rule, 300), (rule, 1000)]) {
        let mut params = LabelParams { exact_rows, look_for_strangers: true, ..LabelParams::of_rule(rule) };
        params.smoothing.landmarks = 60;
        let with = |threads: usize| {
            let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            threads.install(|| label_pool(&pool, &labels, 3, &params).expect("valid").rows)
        };
        assert_eq!(with(1), with(3), "{rule:?}");
    }
}

#[test]
fn strangers_look_less_familiar() {
    let (pool, classes) = clusters(&[100, 100, 100, 100], 0.4);
    // The fourth class has no label.
    let labels = first_of_each(&classes, 3, 5);
    let params = LabelParams { look_for_strangers: true, ..LabelParams::default() };
    let prepared = PreparedPool::new(Arc::new(pool), &params).expect("finite");
    let labelling = prepared.fit(&labels, 3).expect("valid").labelling;
    let rejected = labelling.reject(0.05).expect("enough labels");
    let groups = prepared.stranger_groups(&rejected).expect("finite");
    let total: usize = groups.iter().map(|group| group.rows.len()).sum();
    assert_eq!(total, rejected.iter().filter(|rejected| **rejected).count());
    assert!(groups[0].examples.iter().all(|row| classes[*row] == 3 && groups[0].rows.contains(row)));
    let share = |stranger: bool| {
        let rows = (0..400).filter(|&row| (classes[row] == 3) == stranger);
        rows.clone().filter(|&row| rejected[row]).count() as f64 / rows.count() as f64
    };
    assert!(share(true) > 0.8 && share(false) < 0.2, "{} {}", share(true), share(false));
}

#[test]
fn promises_rest_on_rows_drawn_by_chance_where_there_are_any() {
    let (pool, classes) = clusters(&[300, 30, 30], 0.7);
    let mut labels = first_of_each(&classes, 3, 6);
    let audit: Vec<usize> =
        (0..360).step_by(12).filter(|row| labels.iter().all(|label| label.0 != *row)).collect();
    labels.extend(audit.iter().map(|&row| (row, classes[row])));
    let prepared = PreparedPool::new(Arc::new(pool), &LabelParams::default()).expect("finite");
    let labelling = prepared.fit_audited(&labels, 3, &audit).expect("valid").labelling;
    for out in &labelling.left_out {
        assert_eq!(out.weight, if audit.contains(&out.row) { 1.0 } else { 0.0 });
    }
    let all = vec![true; 360];
    let accepted = labelling.accept(0.05, Promise::HighProbability, &all);
    assert_eq!(accepted.labels_left_out, audit.len());
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
