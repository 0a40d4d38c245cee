//! Systems that are learnt from tasks, against PyTorch: logits, loss, every gradient, and a training step.
//! `fixtures/write_systems.py` wrote the files.

use std::path::Path;
use std::sync::Arc;

use handful::Matrix;
use handful::differentiation::Graph;
use handful::methods::trained::{Draws, EpisodeRows, Weights, find_system};
use handful_vision::episodes::{Moments, Optimiser};
use handful_vision::tensors::Arrays;
use handful_vision::weights;

const WAYS: usize = 3;

fn matrix(arrays: &Arrays, name: &str) -> Matrix<f64> {
    let array = arrays.get(name).unwrap_or_else(|| panic!("{name} is in the fixture"));
    let values = array.values.iter().map(|&value| f64::from(value)).collect();
    Matrix::from_vec(array.shape[0], array.shape[1], values)
}

fn assert_close(what: &str, ours: &Matrix<f64>, theirs: &Matrix<f64>) {
    assert_eq!((ours.rows(), ours.columns()), (theirs.rows(), theirs.columns()), "{what}");
    for (a, b) in ours.as_slice().iter().zip(theirs.as_slice()) {
        assert!((a - b).abs() <= 1e-5 * (1.0 + b.abs()), "{what}: {a} against {b}");
    }
}

/// The fixture's noise in its order, and no dropout.
struct Recorded(std::vec::IntoIter<Matrix<f64>>);

impl Draws for Recorded {
    fn normal(&mut self, rows: usize, columns: usize) -> Matrix<f64> {
        let noise = self.0.next().expect("as many draws as PyTorch's");
        assert_eq!((noise.rows(), noise.columns()), (rows, columns));
        noise
    }

    fn kept(&mut self, rows: usize, columns: usize, _: f64) -> Matrix<f64> {
        Matrix::from_vec(rows, columns, vec![1.0; rows * columns])
    }
}

fn check(name: &str, changes: &[(&str, &str)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/systems/{name}.safetensors"));
    let arrays = weights::read(&path).expect("a fixture").arrays;
    let changes: Vec<_> = changes.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let system = find_system(name).and_then(|entry| entry.system(1, &changes)).expect("a system");

    let graph = Graph::new();
    let (support, query) = (matrix(&arrays, "support"), matrix(&arrays, "query"));
    let specs = system.tensors(support.columns(), WAYS);
    let tensors: Vec<Matrix<f64>> =
        specs.iter().map(|spec| matrix(&arrays, &format!("weight.{}", spec.name))).collect();
    let weights: Weights<'_> = specs
        .iter()
        .zip(&tensors)
        .map(|(spec, tensor)| (spec.name, graph.leaf(Arc::new(tensor.clone()))))
        .collect();
    let classes = |rows: usize| -> Vec<usize> { (0..rows).map(|row| row * WAYS / rows).collect() };
    let targets = classes(query.rows());
    let labels = classes(support.rows());
    let query = graph.constant(query);
    let rows = EpisodeRows { support: graph.constant(support), labels, ways: WAYS, unlabeled: query, query };
    assert_close("logits", &system.logits(&weights, &rows).value(), &matrix(&arrays, "logits"));

    let noise: Vec<Matrix<f64>> = (0..)
        .map(|draw| format!("noise.{draw}"))
        .take_while(|name| arrays.contains_key(name))
        .map(|name| matrix(&arrays, &name))
        .collect();
    let loss = system.loss(&weights, &rows, &targets, &mut Recorded(noise.into_iter()));
    assert_close("loss", &loss.value(), &matrix(&arrays, "loss"));
    let gradients = graph.gradients(loss);
    for (spec, tensor) in specs.iter().zip(&tensors) {
        let theirs = matrix(&arrays, &format!("gradient.{}", spec.name));
        let ours = gradients.of(weights[spec.name]);
        assert_close(spec.name, &ours, &theirs);
        // PyTorch's first step of Nesterov's momentum: the gradient counts 1 + 0.9 times.
        let mut stepped: Matrix<f32> = tensor.cast();
        let mut moments = Moments::new(spec.rows, spec.columns);
        Optimiser::Sgd { momentum: 0.9 }.step(&mut stepped, &ours, &mut moments, 0.1, 5e-4, 0);
        for ((new, old), gradient) in stepped.as_slice().iter().zip(tensor.as_slice()).zip(theirs.as_slice())
        {
            let expected = old - 0.1 * 1.9 * (gradient + 5e-4 * old);
            assert!((f64::from(*new) - expected).abs() <= 1e-5 * (1.0 + expected.abs()), "{}", spec.name);
        }
    }
}

#[test]
fn feat() {
    check("feat", &[]);
}

#[test]
fn relationnet() {
    check("relationnet", &[]);
}

#[test]
fn r2d2() {
    check("r2d2", &[]);
}

#[test]
fn dsn() {
    check("dsn", &[]);
}

#[test]
fn sib() {
    check("sib", &[]);
}

#[test]
fn leo() {
    check("leo", &[("latents", "4")]);
}
