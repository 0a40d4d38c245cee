//! HDF5, as far as CloserLook and S2M2 use it: one group, plain datasets.
//!
//! Their `save_features` writes `all_feats` `[n, d]`, `all_labels` `[n]` and `count`, the number of rows that are
//! filled; the rest is padding to a whole number of batches. That takes a small part of the format (the first
//! version of everything, contiguous storage), which is read here; chunked or compressed files are refused with the
//! way out.

use std::{collections::BTreeMap, path::Path};

use super::{
    npz::labels_of_array,
    raw_table::{KnownNames, RawTable},
};
use crate::{
    arrays::{ElementKind, ElementType, Order, RawArray},
    error::DataError,
};

const FORMAT: &str = "HDF5";
const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";
/// Groups of more members hold something other than features.
const MOST_MEMBERS: usize = 1000;

type Trouble = &'static str;
const CUT: Trouble = "it ends too early";

/// Reads a table from the bytes of a file.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<RawTable, DataError> {
    let malformed = |reason: Trouble| DataError::malformed(path, FORMAT, reason);
    let file = File { bytes };
    let members = file.members().map_err(malformed)?;
    let names = KnownNames::find(path, &members.keys().cloned().collect::<Vec<_>>())?;
    let array = |name: &str| file.dataset(members.get(name).copied().unwrap_or_default()).map_err(malformed);
    let features = array(&names.features)?;
    let filled = match members.contains_key("count") {
        true => array("count")?.integer_at(0).and_then(|count| usize::try_from(count).ok()),
        false => None,
    };
    let mut table = RawTable::new(FORMAT, features.first_rows(filled).to_features(path, &names.features)?);
    if let Some(name) = &names.labels {
        table.labels = labels_of_array(path, name, &array(name)?.first_rows(filled))?;
    }
    Ok(table)
}

/// The bytes of a file, with numbers read at absolute addresses.
struct File<'a> {
    bytes: &'a [u8],
}

impl<'a> File<'a> {
    fn at(&self, address: u64, length: usize) -> Result<&'a [u8], Trouble> {
        let address = usize::try_from(address).map_err(|_| CUT)?;
        self.bytes.get(address..).and_then(|rest| rest.get(..length)).ok_or(CUT)
    }

    fn number(&self, address: u64, width: usize) -> Result<u64, Trouble> {
        Ok(self.at(address, width)?.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    /// The names of the root group with the addresses of their headers.
    fn members(&self) -> Result<BTreeMap<String, u64>, Trouble> {
        if self.at(0, 8)? != SIGNATURE {
            return Err("it does not begin with \\x89HDF");
        }
        if self.number(8, 1)? > 1 || self.number(13, 2)? != 0x0808 {
            return Err("it is of a newer version than is read here; write it with h5py's default settings");
        }
        // Version 1 of the superblock has four bytes more before its addresses.
        let shift = if self.number(8, 1)? == 1 { 4 } else { 0 };
        if self.number(72 + shift, 4)? != 1 {
            return Err("its root group is not a plain one");
        }
        let (tree, heap) = (self.number(80 + shift, 8)?, self.number(88 + shift, 8)?);
        if self.at(heap, 4)? != b"HEAP" {
            return Err("its names are missing");
        }
        let names = self.number(heap.checked_add(24).ok_or(CUT)?, 8)?;
        let mut members = BTreeMap::new();
        let mut nodes = vec![tree];
        let mut visited = 0;
        while let Some(node) = nodes.pop() {
            visited += 1;
            if visited > MOST_MEMBERS || members.len() > MOST_MEMBERS {
                return Err("its root group goes on for ever");
            }
            match self.at(node, 4)? {
                b"TREE" => {
                    let count = self.number(node + 6, 2)?;
                    for child in 0..count {
                        nodes.push(self.number(node.checked_add(32 + 16 * child).ok_or(CUT)?, 8)?);
                    }
                }
                b"SNOD" => {
                    for entry in 0..self.number(node + 6, 2)? {
                        let entry = node.checked_add(8 + 40 * entry).ok_or(CUT)?;
                        let name = names.checked_add(self.number(entry, 8)?).ok_or(CUT)?;
                        members.insert(self.name(name)?, self.number(entry + 8, 8)?);
                    }
                }
                _ => return Err("its root group is broken"),
            }
        }
        Ok(members)
    }

    fn name(&self, address: u64) -> Result<String, Trouble> {
        let rest = usize::try_from(address).ok().and_then(|address| self.bytes.get(address..)).ok_or(CUT)?;
        let rest = &rest[..rest.len().min(256)];
        let length = rest.iter().position(|&byte| byte == 0).ok_or("a name goes on for ever")?;
        Ok(String::from_utf8_lossy(&rest[..length]).into_owned())
    }

    /// The array of a dataset's header.
    fn dataset(&self, header: u64) -> Result<RawArray<'a>, Trouble> {
        if self.number(header, 1)? != 1 {
            return Err("a dataset has a header of a newer version than is read here");
        }
        let (mut shape, mut element, mut data) = (None, None, None);
        // The messages of a header may go on in other blocks.
        let mut blocks = vec![(header.checked_add(16).ok_or(CUT)?, self.number(header + 8, 4)?)];
        let mut left = self.number(header + 2, 2)?;
        while let Some((mut at, length)) = blocks.pop() {
            let end = at.checked_add(length).ok_or(CUT)?;
            while left > 0 && at.checked_add(8).ok_or(CUT)? <= end {
                let (kind, size) = (self.number(at, 2)?, self.number(at + 2, 2)?);
                let body = at + 8;
                self.at(body, size as usize)?;
                match kind {
                    0x01 => shape = Some(self.shape(body)?),
                    0x03 => element = Some(self.element(body)?),
                    0x08 => data = Some(self.layout(body)?),
                    0x0b => {
                        return Err(
                            "it is compressed; convert it with Python, or write it without compression",
                        );
                    }
                    0x10 => blocks.push((self.number(body, 8)?, self.number(body + 8, 8)?)),
                    _ => {}
                }
                at = body + size;
                left -= 1;
            }
        }
        let (shape, element, data) = (
            shape.ok_or("a dataset has no shape")?,
            element.ok_or("a dataset has no type")?,
            data.ok_or("a dataset has no data")?,
        );
        RawArray::new(element, shape, Order::RowMajor, data.into())
            .map_err(|_| "a dataset's data does not fit its shape")
    }

    fn shape(&self, body: u64) -> Result<Vec<usize>, Trouble> {
        let start = match self.number(body, 1)? {
            1 => body + 8,
            2 => body + 4,
            _ => return Err("a shape is of an unknown version"),
        };
        let rank = self.number(body + 1, 1)?.min(32);
        (0..rank).map(|axis| usize::try_from(self.number(start + 8 * axis, 8)?).map_err(|_| CUT)).collect()
    }

    fn element(&self, body: u64) -> Result<ElementType, Trouble> {
        let (class, flags, size) =
            (self.number(body, 1)? & 0x0f, self.number(body + 1, 1)?, self.number(body + 4, 4)? as usize);
        let kind = match (class, size) {
            (0, 1 | 2 | 4 | 8) if flags & 8 != 0 => ElementKind::Signed,
            (0, 1 | 2 | 4 | 8) => ElementKind::Unsigned,
            (1, 2 | 4 | 8) => ElementKind::Float,
            _ => return Err("a dataset holds something other than numbers"),
        };
        Ok(ElementType { kind, size, big_endian: flags & 1 != 0 })
    }

    fn layout(&self, body: u64) -> Result<&'a [u8], Trouble> {
        match (self.number(body, 1)?, self.number(body + 1, 1)?) {
            (3, 0) => self.at(body + 4, self.number(body + 2, 2)? as usize),
            (3, 1) => {
                let length = usize::try_from(self.number(body + 10, 8)?).map_err(|_| CUT)?;
                self.at(self.number(body + 2, 8)?, length)
            }
            (3, 2) => Err("it is chunked; convert it with Python, or write it without chunks"),
            _ => Err("its data is laid out in a way that is not read here"),
        }
    }
}
