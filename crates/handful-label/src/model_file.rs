//! A model as a file: safetensors, with a JSON header in its metadata.
//!
//! The header says the version, the classes, how many columns the features have and what made them; a file that does not
//! fit is refused before anything is labelled with it. Saved, loaded and asked again, a model gives the same bits.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use handful::Matrix;
use handful::fit::head::SoftmaxHead;
use handful::linalg::pca::PrincipalDirections;
use handful_data::atomic::{self, WriteError};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

use crate::model::{Anchors, LabelModel, ModelHeader};
use crate::projection::Projection;

/// The version this program writes and the newest it reads.
pub(crate) const VERSION: u32 = 1;
/// The metadata's key of the header.
const HEADER: &str = "handful";

/// Why a model could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is no model, or not a whole one.
    #[error("{}: not a whole model of handful: {reason}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A model of a later version of the format.
    #[error("{}: a model of version {found}; this program reads versions up to {VERSION}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl LabelModel {
    /// Writes the model; the old file stays until the new one is whole.
    ///
    /// # Errors
    /// [`ModelError::Write`].
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        let bytes = self.to_bytes().map_err(|reason| ModelError::Broken { path: path.to_owned(), reason })?;
        Ok(atomic::write(path, |out| out.write_all(&bytes))?)
    }

    /// The model as the bytes of its file.
    ///
    /// # Errors
    /// What the format says against it.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let directions = self.projection.directions.to_matrix();
        let head = self.head.fitted();
        let head = Matrix::from_vec(
            head.rows(),
            head.columns(),
            head.as_slice().iter().map(|&value| value as f32).collect(),
        );
        let anchors = &self.anchors;
        let rows = anchors.coordinates.rows();
        let kept = anchors.classes.len() / rows.max(1);
        let arrays: Vec<(&str, Dtype, Vec<usize>, Vec<u8>)> = vec![
            ("mean", Dtype::F32, vec![self.projection.mean.len()], bytes(&self.projection.mean)),
            (
                "directions",
                Dtype::F32,
                vec![directions.rows(), directions.columns()],
                bytes(directions.as_slice()),
            ),
            ("head", Dtype::F32, vec![head.rows(), head.columns()], bytes(head.as_slice())),
            (
                "anchors",
                Dtype::F32,
                vec![rows, anchors.coordinates.columns()],
                bytes(anchors.coordinates.as_slice()),
            ),
            (
                "anchor_classes",
                Dtype::U32,
                vec![rows, kept],
                anchors.classes.iter().flat_map(|class| class.to_le_bytes()).collect(),
            ),
            ("anchor_probabilities", Dtype::F32, vec![rows, kept], bytes(&anchors.probabilities)),
            ("anchor_credibility", Dtype::F32, vec![rows], bytes(&anchors.credibility)),
            (
                "class_means",
                Dtype::F32,
                vec![self.class_means.rows(), self.class_means.columns()],
                bytes(self.class_means.as_slice()),
            ),
            (
                "class_floor",
                Dtype::F64,
                vec![self.class_floor.len()],
                self.class_floor.iter().flat_map(|value| value.to_le_bytes()).collect(),
            ),
        ];
        let views = arrays.iter().map(|(name, dtype, shape, data)| {
            TensorView::new(*dtype, shape.clone(), data).map(|view| (*name, view))
        });
        let views = views.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let header = serde_json::to_string(&self.header).map_err(|error| error.to_string())?;
        let metadata = HashMap::from([(HEADER.to_owned(), header)]);
        serialize(views, Some(metadata)).map_err(|error| error.to_string())
    }

    /// Reads a model.
    ///
    /// # Errors
    /// [`ModelError::Read`], [`ModelError::Broken`], [`ModelError::Newer`].
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let bytes =
            std::fs::read(path).map_err(|source| ModelError::Read { path: path.to_owned(), source })?;
        Self::from_bytes(&bytes, path)
    }

    /// Reads a model from the bytes of its file; `path` is for messages.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, ModelError> {
        let broken = |reason: String| ModelError::Broken { path: path.to_owned(), reason };
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| broken(error.to_string()))?;
        let header = metadata
            .metadata()
            .as_ref()
            .and_then(|map| map.get(HEADER))
            .ok_or_else(|| broken("its header does not say that it is one".into()))?;
        let value: serde_json::Value =
            serde_json::from_str(header).map_err(|error| broken(error.to_string()))?;
        let version = value.get("handful_model").and_then(serde_json::Value::as_u64).unwrap_or(0);
        if version > u64::from(VERSION) {
            return Err(ModelError::Newer { path: path.to_owned(), found: version });
        }
        let header: ModelHeader = serde_json::from_value(value).map_err(|error| broken(error.to_string()))?;
        let file = SafeTensors::deserialize(bytes).map_err(|error| broken(error.to_string()))?;
        let read = Arrays(&file);
        let built = read.model(header).map_err(broken)?;
        Ok(built)
    }
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

struct Arrays<'a>(&'a SafeTensors<'a>);

impl Arrays<'_> {
    fn raw<const N: usize>(&self, name: &str, dtype: Dtype) -> Result<(Vec<usize>, Vec<[u8; N]>), String> {
        let view = self.0.tensor(name).map_err(|error| format!("{name}: {error}"))?;
        if view.dtype() != dtype {
            return Err(format!("{name} is of type {:?} and should be {dtype:?}", view.dtype()));
        }
        let (values, _) = view.data().as_chunks::<N>();
        Ok((view.shape().to_vec(), values.to_vec()))
    }

    fn floats(&self, name: &str) -> Result<(Vec<usize>, Vec<f32>), String> {
        let (shape, values) = self.raw::<4>(name, Dtype::F32)?;
        let values: Vec<f32> = values.into_iter().map(f32::from_le_bytes).collect();
        match values.iter().position(|value| !value.is_finite()) {
            Some(at) => Err(format!("{name} holds {} at {at}", values[at])),
            None => Ok((shape, values)),
        }
    }

    fn matrix(&self, name: &str, rows: Option<usize>, columns: Option<usize>) -> Result<Matrix<f32>, String> {
        let (shape, values) = self.floats(name)?;
        match shape[..] {
            [found, wide] if rows.is_none_or(|n| n == found) && columns.is_none_or(|n| n == wide) => {
                Ok(Matrix::from_vec(found, wide, values))
            }
            _ => Err(format!("{name} has the shape {shape:?}")),
        }
    }

    fn vector(&self, name: &str, length: usize) -> Result<Vec<f32>, String> {
        let (_, values) = self.floats(name)?;
        if values.len() == length { Ok(values) } else { Err(format!("{name} has {} values", values.len())) }
    }

    fn model(&self, header: ModelHeader) -> Result<LabelModel, String> {
        let (dim, ways) = (header.dim, header.classes.len());
        if dim == 0 || ways < 2 {
            return Err(format!("{dim} columns and {ways} classes"));
        }
        for (name, value) in [("temperature", header.temperature), ("pessimistic", header.pessimistic)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(format!("{name} is {value}"));
            }
        }
        let directions = self.matrix("directions", None, Some(dim))?;
        let components = directions.rows();
        let head = self.matrix("head", Some(ways), Some(components + 1))?;
        let coordinates = self.matrix("anchors", None, Some(components))?;
        let rows = coordinates.rows();
        let (shape, classes) = self.raw::<4>("anchor_classes", Dtype::U32)?;
        let classes: Vec<u32> = classes.into_iter().map(u32::from_le_bytes).collect();
        let kept = classes.len() / rows.max(1);
        if shape != [rows, kept] || classes.iter().any(|&class| class as usize >= ways) {
            return Err("anchor_classes do not fit the classes".into());
        }
        let probabilities = self.matrix("anchor_probabilities", Some(rows), Some(kept))?.as_slice().to_vec();
        let credibility = self.vector("anchor_credibility", rows)?;
        let (_, floor) = self.raw::<8>("class_floor", Dtype::F64)?;
        if floor.len() != ways {
            return Err(format!("class_floor has {} values", floor.len()));
        }
        let fitted: Vec<f64> = head.as_slice().iter().map(|&value| f64::from(value)).collect();
        Ok(LabelModel {
            projection: Arc::new(Projection {
                rooted: header.rooted,
                mean: self.vector("mean", dim)?,
                directions: PrincipalDirections::from_matrix(&directions),
            }),
            head: SoftmaxHead::from_fitted(Matrix::from_vec(ways, components + 1, fitted)),
            anchors: Anchors::new(coordinates, classes, probabilities, credibility),
            class_means: self.matrix("class_means", Some(ways), Some(components))?,
            class_floor: floor.into_iter().map(f64::from_le_bytes).collect(),
            header,
        })
    }
}
