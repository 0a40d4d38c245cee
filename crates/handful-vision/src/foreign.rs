//! Weights of other programs: PyTorch's `.pth`, `.pt` and `.tar`, and safetensors.
//!
//! A checkpoint may nest its tensors under `state_dict` or the like, and `DataParallel` puts `module.` before each
//! name; both are taken off. Tensors that a network does not have, such as a classifier, are ignored.

use std::path::Path;

use burn_store::{ModuleStore, PytorchStore, bridge};

use crate::error::VisionError;
use crate::files::io_error;
use crate::tensors::{Array, Arrays};
use crate::weights::{self, WeightFile};

/// Under these names checkpoints keep their tensors.
const NESTED: [&str; 5] = ["state_dict", "model_state", "model", "params", "state"];
/// The same where a reader has joined them to the names of the tensors.
const NESTED_DOTTED: [&str; 2] = ["state_dict.", "model_state."];
/// What wrappers put before a name.
const PREFIXES: [&str; 4] = ["module.", "encoder.", "model.", "feature."];

/// Reads tensors from a file; the kind is told by its extension.
pub(crate) fn read(path: &Path) -> Result<WeightFile, VisionError> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "safetensors" => {
            let mut file = weights::read(path)?;
            if file.header.is_none() {
                file.arrays = plain_names(file.arrays);
            }
            Ok(file)
        }
        "pth" | "pt" | "tar" | "bin" => {
            let bytes = std::fs::read(path).map_err(io_error(path))?;
            let sha256 = weights::sha256(&bytes);
            drop(bytes);
            Ok(WeightFile { arrays: plain_names(read_pytorch(path)?), header: None, sha256 })
        }
        _ => Err(VisionError::Weights {
            path: path.to_owned(),
            reason: "its extension must be .safetensors, .pth, .pt, .tar or .onnx".to_owned(),
        }),
    }
}

fn read_pytorch(path: &Path) -> Result<Arrays, VisionError> {
    let broken = |reason: String| VisionError::Weights { path: path.to_owned(), reason };
    let mut first_error = None;
    for key in [None].into_iter().chain(NESTED.map(Some)) {
        let mut store = PytorchStore::from_file(path).map_indices_contiguous(false);
        if let Some(key) = key {
            store = store.with_top_level_key(key);
        }
        let tensors = match store.get_all_tensors() {
            Ok(tensors) => tensors,
            Err(error) => {
                first_error.get_or_insert(error.to_string());
                continue;
            }
        };
        let mut arrays = Arrays::new();
        for (name, tensor) in tensors {
            if !tensor.dtype.is_float() {
                continue;
            }
            let data =
                bridge::to_data(tensor).map_err(|error| broken(format!("tensor `{name}`: {error:?}")))?;
            let shape = data.shape().to_vec();
            let values = data.convert::<f32>().try_into_vec::<f32>();
            let values = values.map_err(|error| broken(format!("tensor `{name}`: {error:?}")))?;
            arrays.insert(name.clone(), Array { shape, values });
        }
        if !arrays.is_empty() {
            return Ok(arrays);
        }
    }
    Err(broken(first_error.unwrap_or_else(|| "it holds no tensors".to_owned())))
}

/// Names without what wrappers put before all of them.
fn plain_names(mut arrays: Arrays) -> Arrays {
    while let Some(prefix) = NESTED_DOTTED
        .iter()
        .chain(&PREFIXES)
        .find(|prefix| arrays.keys().any(|name| name.starts_with(**prefix)))
    {
        arrays = arrays
            .into_iter()
            .map(|(name, array)| (name.strip_prefix(prefix).map_or(name.clone(), str::to_owned), array))
            .collect();
    }
    // The one name among the sources that is not a name in Rust.
    arrays.into_iter().map(|(name, array)| (name.replace("convShortcut", "conv_shortcut"), array)).collect()
}
