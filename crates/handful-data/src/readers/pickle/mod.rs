//! Pickles, read as data.
//!
//! Feature files of research code are pickles more often than anything else, and a pickle is a program for a small
//! machine that can import and call any Python function. This reader runs that machine with the importing taken
//! out: a short list of constructors (numbers, text, containers, NumPy arrays, torch tensors) is recognised by name
//! and acted out on plain data, and every other name ends the reading.

mod construct;
mod globals;
mod machine;
mod node;
mod scan;
mod tensor;
mod value;

use std::path::Path;

use machine::Machine;
pub(crate) use machine::StorageSource;
pub(crate) use node::Storage;
use node::{Handle, Node};
pub(crate) use value::Value;

use crate::error::DataError;

/// A pickle that was read: its nodes, and which of them is the result.
pub(crate) struct Pickle<'a> {
    nodes: Vec<Node<'a>>,
    root: Handle,
    /// Bytes that the pickle took.
    pub length: usize,
}

impl<'a> Pickle<'a> {
    /// Reads the pickle at the beginning of `bytes`.
    pub(crate) fn read(path: &Path, bytes: &'a [u8]) -> Result<Self, DataError> {
        Self::read_with(path, bytes, None, 0)
    }

    /// Reads a pickle whose tensors are stored elsewhere, `nesting` files deep.
    pub(crate) fn read_with<'s>(
        path: &'s Path,
        bytes: &'a [u8],
        storages: Option<&'s mut (dyn StorageSource<'a> + 's)>,
        nesting: usize,
    ) -> Result<Self, DataError> {
        let mut machine = Machine::new(path, bytes, storages, nesting);
        let (root, length) = machine.run()?;
        Ok(Self { nodes: machine.nodes, root, length })
    }

    /// The result.
    pub(crate) fn root(&self) -> Value<'_, 'a> {
        Value::new(self, self.root)
    }

    /// The storage that the result is, for files that hold nothing else.
    pub(crate) fn into_storage(mut self) -> Option<Storage<'a>> {
        match std::mem::replace(&mut self.nodes[self.root as usize], Node::None) {
            Node::Storage(storage) => Some(*storage),
            _ => None,
        }
    }
}
