//! Looking at the objects of a pickle that was read.

use super::{
    Pickle,
    node::{Handle, Node},
};
use crate::arrays::RawArray;

/// One object of a pickle.
#[derive(Clone, Copy)]
pub(crate) struct Value<'p, 'a> {
    pickle: &'p Pickle<'a>,
    handle: Handle,
}

impl<'p, 'a> Value<'p, 'a> {
    pub(super) fn new(pickle: &'p Pickle<'a>, handle: Handle) -> Self {
        Self { pickle, handle }
    }

    fn node(&self) -> &'p Node<'a> {
        &self.pickle.nodes[self.handle as usize]
    }

    fn other(&self, handle: Handle) -> Self {
        Self { pickle: self.pickle, handle }
    }

    /// What kind of object it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.node() {
            Node::None => "nothing",
            Node::Bool(_) => "a truth value",
            Node::Int(_) => "a whole number",
            Node::Float(_) => "a number",
            Node::Text(_) => "text",
            Node::Bytes(_) => "bytes",
            Node::List(_) => "a list",
            Node::Tuple(_) => "a tuple",
            Node::Dict(_) => "a dictionary",
            Node::Array(_) => "an array",
            Node::Global(_) | Node::ElementType(_) => "a type",
            Node::EmptyArray | Node::Storage(_) => "an array without a shape",
        }
    }

    pub(crate) fn array(&self) -> Option<&'p RawArray<'a>> {
        match self.node() {
            Node::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The items of a list or tuple.
    pub(crate) fn items(&self) -> Option<impl ExactSizeIterator<Item = Self> + use<'p, 'a>> {
        let value = *self;
        match self.node() {
            Node::List(items) | Node::Tuple(items) => Some(items.iter().map(move |&item| value.other(item))),
            _ => None,
        }
    }

    /// Keys and values of a dictionary, in the order of the file.
    pub(crate) fn entries(&self) -> Option<impl ExactSizeIterator<Item = (Self, Self)> + use<'p, 'a>> {
        let value = *self;
        match self.node() {
            Node::Dict(entries) => {
                Some(entries.iter().map(move |&(key, entry)| (value.other(key), value.other(entry))))
            }
            _ => None,
        }
    }

    /// The value of a text key; the last one where a dictionary was given the key twice.
    pub(crate) fn get(&self, wanted: &str) -> Option<Self> {
        self.entries()?.filter(|(key, _)| key.text() == Some(wanted)).last().map(|(_, value)| value)
    }

    /// Text, or Python 2 bytes that are text.
    pub(crate) fn text(&self) -> Option<&'p str> {
        match self.node() {
            Node::Text(text) => Some(text),
            Node::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub(crate) fn bytes(&self) -> Option<&'p [u8]> {
        match self.node() {
            Node::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A whole number, also as an array of one.
    pub(crate) fn integer(&self) -> Option<i64> {
        match self.node() {
            Node::Int(value) => Some(*value),
            Node::Bool(value) => Some(i64::from(*value)),
            Node::Array(array) if array.len() == 1 => array.integer_at(0),
            _ => None,
        }
    }

    /// A number.
    pub(crate) fn number(&self) -> Option<f64> {
        match self.node() {
            Node::Float(value) => Some(*value),
            Node::Int(value) => Some(*value as f64),
            _ => None,
        }
    }
}
