//! The pickle machine: a stack, a memo, and the instructions of protocols 0 to 5.
//!
//! It builds nodes and does nothing else. Lengths are compared with what is left of the file before anything is
//! read, bytes stay in the file where they can, and a budget in proportion to the file's size bounds the rest, so
//! that neither a bomb nor a loop in the memo can grow.

use std::{borrow::Cow, collections::HashMap, path::Path};

use super::{
    construct, globals,
    node::{Handle, Node, Storage},
    scan::Scanner,
};
use crate::{arrays::ElementType, error::DataError};

/// Memory granted whatever the size of the file.
const FREE_BYTES: u64 = 8 << 20;
/// Memory granted for each byte of the file.
const BYTES_PER_BYTE: u64 = 4;

/// Gives the bytes of storages that a pickle refers to but does not contain.
pub(crate) trait StorageSource<'a> {
    /// The bytes of the storage of that key; `None` when they are not known yet and tensors stay empty.
    fn storage(&mut self, key: &str, element: ElementType) -> Result<Option<Cow<'a, [u8]>>, DataError>;
}

/// The machine.
pub(crate) struct Machine<'a, 's> {
    pub(super) path: &'s Path,
    scanner: Scanner<'a, 's>,
    pub(super) nodes: Vec<Node<'a>>,
    stack: Vec<Handle>,
    marks: Vec<usize>,
    memo: HashMap<u32, Handle>,
    budget: u64,
    budget_limit: u64,
    pub(super) storages: Option<&'s mut (dyn StorageSource<'a> + 's)>,
    pub(super) nesting: usize,
}

impl<'a, 's> Machine<'a, 's> {
    pub(crate) fn new(
        path: &'s Path,
        bytes: &'a [u8],
        storages: Option<&'s mut (dyn StorageSource<'a> + 's)>,
        nesting: usize,
    ) -> Self {
        let budget_limit = FREE_BYTES + BYTES_PER_BYTE * bytes.len() as u64;
        Self {
            path,
            scanner: Scanner::new(path, bytes),
            nodes: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            budget: budget_limit,
            budget_limit,
            storages,
            nesting,
        }
    }

    /// Runs to the end of one pickle; the result, and how many bytes it took.
    pub(crate) fn run(&mut self) -> Result<(Handle, usize), DataError> {
        loop {
            let opcode = self.scanner.byte()?;
            if opcode == b'.' {
                return Ok((self.pop()?, self.scanner.position()));
            }
            self.step(opcode)?;
        }
    }

    fn step(&mut self, opcode: u8) -> Result<(), DataError> {
        match opcode {
            // Framing and protocol numbers carry no data.
            0x80 => self.scanner.skip(1)?,
            0x95 => self.scanner.skip(8)?,

            // The stack.
            b'(' => self.marks.push(self.stack.len()),
            b'0' => {
                // Popping a mark is how protocol 0 discards one.
                if self.marks.last() == Some(&self.stack.len()) {
                    self.marks.pop();
                } else {
                    self.pop()?;
                }
            }
            b'1' => drop(self.pop_to_mark()?),
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
            }

            // The memo.
            b'p' | b'q' | b'r' | 0x94 => {
                let key = match opcode {
                    b'p' => self.scanner.decimal()?,
                    b'q' => u32::from(self.scanner.byte()?),
                    b'r' => self.scanner.u32()?,
                    _ => self.memo.len() as u32,
                };
                self.charge(16)?;
                let top = self.top()?;
                self.memo.insert(key, top);
            }
            b'g' | b'h' | b'j' => {
                let key = match opcode {
                    b'g' => self.scanner.decimal()?,
                    b'h' => u32::from(self.scanner.byte()?),
                    _ => self.scanner.u32()?,
                };
                let handle = *self
                    .memo
                    .get(&key)
                    .ok_or_else(|| self.wrong("it reads a memo entry that was never written"))?;
                self.stack.push(handle);
            }

            // Plain values.
            b'N' => self.push(Node::None)?,
            0x88 => self.push(Node::Bool(true))?,
            0x89 => self.push(Node::Bool(false))?,
            b'I' | b'L' | b'F' | b'J' | b'K' | b'M' | b'G' | 0x8a | 0x8b => {
                let node = self.scanner.number(opcode)?;
                self.push(node)?;
            }
            b'S' | b'V' | b'X' | 0x8c | 0x8d => {
                let node = self.scanner.text(opcode)?;
                self.push(node)?;
            }
            b'T' | b'U' | b'B' | b'C' | 0x8e | 0x96 => {
                let bytes = self.scanner.bytes(opcode)?;
                self.push(Node::Bytes(Box::new(Cow::Borrowed(bytes))))?;
            }
            // A buffer in the stream is read-only data already.
            0x98 => {}

            // Containers.
            b']' | 0x8f => self.push(Node::List(Box::default()))?,
            b'}' => self.push(Node::Dict(Box::default()))?,
            b')' => self.push(Node::Tuple(Box::default()))?,
            b'l' | 0x91 => {
                let items = self.pop_to_mark()?;
                self.push(Node::List(Box::new(items)))?;
            }
            b't' => {
                let items = self.pop_to_mark()?;
                self.push(Node::Tuple(Box::new(items)))?;
            }
            0x85..=0x87 => {
                let length = usize::from(opcode - 0x84);
                let items = self.pop_many(length)?;
                self.push(Node::Tuple(Box::new(items)))?;
            }
            b'd' => {
                let items = self.pop_to_mark()?;
                self.push(Node::Dict(Box::default()))?;
                self.set_items(&items)?;
            }
            b'a' => {
                let item = self.pop()?;
                self.append(&[item])?;
            }
            b'e' | 0x90 => {
                let items = self.pop_to_mark()?;
                self.append(&items)?;
            }
            b's' => {
                let items = self.pop_many(2)?;
                self.set_items(&items)?;
            }
            b'u' => {
                let items = self.pop_to_mark()?;
                self.set_items(&items)?;
            }

            // Constructors.
            b'c' | b'i' => {
                let module = self.scanner.line()?.to_owned();
                let name = self.scanner.line()?.to_owned();
                self.global(&module, &name)?;
                if opcode == b'i' {
                    return Err(self.wrong("it builds an instance the way Python 1 did, which no data needs"));
                }
            }
            0x93 => {
                let names = self.pop_many(2)?;
                let (module, name) = (self.text_of(names[0])?, self.text_of(names[1])?);
                self.global(&module, &name)?;
            }
            b'R' | 0x81 => {
                let parts = self.pop_many(2)?;
                let node = construct::call(self, parts[0], parts[1])?;
                self.push(node)?;
            }
            b'b' => {
                let state = self.pop()?;
                let target = self.top()?;
                construct::fill(self, target, state)?;
            }
            b'P' | b'Q' => {
                let handle = match opcode {
                    b'P' => return Err(self.wrong("it refers to data outside the file by a line of text")),
                    _ => self.pop()?,
                };
                let storage = construct::persistent(self, handle)?;
                self.push(storage)?;
            }
            0x82..=0x84 => return Err(self.refused("an entry of Python's extension registry")),
            0x92 => return Err(self.refused("an object with keyword arguments")),
            b'o' => return Err(self.refused("an instance of a class")),
            0x97 => {
                return Err(self.wrong("its arrays are in separate buffers, which the file does not hold"));
            }
            other => return Err(self.wrong(&format!("byte {other:#04x} is not an instruction"))),
        }
        Ok(())
    }

    /// Puts a new node on the stack, at the expense of the budget.
    pub(super) fn push(&mut self, node: Node<'a>) -> Result<(), DataError> {
        let boxed = match &node {
            Node::None
            | Node::Bool(_)
            | Node::Int(_)
            | Node::Float(_)
            | Node::Global(_)
            | Node::EmptyArray => 0,
            Node::Array(_) | Node::Storage(_) => 128,
            Node::Text(text) => 32 + if matches!(**text, Cow::Owned(_)) { text.len() } else { 0 },
            _ => 32,
        };
        self.charge(24 + boxed as u64)?;
        let handle =
            Handle::try_from(self.nodes.len()).map_err(|_| self.wrong("it holds too many objects"))?;
        self.nodes.push(node);
        self.stack.push(handle);
        Ok(())
    }

    /// Takes memory from the budget.
    pub(super) fn charge(&mut self, bytes: u64) -> Result<(), DataError> {
        match self.budget.checked_sub(bytes) {
            Some(left) => self.budget = left,
            None => {
                return Err(DataError::Limit {
                    path: self.path.to_owned(),
                    what: "the memory that its objects take".to_owned(),
                    limit: self.budget_limit,
                });
            }
        }
        Ok(())
    }

    fn global(&mut self, module: &str, name: &str) -> Result<(), DataError> {
        match globals::permitted(module, name) {
            Some(constructor) => self.push(Node::Global(constructor)),
            None => Err(self.refused(&format!("{module}.{name}"))),
        }
    }

    fn text_of(&self, handle: Handle) -> Result<String, DataError> {
        match &self.nodes[handle as usize] {
            Node::Text(text) => Ok(text.to_string()),
            _ => Err(self.wrong("it names a constructor by something that is not text")),
        }
    }

    fn append(&mut self, items: &[Handle]) -> Result<(), DataError> {
        let target = self.top()?;
        match &mut self.nodes[target as usize] {
            Node::List(list) => list.extend_from_slice(items),
            _ => return Err(self.wrong("it appends to something that is not a list")),
        }
        Ok(())
    }

    fn set_items(&mut self, items: &[Handle]) -> Result<(), DataError> {
        let target = self.top()?;
        match &mut self.nodes[target as usize] {
            Node::Dict(dict) => {
                dict.extend(items.as_chunks::<2>().0.iter().map(|&[key, value]| (key, value)))
            }
            _ => return Err(self.wrong("it sets a key of something that is not a dictionary")),
        }
        Ok(())
    }

    fn top(&self) -> Result<Handle, DataError> {
        self.stack.last().copied().ok_or_else(|| self.wrong("its stack is empty"))
    }

    fn pop(&mut self) -> Result<Handle, DataError> {
        self.stack.pop().ok_or_else(|| self.wrong("its stack is empty"))
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<Handle>, DataError> {
        let start = self.stack.len().checked_sub(count).ok_or_else(|| self.wrong("its stack is empty"))?;
        Ok(self.stack.split_off(start))
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Handle>, DataError> {
        let mark = self.marks.pop().ok_or_else(|| self.wrong("it lacks a mark"))?;
        if mark > self.stack.len() {
            return Err(self.wrong("its marks and values are tangled"));
        }
        Ok(self.stack.split_off(mark))
    }

    pub(super) fn wrong(&self, reason: &str) -> DataError {
        self.scanner.wrong(reason)
    }

    pub(super) fn refused(&self, name: &str) -> DataError {
        DataError::RefusedGlobal { path: self.path.to_owned(), name: name.to_owned() }
    }

    pub(super) fn storage_of(&self, handle: Handle) -> Option<&Storage<'a>> {
        match &self.nodes[handle as usize] {
            Node::Storage(storage) => Some(storage),
            _ => None,
        }
    }
}
