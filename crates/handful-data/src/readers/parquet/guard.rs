//! A walk through the headers of a column's pages, before the library decodes them.
//!
//! A page says how many bytes it unpacks to and how many values it holds, and the library reserves that much. Both
//! are added up here first, so that a page of a few bytes that claims gigabytes is refused for what it says.

use parquet::{basic::Compression, file::metadata::ColumnChunkMetaData};

use super::thrift::{ThriftReader, Trouble};

const DICTIONARY: i64 = 2;
const DELTA_BYTE_ARRAY: i64 = 7;

/// What a page says of itself.
#[derive(Debug, Default)]
struct PageHeader {
    kind: i64,
    unpacked: u64,
    packed: u64,
    values: u64,
    encoding: i64,
}

/// Checks the pages of a chunk and takes what they unpack to off `left`. Returns how many bytes a single value may
/// take at most where values are repeated from elsewhere: by reference to a dictionary or to the value before.
pub(super) fn check_chunk(
    file: &[u8],
    chunk: &ColumnChunkMetaData,
    left: &mut u64,
) -> Result<usize, Trouble> {
    const BEYOND: Trouble = "a column lies beyond the end of the file";
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let start = usize::try_from(start).map_err(|_| BEYOND)?;
    let length = usize::try_from(chunk.compressed_size()).map_err(|_| BEYOND)?;
    let end = start.checked_add(length).ok_or(BEYOND)?;
    let mut rest = file.get(start..end).ok_or(BEYOND)?;
    let is_packed = chunk.compression() != Compression::UNCOMPRESSED;
    let mut values = 0u64;
    let mut largest = 1;
    while !rest.is_empty() {
        let mut reader = ThriftReader::new(rest);
        let header = PageHeader::read(&mut reader)?;
        let packed = usize::try_from(header.packed).map_err(|_| BEYOND)?;
        let body = rest[reader.position()..].split_at_checked(packed).ok_or("a page is cut off")?;
        rest = body.1;
        let bytes = if is_packed { header.unpacked } else { header.packed };
        // A value takes its width and two levels of two bytes.
        let cost = header.values.saturating_mul(width(chunk) + 4).saturating_add(bytes);
        *left = left.checked_sub(cost).ok_or("it unpacks to more than an honest file of its size")?;
        if header.kind == DICTIONARY || header.encoding == DELTA_BYTE_ARRAY {
            largest = largest.max(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        if header.kind != DICTIONARY {
            values = values.saturating_add(header.values);
        }
    }
    if i64::try_from(values) != Ok(chunk.num_values()) {
        return Err("its pages hold another number of values than its footer says");
    }
    Ok(largest)
}

fn width(chunk: &ColumnChunkMetaData) -> u64 {
    use parquet::basic::Type;
    match chunk.column_type() {
        Type::BOOLEAN => 1,
        Type::INT32 | Type::FLOAT => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        // Text is charged as it is read, and its offset here.
        Type::BYTE_ARRAY => 4,
        Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(chunk.column_descr().type_length()).unwrap_or(0),
    }
}

impl PageHeader {
    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, Trouble> {
        let mut header = Self::default();
        let size = |value: i64| u64::try_from(value).map_err(|_| "a page has a negative size");
        reader.structure(|reader, field, _| {
            match field {
                1 => header.kind = reader.integer()?,
                2 => header.unpacked = size(reader.integer()?)?,
                3 => header.packed = size(reader.integer()?)?,
                // The headers of data pages, dictionaries and data pages of version 2.
                5 | 7 | 8 => reader.structure(|reader, inner, _| {
                    match inner {
                        1 => header.values = size(reader.integer()?)?,
                        2 if field != 8 => header.encoding = reader.integer()?,
                        4 if field == 8 => header.encoding = reader.integer()?,
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
