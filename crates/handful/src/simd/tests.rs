//! Every path against plain loops in double precision, over sizes that leave tails everywhere.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::linalg::Matrix;

const SIZES: [(usize, usize, usize); 9] = [
    (1, 1, 2),
    (2, 7, 3),
    (3, 16, 4),
    (5, 17, 5),
    (8, 33, 6),
    (75, 64, 5),
    (19, 100, 7),
    (33, 40, 13),
    (17, 1024, 21),
];

fn random(rng: &mut ChaCha8Rng, rows: usize, columns: usize) -> Matrix<f32> {
    Matrix::from_vec(rows, columns, (0..rows * columns).map(|_| rng.random_range(-1.0..1.0)).collect())
}

/// The kernels of every path, and those for processors that cannot fuse.
fn all_kernels() -> Vec<&'static Kernels<f32>> {
    let paths = Path::available().into_iter();
    let mut all: Vec<_> =
        paths.map(|path| Kernels::on(path).expect("available paths have kernels")).collect();
    all.push(&portable_f32_kernels::KERNELS);
    all
}

fn each_path(check: impl Fn(&Kernels<f32>)) {
    all_kernels().into_iter().for_each(check);
}

fn assert_close(got: f32, want: f64, tolerance: f64, what: &str) {
    assert!((f64::from(got) - want).abs() <= tolerance * (1.0 + want.abs()), "{what}: {got} against {want}");
}

#[test]
fn scores_equal_plain_dot_products() {
    each_path(|kernels| {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (rows, columns, classes) in SIZES {
            let (z, w) = (random(&mut rng, rows, columns), random(&mut rng, classes, columns));
            let bias: Vec<f32> = (0..classes).map(|class| class as f32).collect();
            let mut out = PaddedRows::zeros(classes, rows);
            kernels.scores(&PaddedRows::from_matrix(&z), &PaddedRows::from_matrix(&w), &bias, &mut out);
            for class in 0..classes {
                for row in 0..rows {
                    let dot: f64 =
                        z.row(row).iter().zip(w.row(class)).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                    assert_close(out.row(class)[row], dot + class as f64, 1e-5, "score");
                }
                assert!(out.row(class)[rows..].iter().all(|&value| value == 0.0), "padding was written");
            }
        }
    });
}

#[test]
fn weight_gradient_equals_plain_sums_and_adds() {
    each_path(|kernels| {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for (rows, columns, classes) in SIZES {
            let (z, g) = (random(&mut rng, rows, columns), random(&mut rng, classes, rows));
            let (z_rows, g_rows) = (PaddedRows::from_matrix(&z), PaddedRows::from_matrix(&g));
            let mut out = PaddedRows::zeros(classes, columns);
            kernels.weight_gradient(&z_rows, &g_rows, &mut out);
            kernels.add_weight_gradient(&z_rows, &g_rows, &mut out);
            for class in 0..classes {
                for column in 0..columns {
                    let sum: f64 = (0..rows)
                        .map(|row| f64::from(g.row(class)[row]) * f64::from(z.row(row)[column]))
                        .sum();
                    assert_close(out.row(class)[column], 2.0 * sum, 1e-5, "gradient");
                }
            }
        }
    });
}

#[test]
fn moments_equal_plain_sums() {
    each_path(|kernels| {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for (rows, columns, _) in SIZES {
            let z = random(&mut rng, rows, columns);
            let (sums, squares) = kernels.moments(&PaddedRows::from_matrix(&z));
            for (column, &got) in sums[..columns].iter().enumerate() {
                let sum: f64 = (0..rows).map(|row| f64::from(z.row(row)[column])).sum();
                assert_close(got, sum, 1e-5, "sum");
            }
            assert_eq!(squares.len(), rows);
            for (row, &got) in squares.iter().enumerate() {
                let square: f64 = z.row(row).iter().map(|&value| f64::from(value).powi(2)).sum();
                assert_close(got, square, 1e-5, "squared length");
            }
        }
    });
}

#[test]
fn exp_is_accurate_over_its_range() {
    each_path(|kernels| {
        let mut values: Vec<f32> = (0..4096).map(|step| -87.0 + step as f32 * (175.0 / 4096.0)).collect();
        let inputs = values.clone();
        kernels.exp(&mut values);
        for (&x, &y) in inputs.iter().zip(&values) {
            let want = f64::from(x).exp();
            assert!((f64::from(y) / want - 1.0).abs() < 3e-7, "exp({x}) = {y} against {want}");
        }
        let mut extremes = [0.0f32; LANE_PADDING];
        extremes[0] = -1e30;
        kernels.exp(&mut extremes);
        assert!(extremes[0] >= 0.0 && extremes[0] < 1e-37 && extremes[1] == 1.0);
    });
}

#[test]
fn softmax_and_normalizer_equal_the_definition() {
    each_path(|kernels| {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for (examples, _, classes) in SIZES {
            let mut logits = random(&mut rng, classes, examples);
            logits.as_mut_slice().iter_mut().for_each(|value| *value *= 30.0);
            let logits = PaddedRows::from_matrix(&logits);
            let mut p = PaddedRows::zeros(classes, examples);
            let mut log_z = vec![0.0; logits.stride()];
            kernels.softmax(&logits, &mut p, &mut log_z);
            for (example, &log_z) in log_z[..examples].iter().enumerate() {
                let total: f64 = (0..classes).map(|class| f64::from(logits.row(class)[example]).exp()).sum();
                assert_close(log_z, total.ln(), 1e-6, "log normaliser");
                for class in 0..classes {
                    let want = f64::from(logits.row(class)[example]).exp() / total;
                    assert_close(p.row(class)[example], want, 1e-6, "softmax");
                }
            }
        }
    });
}

#[test]
fn dependence_pass_equals_the_double_sum() {
    each_path(|kernels| {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for (examples, _, classes) in SIZES {
            let p = random(&mut rng, classes, examples);
            let mut kernel = random(&mut rng, examples, examples);
            for i in 0..examples {
                for j in 0..i {
                    kernel.row_mut(i)[j] = kernel.row(j)[i];
                }
            }
            let p_rows = PaddedRows::from_matrix(&p);
            let mut pull = PaddedRows::zeros(classes, examples);
            let mut scratch = vec![0.0; dependence_scratch(classes, p_rows.stride())];
            let kernel_rows = PaddedRows::from_matrix(&kernel);
            let value = kernels.dependence(&p_rows, &kernel_rows, 4.0, &mut scratch, &mut pull);

            let prediction = |class: usize, i: usize| f64::from(p.row(class)[i]);
            let m = |i: usize, j: usize| {
                let distance: f64 = (0..classes).map(|c| (prediction(c, i) - prediction(c, j)).powi(2)).sum();
                f64::from(kernel.row(i)[j]) * (-distance * 2.0).exp()
            };
            let total: f64 =
                (0..examples).flat_map(|i| (0..examples).map(move |j| (i, j))).map(|(i, j)| m(i, j)).sum();
            assert_close(value, total, 1e-4, "tr(Kc L)");
            for i in 0..examples {
                for class in 0..classes {
                    let want: f64 =
                        (0..examples).map(|j| m(i, j) * (prediction(class, i) - prediction(class, j))).sum();
                    assert_close(pull.row(class)[i], want, 1e-4, "pull");
                }
            }
        }
    });
}

#[test]
fn logit_gradient_equals_the_chain_rule() {
    each_path(|kernels| {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for (examples, _, classes) in SIZES {
            let logits = PaddedRows::from_matrix(&random(&mut rng, classes, examples));
            let pull = PaddedRows::from_matrix(&random(&mut rng, classes, examples));
            let marginal: Vec<f32> = (0..classes).map(|class| class as f32 * 0.1).collect();
            let mut p = PaddedRows::zeros(classes, examples);
            let mut log_z = vec![0.0; logits.stride()];
            kernels.softmax(&logits, &mut p, &mut log_z);
            for with_pull in [false, true] {
                let mut out = PaddedRows::zeros(classes, examples);
                let rows = PredictionRows { logits: &logits, predictions: &p, log_normalizer: &log_z };
                kernels.logit_gradient(rows, with_pull.then_some((0.7, &pull)), &marginal, -0.3, &mut out);
                for example in 0..examples {
                    let p = |class: usize| f64::from(p.row(class)[example]);
                    let v = |class: usize| {
                        let pull = if with_pull { 0.7 * f64::from(pull.row(class)[example]) } else { 0.0 };
                        pull + class as f64 * 0.1 - 0.3 * p(class).ln()
                    };
                    let mean: f64 = (0..classes).map(|class| p(class) * v(class)).sum();
                    for class in 0..classes {
                        assert_close(out.row(class)[example], p(class) * (v(class) - mean), 1e-5, "chain");
                    }
                }
            }
        }
    });
}

#[test]
fn adam_follows_its_definition() {
    each_path(|kernels| {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let length = 3 * LANE_PADDING;
        let start = random(&mut rng, 1, length);
        let mut w = start.as_slice().to_vec();
        let (mut first, mut second) = (vec![0.0; length], vec![0.0; length]);
        let (mut w64, mut m64, mut v64) =
            (w.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(), vec![0.0f64; length], vec![0.0f64; length]);
        for t in 1..=20 {
            let g = random(&mut rng, 1, length);
            let step = AdamStep {
                beta1: 0.9,
                beta2: 0.999,
                rate: (0.01 / (1.0 - 0.9f64.powi(t))) as f32,
                inverse_root_correction: (1.0 / (1.0 - 0.999f64.powi(t)).sqrt()) as f32,
                epsilon: 1e-8,
            };
            kernels.adam(step, &mut w, g.as_slice(), &mut first, &mut second);
            for i in 0..length {
                let g = f64::from(g.as_slice()[i]);
                m64[i] = 0.9 * m64[i] + 0.1 * g;
                v64[i] = 0.999 * v64[i] + 0.001 * g * g;
                let m_hat = m64[i] / (1.0 - 0.9f64.powi(t));
                let v_hat = v64[i] / (1.0 - 0.999f64.powi(t));
                w64[i] -= 0.01 * m_hat / (v_hat.sqrt() + 1e-8);
            }
        }
        for i in 0..length {
            assert_close(w[i], w64[i], 1e-5, "parameter");
        }
    });
}

/// Every number that the kernels give for tasks of one size.
fn everything(kernels: &Kernels<f32>, (rows, columns, classes): (usize, usize, usize)) -> Vec<u32> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let padded_rows = |matrix: Matrix<f32>| PaddedRows::from_matrix(&matrix);
    let z = padded_rows(random(&mut rng, rows, columns));
    let mut w = padded_rows(random(&mut rng, classes, columns));
    let kernel = padded_rows(random(&mut rng, rows, rows));
    let [mut logits, mut p, mut pull, mut chain] = [(); 4].map(|()| PaddedRows::zeros(classes, rows));
    let mut log_z = vec![0.0; logits.stride()];
    let mut gradient = PaddedRows::zeros(classes, columns);
    kernels.scores(&z, &w, &vec![0.25; classes], &mut logits);
    kernels.softmax(&logits, &mut p, &mut log_z);
    let mut scratch = vec![0.0; dependence_scratch(classes, p.stride())];
    let value = kernels.dependence(&p, &kernel, 4.0, &mut scratch, &mut pull);
    let marginal: Vec<f32> = (0..classes).map(|class| class as f32 * 0.1).collect();
    let input = PredictionRows { logits: &logits, predictions: &p, log_normalizer: &log_z };
    kernels.logit_gradient(input, Some((0.7, &pull)), &marginal, -0.3, &mut chain);
    kernels.weight_gradient(&z, &chain, &mut gradient);
    kernels.add_weight_gradient(&z, &p, &mut gradient);
    let (sums, squares) = kernels.moments(&z);
    let length = w.as_slice().len() / LANE_PADDING * LANE_PADDING;
    let (mut first, mut second) = (vec![0.1; length], vec![0.2; length]);
    let step = AdamStep { beta1: 0.9, beta2: 0.999, rate: 0.01, inverse_root_correction: 1.3, epsilon: 1e-8 };
    let slopes = gradient.as_slice()[..length].to_vec();
    kernels.adam(step, &mut w.as_mut_slice()[..length], &slopes, &mut first, &mut second);
    let mut powers: Vec<f32> = (0..4096).map(|step| -88.0 + step as f32 * (177.0 / 4096.0)).collect();
    kernels.exp(&mut powers);
    let rows = |rows: &PaddedRows<f32>| -> Vec<f32> {
        (0..rows.rows()).flat_map(|row| rows.row(row)[..rows.columns()].to_vec()).collect()
    };
    let examples = log_z[..p.columns()].to_vec();
    let all = [rows(&logits), rows(&p), examples, rows(&pull), rows(&chain), rows(&gradient), vec![value]];
    let more = [sums, squares, rows(&w), first, second, powers];
    all.into_iter().chain(more).flatten().map(f32::to_bits).collect()
}

#[test]
fn every_path_gives_the_same_bits() {
    for size in SIZES {
        let all = all_kernels();
        let [first, others @ ..] = &all[..] else { panic!("there is always one path") };
        for other in others {
            let differs =
                everything(first, size).into_iter().zip(everything(other, size)).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{size:?}: {} and {}", first.path(), other.path());
        }
    }
}

#[test]
fn a_path_this_machine_lacks_is_refused_by_name() {
    assert_eq!("portable".parse::<Path>().ok(), Some(Path::Portable));
    let error = "sse9".parse::<Path>().expect_err("no such path").to_string();
    assert!(error.contains("sse9") && error.contains("portable"), "{error}");
}

#[test]
fn double_precision_is_the_same_bits_with_wider_registers() {
    let (narrow, wide) = (&portable_f64_kernels::KERNELS, reference_f64());
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    for (rows, columns, classes) in SIZES {
        let z = PaddedRows::from_matrix(&random(&mut rng, rows, columns).cast::<f64>());
        let w = PaddedRows::from_matrix(&random(&mut rng, classes, columns).cast::<f64>());
        let run = |kernels: &Kernels<f64>| {
            let mut logits = PaddedRows::zeros(classes, rows);
            let mut predictions = PaddedRows::zeros(classes, rows);
            let mut log_normalizer = vec![0.0; logits.stride()];
            let mut gradient = PaddedRows::zeros(classes, columns);
            kernels.scores(&z, &w, &vec![0.5; classes], &mut logits);
            kernels.softmax(&logits, &mut predictions, &mut log_normalizer);
            kernels.weight_gradient(&z, &predictions, &mut gradient);
            [logits.as_slice(), predictions.as_slice(), &log_normalizer, gradient.as_slice()]
                .concat()
                .into_iter()
                .map(f64::to_bits)
                .collect::<Vec<_>>()
        };
        assert_eq!(run(narrow), run(wide));
    }
}
