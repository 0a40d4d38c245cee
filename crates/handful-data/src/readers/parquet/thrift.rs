//! The Thrift compact protocol, as far as the headers of Parquet's pages use it.
//!
//! Fields are visited rather than collected: what the caller does not name is skipped without allocating.

/// Structures inside structures that are being skipped may go this deep.
const DEEPEST: usize = 32;

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

/// What is wrong with the bytes.
pub(super) type Trouble = &'static str;

/// A position in bytes.
pub(super) struct ThriftReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> ThriftReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    fn byte(&mut self) -> Result<u8, Trouble> {
        let byte = *self.bytes.get(self.position).ok_or("a header ends too early")?;
        self.position += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, Trouble> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a header holds a number of more than 64 bits")
    }

    /// A whole number of any width.
    pub(super) fn integer(&mut self) -> Result<i64, Trouble> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn binary(&mut self) -> Result<&'a [u8], Trouble> {
        let length = usize::try_from(self.varint()?).map_err(|_| "a header holds a text without end")?;
        let end = self.position.checked_add(length).ok_or("a header holds a text without end")?;
        let bytes = self.bytes.get(self.position..end).ok_or("a header ends within a text")?;
        self.position = end;
        Ok(bytes)
    }

    /// Visits each field of a structure. The visitor reads the field and answers `true`, or answers `false` and
    /// leaves it to be skipped.
    pub(super) fn structure(
        &mut self,
        mut visit: impl FnMut(&mut Self, i16, u8) -> Result<bool, Trouble>,
    ) -> Result<(), Trouble> {
        let mut field = 0i16;
        loop {
            let head = self.byte()?;
            let kind = head & 0x0f;
            if kind == 0 {
                return Ok(());
            }
            field = match head >> 4 {
                0 => i16::try_from(self.integer()?).map_err(|_| "a header has a field of no number")?,
                step => field.checked_add(i16::from(step)).ok_or("a header has too many fields")?,
            };
            let before = self.position;
            if !visit(self, field, kind)? {
                self.position = before;
                self.skip(kind, 0)?;
            }
        }
    }

    fn list_head(&mut self) -> Result<(u64, u8), Trouble> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        // Every item takes at least a byte, except the truth values that no list of Parquet's holds.
        if count > (self.bytes.len() - self.position) as u64 {
            return Err("a header holds a list that is longer than the file");
        }
        Ok((count, head & 0x0f))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), Trouble> {
        if depth > DEEPEST {
            return Err("a header is nested too deeply");
        }
        match kind {
            TRUE | FALSE => {}
            BYTE => drop(self.byte()?),
            4..=I64 => drop(self.varint()?),
            DOUBLE => {
                for _ in 0..8 {
                    self.byte()?;
                }
            }
            BINARY => drop(self.binary()?),
            LIST | SET => {
                let (count, kind) = self.list_head()?;
                for _ in 0..count {
                    self.skip(if kind == TRUE || kind == FALSE { BYTE } else { kind }, depth + 1)?;
                }
            }
            STRUCT => self.structure(|reader, _, kind| reader.skip(kind, depth + 1).map(|()| true))?,
            // Maps included: no header of the format has one.
            _ => return Err("a header holds a value of unknown type"),
        }
        Ok(())
    }
}
