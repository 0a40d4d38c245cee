//! Files of weights: safetensors with what the program needs to know in their header.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use half::f16;
use safetensors::tensor::{Dtype, View};
use safetensors::{SafeTensors, serialize};
use sha2::{Digest, Sha256};

use crate::error::VisionError;
use crate::files::{io_error, replace};
use crate::tensors::{Array, Arrays};

/// Where the header keeps our facts.
const HEADER_KEY: &str = "handful";

struct Stored {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl View for &Stored {
    fn dtype(&self) -> Dtype {
        self.dtype
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }
    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// How numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 16 bits: half the size, three decimal digits.
    Half,
    /// 32 bits: exact.
    Full,
}

/// Writes tensors and a header, atomically.
pub fn write(path: &Path, arrays: &Arrays, header: &str, precision: Precision) -> Result<(), VisionError> {
    let stored: Vec<(&String, Stored)> = arrays
        .iter()
        .map(|(name, array)| {
            let (dtype, bytes) = match precision {
                Precision::Full => {
                    (Dtype::F32, array.values.iter().flat_map(|value| value.to_le_bytes()).collect())
                }
                Precision::Half => {
                    let halves = array.values.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes());
                    (Dtype::F16, halves.collect())
                }
            };
            (name, Stored { dtype, shape: array.shape.clone(), bytes })
        })
        .collect();
    let header = HashMap::from([(HEADER_KEY.to_owned(), header.to_owned())]);
    let views = stored.iter().map(|(name, stored)| (name.as_str(), stored));
    let bytes = serialize(views, Some(header))
        .map_err(|error| VisionError::Weights { path: path.to_owned(), reason: error.to_string() })?;
    replace(path, &bytes)
}

/// Tensors, and our header where the file has one.
pub struct WeightFile {
    /// The tensors.
    pub arrays: Arrays,
    /// Our header.
    pub header: Option<String>,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

/// Reads a safetensors file.
pub fn read(path: &Path) -> Result<WeightFile, VisionError> {
    let bytes = std::fs::read(path).map_err(io_error(path))?;
    parse(path, &bytes)
}

/// Reads the bytes of a safetensors file; `path` is for error messages.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<WeightFile, VisionError> {
    let broken = |reason: String| VisionError::Weights { path: path.to_owned(), reason };
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| broken(error.to_string()))?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| broken(error.to_string()))?;
    let header = metadata.metadata().as_ref().and_then(|facts| facts.get(HEADER_KEY)).cloned();
    let mut arrays = Arrays::new();
    for (name, tensor) in tensors.iter() {
        let values = match tensor.dtype() {
            Dtype::F32 => {
                tensor.data().as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
            }
            Dtype::F64 => tensor
                .data()
                .as_chunks::<8>()
                .0
                .iter()
                .map(|&bytes| f64::from_le_bytes(bytes) as f32)
                .collect(),
            Dtype::F16 => tensor
                .data()
                .as_chunks::<2>()
                .0
                .iter()
                .map(|&bytes| f16::from_le_bytes(bytes).to_f32())
                .collect(),
            Dtype::BF16 => {
                let halves = tensor.data().as_chunks::<2>().0.iter();
                halves.map(|&bytes| half::bf16::from_le_bytes(bytes).to_f32()).collect()
            }
            // Counters of batches and the like.
            _ => continue,
        };
        arrays.insert(name.to_owned(), Array { shape: tensor.shape().to_vec(), values });
    }
    Ok(WeightFile { arrays, header, sha256: sha256(bytes) })
}

/// SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
