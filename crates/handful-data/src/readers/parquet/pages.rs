//! The pages of a column chunk: unpacked, and decoded into values and levels.

use std::{borrow::Cow, io::Read};

use super::{
    encoding::{Values, hybrid, width_of},
    metadata::{Chunk, Leaf},
    thrift::{FALSE, ThriftReader, Trouble},
};

/// All values of a column, with the levels that say where rows begin and which values are absent.
#[derive(Debug)]
pub(super) struct Column {
    pub values: Values,
    /// One for each entry; empty where every entry is present.
    pub defined: Vec<u8>,
    /// One for each entry; empty where every entry is a row.
    pub repeated: Vec<u8>,
    pub entries: usize,
}

/// What is left of the memory that a file of this size may take.
pub(super) struct Budget {
    pub left: u64,
}

impl Budget {
    pub(super) fn charge(&mut self, bytes: u64) -> Result<(), Trouble> {
        self.left =
            self.left.checked_sub(bytes).ok_or("it unpacks to more than an honest file of its size")?;
        Ok(())
    }
}

#[derive(Default)]
struct PageHeader {
    kind: i64,
    unpacked: usize,
    packed: usize,
    values: usize,
    encoding: i64,
    defined_bytes: usize,
    repeated_bytes: usize,
    is_compressed: bool,
}

const DATA: i64 = 0;
const DICTIONARY: i64 = 2;
const DATA_V2: i64 = 3;
const PLAIN: i64 = 0;
const PLAIN_DICTIONARY: i64 = 2;
const RLE_DICTIONARY: i64 = 8;

/// Appends one chunk to its column.
pub(super) fn read_chunk(
    file: &[u8],
    leaf: &Leaf,
    chunk: &Chunk,
    budget: &mut Budget,
    column: &mut Column,
) -> Result<(), Trouble> {
    const BEYOND: Trouble = "a column lies beyond the end of the file";
    let start = usize::try_from(chunk.start).map_err(|_| BEYOND)?;
    let length = usize::try_from(chunk.length).map_err(|_| BEYOND)?;
    let mut rest = file.get(start..start.checked_add(length).ok_or(BEYOND)?).ok_or(BEYOND)?;
    let mut dictionary = Values::empty(leaf.physical);
    let mut entries = 0u64;
    while entries < chunk.values {
        let mut reader = ThriftReader::new(rest);
        let header = PageHeader::read(&mut reader)?;
        let body = rest[reader.position()..].split_at_checked(header.packed).ok_or("a page is cut off")?;
        rest = body.1;
        match header.kind {
            DICTIONARY => {
                let bytes = unpack(chunk.codec, body.0, header.unpacked, budget)?;
                budget.charge(bytes.len() as u64)?;
                dictionary = Values::empty(leaf.physical);
                dictionary.push_plain(leaf.physical, &bytes, header.values)?;
            }
            DATA | DATA_V2 => {
                if header.values == 0 && header.packed == 0 {
                    return Err("a page holds nothing");
                }
                entries += header.values as u64;
                data_page(leaf, chunk.codec, &header, body.0, &dictionary, budget, column)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn data_page(
    leaf: &Leaf,
    codec: i64,
    header: &PageHeader,
    body: &[u8],
    dictionary: &Values,
    budget: &mut Budget,
    column: &mut Column,
) -> Result<(), Trouble> {
    const SHORT: Trouble = "a page ends within its levels";
    let (repeated_width, defined_width) = (width_of(leaf.most_repeated), width_of(leaf.most_defined));
    budget.charge(2 * header.values as u64)?;
    let unpacked;
    let (repeated, defined, values): (&[u8], &[u8], Cow<'_, [u8]>) = if header.kind == DATA_V2 {
        let (repeated, rest) = body.split_at_checked(header.repeated_bytes).ok_or(SHORT)?;
        let (defined, rest) = rest.split_at_checked(header.defined_bytes).ok_or(SHORT)?;
        let levels = header.repeated_bytes + header.defined_bytes;
        let codec = if header.is_compressed { codec } else { 0 };
        (repeated, defined, unpack(codec, rest, header.unpacked.saturating_sub(levels), budget)?)
    } else {
        unpacked = unpack(codec, body, header.unpacked, budget)?;
        let mut rest: &[u8] = &unpacked;
        let mut levels = |width: u32| -> Result<&[u8], Trouble> {
            if width == 0 {
                return Ok(&[]);
            }
            let (length, after) = rest.split_first_chunk().ok_or(SHORT)?;
            let (levels, after) =
                after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(SHORT)?;
            rest = after;
            Ok(levels)
        };
        let (repeated, defined) = (levels(repeated_width)?, levels(defined_width)?);
        (repeated, defined, Cow::Borrowed(rest))
    };

    let mut present = header.values;
    if defined_width > 0 {
        let mut absent = 0;
        hybrid(defined, defined_width, header.values, |level| {
            absent += usize::from(level != leaf.most_defined);
            column.defined.push(level as u8);
            Ok(())
        })?;
        present -= absent;
    }
    if repeated_width > 0 {
        hybrid(repeated, repeated_width, header.values, |level| {
            column.repeated.push(level as u8);
            Ok(())
        })?;
    }
    column.entries += header.values;
    match header.encoding {
        PLAIN => {
            let before = column.values.len();
            budget.charge(4 * values.len() as u64)?;
            column.values.push_plain(leaf.physical, &values, present)?;
            if column.values.len() != before + present {
                return Err("a page holds fewer values than it says");
            }
            Ok(())
        }
        PLAIN_DICTIONARY | RLE_DICTIONARY => {
            let Some((&width, packed)) = values.split_first() else {
                return if present == 0 { Ok(()) } else { Err("a page ends before its values") };
            };
            hybrid(packed, u32::from(width), present, |place| {
                budget.charge(dictionary.weight(place as usize))?;
                column.values.push_from(dictionary, place as usize)
            })
        }
        _ => Err("a page uses an encoding that is not read here; write it with plain or dictionary encoding"),
    }
}

impl PageHeader {
    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, Trouble> {
        let mut header = Self { is_compressed: true, ..Self::default() };
        let size = |value: i64| usize::try_from(value).map_err(|_| "a page has a negative size");
        reader.structure(|reader, field, _| {
            match field {
                1 => header.kind = reader.integer()?,
                2 => header.unpacked = size(reader.integer()?)?,
                3 => header.packed = size(reader.integer()?)?,
                5 | 7 => reader.structure(|reader, field, _| {
                    match field {
                        1 => header.values = size(reader.integer()?)?,
                        2 => header.encoding = reader.integer()?,
                        _ => return Ok(false),
                    }
                    Ok(true)
                })?,
                8 => reader.structure(|reader, field, kind| {
                    match field {
                        1 => header.values = size(reader.integer()?)?,
                        4 => header.encoding = reader.integer()?,
                        5 => header.defined_bytes = size(reader.integer()?)?,
                        6 => header.repeated_bytes = size(reader.integer()?)?,
                        // The truth value is in the type of the field.
                        7 => header.is_compressed = kind != FALSE,
                        _ => return Ok(false),
                    }
                    Ok(true)
                })?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(header)
    }
}

/// Unpacks a page, which must come out at exactly the size its header says.
fn unpack<'a>(
    codec: i64,
    packed: &'a [u8],
    size: usize,
    budget: &mut Budget,
) -> Result<Cow<'a, [u8]>, Trouble> {
    const BROKEN: Trouble = "a page cannot be unpacked";
    if codec == 0 {
        return Ok(Cow::Borrowed(packed));
    }
    budget.charge(size as u64)?;
    let unpacked = match codec {
        1 => {
            if snap::raw::decompress_len(packed).map_err(|_| BROKEN)? != size {
                return Err(BROKEN);
            }
            snap::raw::Decoder::new().decompress_vec(packed).map_err(|_| BROKEN)?
        }
        2 => read_exactly(flate2::read::MultiGzDecoder::new(packed), size).ok_or(BROKEN)?,
        6 => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(packed).map_err(|_| BROKEN)?;
            read_exactly(decoder, size).ok_or(BROKEN)?
        }
        _ => return Err("its compression is not read here; use none, snappy, gzip or zstd"),
    };
    Ok(Cow::Owned(unpacked))
}

fn read_exactly(reader: impl Read, size: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(size as u64 + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() == size).then_some(bytes)
}
