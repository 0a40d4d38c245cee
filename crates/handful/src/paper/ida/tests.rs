//! Fisher's criterion and IDA against recomputation from their definitions.

use nalgebra::DMatrix;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

const PARAMS: FisherParams =
    FisherParams { pca: 0, ridge: 0.3, ridge_scale: RidgeScale::Absolute, psi_per_class: true };

fn random(rows: usize, columns: usize, seed: u64) -> Matrix<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Matrix::from_vec(rows, columns, (0..rows * columns).map(|_| rng.random_range(-1.0..1.0)).collect())
}

fn random_labels(rows: usize, ways: usize, seed: u64) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..rows).map(|_| rng.random_range(0..ways)).collect()
}

/// tr((S + rho I)^-1 S_B) with an explicit inverse, divided by classes present minus one.
fn brute_force_psi(rows: &Matrix<f64>, labels: &[usize], ways: usize, ridge: f64) -> f64 {
    let d = rows.columns();
    let mean = DMatrix::from_row_slice(1, d, &rows.mean_row());
    let row = |i: usize| DMatrix::from_row_slice(1, d, rows.row(i));
    let mut scatter = DMatrix::<f64>::identity(d, d) * ridge;
    for i in 0..rows.rows() {
        let centred = row(i) - &mean;
        scatter += centred.transpose() * &centred;
    }
    let mut between = DMatrix::<f64>::zeros(d, d);
    let mut present = 0;
    for class in 0..ways {
        let members: Vec<usize> = (0..rows.rows()).filter(|&i| labels[i] == class).collect();
        if members.is_empty() {
            continue;
        }
        present += 1;
        let class_mean = DMatrix::from_row_slice(1, d, &rows.gather(&members).mean_row()) - &mean;
        between += class_mean.transpose() * &class_mean * members.len() as f64;
    }
    let psi = (scatter.try_inverse().expect("ridge makes it invertible") * between).trace();
    psi / f64::from((present - 1).max(1))
}

fn brute_force_ida(rows: &Matrix<f64>, labels: &[usize], ways: usize, ridge: f64) -> Vec<f64> {
    let all = brute_force_psi(rows, labels, ways, ridge);
    let without = |left_out: usize| {
        let kept: Vec<usize> = (0..rows.rows()).filter(|&i| i != left_out).collect();
        let labels: Vec<usize> = kept.iter().map(|&i| labels[i]).collect();
        brute_force_psi(&rows.gather(&kept), &labels, ways, ridge)
    };
    (0..rows.rows()).map(|row| all - without(row)).collect()
}

fn assert_close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (row, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance * (1.0 + want.abs()), "row {row}: {got} against {want}");
    }
}

#[test]
fn primal_and_dual_equal_leave_one_out_recomputation() {
    for (rows, columns, ways) in [(20, 4, 3), (12, 30, 5), (9, 9, 2), (30, 29, 4)] {
        let x = random(rows, columns, 7);
        let labels = random_labels(rows, ways, 8);
        let pool = WhitenedPool::new(&x, &PARAMS);
        let psi = pool.fisher(&labels, ways);
        assert!((psi - brute_force_psi(&x, &labels, ways, 0.3)).abs() < 1e-10);
        assert_close(&pool.ida(&labels, ways), &brute_force_ida(&x, &labels, ways, 0.3), 1e-9);
    }
}

#[test]
fn singletons_and_absent_classes_equal_recomputation() {
    let x = random(8, 3, 9);
    // Class 1 is absent, class 3 has one member.
    let labels = [0, 0, 2, 2, 2, 0, 3, 2];
    let ida = WhitenedPool::new(&x, &PARAMS).ida(&labels, 4);
    assert_close(&ida, &brute_force_ida(&x, &labels, 4, 0.3), 1e-9);
}

#[test]
fn two_classes_one_a_singleton_leave_no_criterion() {
    let x = random(6, 3, 10);
    let labels = [0, 0, 0, 0, 0, 1];
    let pool = WhitenedPool::new(&x, &PARAMS);
    let ida = pool.ida(&labels, 2);
    // Without the singleton one class is left, whose criterion is zero: it carries all of psi.
    assert!((ida[5] - pool.fisher(&labels, 2)).abs() < 1e-10);
}

#[test]
fn components_are_the_leading_ones() {
    // Variance only in the first two of five dimensions: two components lose nothing.
    let mut x = random(15, 5, 11);
    for row in 0..15 {
        x.row_mut(row)[2..].fill(0.25);
    }
    let labels = random_labels(15, 3, 12);
    let all = WhitenedPool::new(&x, &PARAMS).ida(&labels, 3);
    let two = WhitenedPool::new(&x, &FisherParams { pca: 2, ..PARAMS }).ida(&labels, 3);
    assert_close(&two, &all, 1e-9);
}

#[test]
fn relative_ridge_follows_the_scale_of_the_features() {
    let x = random(15, 5, 13);
    let mut scaled = x.clone();
    scaled.as_mut_slice().iter_mut().for_each(|value| *value *= 1000.0);
    let params = FisherParams { ridge_scale: RidgeScale::Relative, ..PARAMS };
    let labels = random_labels(15, 3, 14);
    let ida = |x: &Matrix<f64>| WhitenedPool::new(x, &params).ida(&labels, 3);
    assert_close(&ida(&scaled), &ida(&x), 1e-9);
}

#[test]
fn no_variance_no_rows_and_one_row_give_zeros() {
    for ridge_scale in [RidgeScale::Absolute, RidgeScale::Relative] {
        let params = FisherParams { ridge_scale, ..PARAMS };
        let equal = Matrix::from_vec(4, 3, vec![2.0f32; 12]);
        assert_eq!(WhitenedPool::new(&equal, &params).ida(&[0, 1, 0, 1], 2), vec![0.0; 4]);
        assert_eq!(WhitenedPool::new(&equal.gather(&[0]), &params).ida(&[1], 2), vec![0.0]);
        assert!(WhitenedPool::new(&equal.gather(&[]), &params).ida(&[], 2).is_empty());
    }
}

proptest! {
    #[test]
    fn row_order_label_names_and_rotation_do_not_matter(
        seed in 0u64..1000, rows in 4usize..14, columns in 1usize..10, ways in 2usize..5,
    ) {
        let x = random(rows, columns, seed);
        let labels = random_labels(rows, ways, seed + 1);
        let ida = WhitenedPool::new(&x, &PARAMS).ida(&labels, ways);

        let reversed: Vec<usize> = (0..rows).rev().collect();
        let reversed_labels: Vec<usize> = reversed.iter().map(|&row| labels[row]).collect();
        let mut back = WhitenedPool::new(&x.gather(&reversed), &PARAMS).ida(&reversed_labels, ways);
        back.reverse();
        assert_close(&back, &ida, 1e-8);

        let renamed: Vec<usize> = labels.iter().map(|label| ways - 1 - label).collect();
        assert_close(&WhitenedPool::new(&x, &PARAMS).ida(&renamed, ways), &ida, 1e-8);

        let basis = random(columns, columns, seed + 2);
        let q = DMatrix::from_row_slice(columns, columns, basis.as_slice()).qr().q();
        let rotated = DMatrix::from_row_slice(rows, columns, x.as_slice()) * q + DMatrix::repeat(rows, columns, 3.0);
        let rotated = Matrix::from_vec(rows, columns, rotated.transpose().as_slice().to_vec());
        assert_close(&WhitenedPool::new(&rotated, &PARAMS).ida(&labels, ways), &ida, 1e-7);
    }

    #[test]
    fn duplicated_rows_score_alike(seed in 0u64..1000, rows in 4usize..10) {
        let x = random(rows, 3, seed);
        let doubled = x.stack(&x.gather(&[1]));
        let mut labels = random_labels(rows, 3, seed + 1);
        labels.push(labels[1]);
        let ida = WhitenedPool::new(&doubled, &PARAMS).ida(&labels, 3);
        prop_assert!((ida[1] - ida[rows]).abs() < 1e-9);
    }
}
