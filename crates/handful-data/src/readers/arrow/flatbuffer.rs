//! The flatbuffers of Arrow's messages: tables of fields found by offsets, every offset checked.

/// A table inside a buffer.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    buffer: &'a [u8],
    start: usize,
    /// Where the offsets of the fields are, and how many.
    fields: usize,
    count: usize,
}

fn read<const N: usize>(buffer: &[u8], at: usize) -> Option<[u8; N]> {
    buffer.get(at..)?.first_chunk().copied()
}

fn offset(buffer: &[u8], at: usize) -> Option<usize> {
    let relative = u32::from_le_bytes(read(buffer, at)?) as usize;
    at.checked_add(relative)
}

impl<'a> Table<'a> {
    /// The table that a buffer begins with.
    pub(super) fn root(buffer: &'a [u8]) -> Option<Self> {
        Self::at(buffer, offset(buffer, 0)?)
    }

    fn at(buffer: &'a [u8], start: usize) -> Option<Self> {
        let back = i32::from_le_bytes(read(buffer, start)?);
        let vtable = usize::try_from(i64::try_from(start).ok()? - i64::from(back)).ok()?;
        let size = usize::from(u16::from_le_bytes(read(buffer, vtable)?));
        Some(Self { buffer, start, fields: vtable.checked_add(4)?, count: size.checked_sub(4)? / 2 })
    }

    /// Where a field is; `None` where it has its default.
    fn place(&self, field: usize) -> Option<usize> {
        if field >= self.count {
            return None;
        }
        let relative = usize::from(u16::from_le_bytes(read(self.buffer, self.fields + 2 * field)?));
        (relative != 0).then_some(self.start + relative)
    }

    pub(super) fn u8(&self, field: usize) -> u8 {
        self.place(field).and_then(|at| read::<1>(self.buffer, at)).map_or(0, |[value]| value)
    }

    pub(super) fn i16(&self, field: usize) -> i16 {
        self.place(field).and_then(|at| read(self.buffer, at)).map_or(0, i16::from_le_bytes)
    }

    pub(super) fn i32(&self, field: usize) -> i32 {
        self.place(field).and_then(|at| read(self.buffer, at)).map_or(0, i32::from_le_bytes)
    }

    pub(super) fn i64(&self, field: usize) -> i64 {
        self.place(field).and_then(|at| read(self.buffer, at)).map_or(0, i64::from_le_bytes)
    }

    pub(super) fn table(&self, field: usize) -> Option<Self> {
        Self::at(self.buffer, offset(self.buffer, self.place(field)?)?)
    }

    pub(super) fn text(&self, field: usize) -> Option<&'a str> {
        let start = offset(self.buffer, self.place(field)?)?;
        let length = u32::from_le_bytes(read(self.buffer, start)?) as usize;
        std::str::from_utf8(self.buffer.get(start + 4..)?.get(..length)?).ok()
    }

    /// The items of a list, as the places of its items of `width` bytes.
    fn items(&self, field: usize, width: usize) -> Option<impl Iterator<Item = usize> + use<>> {
        let start = offset(self.buffer, self.place(field)?)?;
        let count = u32::from_le_bytes(read(self.buffer, start)?) as usize;
        // The bytes must be there before anybody counts on them.
        self.buffer.get(start + 4..)?.get(..count.checked_mul(width)?)?;
        Some((0..count).map(move |item| start + 4 + item * width))
    }

    /// A list of tables.
    pub(super) fn tables(&self, field: usize) -> Option<Vec<Self>> {
        self.items(field, 4)?.map(|at| Self::at(self.buffer, offset(self.buffer, at)?)).collect()
    }

    /// A list of pairs of numbers.
    pub(super) fn pairs(&self, field: usize) -> Option<Vec<(i64, i64)>> {
        let pair = |at| {
            Some((i64::from_le_bytes(read(self.buffer, at)?), i64::from_le_bytes(read(self.buffer, at + 8)?)))
        };
        self.items(field, 16)?.map(pair).collect()
    }
}
