//! Networks of other programs as ONNX files, computed by rten.
//!
//! An ONNX file holds the whole computation, so nothing has to be known about the architecture: the images go in as
//! the file says (size and order of channels), and the features are what one layer gives, by default the last pooled
//! one. The graph is cut behind that layer before it is loaded.

mod guard;
mod layer;

use std::collections::BTreeMap;
use std::path::{Component, Path};

use rten::{Dimension, Model, ModelOptions, NodeId};
use rten_onnx::onnx::{GraphProto, ModelProto};
use rten_tensor::Tensor;
use rten_tensor::prelude::*;

use crate::error::VisionError;
use crate::files::io_error;

/// The side of images where neither the file nor the user says one.
const USUAL_SIZE: usize = 224;
/// The largest side of images: beyond it one image would take gigabytes inside the network.
pub(crate) const LARGEST_SIZE: usize = 1024;
/// The most images a file may ask for at once.
const MOST_TOGETHER: usize = 1024;

/// Where the three channels stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channels {
    /// `[images, 3, rows, columns]`, as PyTorch has it.
    First,
    /// `[images, rows, columns, 3]`, as TensorFlow has it.
    Last,
}

/// A graph that ends with its features.
#[derive(Debug)]
pub struct OnnxNetwork {
    model: Model,
    input: NodeId,
    output: NodeId,
    channels: Channels,
    /// How many images go in together, where the file fixes it.
    together: Option<usize>,
    size: usize,
    features: usize,
    layer: String,
}

impl OnnxNetwork {
    /// Reads a file. `layer` is the value to take, or the node whose value to take; `size` is the side of the images,
    /// where the file leaves it open.
    pub fn open(
        path: &Path,
        bytes: &[u8],
        layer: Option<&str>,
        size: Option<usize>,
    ) -> Result<Self, VisionError> {
        let broken = |reason: String| VisionError::Weights { path: path.to_owned(), reason };
        guard::check(bytes)
            .map_err(|reason| broken(format!("it is no ONNX file, or a damaged one ({reason})")))?;
        let mut file = ModelProto::parse_buf(bytes)
            .map_err(|error| broken(format!("it is no ONNX file, or a damaged one ({error})")))?;
        let graph = file.graph.as_mut().ok_or_else(|| broken("the ONNX file holds no graph".to_owned()))?;
        let layer = layer::choose(graph, layer).map_err(broken)?;
        layer::cut_behind(graph, &layer);
        let mut options = ModelOptions::with_all_ops();
        options.prepack_weights(true);
        for (name, bytes) in outside_weights(path, graph)? {
            options.external_data(&name, bytes);
        }
        let bytes = file.write_buf().map_err(|error| broken(error.to_string()))?;
        let model = options.load(bytes).map_err(|error| broken(error.to_string()))?;
        let [input] = *model.input_ids() else {
            return Err(broken(format!(
                "the layer `{layer}` needs {} inputs, not one image",
                model.input_ids().len()
            )));
        };
        let output = model.node_id(&layer).map_err(|error| broken(error.to_string()))?;
        let images = image_shape(&model, size).map_err(broken)?;
        let mut network = Self {
            model,
            input,
            output,
            channels: images.channels,
            together: images.together,
            size: images.size,
            features: 0,
            layer,
        };
        // The only sure way to learn how many features there are is to compute some.
        let blank = vec![0.0; 3 * network.size * network.size];
        network.features = network.embed(path, &[&blank])?.len();
        Ok(network)
    }

    /// The layer the features are taken from.
    pub fn layer(&self) -> &str {
        &self.layer
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Side of the images.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The features of prepared images, row by row; `path` is for error messages.
    pub fn embed(&self, path: &Path, images: &[&[f32]]) -> Result<Vec<f32>, VisionError> {
        let mut features = Vec::with_capacity(images.len() * self.features);
        for images in images.chunks(self.together.unwrap_or(images.len()).max(1)) {
            let given = self.together.unwrap_or(images.len());
            let values = self
                .run(images, given)
                .map_err(|reason| VisionError::Weights { path: path.to_owned(), reason })?;
            // A fixed number of images is filled up with blanks, whose features nobody wants.
            features.extend_from_slice(&values[..values.len() / given * images.len()]);
        }
        Ok(features)
    }

    /// The features of `given` images: those there are, then blank ones.
    fn run(&self, images: &[&[f32]], given: usize) -> Result<Vec<f32>, String> {
        let (plane, side) = (self.size * self.size, self.size);
        let mut pixels = vec![0.0; given * 3 * plane];
        for (target, image) in pixels.chunks_exact_mut(3 * plane).zip(images) {
            match self.channels {
                Channels::First => target.copy_from_slice(image),
                Channels::Last => {
                    for (place, pixel) in target.chunks_exact_mut(3).enumerate() {
                        for (channel, value) in pixel.iter_mut().enumerate() {
                            *value = image[channel * plane + place];
                        }
                    }
                }
            }
        }
        let shape = match self.channels {
            Channels::First => [given, 3, side, side],
            Channels::Last => [given, side, side, 3],
        };
        let pixels = Tensor::from_data(&shape, pixels);
        let [value] = self
            .model
            .run_n(vec![(self.input, pixels.into())], [self.output], None)
            .map_err(|error| format!("it cannot be computed on {side} x {side} images: {error}"))?;
        let values: Tensor<f32> = value
            .try_into()
            .map_err(|_| format!("the layer `{}` gives no 32-bit floating-point numbers", self.layer))?;
        if values.shape().first() != Some(&given) || values.len() < given {
            return Err(format!(
                "the layer `{}` gives {:?} numbers for {given} images, not one row each",
                self.layer,
                values.shape()
            ));
        }
        // A map or a list of tokens can be made into a row of numbers, but hardly into features of the whole image.
        let lengths: Vec<String> =
            values.shape()[1..].iter().filter(|&&length| length > 1).map(usize::to_string).collect();
        if lengths.len() > 1 {
            return Err(format!(
                "the layer `{}` gives {} numbers for an image, not a vector; name a layer behind the pooling with --layer",
                self.layer,
                lengths.join(" x ")
            ));
        }
        Ok(values.into_data())
    }
}

struct ImageShape {
    channels: Channels,
    together: Option<usize>,
    size: usize,
}

/// What the graph's input says about images.
fn image_shape(model: &Model, asked: Option<usize>) -> Result<ImageShape, String> {
    let fixed: Vec<Option<usize>> = match model.input_shape(0) {
        None => vec![None; 4],
        Some(shape) => shape
            .iter()
            .map(|dimension| match dimension {
                Dimension::Fixed(count) => Some(*count),
                Dimension::Symbolic(_) => None,
            })
            .collect(),
    };
    let [together, second, third, fourth] = *fixed.as_slice() else {
        return Err(format!("its input has {} dimensions, but images need four", fixed.len()));
    };
    let (channels, rows, columns) = match (second, fourth) {
        (Some(3), _) => (Channels::First, third, fourth),
        (_, Some(3)) => (Channels::Last, second, third),
        (None, _) => (Channels::First, third, fourth),
        (Some(count), _) => {
            return Err(format!("its images have {count} channels, but only those of three can be given"));
        }
    };
    let side = match (rows, columns) {
        (Some(rows), Some(columns)) if rows != columns => {
            return Err(format!("its images are {rows} x {columns}, but only square ones can be given"));
        }
        (rows, columns) => rows.or(columns),
    };
    if let (Some(side), Some(asked)) = (side, asked)
        && side != asked
    {
        return Err(format!("its images are {side} x {side}, which --size {asked} cannot change"));
    }
    let size = side.or(asked).unwrap_or(USUAL_SIZE);
    if !(1..=LARGEST_SIZE).contains(&size) {
        return Err(format!("its images are {size} x {size}, but the side must be 1 to {LARGEST_SIZE}"));
    }
    match together {
        Some(count) if !(1..=MOST_TOGETHER).contains(&count) => {
            Err(format!("it takes {count} images at once, but 1 to {MOST_TOGETHER} can be given"))
        }
        _ => Ok(ImageShape { channels, together, size }),
    }
}

/// Weights in files beside the model's, under names that rten takes: it knows only some endings, while ONNX leaves the
/// name to the writer. A name that leads out of the model's folder is refused.
pub(crate) fn outside_weights(
    path: &Path,
    graph: &mut GraphProto,
) -> Result<Vec<(String, Vec<u8>)>, VisionError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut renamed: BTreeMap<String, String> = BTreeMap::new();
    let mut files = Vec::new();
    let entries = graph.initializer.iter_mut().flat_map(|tensor| &mut tensor.external_data);
    for entry in entries.filter(|entry| entry.key.as_deref() == Some("location")) {
        let Some(name) = &entry.value else { continue };
        if let Some(known) = renamed.get(name.as_str()) {
            entry.value = Some(known.clone());
            continue;
        }
        if Path::new(name).components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
        {
            return Err(VisionError::Weights {
                path: path.to_owned(),
                reason: format!("it asks for weights outside its own folder, in {name}"),
            });
        }
        let file = folder.join(name);
        let plain = format!("{}.data", files.len());
        files.push((plain.clone(), std::fs::read(&file).map_err(io_error(&file))?));
        renamed.insert(name.clone(), plain.clone());
        entry.value = Some(plain);
    }
    Ok(files)
}
