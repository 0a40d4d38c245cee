//! Parquet in easyfsl's layout: a list column `embedding`, and `class_name` and `id` where the table has them.
//!
//! Plain encoding without compression, which every reader knows; features hardly shrink.

use std::{
    fs::File,
    io::{BufWriter, Seek, Write},
    path::Path,
};

use crate::{atomic::write_file, error::DataError, readers::parquet::CLASS_NAMES_KEY, table::FeatureTable};

/// Bytes of features in one group of rows: what a reader holds at once.
const GROUP_BYTES: usize = 32 << 20;

/// Writes the file.
pub(super) fn write(path: &Path, table: &FeatureTable) -> Result<(), DataError> {
    let columns = columns(table);
    write_file(path, |out| {
        let io = |error| DataError::write(path, error);
        out.write_all(b"PAR1").map_err(io)?;
        let rows_at_once = (GROUP_BYTES / (4 * table.dim())).max(1);
        let mut groups = Vec::new();
        let mut first = 0;
        while first < table.rows() {
            let rows: Vec<usize> = (first..table.rows().min(first + rows_at_once)).collect();
            let chunks = columns
                .iter()
                .map(|column| column.write(path, table, &rows, out))
                .collect::<Result<Vec<_>, _>>()?;
            groups.push((rows.len(), chunks));
            first += rows.len();
        }
        let footer = footer(table, &columns, &groups);
        out.write_all(&footer).map_err(io)?;
        out.write_all(&(footer.len() as u32).to_le_bytes()).map_err(io)?;
        out.write_all(b"PAR1").map_err(io)
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Column {
    Id,
    Embedding,
    ClassName,
}

/// Where a chunk was written.
struct Chunk {
    start: u64,
    bytes: u64,
    values: usize,
}

fn columns(table: &FeatureTable) -> Vec<Column> {
    let id = table.ids().map(|_| Column::Id);
    let class_name = (table.class_count() > 0).then_some(Column::ClassName);
    id.into_iter().chain([Column::Embedding]).chain(class_name).collect()
}

impl Column {
    fn path(self) -> &'static [&'static str] {
        match self {
            Self::Id => &["id"],
            Self::Embedding => &["embedding", "list", "element"],
            Self::ClassName => &["class_name"],
        }
    }

    fn write(
        self,
        path: &Path,
        table: &FeatureTable,
        rows: &[usize],
        out: &mut BufWriter<File>,
    ) -> Result<Chunk, DataError> {
        let mut page = Vec::new();
        let mut values = rows.len();
        match self {
            Self::Id => rows.iter().for_each(|&row| push_text(&mut page, &table.id(row))),
            Self::ClassName => {
                let classes: Vec<Option<usize>> = rows.iter().map(|&row| table.class_of_row(row)).collect();
                let defined = classes.iter().map(|class| u8::from(class.is_some()));
                push_levels(&mut page, defined);
                for class in classes.into_iter().flatten() {
                    push_text(&mut page, &table.class_names()[class]);
                }
            }
            Self::Embedding => {
                values = rows.len() * table.dim();
                push_levels(&mut page, (0..values).map(|value| u8::from(value % table.dim() != 0)));
                push_levels(&mut page, std::iter::repeat_n(1, values));
                page.extend(table.gather(rows).as_slice().iter().flat_map(|value| value.to_le_bytes()));
            }
        }
        let io = |error| DataError::write(path, error);
        let start = position(path, out)?;
        let mut header = Thrift::default();
        header.integer(1, 0).integer(2, page.len() as i64).integer(3, page.len() as i64);
        header.structure(5, |header| {
            // Plain values; levels as runs.
            header.integer(1, values as i64).integer(2, 0).integer(3, 3).integer(4, 3);
        });
        let header = header.finish();
        out.write_all(&header).map_err(io)?;
        out.write_all(&page).map_err(io)?;
        Ok(Chunk { start, bytes: (header.len() + page.len()) as u64, values })
    }
}

/// The position in a file that is being written.
pub(super) fn position(path: &Path, out: &mut BufWriter<File>) -> Result<u64, DataError> {
    out.stream_position().map_err(|error| DataError::write(path, error))
}

pub(super) fn push_text(page: &mut Vec<u8>, text: &str) {
    page.extend((text.len() as u32).to_le_bytes());
    page.extend(text.as_bytes());
}

/// Levels of 0 and 1 as runs, after their length in bytes.
fn push_levels(page: &mut Vec<u8>, levels: impl Iterator<Item = u8>) {
    let mut runs = Vec::new();
    let mut current: Option<(u8, u64)> = None;
    for level in levels {
        current = match current {
            Some((value, length)) if value == level => Some((value, length + 1)),
            other => {
                push_run(&mut runs, other);
                Some((level, 1))
            }
        };
    }
    push_run(&mut runs, current);
    page.extend((runs.len() as u32).to_le_bytes());
    page.extend(runs);
}

fn push_run(runs: &mut Vec<u8>, run: Option<(u8, u64)>) {
    if let Some((value, length)) = run {
        push_varint(runs, length << 1);
        runs.push(value);
    }
}

fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn footer(table: &FeatureTable, columns: &[Column], groups: &[(usize, Vec<Chunk>)]) -> Vec<u8> {
    let mut footer = Thrift::default();
    footer.integer(1, 1);
    let mut schema: Vec<Vec<u8>> = vec![group("schema", None, columns.len())];
    for column in columns {
        match column {
            Column::Id => schema.push(leaf("id", 0, 6, true)),
            Column::ClassName => schema.push(leaf("class_name", 1, 6, true)),
            Column::Embedding => {
                let mut outer = Thrift::default();
                // Converted type 3 says that this group is a list.
                outer.integer(3, 0).text(4, "embedding").integer(5, 1).integer(6, 3);
                schema.push(outer.finish());
                schema.push(group("list", Some(2), 1));
                schema.push(leaf("element", 0, 4, false));
            }
        }
    }
    footer.structures(2, &schema);
    footer.long(3, table.rows() as i64);
    let groups: Vec<Vec<u8>> = groups
        .iter()
        .map(|(rows, chunks)| {
            let bytes: u64 = chunks.iter().map(|chunk| chunk.bytes).sum();
            let chunks: Vec<Vec<u8>> =
                columns.iter().zip(chunks).map(|(column, chunk)| column_chunk(*column, chunk)).collect();
            let mut group = Thrift::default();
            group.structures(1, &chunks).long(2, bytes as i64).long(3, *rows as i64);
            group.finish()
        })
        .collect();
    footer.structures(4, &groups);
    if table.class_count() > 0 && !table.classes().is_in_name_order() {
        let mut entry = Thrift::default();
        entry.text(1, CLASS_NAMES_KEY).text(2, &serde_json::json!(table.class_names()).to_string());
        footer.structures(5, &[entry.finish()]);
    }
    footer.text(6, "handful");
    footer.finish()
}

pub(super) fn group(name: &str, repetition: Option<i64>, children: usize) -> Vec<u8> {
    let mut element = Thrift::default();
    if let Some(repetition) = repetition {
        element.integer(3, repetition);
    }
    element.text(4, name).integer(5, children as i64);
    element.finish()
}

pub(super) fn leaf(name: &str, repetition: i64, physical: i64, is_text: bool) -> Vec<u8> {
    let mut element = Thrift::default();
    element.integer(1, physical).integer(3, repetition).text(4, name);
    if is_text {
        element.integer(6, 0);
    }
    element.finish()
}

fn column_chunk(column: Column, chunk: &Chunk) -> Vec<u8> {
    let mut entry = Thrift::default();
    entry.long(2, chunk.start as i64);
    entry.structure(3, |meta| {
        meta.integer(1, if column == Column::Embedding { 4 } else { 6 });
        meta.integers(2, &[0, 3]);
        meta.texts(3, column.path());
        meta.integer(4, 0).long(5, chunk.values as i64).long(6, chunk.bytes as i64);
        meta.long(7, chunk.bytes as i64).long(9, chunk.start as i64);
    });
    entry.finish()
}

/// A structure of the Thrift compact protocol being written. Fields must come in ascending order.
#[derive(Default)]
pub(super) struct Thrift {
    bytes: Vec<u8>,
    last: i64,
}

impl Thrift {
    fn field(&mut self, field: i64, kind: u8) {
        self.bytes.push(((field - self.last) as u8) << 4 | kind);
        self.last = field;
    }

    /// A 32-bit number.
    pub(super) fn integer(&mut self, field: i64, value: i64) -> &mut Self {
        self.number(field, 5, value)
    }

    /// A 64-bit number.
    pub(super) fn long(&mut self, field: i64, value: i64) -> &mut Self {
        self.number(field, 6, value)
    }

    fn number(&mut self, field: i64, kind: u8, value: i64) -> &mut Self {
        self.field(field, kind);
        push_varint(&mut self.bytes, zigzag(value));
        self
    }

    pub(super) fn text(&mut self, field: i64, text: &str) -> &mut Self {
        self.field(field, 8);
        push_varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend(text.as_bytes());
        self
    }

    pub(super) fn structure(&mut self, field: i64, write: impl FnOnce(&mut Self)) -> &mut Self {
        self.field(field, 12);
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes.extend(inner.finish());
        self
    }

    pub(super) fn structures(&mut self, field: i64, items: &[Vec<u8>]) -> &mut Self {
        self.list(field, 12, items.len());
        items.iter().for_each(|item| self.bytes.extend(item));
        self
    }

    pub(super) fn integers(&mut self, field: i64, values: &[i64]) {
        self.list(field, 5, values.len());
        values.iter().for_each(|&value| push_varint(&mut self.bytes, zigzag(value)));
    }

    pub(super) fn texts(&mut self, field: i64, texts: &[&str]) {
        self.list(field, 8, texts.len());
        for text in texts {
            push_varint(&mut self.bytes, text.len() as u64);
            self.bytes.extend(text.as_bytes());
        }
    }

    fn list(&mut self, field: i64, kind: u8, length: usize) {
        self.field(field, 9);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            push_varint(&mut self.bytes, length as u64);
        }
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}
