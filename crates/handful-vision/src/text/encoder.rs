//! A sentence encoder: a tokenizer and a transformer, pooled by the mean over the tokens of a text.
//!
//! That is what sentence-transformers does with the same files. A network that gives one vector for a text already is
//! taken at its word; vectors have length 1 in either case.

use std::path::{Path, PathBuf};

use rten::{Model, ModelOptions, NodeId, ValueOrView};
use rten_onnx::onnx::{GraphProto, ModelProto};
use rten_tensor::Tensor;
use rten_tensor::prelude::*;
use tokenizers::{Tokenizer, TruncationParams};

use super::error::TextError;
use crate::error::VisionError;
use crate::files::io_error;
use crate::onnx::outside_weights;
use crate::pretrained::{Pretrained, PretrainedError, find};
use crate::weights::sha256;

/// Tokens of a text that are looked at, unless told: what sentence-transformers sets for its small models.
pub const MAX_TOKENS: usize = 256;
/// Tokens that go through the network together, blanks included.
const TOKENS_TOGETHER: usize = 2048;
/// The most tokens a text may have.
const MOST_TOKENS: usize = 8192;

/// A tokenizer and the network behind it.
#[derive(Debug)]
pub struct TextEncoder {
    tokenizer: Tokenizer,
    model: Model,
    path: PathBuf,
    inputs: Inputs,
    output: NodeId,
    features: usize,
    fingerprint: String,
}

#[derive(Debug)]
struct Inputs {
    ids: NodeId,
    mask: Option<NodeId>,
    kinds: Option<NodeId>,
}

impl TextEncoder {
    /// Reads a network (`.onnx`, with its weights inside or beside it) and its `tokenizer.json`.
    ///
    /// # Errors
    /// Files that cannot be read, a network that takes no tokens, a tokenizer of another network.
    pub fn open(network: &Path, tokenizer: &Path, max_tokens: usize) -> Result<Self, VisionError> {
        if !(1..=MOST_TOKENS).contains(&max_tokens) {
            return Err(VisionError::Setting {
                setting: "the number of tokens",
                value: max_tokens.to_string(),
                requirement: format!("it must be 1 to {MOST_TOKENS}"),
            });
        }
        let broken = |reason: String| VisionError::Weights { path: network.to_owned(), reason };
        let bytes = std::fs::read(network).map_err(io_error(network))?;
        let mut file = ModelProto::parse_buf(&bytes[..])
            .map_err(|error| broken(format!("it is no ONNX file, or a damaged one ({error})")))?;
        let graph = file.graph.as_mut().ok_or_else(|| broken("the ONNX file holds no graph".to_owned()))?;
        let known = known_tokens(graph);
        let mut facts = sha256(&bytes);
        let mut options = ModelOptions::with_all_ops();
        options.prepack_weights(true);
        for (name, bytes) in outside_weights(network, graph)? {
            facts.push_str(&sha256(&bytes));
            options.external_data(&name, bytes);
        }
        let bytes = file.write_buf().map_err(|error| broken(error.to_string()))?;
        let model = options.load(bytes).map_err(|error| broken(error.to_string()))?;
        let ids = model.find_node("input_ids");
        let ids =
            ids.ok_or_else(|| broken("it has no input `input_ids`, so it does not take texts".to_owned()))?;
        let inputs =
            Inputs { ids, mask: model.find_node("attention_mask"), kinds: model.find_node("token_type_ids") };
        let Some(&output) = model.output_ids().first() else {
            return Err(broken("it has no output".to_owned()));
        };
        let (words, digest) = read_tokenizer(tokenizer, max_tokens)?;
        facts.push_str(&format!("{digest} {max_tokens} texts 1"));
        let (path, fingerprint) = (network.to_owned(), sha256(facts.as_bytes()));
        let tokens = words.get_vocab_size(true);
        if let Some(known) = known.filter(|&known| !fits(tokens, known)) {
            let (tokenizer, network) = (tokenizer.to_owned(), path);
            return Err(TextError::Misfit { tokenizer, network, tokens, known }.into());
        }
        let mut encoder = Self { tokenizer: words, model, path, inputs, output, features: 0, fingerprint };
        // The only sure way to learn how many features there are is to compute some.
        encoder.features = encoder.run(&[vec![0]])?.len();
        Ok(encoder)
    }

    /// A sentence encoder of a package registry that is on this machine.
    ///
    /// # Errors
    /// An encoder that is not there, or that cannot be opened.
    pub fn pretrained(network: &'static Pretrained, max_tokens: usize) -> Result<Self, VisionError> {
        let present = find(network).ok_or(PretrainedError::Missing { name: network.name })?;
        let ending = |ending: &str| {
            let file =
                present.files.iter().find(|file| file.extension().is_some_and(|found| found == ending));
            file.ok_or(PretrainedError::Missing { name: network.name })
        };
        Self::open(ending("onnx")?, ending("json")?, max_tokens)
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The file of the network.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A digest of everything that decides what a text becomes.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The features of texts, of length 1, in the order given.
    ///
    /// # Errors
    /// A text that cannot be tokenized, or a network that cannot be computed.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, VisionError> {
        let broken = |reason: String| VisionError::Weights { path: self.path.clone(), reason };
        let encodings = self.tokenizer.encode_batch_fast(texts.to_vec(), true);
        let encodings = encodings.map_err(|error| broken(format!("the tokenizer failed: {error}")))?;
        let tokens: Vec<Vec<i32>> = (encodings.iter())
            .map(|encoding| {
                encoding.get_ids().iter().map(|&id| i32::try_from(id).unwrap_or(i32::MAX)).collect()
            })
            .collect();
        // Texts of like lengths together: blanks cost as much as words.
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&text| (tokens[text].len(), text));
        let mut rows = vec![Vec::new(); texts.len()];
        let mut rest = order.as_slice();
        while let [.., longest] = rest {
            let together = (TOKENS_TOGETHER / tokens[*longest].len().max(1)).clamp(1, rest.len());
            let (before, batch) = rest.split_at(rest.len() - together);
            let wanted: Vec<Vec<i32>> = batch.iter().map(|&text| tokens[text].clone()).collect();
            let features = self.run(&wanted)?;
            for (&text, row) in batch.iter().zip(features.chunks_exact(self.features.max(1))) {
                rows[text] = row.to_vec();
            }
            rest = before;
        }
        Ok(rows)
    }

    /// The features of tokenized texts, row by row.
    fn run(&self, texts: &[Vec<i32>]) -> Result<Vec<f32>, VisionError> {
        let broken = |reason: String| VisionError::Weights { path: self.path.clone(), reason };
        let (count, longest) = (texts.len(), texts.iter().map(Vec::len).max().unwrap_or(0).max(1));
        let padded = |value: fn(i32) -> i32| {
            let mut values = vec![0; count * longest];
            for (row, text) in values.chunks_exact_mut(longest).zip(texts) {
                row.iter_mut().zip(text).for_each(|(cell, &token)| *cell = value(token));
            }
            Tensor::from_data(&[count, longest], values)
        };
        let mut inputs: Vec<(NodeId, ValueOrView<'_>)> =
            vec![(self.inputs.ids, padded(|token| token).into())];
        inputs.extend(self.inputs.mask.map(|id| (id, padded(|_| 1).into())));
        inputs.extend(self.inputs.kinds.map(|id| (id, padded(|_| 0).into())));
        let [value] = self
            .model
            .run_n(inputs, [self.output], None)
            .map_err(|error| broken(format!("it cannot be computed on these texts: {error}")))?;
        let values: Tensor<f32> =
            value.try_into().map_err(|_| broken("it gives no 32-bit floating-point numbers".to_owned()))?;
        let (shape, values) = (values.shape().to_vec(), values.into_data());
        match *shape.as_slice() {
            [rows, features] if rows == count => {
                Ok(values.chunks_exact(features.max(1)).flat_map(unit).collect())
            }
            [rows, tokens, features] if rows == count && tokens == longest => {
                let of_texts = values.chunks_exact((tokens * features).max(1)).zip(texts);
                Ok(of_texts.flat_map(|(values, text)| unit(&mean(values, text.len(), features))).collect())
            }
            _ => Err(broken(format!(
                "it gives {shape:?} numbers for {count} texts of {longest} tokens, neither a vector for each text nor one \
                 for each token"
            ))),
        }
    }
}

/// The mean of the first `tokens` rows.
fn mean(values: &[f32], tokens: usize, features: usize) -> Vec<f32> {
    let mut sum = vec![0.0; features];
    for row in values.chunks_exact(features.max(1)).take(tokens) {
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    sum
}

/// The same direction with length 1; the mean need not be divided for that.
fn unit(values: &[f32]) -> Vec<f32> {
    let length = values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
    values.iter().map(|value| (f64::from(*value) * scale) as f32).collect()
}

/// The tokenizer with our length, and without the blanks that its file may ask for: those are ours to add.
fn read_tokenizer(path: &Path, max_tokens: usize) -> Result<(Tokenizer, String), VisionError> {
    let broken = |reason: String| TextError::Tokenizer { path: path.to_owned(), reason };
    let bytes = std::fs::read(path).map_err(io_error(path))?;
    let mut tokenizer = Tokenizer::from_bytes(&bytes).map_err(|error| broken(error.to_string()))?;
    tokenizer.with_padding(None);
    let truncation = TruncationParams { max_length: max_tokens, ..TruncationParams::default() };
    tokenizer.with_truncation(Some(truncation)).map_err(|error| broken(error.to_string()))?;
    Ok((tokenizer, sha256(&bytes)))
}

/// How many tokens the network has vectors for: the rows of the table that its input looks up.
fn known_tokens(graph: &GraphProto) -> Option<usize> {
    let reads = |node: &&rten_onnx::onnx::NodeProto| {
        node.op_type.as_deref() == Some("Gather")
            && node.input.get(1).is_some_and(|input| input == "input_ids")
    };
    let table = graph.node.iter().find(reads)?.input.first()?;
    let tensor = graph.initializer.iter().find(|tensor| tensor.name.as_ref() == Some(table))?;
    usize::try_from(*tensor.dims.first()?).ok()
}

/// Networks may have room for a few more tokens than there are, so that the number is a round one; never for fewer.
fn fits(tokens: usize, known: usize) -> bool {
    tokens <= known && known - tokens <= known / 10
}
