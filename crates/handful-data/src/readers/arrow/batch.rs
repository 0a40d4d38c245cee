//! The values of a record batch: buffers taken one after another, as the schema says.

use std::{borrow::Cow, collections::BTreeMap, io::Read};

use super::{
    flatbuffer::Table,
    schema::{Field, Type},
};
use crate::arrays::{ElementType, decode};

/// What is wrong with a batch.
pub(super) type Trouble = &'static str;

/// Values of a column in one batch. Lists come with the number of values in each row.
#[derive(Clone, Debug)]
pub(super) enum Values {
    Integers(Vec<Option<i64>>),
    Floats(Vec<f32>),
    Texts(Vec<Option<String>>),
    Lists(Vec<usize>, Vec<f32>),
    Ignored(usize),
}

/// A batch being read.
pub(super) struct Batch<'a, 'd> {
    body: &'a [u8],
    nodes: std::vec::IntoIter<(i64, i64)>,
    buffers: std::vec::IntoIter<(i64, i64)>,
    /// LZ4 frames (0) or zstd (1).
    codec: Option<u8>,
    dictionaries: &'d BTreeMap<i64, Vec<Option<String>>>,
    budget: &'d mut u64,
}

const SHORT: Trouble = "a batch ends before its last column";

impl<'a, 'd> Batch<'a, 'd> {
    pub(super) fn new(
        table: Table<'_>,
        body: &'a [u8],
        dictionaries: &'d BTreeMap<i64, Vec<Option<String>>>,
        budget: &'d mut u64,
    ) -> Self {
        Self {
            body,
            nodes: table.pairs(1).unwrap_or_default().into_iter(),
            buffers: table.pairs(2).unwrap_or_default().into_iter(),
            codec: table.table(3).map(|compression| compression.u8(0)),
            dictionaries,
            budget,
        }
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Trouble> {
        *self.budget = self
            .budget
            .checked_sub(bytes as u64)
            .ok_or("it unpacks to more than an honest file of its size")?;
        Ok(())
    }

    fn buffer(&mut self) -> Result<Cow<'a, [u8]>, Trouble> {
        let (start, length) = self.buffers.next().ok_or(SHORT)?;
        let (start, length) =
            (usize::try_from(start).map_err(|_| SHORT)?, usize::try_from(length).map_err(|_| SHORT)?);
        let bytes = self.body.get(start..start.checked_add(length).ok_or(SHORT)?).ok_or(SHORT)?;
        let Some(codec) = self.codec.filter(|_| !bytes.is_empty()) else { return Ok(Cow::Borrowed(bytes)) };
        let (size, packed) = bytes.split_first_chunk().ok_or(SHORT)?;
        let size = i64::from_le_bytes(*size);
        // -1 says that packing did not pay and the bytes are plain.
        if size == -1 {
            return Ok(Cow::Borrowed(packed));
        }
        let size = usize::try_from(size).map_err(|_| SHORT)?;
        self.charge(size)?;
        let mut unpacked = Vec::new();
        let limit = size as u64 + 1;
        let result = match codec {
            0 => lz4_flex::frame::FrameDecoder::new(packed).take(limit).read_to_end(&mut unpacked).is_ok(),
            1 => ruzstd::decoding::StreamingDecoder::new(packed)
                .is_ok_and(|decoder| decoder.take(limit).read_to_end(&mut unpacked).is_ok()),
            _ => return Err("its compression is not known"),
        };
        if result && unpacked.len() == size {
            Ok(Cow::Owned(unpacked))
        } else {
            Err("a buffer cannot be unpacked")
        }
    }

    /// The values of the next column.
    pub(super) fn column(&mut self, field: &Field) -> Result<Values, Trouble> {
        if let Some(dictionary) = &field.dictionary {
            let Values::Integers(places) = self.values(&Type::Number(dictionary.places))? else {
                return Err(SHORT);
            };
            let texts = self
                .dictionaries
                .get(&dictionary.id)
                .ok_or("a column refers to a dictionary that is not there")?;
            let mut column = Vec::with_capacity(places.len());
            for place in places {
                let text = match place {
                    Some(place) => {
                        let text = usize::try_from(place).ok().and_then(|place| texts.get(place));
                        text.ok_or("a value refers beyond its dictionary")?.clone()
                    }
                    None => None,
                };
                let length = text.as_ref().map_or(0, String::len);
                *self.budget = self.budget.checked_sub(24 + length as u64).ok_or("it unpacks to too much")?;
                column.push(text);
            }
            return Ok(Values::Texts(column));
        }
        self.values(&field.kind)
    }

    fn values(&mut self, kind: &Type) -> Result<Values, Trouble> {
        let (rows, _) = self.nodes.next().ok_or(SHORT)?;
        let rows = usize::try_from(rows).map_err(|_| SHORT)?;
        if let Type::Other { buffers, children } = kind {
            for _ in 0..*buffers {
                self.buffer()?;
            }
            for child in children {
                self.column(child)?;
            }
            return Ok(Values::Ignored(rows));
        }
        let validity = self.buffer()?;
        if !validity.is_empty() && validity.len() < rows.div_ceil(8) {
            return Err(SHORT);
        }
        let is_present = |row: usize| validity.is_empty() || validity[row / 8] >> (row % 8) & 1 == 1;
        match kind {
            Type::Number(element) => {
                let bytes = self.buffer()?;
                self.numbers(*element, rows, &bytes, is_present)
            }
            Type::Text { wide } => {
                let offsets = self.offsets(rows, *wide)?;
                let bytes = self.buffer()?;
                self.charge(rows.saturating_mul(24).saturating_add(bytes.len()))?;
                let texts = (offsets.windows(2).enumerate())
                    .map(|(row, ends)| -> Result<Option<String>, Trouble> {
                        let text = bytes.get(ends[0]..ends[1]).ok_or(SHORT)?;
                        let text = std::str::from_utf8(text).map_err(|_| "a text is not UTF-8")?;
                        Ok(is_present(row).then(|| text.to_owned()))
                    })
                    .collect::<Result<_, _>>()?;
                Ok(Values::Texts(texts))
            }
            Type::List { wide, item } => {
                let offsets = self.offsets(rows, *wide)?;
                let Values::Floats(values) = self.column(item)? else { return Ok(Values::Ignored(rows)) };
                let (first, last) = (offsets[0], offsets[rows]);
                let values = values.get(first..last).ok_or(SHORT)?.to_vec();
                Ok(Values::Lists(offsets.windows(2).map(|ends| ends[1] - ends[0]).collect(), values))
            }
            Type::FixedList { length, item } => {
                self.charge(rows.saturating_mul(8))?;
                let Values::Floats(values) = self.column(item)? else { return Ok(Values::Ignored(rows)) };
                let values = values.get(..rows.checked_mul(*length).ok_or(SHORT)?).ok_or(SHORT)?.to_vec();
                Ok(Values::Lists(vec![*length; rows], values))
            }
            Type::Other { .. } => Ok(Values::Ignored(rows)),
        }
    }

    fn numbers(
        &mut self,
        element: ElementType,
        rows: usize,
        bytes: &[u8],
        is_present: impl Fn(usize) -> bool,
    ) -> Result<Values, Trouble> {
        let bytes = bytes.get(..rows.checked_mul(element.size).ok_or(SHORT)?).ok_or(SHORT)?;
        self.charge(rows.saturating_mul(if element.is_float() { 4 } else { 16 }))?;
        if element.is_float() {
            let mut values = Vec::with_capacity(rows);
            decode(element, bytes, &mut values);
            for (row, value) in values.iter_mut().enumerate() {
                // An absent number is reported as NaN, with its row.
                if !is_present(row) {
                    *value = f32::NAN;
                }
            }
            return Ok(Values::Floats(values));
        }
        let values = (bytes.chunks_exact(element.size).enumerate())
            .map(|(row, bytes)| if is_present(row) { element.integer(bytes) } else { None })
            .collect();
        Ok(Values::Integers(values))
    }

    /// Where each row's values begin, and where the last one's end; never descending.
    fn offsets(&mut self, rows: usize, wide: bool) -> Result<Vec<usize>, Trouble> {
        let bytes = self.buffer()?;
        if rows == 0 {
            return Ok(vec![0]);
        }
        let width = if wide { 8 } else { 4 };
        let needed = rows.checked_add(1).and_then(|count| count.checked_mul(width)).ok_or(SHORT)?;
        let bytes = bytes.get(..needed).ok_or(SHORT)?;
        self.charge(8 * (rows + 1))?;
        let element = ElementType::little(crate::arrays::ElementKind::Unsigned, width);
        let offsets: Option<Vec<usize>> =
            bytes.chunks_exact(width).map(|bytes| usize::try_from(element.integer(bytes)?).ok()).collect();
        let offsets = offsets.ok_or(SHORT)?;
        if offsets.is_sorted() { Ok(offsets) } else { Err("the offsets of a column go backwards") }
    }
}
