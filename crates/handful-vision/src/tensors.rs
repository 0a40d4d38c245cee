//! The tensors of a network by name: out of it, into it, and drawn at random.
//!
//! Names are those of the fields, joined by dots: `stages.0.widen.conv.weight`.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{Device, Gradients, Tensor, TensorData};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Numbers and their shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Sizes of the axes.
    pub shape: Vec<usize>,
    /// The numbers, the last axis fastest.
    pub values: Vec<f32>,
}

/// Tensors by name.
pub type Arrays = BTreeMap<String, Array>;

/// The path of the parameter being visited; names of enum variants are no part of it.
#[derive(Default)]
struct Path(Vec<Option<String>>);

impl Path {
    fn enter(&mut self, name: &str, container: &str) {
        self.0.push((!container.starts_with("Enum:")).then(|| name.to_owned()));
    }

    fn leave(&mut self) {
        self.0.pop();
    }

    fn name(&self) -> String {
        self.0.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(".")
    }
}

/// The values of a tensor.
pub fn values_of<const D: usize>(tensor: &Tensor<D>) -> Vec<f32> {
    // A float tensor always converts to f32.
    tensor.to_data().convert::<f32>().try_into_vec::<f32>().unwrap_or_default()
}

/// One parameter or running statistic of a module.
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its identity in the module.
    pub id: ParamId,
    /// Its value.
    pub array: Array,
}

/// All tensors of a module, in the order of its fields.
pub fn collect<M: Module>(module: &M) -> Vec<Named> {
    #[derive(Default)]
    struct Collector {
        path: Path,
        found: Vec<Named>,
    }
    impl ModuleVisitor for Collector {
        fn enter_module(&mut self, name: &str, container: &str) {
            self.path.enter(name, container);
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.leave();
        }
        fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
            let tensor = parameter.val();
            let array = Array { shape: tensor.dims().to_vec(), values: values_of(&tensor) };
            self.found.push(Named { name: self.path.name(), id: parameter.id, array });
        }
    }
    let mut collector = Collector::default();
    module.visit(&mut collector);
    collector.found
}

/// The gradients of the parameters that were differentiated by, and the values of all other tensors.
pub fn differentiated<M: Module>(module: &M, gradients: &Gradients) -> (Arrays, Arrays) {
    struct Sorter<'a> {
        path: Path,
        gradients: &'a Gradients,
        found: Arrays,
        others: Arrays,
    }
    impl ModuleVisitor for Sorter<'_> {
        fn enter_module(&mut self, name: &str, container: &str) {
            self.path.enter(name, container);
        }
        fn exit_module(&mut self, _: &str, _: &str) {
            self.path.leave();
        }
        fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
            let tensor = parameter.val();
            let gradient = tensor.grad(self.gradients);
            let kind = if gradient.is_some() { &mut self.found } else { &mut self.others };
            let values = values_of(gradient.as_ref().unwrap_or(&tensor));
            kind.insert(self.path.name(), Array { shape: tensor.dims().to_vec(), values });
        }
    }
    let (path, found, others) = (Path::default(), Arrays::new(), Arrays::new());
    let mut sorter = Sorter { path, gradients, found, others };
    module.visit(&mut sorter);
    (sorter.found, sorter.others)
}

/// The device of a module's tensors.
pub(crate) fn device_of<M: Module>(module: &M) -> Device {
    module.devices().into_iter().find(Device::is_autodiff).unwrap_or_default()
}

/// What did not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The module has a tensor of this name, the arrays have none.
    Missing(String),
    /// The shapes differ.
    Misshapen {
        /// The tensor.
        name: String,
        /// The array's shape.
        found: Vec<usize>,
        /// The module's shape.
        expected: Vec<usize>,
    },
}

/// Puts arrays into the tensors of the same names; gives what did not fit, and was left as it was.
pub fn apply<M: Module>(module: M, arrays: &Arrays) -> (M, Vec<Misfit>) {
    let mut setter = Setter { path: Path::default(), misfits: Vec::new(), value: Lookup(arrays) };
    let module = module.map(&mut setter);
    (module, setter.misfits)
}

/// Draws the weights of a new network: normal with variance `2 / fan-out` for convolutions (He et al.), uniform
/// within `±1 / sqrt(features)` for the classifier; biases stay 0, batch normalisation 1 and 0.
pub fn draw<M: Module>(module: M, seed: u64) -> M {
    let value = Draw(ChaCha12Rng::seed_from_u64(seed));
    module.map(&mut Setter { path: Path::default(), misfits: Vec::new(), value })
}

trait NewValue {
    fn value(&mut self, name: &str, shape: &[usize]) -> Result<Option<Vec<f32>>, Misfit>;
}

struct Lookup<'a>(&'a Arrays);

impl NewValue for Lookup<'_> {
    fn value(&mut self, name: &str, shape: &[usize]) -> Result<Option<Vec<f32>>, Misfit> {
        let array = self.0.get(name).ok_or_else(|| Misfit::Missing(name.to_owned()))?;
        if array.shape != shape {
            let (found, expected) = (array.shape.clone(), shape.to_vec());
            return Err(Misfit::Misshapen { name: name.to_owned(), found, expected });
        }
        Ok(Some(array.values.clone()))
    }
}

struct Draw(ChaCha12Rng);

impl Draw {
    /// A number above 0, up to 1.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }
}

impl NewValue for Draw {
    fn value(&mut self, _: &str, shape: &[usize]) -> Result<Option<Vec<f32>>, Misfit> {
        let length = shape.iter().product();
        Ok(match *shape {
            [filters, _, rows, columns] => {
                let deviation = (2.0 / (filters * rows * columns) as f64).sqrt();
                // Box and Muller.
                let mut normal = || {
                    let (radius, angle) = ((-2.0 * self.uniform().ln()).sqrt(), self.uniform());
                    (deviation * radius * (std::f64::consts::TAU * angle).cos()) as f32
                };
                Some((0..length).map(|_| normal()).collect())
            }
            [_, features] => {
                let bound = 1.0 / (features as f64).sqrt();
                Some((0..length).map(|_| (bound * (2.0 * self.uniform() - 1.0)) as f32).collect())
            }
            _ => None,
        })
    }
}

struct Setter<V> {
    path: Path,
    misfits: Vec<Misfit>,
    value: V,
}

impl<V: NewValue> ModuleMapper for Setter<V> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.leave();
    }

    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, tensor, mapper) = parameter.consume();
        let shape = tensor.dims();
        let tensor = match self.value.value(&self.path.name(), &shape) {
            Ok(Some(values)) => {
                let (device, wanted) = (tensor.device(), tensor.is_require_grad());
                let value = Tensor::from_data(TensorData::new(values, shape), &device);
                if wanted { value.require_grad() } else { value }
            }
            Ok(None) => tensor,
            Err(misfit) => {
                self.misfits.push(misfit);
                tensor
            }
        };
        Param::from_mapped_value(id, tensor, mapper)
    }
}
