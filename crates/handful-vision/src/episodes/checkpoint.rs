//! What a training needs to go on as if it had never stopped, in one file.

use std::collections::BTreeMap;
use std::path::Path;

use handful::Matrix;
use handful::methods::trained::{HeadFacts, Tensors};
use serde::{Deserialize, Serialize};

use super::network::NetworkSettings;
use super::{EpisodicSettings, Moments};
use crate::error::VisionError;
use crate::tensors::{Array, Arrays};
use crate::weights::{self, Precision};

/// Where a training is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    pub facts: HeadFacts,
    pub settings: EpisodicSettings,
    pub step: usize,
    pub best: Option<f64>,
    /// The network under the head, where it is trained too.
    #[serde(flatten)]
    pub network: Option<NetworkSettings>,
}

/// Under this name a checkpoint keeps the network.
pub(super) const NETWORK: &str = "network.";

/// A training between two steps.
pub(super) struct State {
    pub header: Header,
    /// What the head learns, and the centre of its rows.
    pub tensors: Tensors,
    /// The network under the head; empty where features are frozen.
    pub network: Arrays,
    /// What is remembered of gradients, by the names that tensors have in the file.
    pub moments: BTreeMap<String, Moments>,
}

fn array(matrix: &Matrix<f32>) -> Array {
    Array { shape: vec![matrix.rows(), matrix.columns()], values: matrix.as_slice().to_vec() }
}

fn json(path: &Path, value: &impl Serialize) -> Result<String, VisionError> {
    serde_json::to_string(value).map_err(|error| broken(path, error.to_string()))
}

/// A file that is not what it should be.
pub(super) fn broken(path: &Path, reason: String) -> VisionError {
    VisionError::Weights { path: path.to_owned(), reason }
}

/// Writes the head alone.
pub(super) fn save_head(path: &Path, facts: &HeadFacts, tensors: &Tensors) -> Result<(), VisionError> {
    let arrays = tensors.iter().map(|(name, matrix)| (name.clone(), array(matrix))).collect();
    weights::write(path, &arrays, &json(path, facts)?, Precision::Full)
}

/// Writes everything.
pub(super) fn save(path: &Path, state: &State) -> Result<(), VisionError> {
    let mut arrays: Arrays =
        state.tensors.iter().map(|(name, matrix)| (format!("tensor.{name}"), array(matrix))).collect();
    arrays.extend(state.network.iter().map(|(name, array)| (format!("{NETWORK}{name}"), array.clone())));
    for (name, moments) in &state.moments {
        arrays.insert(format!("first.{name}"), array(&moments.first));
        arrays.insert(format!("second.{name}"), array(&moments.second));
    }
    weights::write(path, &arrays, &json(path, &state.header)?, Precision::Full)
}

/// Reads everything.
pub(super) fn load(path: &Path) -> Result<State, VisionError> {
    let file = weights::read(path)?;
    let text = file.header.ok_or_else(|| broken(path, "it has no header of ours".into()))?;
    let header: Header = serde_json::from_str(&text)
        .map_err(|error| broken(path, format!("it is no checkpoint of a system: {error}")))?;
    let find = |name: String| -> Result<Matrix<f32>, VisionError> {
        match file.arrays.get(&name) {
            Some(Array { shape, values }) if shape.len() == 2 => {
                Ok(Matrix::from_vec(shape[0], shape[1], values.clone()))
            }
            _ => Err(broken(path, format!("the matrix `{name}` is missing"))),
        }
    };
    let (mut tensors, mut moments) = (Tensors::new(), BTreeMap::new());
    for name in file.arrays.keys().filter_map(|name| name.strip_prefix("tensor.")) {
        tensors.insert(name.to_owned(), find(format!("tensor.{name}"))?);
    }
    for name in file.arrays.keys().filter_map(|name| name.strip_prefix("first.")) {
        let (first, second) = (find(format!("first.{name}"))?, find(format!("second.{name}"))?);
        moments.insert(name.to_owned(), Moments { first, second });
    }
    let network =
        |(name, array): (&String, &Array)| Some((name.strip_prefix(NETWORK)?.to_owned(), array.clone()));
    let network = file.arrays.iter().filter_map(network).collect();
    Ok(State { header, tensors, network, moments })
}
