use super::*;
use crate::fit::head::Example;
use crate::fit::pool_fit::{Factors, PoolClassifier, PoolFitParams};
use crate::linalg::dense::span_coordinates;
use crate::paper::hsic::{Bandwidth, KernelFeatures, centred_gaussian};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const DEPENDENCE: PoolFitParams = PoolFitParams {
    cross_entropy: 0.0,
    conditional_entropy: 0.0,
    marginal_entropy: 0.0,
    class_shares: 0.0,
    dependence: 5.0,
    fisher_dependence: 0.0,
    temperature: 2.0 / 15.0,
    steps: 30,
    learning_rate: 0.02,
};

/// Unit rows in twenty overlapping groups, as features of images are.
fn rows(count: usize) -> Matrix<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut centres = vec![0.0f32; 20 * 24];
    centres.iter_mut().for_each(|value| *value = rng.random_range(-1.0..1.0));
    let value = |at: usize| centres[(at / 24 % 20) * 24 + at % 24];
    let noisy: Vec<f32> = (0..count * 24).map(|at| value(at) + rng.random_range(-0.8..0.8)).collect();
    let mut rows = Matrix::from_vec(count, 24, noisy);
    for row in 0..count {
        let length = squared_length(rows.row(row)).sqrt();
        rows.row_mut(row).iter_mut().for_each(|value| *value /= length);
    }
    rows
}

/// The kernel of all rows with all, in double precision.
fn exact(rows: &Matrix<f32>) -> Matrix<f64> {
    let width = 3.0 * median_squared_distance(rows).sqrt();
    let padded =
        centred_gaussian(&rows.cast::<f64>(), Bandwidth::Fixed(width), KernelFeatures::AsGiven, 1000);
    let padded = padded.expect("small");
    let row = |row: usize| padded.row(row)[..rows.rows()].to_vec();
    Matrix::from_vec(rows.rows(), rows.rows(), (0..rows.rows()).flat_map(row).collect())
}

#[test]
fn with_no_more_rows_than_columns_the_factor_is_the_kernel() {
    let rows = rows(200);
    let factor = gaussian_factor(&rows, 3.0, 512, 4000);
    let exact = exact(&rows);
    for i in 0..200 {
        for j in 0..200 {
            let product: f32 = factor.row(i).iter().zip(factor.row(j)).map(|(a, b)| a * b).sum();
            assert!(
                (f64::from(product) - exact.row(i)[j]).abs() < 1e-4,
                "{i} {j}: {product} {}",
                exact.row(i)[j]
            );
        }
    }
}

#[test]
fn landmarks_give_the_exact_dependence_its_gradient_and_its_labels() {
    let rows = rows(1000);
    let low = gaussian_factor(&rows, 3.0, 400, 800);
    assert!((300..=400).contains(&low.columns()), "{}", low.columns());
    let exact: Matrix<f32> = span_coordinates(&exact(&rows)).cast();
    let given: Vec<Example> =
        Example::given(&(0..40).map(|row| (row, row % 20)).collect::<Vec<_>>(), 20, 1.0);
    let start = PoolClassifier::at_class_means(&rows, &given, 20, DEPENDENCE.temperature);
    let with = |kernel| Factors { kernel: Some(kernel), whitened: None, shares: None };
    let (value, gradient) = start.loss(&rows, with(&low), &given, &DEPENDENCE);
    let (true_value, true_gradient) = start.loss(&rows, with(&exact), &given, &DEPENDENCE);
    assert!((value - true_value).abs() < 1e-3 * true_value.abs(), "{value} {true_value}");
    let off =
        gradient.as_slice().iter().zip(true_gradient.as_slice()).map(|(a, b)| (a - b).powi(2)).sum::<f32>();
    let length = squared_length(true_gradient.as_slice());
    assert!(off < 1e-6 * length, "relative error {}", (off / length).sqrt());

    let params = PoolFitParams { cross_entropy: 0.3, conditional_entropy: 0.2, ..DEPENDENCE };
    let labels = |kernel| {
        let mut fitted = start.clone();
        fitted.fit(&rows, with(kernel), &given, &params);
        let (weights, bias) = fitted.linear();
        let head = crate::fit::head::SoftmaxHead::from_linear(&weights, &bias);
        let said = head.probabilities(&rows);
        said.iter_rows().map(crate::solution::argmax).collect::<Vec<_>>()
    };
    let same = labels(&low).iter().zip(labels(&exact)).filter(|(a, b)| **a == *b).count();
    assert!(same >= 997, "{same} of 1000 labels");
}

#[test]
fn rows_that_are_all_equal_or_one_or_none_have_a_factor_of_zeros() {
    for count in [0, 1, 600] {
        let rows = Matrix::from_vec(count, 3, vec![0.6f32; 3 * count]);
        let factor = gaussian_factor(&rows, 3.0, 512, 4000);
        assert_eq!(factor.rows(), count);
        assert!(factor.as_slice().iter().all(|value| value.abs() < 1e-4));
    }
}
