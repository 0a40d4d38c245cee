//! What a training needs to go on as if it had never stopped: weights, velocities, and where it was.
//!
//! `last.safetensors` holds all of it in one file, so there is no moment at which two files disagree.
//! `best.safetensors` holds the network alone, as of the best validation; averaged, where weights are averaged.

use std::path::Path;

use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::model::Model;
use super::settings::Settings;
use super::sgd::Sgd;
use crate::backbone::{AVERAGED, BackboneHeader};
use crate::error::VisionError;
use crate::networks::Network;
use crate::tensors::{self, Array, Arrays, Misfit, values_of};
use crate::weights::{self, Precision};

/// What is known of an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochMetrics {
    /// The epoch, from 1.
    pub epoch: usize,
    /// Learning rate of its last step.
    pub rate: f64,
    /// Mean loss.
    pub loss: f64,
    /// Accuracy on the augmented training images.
    pub accuracy: f64,
    /// 1-shot accuracy on validation classes.
    pub validation: Option<f64>,
    /// Time it took; of its last part where it was interrupted.
    pub seconds: f64,
}

/// Where a training is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Whole epochs done.
    pub epoch: usize,
    /// Steps done of the present one.
    pub step: usize,
    /// Sum of the losses of those steps.
    pub loss_sum: f64,
    /// Images of those steps that were classified rightly.
    pub correct: usize,
    /// The epochs done.
    pub history: Vec<EpochMetrics>,
    /// The best validation accuracy.
    pub best: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    settings: Settings,
    progress: Progress,
    classes: usize,
    #[serde(flatten)]
    backbone: BackboneHeader,
}

const VELOCITY: &str = "velocity.";

/// Writes a checkpoint.
pub fn save(path: &Path, checkpoint: &Checkpoint) -> Result<(), VisionError> {
    let Checkpoint { model, sgd, average, settings, progress } = checkpoint;
    let averaged = average.iter().flatten();
    let mut arrays: Arrays =
        averaged.map(|(name, array)| (format!("{AVERAGED}{name}"), array.clone())).collect();
    for named in tensors::collect(model) {
        if let Some(velocity) = sgd.velocity(&named.id) {
            let array = Array { shape: named.array.shape.clone(), values: values_of(velocity) };
            arrays.insert(format!("{VELOCITY}{}", named.name), array);
        }
        arrays.insert(named.name, named.array);
    }
    let header = Header {
        settings: settings.clone(),
        progress: progress.clone(),
        classes: model.classes(),
        backbone: BackboneHeader::of(settings),
    };
    weights::write(path, &arrays, &to_json(path, &header)?, Precision::Full)
}

/// Writes the network alone.
pub fn save_network(
    path: &Path,
    network: &Network,
    settings: &Settings,
    precision: Precision,
) -> Result<(), VisionError> {
    let arrays = tensors::collect(network).into_iter().map(|named| (named.name, named.array)).collect();
    weights::write(path, &arrays, &to_json(path, &BackboneHeader::of(settings))?, precision)
}

fn to_json(path: &Path, value: &impl Serialize) -> Result<String, VisionError> {
    serde_json::to_string(value)
        .map_err(|error| VisionError::Weights { path: path.to_owned(), reason: error.to_string() })
}

/// What a checkpoint holds.
pub struct Checkpoint {
    /// The network and its classifier.
    pub model: Model,
    /// The optimiser.
    pub sgd: Sgd,
    /// The averaged weights of the network, where they are averaged.
    pub average: Option<Arrays>,
    /// The settings it was trained with.
    pub settings: Settings,
    /// Where it was.
    pub progress: Progress,
}

/// Reads a checkpoint.
pub fn load(path: &Path, device: &Device) -> Result<Checkpoint, VisionError> {
    let file = weights::read(path)?;
    let broken = |reason: String| VisionError::Weights { path: path.to_owned(), reason };
    let header = file.header.ok_or_else(|| broken("it is not a checkpoint of a training".to_owned()))?;
    let header: Header = serde_json::from_str(&header)
        .map_err(|error| broken(format!("it is not a checkpoint of a training ({error})")))?;
    let settings = header.settings;
    let (model, misfits) = tensors::apply(Model::new(&settings, header.classes, device), &file.arrays);
    match misfits.first() {
        Some(Misfit::Missing(name)) => return Err(broken(format!("the tensor `{name}` is missing"))),
        Some(Misfit::Misshapen { name, .. }) => {
            return Err(broken(format!("the tensor `{name}` has the wrong shape")));
        }
        None => {}
    }
    let mut sgd = Sgd::new(settings.momentum, settings.weight_decay);
    let inner = device.clone().inner();
    for named in tensors::collect(&model) {
        if let Some(array) = file.arrays.get(&format!("{VELOCITY}{}", named.name)) {
            let length = array.values.len();
            let velocity = Tensor::from_data(TensorData::new(array.values.clone(), [length]), &inner);
            sgd.set_velocity(named.id, velocity);
        }
    }
    let averaged = |(name, array): (String, Array)| Some((name.strip_prefix(AVERAGED)?.to_owned(), array));
    let average = (settings.averaging > 0.0).then(|| file.arrays.into_iter().filter_map(averaged).collect());
    Ok(Checkpoint { model, sgd, average, settings, progress: header.progress })
}
