//! The objects of a pickle, as nodes that refer to each other by number.
//!
//! Python objects may be shared and may contain themselves. Numbers instead of references make both harmless:
//! sharing costs four bytes, and a cycle is only ever met by code that walks a known depth.

use std::borrow::Cow;

use crate::arrays::{ElementType, RawArray};

/// The number of a node.
pub(crate) type Handle = u32;

/// One object. Everything large is boxed, so that the many small ones stay at 16 bytes.
#[derive(Debug)]
#[expect(
    clippy::box_collection,
    reason = "an unboxed Vec would make every number in a pickle half as large again"
)]
pub(crate) enum Node<'a> {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Box<Cow<'a, str>>),
    Bytes(Box<Cow<'a, [u8]>>),
    List(Box<Vec<Handle>>),
    Tuple(Box<Vec<Handle>>),
    /// Keys and values in the order of the file.
    Dict(Box<Vec<(Handle, Handle)>>),
    /// The name of a permitted constructor.
    Global(Constructor),
    /// A NumPy element type, or `None` for Python objects.
    ElementType(Box<Option<ElementType>>),
    /// An array that was announced but not filled yet.
    EmptyArray,
    Array(Box<RawArray<'a>>),
    /// The bytes behind torch tensors.
    Storage(Box<Storage<'a>>),
}

/// The bytes that one or more tensors are views of.
#[derive(Clone, Debug)]
pub(crate) struct Storage<'a> {
    pub element: ElementType,
    pub bytes: Cow<'a, [u8]>,
}

/// The permitted constructors: all that a pickle may name. None of them runs anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Constructor {
    /// A container type, as the factory of a `defaultdict` or to be called.
    EmptyList,
    EmptyDict,
    OrderedDict,
    DefaultDict,
    ByteArray,
    /// `int`, `float`, `str` and other types that only occur as factories.
    PlainType,
    /// `_codecs.encode`: how protocol 2 spells bytes.
    Encode,
    NdArrayType,
    Dtype,
    NumpyReconstruct,
    NumpyScalar,
    NumpyFromBuffer,
    TorchStorageType(ElementType),
    TorchUntypedStorageType,
    TorchRebuildTensor,
    TorchRebuildParameter,
    TorchLoadFromBytes,
}
