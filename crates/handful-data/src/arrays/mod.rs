//! Arrays as foreign files hold them: bytes, an element type, a shape and an order.
//!
//! NumPy files, pickles, safetensors and torch archives differ in how they describe an array, not in what it is.
//! Each reader produces a [`RawArray`], and the conversions to features, labels and names are written once.

mod element;
mod raw;

pub(crate) use element::{ElementKind, ElementType, decode};
pub(crate) use raw::{Order, RawArray};
