//! Methods whose parameters were learnt from tasks: one file for each system, its formula and its training loss together.
//!
//! A [`System`] is a formula on a [`Graph`](crate::differentiation::Graph); a [`Head`] is a system with the tensors that
//! somebody learnt, and is a [`Method`](super::Method). Here is no training: the loop that samples tasks and takes steps is
//! in `handful-vision`, and files of heads are read by `handful-data`.
//!
//! On frozen features rows are centred on the mean of the base classes (kept in the head) and scaled to one length before any
//! of them. Where the network was trained under the head, rows are taken as they come out of it.

mod dsn;
mod epnet;
mod feat;
mod head;
mod leo;
mod matching;
mod metaoptnet;
mod protonet;
mod r2d2;
mod relationnet;
mod rows;
mod sib;

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use dsn::DsnHead;
pub use epnet::Epnet;
pub use feat::Feat;
pub use head::{CENTRE, Head, HeadError, HeadFacts, Tensors};
pub use leo::Leo;
pub use matching::Matching;
pub use metaoptnet::Metaoptnet;
pub use protonet::Protonet;
pub use r2d2::R2d2;
pub use relationnet::Relationnet;
pub use rows::{EpisodeRows, prepared};
pub use sib::Sib;

use super::{Change, Setting, change};
use crate::differentiation::Var;
use crate::error::ParamError;
use crate::linalg::Matrix;

/// The learnt tensors of a system in a graph.
pub type Weights<'g> = BTreeMap<&'static str, Var<'g>>;

/// What a tensor is before anything is learnt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// The same number everywhere.
    Constant(f64),
    /// Ones on the diagonal.
    Identity,
    /// Normal numbers of this standard deviation.
    Normal(f64),
    /// Numbers up to this far from zero.
    Uniform(f64),
}

/// A tensor that a system learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorSpec {
    /// Its name.
    pub name: &'static str,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// What it starts as.
    pub start: Start,
}

const fn tensor(name: &'static str, rows: usize, columns: usize, start: Start) -> TensorSpec {
    TensorSpec { name, rows, columns, start }
}

/// The random numbers of a training step.
pub trait Draws {
    /// Normal numbers.
    fn normal(&mut self, rows: usize, columns: usize) -> Matrix<f64>;
    /// Dropout: 0 for a share `rate` of places, `1 / (1 - rate)` for the others.
    fn kept(&mut self, rows: usize, columns: usize, rate: f64) -> Matrix<f64>;
}

/// A formula with learnt tensors that tells the classes of a task apart.
pub trait System: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// Which unlabelled rows it looks at.
    fn setting(&self) -> Setting {
        Setting::Inductive
    }
    /// Its constants.
    fn settings(&self) -> Value;
    /// What it learns, for features of `dim` dimensions and tasks of `ways` classes.
    fn tensors(&self, dim: usize, ways: usize) -> Vec<TensorSpec>;
    /// Whether a head works only for the number of classes it was trained with.
    fn fixed_ways(&self) -> bool {
        false
    }
    /// The least number of labelled rows per class.
    fn least_shots(&self) -> usize {
        1
    }
    /// Whether all it could learn is in the network: on frozen features it is a method without a training.
    fn needs_network(&self) -> bool {
        false
    }
    /// The length that rows of `dim` dimensions are given.
    fn row_length(&self, dim: usize) -> f64;
    /// One row of logits for each query row.
    fn logits<'g>(&self, weights: &Weights<'g>, rows: &EpisodeRows<'g>) -> Var<'g>;
    /// What training makes small.
    fn loss<'g>(
        &self,
        weights: &Weights<'g>,
        rows: &EpisodeRows<'g>,
        query_labels: &[usize],
        _draws: &mut dyn Draws,
    ) -> Var<'g> {
        self.logits(weights, rows).cross_entropy(query_labels)
    }
}

/// A system's constants as data.
pub(crate) trait Constants: System + Serialize + DeserializeOwned + 'static {
    /// The system's name.
    const NAME: &'static str;
    /// Who made it, and what it is.
    const ABOUT: &'static str;
    /// The constants for training with this many labelled rows per class.
    fn for_shots(shots: usize) -> Self;
    /// The same where the network is trained under the system.
    fn for_network(shots: usize) -> Self {
        Self::for_shots(shots)
    }
}

/// Makes a system from its constants.
type Make = fn(&Value) -> Result<Box<dyn System>, String>;

/// A system that can be trained and used by name.
pub struct SystemEntry {
    /// Its name.
    pub name: &'static str,
    /// Who made it, and what it is.
    pub about: &'static str,
    make: Make,
    defaults: fn(usize) -> Value,
    network_defaults: fn(usize) -> Value,
}

/// One line for each system.
pub const SYSTEMS: &[SystemEntry] = &[
    entry::<Feat>(),
    entry::<Relationnet>(),
    entry::<R2d2>(),
    entry::<Metaoptnet>(),
    entry::<DsnHead>(),
    entry::<Leo>(),
    entry::<Sib>(),
    entry::<Protonet>(),
    entry::<Matching>(),
    entry::<Epnet>(),
];

const fn entry<S: Constants>() -> SystemEntry {
    let defaults = |shots: usize| to_value(&S::for_shots(shots));
    let network_defaults = |shots: usize| to_value(&S::for_network(shots));
    SystemEntry { name: S::NAME, about: S::ABOUT, make: make::<S>, defaults, network_defaults }
}

/// Finds a system by name.
///
/// # Errors
/// [`ParamError::UnknownMethod`] with the names there are.
pub fn find_system(name: &str) -> Result<&'static SystemEntry, ParamError> {
    SYSTEMS.iter().find(|entry| entry.name == name).ok_or_else(|| ParamError::UnknownMethod {
        name: name.to_owned(),
        known: SYSTEMS.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
    })
}

impl SystemEntry {
    /// Makes the system to be trained with `shots` labelled rows per class, with some of its constants changed.
    ///
    /// # Errors
    /// [`ParamError`] for a constant it does not have or a value of another kind.
    pub fn system(&self, shots: usize, changes: &[Change]) -> Result<Box<dyn System>, ParamError> {
        self.changed((self.defaults)(shots), changes)
    }

    /// Makes the system to be trained together with the network under it.
    ///
    /// # Errors
    /// As [`SystemEntry::system`].
    pub fn network_system(&self, shots: usize, changes: &[Change]) -> Result<Box<dyn System>, ParamError> {
        self.changed((self.network_defaults)(shots), changes)
    }

    fn changed(&self, defaults: Value, changes: &[Change]) -> Result<Box<dyn System>, ParamError> {
        let Value::Object(mut map) = defaults else { return self.make(&Value::Null) };
        let mut system = self.make(&Value::Object(map.clone()))?;
        for (key, text) in changes {
            change(&mut map, self.name, key, text)?;
            system = (self.make)(&Value::Object(map.clone())).map_err(|reason| ParamError::BadValue {
                key: key.clone(),
                value: text.clone(),
                reason,
            })?;
        }
        Ok(system)
    }

    fn make(&self, settings: &Value) -> Result<Box<dyn System>, ParamError> {
        (self.make)(settings).map_err(|reason| ParamError::BadValue {
            key: self.name.to_owned(),
            value: settings.to_string(),
            reason,
        })
    }
}

fn make<S: Constants>(settings: &Value) -> Result<Box<dyn System>, String> {
    let system: S = serde_json::from_value(settings.clone()).map_err(|error| error.to_string())?;
    Ok(Box::new(system))
}

fn to_value(settings: &impl Serialize) -> Value {
    serde_json::to_value(settings).unwrap_or_default()
}
