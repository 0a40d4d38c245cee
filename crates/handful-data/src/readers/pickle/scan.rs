//! Reading the operands of pickle instructions: numbers, text and bytes.

use std::{borrow::Cow, path::Path};

use super::node::Node;
use crate::error::DataError;

/// A position in the bytes of a pickle.
pub(super) struct Scanner<'a, 's> {
    path: &'s Path,
    bytes: &'a [u8],
    position: usize,
}

impl<'a, 's> Scanner<'a, 's> {
    pub(super) fn new(path: &'s Path, bytes: &'a [u8]) -> Self {
        Self { path, bytes, position: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn wrong(&self, reason: &str) -> DataError {
        DataError::malformed(self.path, "pickle", format!("{reason} (at byte {})", self.position))
    }

    pub(super) fn take(&mut self, count: u64) -> Result<&'a [u8], DataError> {
        let end = usize::try_from(count).ok().and_then(|count| self.position.checked_add(count));
        let taken = end.and_then(|end| self.bytes.get(self.position..end));
        let taken = taken.ok_or_else(|| self.wrong("it ends too early"))?;
        self.position += taken.len();
        Ok(taken)
    }

    pub(super) fn skip(&mut self, count: u64) -> Result<(), DataError> {
        self.take(count).map(drop)
    }

    pub(super) fn byte(&mut self) -> Result<u8, DataError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self) -> Result<u32, DataError> {
        self.array().map(u32::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DataError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    /// The rest of the line as text.
    pub(super) fn line(&mut self) -> Result<&'a str, DataError> {
        let line = self.raw_line()?;
        std::str::from_utf8(line).map_err(|_| self.wrong("a line is not text"))
    }

    fn raw_line(&mut self) -> Result<&'a [u8], DataError> {
        let rest = &self.bytes[self.position..];
        let length =
            rest.iter().position(|&byte| byte == b'\n').ok_or_else(|| self.wrong("it ends too early"))?;
        self.position += length + 1;
        Ok(&rest[..length])
    }

    /// A memo key in decimal.
    pub(super) fn decimal(&mut self) -> Result<u32, DataError> {
        let line = self.line()?;
        line.parse().map_err(|_| self.wrong("a memo key is not a number"))
    }

    /// The number that follows a number instruction.
    pub(super) fn number(&mut self, opcode: u8) -> Result<Node<'a>, DataError> {
        Ok(match opcode {
            b'J' => Node::Int(i64::from(i32::from_le_bytes(self.array()?))),
            b'K' => Node::Int(i64::from(self.byte()?)),
            b'M' => Node::Int(i64::from(u16::from_le_bytes(self.array()?))),
            b'G' => Node::Float(f64::from_be_bytes(self.array()?)),
            0x8a | 0x8b => {
                let length = if opcode == 0x8a { u64::from(self.byte()?) } else { u64::from(self.u32()?) };
                let digits = self.take(length)?;
                little_endian(digits).map_or(Node::None, Node::Int)
            }
            b'I' => match self.line()? {
                "00" => Node::Bool(false),
                "01" => Node::Bool(true),
                line => Node::Int(line.parse().map_err(|_| self.wrong("a number is not readable"))?),
            },
            b'L' => {
                let line = self.line()?;
                // A number too large to be anything here is kept as nothing, and only an error where it is used.
                line.trim_end_matches('L').parse().map_or(Node::None, Node::Int)
            }
            _ => {
                let line = self.line()?;
                Node::Float(line.parse().map_err(|_| self.wrong("a number is not readable"))?)
            }
        })
    }

    /// The text that follows a text instruction. Python 2 strings that are not text become bytes.
    pub(super) fn text(&mut self, opcode: u8) -> Result<Node<'a>, DataError> {
        let length = match opcode {
            b'S' => return self.quoted(),
            b'V' => {
                let line = self.raw_line()?;
                return Ok(Node::Text(Box::new(Cow::Owned(raw_unicode(line)))));
            }
            b'X' => u64::from(self.u32()?),
            0x8c => u64::from(self.byte()?),
            _ => u64::from_le_bytes(self.array()?),
        };
        let bytes = self.take(length)?;
        let text = std::str::from_utf8(bytes).map_err(|_| self.wrong("a text is not UTF-8"))?;
        Ok(Node::Text(Box::new(Cow::Borrowed(text))))
    }

    /// The bytes that follow a bytes instruction.
    pub(super) fn bytes(&mut self, opcode: u8) -> Result<&'a [u8], DataError> {
        let length = match opcode {
            b'U' | b'C' => u64::from(self.byte()?),
            b'T' | b'B' => u64::from(self.u32()?),
            _ => u64::from_le_bytes(self.array()?),
        };
        self.take(length)
    }

    /// A Python 2 string in quotes, with escapes.
    fn quoted(&mut self) -> Result<Node<'a>, DataError> {
        let line = self.line()?;
        let inside = (line.len() >= 2)
            .then(|| line.strip_prefix(['\'', '"']).and_then(|rest| rest.strip_suffix(['\'', '"'])))
            .flatten()
            .ok_or_else(|| self.wrong("a string has no quotes"))?;
        let bytes = unescape(inside).ok_or_else(|| self.wrong("a string has a wrong escape"))?;
        Ok(Node::Bytes(Box::new(Cow::Owned(bytes))))
    }
}

/// A signed integer of any length, if it fits 64 bits.
fn little_endian(digits: &[u8]) -> Option<i64> {
    let negative = digits.last().is_some_and(|last| last & 0x80 != 0);
    let fill = if negative { 0xff } else { 0 };
    let mut bytes = [fill; 8];
    for (place, &digit) in digits.iter().enumerate() {
        match bytes.get_mut(place) {
            Some(byte) => *byte = digit,
            None if digit == fill => {}
            None => return None,
        }
    }
    let value = i64::from_le_bytes(bytes);
    (digits.len() <= 8 || (value < 0) == negative).then_some(value)
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'0' => 0,
            b'x' => (hex(rest.next()?)? << 4) | hex(rest.next()?)?,
            other @ (b'\\' | b'\'' | b'"') => other,
            _ => return None,
        });
    }
    Some(bytes)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// Protocol 0 writes text in Latin-1, with letters beyond it, newlines and backslashes as `\u` and four hexadecimal
/// digits or `\U` and eight.
fn raw_unicode(line: &[u8]) -> String {
    let mut text = String::with_capacity(line.len());
    let mut at = 0;
    while at < line.len() {
        let digits = match line[at..] {
            [b'\\', b'u', ..] => 4,
            [b'\\', b'U', ..] => 8,
            _ => 0,
        };
        let code = (digits > 0)
            .then(|| line.get(at + 2..at + 2 + digits))
            .flatten()
            .and_then(|code| std::str::from_utf8(code).ok())
            .and_then(|code| u32::from_str_radix(code, 16).ok())
            .and_then(char::from_u32);
        match code {
            Some(letter) => {
                text.push(letter);
                at += 2 + digits;
            }
            None => {
                text.push(char::from(line[at]));
                at += 1;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_integers_of_any_length() {
        assert_eq!(little_endian(&[]), Some(0));
        assert_eq!(little_endian(&[0xff]), Some(-1));
        assert_eq!(little_endian(&[0xff, 0]), Some(255));
        assert_eq!(little_endian(&[0, 0, 0, 0, 0, 0, 0, 0x80, 0]), None);
        assert_eq!(little_endian(&[1; 12]), None);
    }

    #[test]
    fn escapes_of_python_2_and_protocol_0() {
        assert_eq!(unescape("a\\x00\\n\\'").as_deref(), Some(b"a\0\n'".as_slice()));
        assert_eq!(unescape("\\x0"), None);
        assert_eq!(raw_unicode(b"a\\u20acb\\n\xe9"), "a€b\\n\u{e9}");
        assert_eq!(raw_unicode(b"\\u12"), "\\u12");
    }
}
