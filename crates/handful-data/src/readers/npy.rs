//! The NumPy array file: magic, version, a Python dictionary as header, then the bytes.
//!
//! The header is parsed here rather than by a library so that nothing is allocated on the word of a length field:
//! the shape is compared with the bytes that are really there before anything is read from them.

use std::{borrow::Cow, path::Path};

use crate::{
    arrays::{ElementType, Order, RawArray},
    error::DataError,
};

const FORMAT: &str = "npy";
const MAGIC: &[u8] = b"\x93NUMPY";

/// What the header of an array file says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NpyHeader {
    pub element: ElementType,
    pub order: Order,
    pub shape: Vec<usize>,
    /// Where the first element begins in the file.
    pub data_start: usize,
}

/// Parses the header at the beginning of `bytes`.
pub(crate) fn parse_header(path: &Path, bytes: &[u8]) -> Result<NpyHeader, DataError> {
    let malformed = |reason: &str| DataError::malformed(path, FORMAT, reason);
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| malformed("it does not begin with \\x93NUMPY"))?;
    let (length_bytes, length) = match *rest {
        [1, _, a, b, ..] => (2, usize::from(u16::from_le_bytes([a, b]))),
        [2 | 3, _, a, b, c, d, ..] => (4, u32::from_le_bytes([a, b, c, d]) as usize),
        [major, _, ..] if !(1..=3).contains(&major) => {
            return Err(malformed(&format!("its format version {major} is not known")));
        }
        _ => return Err(malformed("it ends within its header")),
    };
    let text_start = MAGIC.len() + 2 + length_bytes;
    let text = (bytes.get(text_start..text_start.saturating_add(length)))
        .ok_or_else(|| malformed("it ends within its header"))?;
    let text = std::str::from_utf8(text).map_err(|_| malformed("its header is not text"))?;
    let fields = HeaderText { rest: text }.parse().map_err(|reason| malformed(&reason))?;
    let descr = fields.descr.ok_or_else(|| malformed("its header has no `descr`"))?;
    let element = ElementType::parse_numpy(&descr).map_err(|reason| DataError::content(path, reason))?;
    Ok(NpyHeader {
        element,
        order: fields.order.ok_or_else(|| malformed("its header has no `fortran_order`"))?,
        shape: fields.shape.ok_or_else(|| malformed("its header has no `shape`"))?,
        data_start: text_start + length,
    })
}

/// Parses a whole array file held in memory.
pub(crate) fn parse_array<'a>(path: &Path, bytes: &'a [u8]) -> Result<RawArray<'a>, DataError> {
    let header = parse_header(path, bytes)?;
    let data = Cow::Borrowed(bytes.get(header.data_start..).unwrap_or_default());
    RawArray::new(header.element, header.shape, header.order, data)
        .map_err(|reason| DataError::malformed(path, FORMAT, reason))
}

#[derive(Default)]
struct HeaderFields {
    descr: Option<String>,
    order: Option<Order>,
    shape: Option<Vec<usize>>,
}

/// A reader of the one Python dictionary that a header is.
struct HeaderText<'a> {
    rest: &'a str,
}

impl HeaderText<'_> {
    fn parse(mut self) -> Result<HeaderFields, String> {
        let mut fields = HeaderFields::default();
        self.expect('{')?;
        while !self.take('}') {
            let key = self.quoted()?;
            self.expect(':')?;
            match key.as_str() {
                "descr" if self.peek() == Some('[') => {
                    return Err("its elements are structured (several named fields); one number per element is needed"
                        .to_owned());
                }
                "descr" => fields.descr = Some(self.quoted()?),
                "fortran_order" => fields.order = Some(self.order()?),
                "shape" => fields.shape = Some(self.shape()?),
                other => return Err(format!("its header has an unknown field `{other}`")),
            }
            if !self.take(',') && self.peek() != Some('}') {
                return Err("its header is not a dictionary".to_owned());
            }
        }
        Ok(fields)
    }

    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.take(wanted) { Ok(()) } else { Err(format!("its header lacks a `{wanted}`")) }
    }

    fn quoted(&mut self) -> Result<String, String> {
        let quote = match self.peek() {
            Some(quote @ ('\'' | '"')) => quote,
            _ => return Err("its header lacks a quoted word".to_owned()),
        };
        let inside = &self.rest[1..];
        let end = inside.find(quote).ok_or("its header has an open quote")?;
        self.rest = &inside[end + 1..];
        Ok(inside[..end].to_owned())
    }

    fn order(&mut self) -> Result<Order, String> {
        self.peek();
        for (word, order) in [("False", Order::RowMajor), ("True", Order::ColumnMajor)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(order);
            }
        }
        Err("its `fortran_order` is neither True nor False".to_owned())
    }

    fn shape(&mut self) -> Result<Vec<usize>, String> {
        self.expect('(')?;
        let mut shape = Vec::new();
        while !self.take(')') {
            self.peek();
            let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let length =
                self.rest[..digits].parse().map_err(|_| "its `shape` is not a tuple of whole numbers")?;
            self.rest = &self.rest[digits..];
            // Python 2 wrote long integers with a suffix.
            self.take('L');
            shape.push(length);
            if shape.len() > 32 {
                return Err("its `shape` has more than 32 dimensions".to_owned());
            }
            if !self.take(',') && self.peek() != Some(')') {
                return Err("its `shape` is not a tuple of whole numbers".to_owned());
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn error_of(bytes: &[u8]) -> String {
        parse_array(Path::new("x.npy"), bytes).unwrap_err().to_string()
    }

    #[test]
    fn scalar_vector_and_matrix_shapes() {
        for (shape, expected) in [("()", vec![]), ("(3,)", vec![3]), ("(3L, 2)", vec![3, 2])] {
            let bytes =
                npy(&format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n"), &[]);
            assert_eq!(parse_header(Path::new("x"), &bytes).unwrap().shape, expected);
        }
    }

    #[test]
    fn every_truncation_is_an_error_not_a_panic() {
        let whole = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }\n", &[0; 8]);
        assert!(parse_array(Path::new("x"), &whole).is_ok());
        for length in 0..whole.len() {
            assert!(parse_array(Path::new("x"), &whole[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn unusable_headers_say_why() {
        let structured = npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", &[]);
        assert!(error_of(&structured).contains("structured"));
        let objects = npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", &[]);
        assert!(error_of(&objects).contains("Python objects"));
        let huge = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", &[]);
        assert!(error_of(&huge).contains("whole numbers"));
        let short = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 9), }", &[0; 8]);
        assert!(error_of(&short).contains("36000000000 bytes, but 8"));
        assert!(error_of(b"PK\x03\x04").contains("NUMPY"));
        assert!(error_of(b"\x93NUMPY\x09\0\0\0").contains("version 9"));
    }
}
