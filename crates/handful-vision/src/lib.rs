//! Backbones: networks that turn images into features, their training on base classes, and files of their weights.
//!
//! Everything that knows about burn or rten is in this crate. Images come from [`handful_data::datasets`]; what goes out is
//! a table of features.

pub mod backbone;
pub mod device;
mod dual;
pub mod embedding;
pub mod episodes;
pub mod error;
mod files;
mod foreign;
pub mod images;
pub mod layers;
pub mod networks;
mod onnx;
pub mod ops;
pub mod pretrained;
pub mod resize;
pub mod tensors;
pub mod text;
pub mod training;
pub mod views;
pub mod weights;
