//! One task through a network, against PyTorch: rows, loss, every gradient, and running statistics.
//! `fixtures/write_network.py` wrote the files. And a training that stops and goes on.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use handful::Matrix;
use handful::methods::trained::{Tensors, find_system};

use super::images::TaskImages;
use super::{Maml, TaskGradients, through};
use crate::episodes::TaskDraws;
use crate::networks::Network;
use crate::networks::compact::Compact;
use crate::networks::conv4::Conv4;
use crate::tensors::{self, Array, Arrays, values_of};
use crate::weights;

const WAYS: usize = 3;
const SHOTS: usize = 2;
const QUERIES: usize = 3;
const WIDTH: usize = 6;

struct Fixture {
    arrays: Arrays,
    network: Network,
    task: TaskImages,
}

fn part(arrays: &Arrays, prefix: &str) -> Arrays {
    let named = arrays.iter().filter_map(|(name, array)| Some((name.strip_prefix(prefix)?, array)));
    named.map(|(name, array)| (name.to_owned(), array.clone())).collect()
}

impl Fixture {
    fn open(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/network/{name}.safetensors"));
        let arrays = weights::read(&path).expect("a committed fixture").arrays;
        let device = Device::flex().autodiff();
        let network = Network::Conv4(Conv4::new(WIDTH, &device));
        let (network, misfits) = tensors::apply(network, &part(&arrays, "network."));
        assert_eq!(misfits, []);
        let classes = |rows: usize| (0..WAYS * rows).map(|row| row / rows).collect();
        let Array { shape, values } = &arrays["images"];
        let task = TaskImages {
            pixels: values.clone(),
            labels: classes(SHOTS),
            query_labels: classes(QUERIES),
            ways: WAYS,
            size: shape[3],
        };
        Self { arrays, network, task }
    }

    fn head(&self) -> Tensors {
        let matrix = |(name, Array { shape, values }): (String, Array)| {
            (name, Matrix::from_vec(shape[0], shape[1], values))
        };
        part(&self.arrays, "head.").into_iter().map(matrix).collect()
    }

    fn check(&self, found: &TaskGradients) {
        let loss = f64::from(self.arrays["loss"].values[0]);
        assert!((found.loss - loss).abs() < 1e-5 * (1.0 + loss), "{} instead of {loss}", found.loss);
        let expected = part(&self.arrays, "statistics.");
        assert_eq!(found.statistics.len(), expected.len());
        for (name, array) in &expected {
            assert_close(name, &found.statistics[name].values, &array.values);
        }
    }

    fn check_gradients(&self, found: &TaskGradients) {
        for (name, expected) in part(&self.arrays, "gradient.network.") {
            assert_within(OF_GRADIENTS, &name, &found.network[&name].values, &expected.values);
        }
        for (name, gradient) in &found.head {
            let gradient: Matrix<f32> = gradient.cast();
            let expected = &self.arrays[&format!("gradient.head.{name}")].values;
            assert_within(OF_GRADIENTS, name, gradient.as_slice(), expected);
        }
    }
}

/// Gradients are sums of many terms in single precision, PyTorch's here in double.
const OF_GRADIENTS: f32 = 5e-5;

/// Differences beyond 1e-5, relative to the greatest value where that is above 1.
fn assert_close(what: &str, found: &[f32], expected: &[f32]) {
    assert_within(1e-5, what, found, expected);
}

fn assert_within(tolerance: f32, what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0f32, |scale, value| scale.max(value.abs()));
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= tolerance * scale, "{what}[{at}]: {found} instead of {expected}");
    }
}

#[test]
fn a_task_through_a_network_and_a_head_equals_pytorch() {
    for name in ["protonet", "matching", "r2d2", "dsn", "relationnet", "epnet"] {
        let fixture = Fixture::open(name);
        let device = tensors::device_of(&fixture.network);
        let copy =
            tensors::apply(Network::Conv4(Conv4::new(WIDTH, &device)), &part(&fixture.arrays, "network."));
        let rows = copy.0.forward(fixture.task.tensor(0..fixture.task.count(), &device));
        assert_close("rows", &values_of(&rows), &fixture.arrays["rows"].values);

        let system = find_system(name).and_then(|entry| entry.network_system(SHOTS, &[])).expect("a system");
        let head = fixture.head();
        let specs = system.tensors(WIDTH, WAYS);
        assert_eq!(specs.len(), head.len(), "{name}");
        let leaves: BTreeMap<_, _> =
            specs.iter().map(|spec| (spec.name, Arc::new(head[spec.name].cast()))).collect();
        let mut draws = TaskDraws::new(1, 1);
        let found = through::gradients(system.as_ref(), &fixture.network, &leaves, &fixture.task, &mut draws);
        fixture.check(&found);
        fixture.check_gradients(&found);
    }
}

#[test]
fn a_task_of_maml_equals_pytorch_at_both_orders() {
    for (name, second_order) in [("maml", false), ("maml-second", true)] {
        let fixture = Fixture::open(name);
        let maml = Maml { inner_steps: 3, inner_rate: 0.1, second_order, ..Maml::default() };
        let found = maml.gradients(&fixture.network, &fixture.head(), &fixture.task);
        fixture.check(&found);
        fixture.check_gradients(&found);
    }
}

/// Through both networks that have one, the gradient through the steps is the slope of the loss after them, which the first
/// order is not.
#[test]
fn the_second_order_is_the_slope_of_the_loss_after_the_steps() {
    let fixture = Fixture::open("maml-second");
    let device = tensors::device_of(&fixture.network);
    let compact = tensors::draw(Network::Compact(Compact::new([4, 6, 6, WIDTH], &device)), 5);
    let steps = |second_order| Maml { inner_steps: 2, inner_rate: 0.1, second_order, ..Maml::default() };
    let head = fixture.head();
    for (name, network) in [("conv4", fixture.network.clone()), ("compact", compact)] {
        let of = |network: &Network, order| steps(order).gradients(network, &head, &fixture.task);
        let start: Arrays =
            tensors::collect(&network).into_iter().map(|named| (named.name, named.array)).collect();
        let found = of(&network, true).network;
        // Along the gradient itself the slope is its squared length.
        let squares: f64 =
            found.values().flat_map(|array| &array.values).map(|v| f64::from(*v).powi(2)).sum();
        let moved = |by: f64| {
            let mut moved = start.clone();
            for (name, direction) in &found {
                let values = moved.get_mut(name).expect("its own name").values.iter_mut();
                values.zip(&direction.values).for_each(|(value, d)| *value += (by * f64::from(*d)) as f32);
            }
            of(&tensors::apply(network.clone(), &moved).0, false).loss
        };
        // Longer ways cross kinks of the network, on shorter ones rounding is felt: one of them must do.
        let slopes = [1e-3, 3e-4, 1e-4, 3e-5].map(|way: f64| {
            let by = way / squares.sqrt();
            (moved(by) - moved(-by)) / (2.0 * by)
        });
        let first = of(&network, false).network;
        let crossed: f64 = found
            .iter()
            .flat_map(|(name, array)| array.values.iter().zip(&first[name].values))
            .map(|(second, first)| f64::from(*second) * f64::from(*first))
            .sum();
        let is_close = |slope: &f64| (slope / squares - 1.0).abs() < 0.02;
        assert!(slopes.iter().any(is_close), "{name}: {slopes:?} instead of {squares}");
        assert!(
            (crossed / squares - 1.0).abs() > 0.03,
            "{name}: the first order gives {crossed} of {squares}"
        );
    }
}
