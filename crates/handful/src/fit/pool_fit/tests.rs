use super::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const PARAMS: PoolFitParams = PoolFitParams {
    cross_entropy: 0.3,
    conditional_entropy: 0.1,
    marginal_entropy: 0.05,
    class_shares: 0.0,
    dependence: 1.0,
    fisher_dependence: 0.2,
    temperature: 0.5,
    steps: 50,
    learning_rate: 0.02,
};

const SHARES: [f32; 3] = [0.5, 0.3, 0.2];

fn random(rows: usize, columns: usize, seed: u64) -> Matrix<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Matrix::from_vec(rows, columns, (0..rows * columns).map(|_| rng.random_range(-1.0..1.0)).collect())
}

fn centred(mut rows: Matrix<f32>) -> Matrix<f32> {
    let mean = rows.mean_row();
    for row in 0..rows.rows() {
        rows.row_mut(row).iter_mut().zip(&mean).for_each(|(value, mean)| *value -= mean);
    }
    rows
}

fn given() -> Vec<Example> {
    [(3, 0, 1.0), (10, 1, 2.0), (600, 2, 0.5), (4, 0, 1.0)]
        .map(|(row, class, weight)| Example { row, class, weight })
        .to_vec()
}

/// The loss as the module writes it, in double precision, row by row.
fn slow(
    classifier: &PoolClassifier,
    rows: &Matrix<f32>,
    kernel: &Matrix<f32>,
    whitened: &Matrix<f32>,
    p: &PoolFitParams,
) -> f64 {
    let ways = classifier.prototypes.rows();
    let probability = |row: &[f32]| -> Vec<f64> {
        let logit = |w: &[f32]| -> f64 {
            -row.iter().zip(w).map(|(z, w)| (f64::from(*z) - f64::from(*w)).powi(2)).sum::<f64>()
                / classifier.temperature
        };
        let logits: Vec<f64> = classifier.prototypes.iter_rows().map(logit).collect();
        let total: f64 = logits.iter().map(|logit| logit.exp()).sum();
        logits.iter().map(|logit| logit.exp() / total).collect()
    };
    let all: Vec<Vec<f64>> = rows.iter_rows().map(probability).collect();
    let n = all.len() as f64;
    let given = given();
    let total: f64 = given.iter().map(|example| example.weight).sum();
    let mut loss: f64 =
        given.iter().map(|e| -p.cross_entropy * e.weight / total * all[e.row][e.class].ln()).sum();
    loss -= p.conditional_entropy * all.iter().flatten().map(|p| p * p.ln()).sum::<f64>() / n;
    for class in 0..ways {
        let size: f64 = all.iter().map(|row| row[class]).sum();
        loss += p.marginal_entropy * size / n * (size / n).ln();
        loss -= p.class_shares * f64::from(SHARES[class]) * (size / n).ln();
        let square = |factor: &Matrix<f32>| -> f64 {
            (0..factor.columns())
                .map(|k| {
                    factor
                        .iter_rows()
                        .zip(&all)
                        .map(|(row, p)| f64::from(row[k]) * p[class])
                        .sum::<f64>()
                        .powi(2)
                })
                .sum()
        };
        loss -= p.dependence * square(kernel) / (n * n);
        loss -= p.fisher_dependence / ways as f64 * square(whitened) / (size * n);
    }
    loss
}

#[test]
fn value_is_the_formula_and_gradient_its_differences() {
    let rows = random(700, 5, 1);
    let (kernel, whitened) = (centred(random(700, 4, 2)), centred(random(700, 3, 3)));
    let factors = Factors { kernel: Some(&kernel), whitened: Some(&whitened), shares: Some(&SHARES) };
    let given = given();
    let classifier = PoolClassifier { prototypes: random(3, 5, 4), temperature: 0.5 };
    // Each term alone and all together, so that a wrong sign cannot hide behind a larger term.
    let only = |which: usize| {
        let pick = |at: usize, value: f64| if which == at || which == 6 { value } else { 0.0 };
        PoolFitParams {
            cross_entropy: pick(0, 0.3),
            conditional_entropy: pick(1, 0.1),
            marginal_entropy: pick(2, 0.5),
            dependence: pick(3, 3.0),
            fisher_dependence: pick(4, 2.0),
            class_shares: pick(5, 0.4),
            ..PARAMS
        }
    };
    for which in 0..=6 {
        let params = only(which);
        let (value, gradient) = classifier.loss(&rows, factors, &given, &params);
        let exact = slow(&classifier, &rows, &kernel, &whitened, &params);
        assert!((value - exact).abs() < 1e-5 * exact.abs().max(0.1), "term {which}: {value} {exact}");
        for at in 0..15 {
            let moved = |by: f32| {
                let mut moved = classifier.clone();
                moved.prototypes.as_mut_slice()[at] += by;
                slow(&moved, &rows, &kernel, &whitened, &params)
            };
            let slope = (moved(1e-3) - moved(-1e-3)) / 2e-3;
            let got = f64::from(gradient.as_slice()[at]);
            assert!((got - slope).abs() < 1e-3 * slope.abs().max(0.05), "term {which}, {at}: {got} {slope}");
        }
    }
}

#[test]
fn fitting_lowers_the_loss_and_threads_change_no_bit() {
    let rows = random(1500, 6, 7);
    let kernel = centred(rows.clone());
    let factors = Factors { kernel: Some(&kernel), whitened: None, shares: None };
    let given = given();
    let fitted = || {
        let mut classifier = PoolClassifier::at_class_means(&rows, &given, 3, PARAMS.temperature);
        let before = classifier.loss(&rows, factors, &given, &PARAMS).0;
        classifier.fit(&rows, factors, &given, &PARAMS);
        (before, classifier.loss(&rows, factors, &given, &PARAMS).0, classifier)
    };
    let (before, after, one) = fitted();
    assert!(after < before - 1e-3, "{before} {after}");
    let three = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads").install(fitted);
    assert_eq!(one, three.2);
}

#[test]
fn the_linear_form_gives_the_same_softmax() {
    let classifier = PoolClassifier { prototypes: random(3, 5, 4), temperature: 0.7 };
    let (weights, bias) = classifier.linear();
    let row = [0.3f32, -0.2, 0.8, 0.1, 0.0];
    let distance = |class: usize| -> f32 {
        classifier.prototypes.row(class).iter().zip(&row).map(|(w, z)| (z - w) * (z - w)).sum()
    };
    let linear = |class: usize| -> f32 {
        weights.row(class).iter().zip(&row).map(|(w, z)| w * z).sum::<f32>() + bias[class]
    };
    let difference = (linear(1) - linear(0)) - (distance(0) - distance(1)) / 0.7;
    assert!(difference.abs() < 1e-4);
}
