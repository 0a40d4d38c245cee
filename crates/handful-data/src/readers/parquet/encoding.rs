//! How pages encode levels and values: runs, bit-packed groups, plain values.

use super::{metadata::Physical, thrift::Trouble};

/// Values of a page or dictionary.
#[derive(Clone, Debug)]
pub(super) enum Values {
    Integers(Vec<i64>),
    Floats(Vec<f32>),
    Texts(Vec<String>),
}

impl Values {
    pub(super) fn empty(physical: Physical) -> Self {
        match physical {
            Physical::Int32 | Physical::Int64 => Self::Integers(Vec::new()),
            Physical::Float | Physical::Double | Physical::Other => Self::Floats(Vec::new()),
            Physical::Bytes => Self::Texts(Vec::new()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Floats(values) => values.len(),
            Self::Texts(values) => values.len(),
        }
    }

    /// Bytes of memory that the value at `place` takes.
    pub(super) fn weight(&self, place: usize) -> u64 {
        match self {
            Self::Integers(_) => 8,
            Self::Floats(_) => 4,
            Self::Texts(values) => 24 + values.get(place).map_or(0, |text| text.len() as u64),
        }
    }

    /// Appends the value at `place` of a dictionary of the same kind.
    pub(super) fn push_from(&mut self, dictionary: &Self, place: usize) -> Result<(), Trouble> {
        const BEYOND: Trouble = "a value refers beyond its dictionary";
        match (self, dictionary) {
            (Self::Integers(out), Self::Integers(values)) => out.push(*values.get(place).ok_or(BEYOND)?),
            (Self::Floats(out), Self::Floats(values)) => out.push(*values.get(place).ok_or(BEYOND)?),
            (Self::Texts(out), Self::Texts(values)) => out.push(values.get(place).ok_or(BEYOND)?.clone()),
            _ => return Err("a dictionary is of another type than its column"),
        }
        Ok(())
    }

    /// Appends `count` values that lie one after another in `bytes`.
    pub(super) fn push_plain(
        &mut self,
        physical: Physical,
        bytes: &[u8],
        count: usize,
    ) -> Result<(), Trouble> {
        const SHORT: Trouble = "a page holds fewer values than it says";
        let width = match physical {
            Physical::Int32 | Physical::Float => 4,
            Physical::Int64 | Physical::Double => 8,
            Physical::Bytes => 0,
            Physical::Other => return Err("a column is of a type that holds neither numbers nor text"),
        };
        let bytes = match count.checked_mul(width) {
            Some(length) if width > 0 => bytes.get(..length).ok_or(SHORT)?,
            Some(_) => bytes,
            None => return Err(SHORT),
        };
        match (self, physical) {
            (Self::Integers(out), Physical::Int32) => {
                out.extend(bytes.as_chunks().0.iter().map(|&bytes| i64::from(i32::from_le_bytes(bytes))));
            }
            (Self::Integers(out), _) => {
                out.extend(bytes.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes)))
            }
            (Self::Floats(out), Physical::Float) => {
                out.extend(bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
            }
            (Self::Floats(out), _) => {
                out.extend(bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes) as f32));
            }
            (Self::Texts(out), _) => {
                let mut rest = bytes;
                for _ in 0..count {
                    let (length, after) = rest.split_first_chunk().ok_or(SHORT)?;
                    let length = u32::from_le_bytes(*length) as usize;
                    let (text, after) = after.split_at_checked(length).ok_or(SHORT)?;
                    let text = std::str::from_utf8(text).map_err(|_| "a text is not UTF-8")?;
                    out.push(text.to_owned());
                    rest = after;
                }
            }
        }
        Ok(())
    }
}

/// Bits needed for numbers up to `most`.
pub(super) fn width_of(most: u32) -> u32 {
    u32::BITS - most.leading_zeros()
}

/// Decodes `count` numbers of runs and bit-packed groups.
pub(super) fn hybrid(
    bytes: &[u8],
    width: u32,
    count: usize,
    mut visit: impl FnMut(u32) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    const SHORT: Trouble = "a page ends within its numbers";
    if width > 32 {
        return Err("a page packs numbers into more than 32 bits");
    }
    let mut rest = bytes;
    let mut left = count;
    while left > 0 {
        let (head, after) = varint(rest).ok_or(SHORT)?;
        if head & 1 == 0 {
            let length = width.div_ceil(8) as usize;
            let (value, after) = after.split_at_checked(length).ok_or(SHORT)?;
            let value = value.iter().rev().fold(0u32, |value, &byte| value << 8 | u32::from(byte));
            let run = usize::try_from(head >> 1).unwrap_or(usize::MAX).min(left);
            if run == 0 {
                return Err("a page holds a run of nothing");
            }
            (0..run).try_for_each(|_| visit(value))?;
            left -= run;
            rest = after;
        } else {
            let groups = usize::try_from(head >> 1).unwrap_or(usize::MAX);
            let length = groups.checked_mul(width as usize).ok_or(SHORT)?.min(after.len());
            let (packed, after) = after.split_at(length);
            let available = if width == 0 { left } else { packed.len() * 8 / width as usize };
            let take = available.min(groups.saturating_mul(8)).min(left);
            if take == 0 {
                return Err(SHORT);
            }
            (0..take).try_for_each(|place| visit(bits(packed, place * width as usize, width)))?;
            left -= take;
            rest = after;
        }
    }
    Ok(())
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().enumerate().take(9) {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[place + 1..]));
        }
    }
    None
}

fn bits(packed: &[u8], start: usize, width: u32) -> u32 {
    let mut value = 0u64;
    let first = start / 8;
    for (place, &byte) in packed.iter().skip(first).take(5).enumerate() {
        value |= u64::from(byte) << (8 * place);
    }
    (value >> (start % 8)) as u32
        & (u64::MAX >> (64 - width.max(1))) as u32
        & if width == 0 { 0 } else { u32::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8], width: u32, count: usize) -> Result<Vec<u32>, Trouble> {
        let mut numbers = Vec::new();
        hybrid(bytes, width, count, |number| {
            numbers.push(number);
            Ok(())
        })?;
        Ok(numbers)
    }

    #[test]
    fn runs_and_packed_groups() {
        // A run of five sevens, then the packed example of the format's specification: 0 to 7 in 3 bits.
        let bytes = [0x0a, 7, 0x03, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!(decode(&bytes, 3, 13).unwrap(), [7, 7, 7, 7, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(decode(&[], 0, 0).unwrap().is_empty());
        assert!(decode(&bytes, 3, 14).is_err());
        assert!(decode(&[0xff; 12], 3, 5).is_err());
    }
}
