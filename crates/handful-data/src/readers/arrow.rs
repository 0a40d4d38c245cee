//! Arrow files and streams (Feather version 2), by the Arrow project's own library.
//!
//! The same two layouts as Parquet's: a list column of numbers, or one column per dimension. The library slices
//! buffers where a message says they are and reserves the sizes that packed buffers declare: `check_batch` looks at
//! both first. Both forms end visibly, a file with its footer and a stream with its end mark, so that one that was cut
//! off is refused wherever it was cut.

use std::{path::Path, sync::Arc};

use arrow_buffer::Buffer;
use arrow_ipc::{
    Block, MessageHeader, MetadataVersion,
    convert::try_fb_to_schema,
    reader::{FileDecoder, read_footer_length},
    root_as_footer, root_as_message,
};
use arrow_schema::{ArrowError, Field, Schema};

use super::{
    OpenOptions,
    archive::unpacked_limit,
    columns::{Plan, TableColumns},
    raw_table::RawTable,
};
use crate::error::DataError;

const FORMAT: &str = "Arrow";
const MAGIC: &[u8] = b"ARROW1";
/// The magic and the padding after it.
const HEAD: usize = 8;
/// The length of the footer and the magic again.
const TRAILER: usize = 10;
const CONTINUATION: [u8; 4] = [0xff; 4];

/// What is wrong with the bytes.
type Trouble = String;

/// Reads a table from the bytes of a file or stream.
pub(crate) fn read(path: &Path, bytes: Vec<u8>, options: &OpenOptions) -> Result<RawTable, DataError> {
    let malformed = |reason: Trouble| DataError::malformed(path, FORMAT, reason);
    let limit = unpacked_limit(bytes.len() as u64);
    let buffer = Buffer::from_vec(bytes);
    let contents = if buffer.starts_with(MAGIC) { file(&buffer) } else { stream(&buffer) };
    let Contents { schema, version, messages } = contents.map_err(malformed)?;
    let fields: Vec<&Field> = schema.fields().iter().map(AsRef::as_ref).collect();
    let plan = Plan::of(path, &fields, options)?;
    let mut columns: Vec<usize> =
        plan.names_and_labels().into_iter().chain(plan.features.iter().copied()).collect();
    columns.sort_unstable();
    let mut decoder = FileDecoder::new(Arc::clone(&schema), version).with_projection(columns.clone());
    let mut table = TableColumns::new(path, plan, limit);
    let mut left = limit;
    for message in messages {
        let slice = buffer.slice_with_length(message.start, message.head + message.body);
        check_message(&slice, &message, &mut left).map_err(malformed)?;
        let block = Block::new(0, message.head as i32, message.body as i64);
        let broken = |error: ArrowError| malformed(error.to_string());
        if message.is_dictionary {
            decoder.read_dictionary(&block, &slice).map_err(broken)?;
        } else if let Some(batch) = decoder.read_record_batch(&block, &slice).map_err(broken)? {
            table.push(&columns, &batch)?;
        }
    }
    Ok(table.into_table(FORMAT))
}

/// The schema, and where the dictionaries and batches are.
struct Contents {
    schema: Arc<Schema>,
    version: MetadataVersion,
    messages: Vec<Message>,
}

struct Message {
    start: usize,
    /// Bytes of the message itself, with the length before it.
    head: usize,
    /// Bytes of its data.
    body: usize,
    is_dictionary: bool,
}

fn schema_of(schema: arrow_ipc::Schema<'_>) -> Result<Arc<Schema>, Trouble> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err("it is big-endian; write it on a little-endian machine".to_owned());
    }
    try_fb_to_schema(schema).map(Arc::new).map_err(|error| error.to_string())
}

/// A file says in its footer where everything is.
fn file(bytes: &[u8]) -> Result<Contents, Trouble> {
    const CUT: &str = "its footer is not there; it may be cut off";
    let trailer: [u8; TRAILER] = bytes.last_chunk().copied().ok_or(CUT)?;
    let length = read_footer_length(trailer).map_err(|_| CUT)?;
    let end = bytes.len() - TRAILER;
    let start = end.checked_sub(length).filter(|&start| start >= HEAD).ok_or(CUT)?;
    let footer =
        root_as_footer(&bytes[start..end]).map_err(|error| format!("its footer is broken: {error}"))?;
    let schema = schema_of(footer.schema().ok_or("it has no schema")?)?;
    let mut messages = Vec::new();
    let dictionaries = footer.dictionaries().into_iter().flatten().map(|block| (block, true));
    let batches = footer.recordBatches().into_iter().flatten().map(|block| (block, false));
    for (block, is_dictionary) in dictionaries.chain(batches) {
        const BEYOND: &str = "a batch lies beyond the end of the file";
        let place = usize::try_from(block.offset()).map_err(|_| BEYOND)?;
        let head = usize::try_from(block.metaDataLength()).map_err(|_| BEYOND)?;
        let body = usize::try_from(block.bodyLength()).map_err(|_| BEYOND)?;
        let after = place.checked_add(head).and_then(|after| after.checked_add(body));
        if after.is_none_or(|after| after > start) {
            return Err(BEYOND.to_owned());
        }
        messages.push(Message { start: place, head, body, is_dictionary });
    }
    Ok(Contents { schema, version: footer.version(), messages })
}

/// A stream is one message after another, and an end mark.
fn stream(bytes: &[u8]) -> Result<Contents, Trouble> {
    const CUT: &str = "it ends without its end mark; it may be cut off";
    let mut contents: Option<Contents> = None;
    let mut start = 0;
    loop {
        let rest = bytes.get(start..).unwrap_or_default();
        let (mark, after) = rest.split_first_chunk::<4>().ok_or(CUT)?;
        // Since version 0.15 the length comes after a mark of four bytes.
        let (length, prefix) = match *mark {
            CONTINUATION => (*after.first_chunk().ok_or(CUT)?, 8),
            length => (length, 4),
        };
        let length =
            usize::try_from(i32::from_le_bytes(length)).map_err(|_| "a message has a negative length")?;
        if length == 0 {
            return contents.ok_or_else(|| "it has no schema".to_owned());
        }
        let head = prefix + length;
        let text = rest.get(prefix..head).ok_or(CUT)?;
        let message = root_as_message(text).map_err(|error| format!("a message is broken: {error}"))?;
        let body = usize::try_from(message.bodyLength()).map_err(|_| CUT)?;
        let next =
            start.checked_add(head).and_then(|at| at.checked_add(body)).filter(|&at| at <= bytes.len());
        match (message.header_type(), &mut contents) {
            (MessageHeader::Schema, None) => {
                let schema = schema_of(message.header_as_schema().ok_or("it has no schema")?)?;
                contents = Some(Contents { schema, version: message.version(), messages: Vec::new() });
            }
            (kind @ (MessageHeader::DictionaryBatch | MessageHeader::RecordBatch), Some(contents)) => {
                let is_dictionary = kind == MessageHeader::DictionaryBatch;
                contents.messages.push(Message { start, head, body, is_dictionary });
            }
            (MessageHeader::Schema, Some(_)) => return Err("it has two schemas".to_owned()),
            (_, None) => return Err("it does not begin with a schema".to_owned()),
            _ => {}
        }
        start = next.ok_or(CUT)?;
    }
}

fn check_message(slice: &[u8], message: &Message, left: &mut u64) -> Result<(), Trouble> {
    const BROKEN: &str = "a message is broken";
    let prefix = if slice.starts_with(&CONTINUATION) { 8 } else { 4 };
    let text = slice.get(prefix..message.head).ok_or(BROKEN)?;
    let parsed = root_as_message(text).map_err(|error| format!("{BROKEN}: {error}"))?;
    let batch = match parsed.header_as_dictionary_batch() {
        Some(dictionary) => dictionary.data(),
        None => parsed.header_as_record_batch(),
    };
    check_batch(batch.ok_or(BROKEN)?, &slice[message.head..], left)
}

/// Checks that all buffers of a batch lie within its data, and takes what they unpack to off `left`.
fn check_batch(batch: arrow_ipc::RecordBatch<'_>, body: &[u8], left: &mut u64) -> Result<(), Trouble> {
    const BEYOND: &str = "a buffer lies beyond the end of its batch";
    for node in batch.nodes().into_iter().flatten() {
        let (length, absent) = (node.length(), node.null_count());
        // No value takes less than a bit, except those that are not there at all.
        if length < 0 || absent < 0 || (absent > length && length > 0) {
            return Err("a column has a negative length".to_owned());
        }
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).map_err(|_| BEYOND)?;
        let length = usize::try_from(buffer.length()).map_err(|_| BEYOND)?;
        let bytes = start.checked_add(length).and_then(|end| body.get(start..end)).ok_or(BEYOND)?;
        let Some(declared) = batch.compression().and(bytes.first_chunk::<8>()) else { continue };
        // -1 says that packing did not pay and the bytes are plain.
        let size = u64::try_from(i64::from_le_bytes(*declared)).unwrap_or(0);
        *left = left.checked_sub(size).ok_or("it unpacks to more than an honest file of its size")?;
    }
    Ok(())
}
