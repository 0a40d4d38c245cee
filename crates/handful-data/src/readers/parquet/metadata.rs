//! The footer of a Parquet file: which columns there are, and where their pages lie.

use std::path::Path;

use super::thrift::{ThriftReader, Trouble};
use crate::error::DataError;

const FORMAT: &str = "Parquet";
const MAGIC: &[u8] = b"PAR1";

/// How a column stores one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Physical {
    Int32,
    Int64,
    Float,
    Double,
    Bytes,
    /// Types that hold neither features nor names.
    Other,
}

/// A column that holds values (a leaf of the schema).
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// The name of the top-level field.
    pub name: String,
    pub physical: Physical,
    /// Largest definition level: how many of its ancestors and itself may be absent.
    pub most_defined: u32,
    /// Largest repetition level: how many lists it is in.
    pub most_repeated: u32,
    /// The definition level at which its list exists and is not empty; 0 for a column that is not a list.
    pub list_defined: u32,
}

/// The pages of one column in one group of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunk {
    pub codec: i64,
    pub values: u64,
    pub start: u64,
    pub length: u64,
}

/// What the footer says.
#[derive(Debug, Default)]
pub(super) struct Footer {
    pub leaves: Vec<Leaf>,
    /// For each group of rows, one chunk for each leaf.
    pub groups: Vec<Vec<Chunk>>,
    pub rows: u64,
    /// The list of class names that this program adds to its own files.
    pub class_names: Option<String>,
}

/// The key under which the order of the classes is kept.
pub(crate) const CLASS_NAMES_KEY: &str = "handful.class_names";

impl Footer {
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, DataError> {
        let malformed = |reason: &str| DataError::malformed(path, FORMAT, reason);
        let body = bytes.strip_prefix(MAGIC).and_then(|rest| rest.strip_suffix(MAGIC));
        let body = body.ok_or_else(|| malformed("it does not begin and end with PAR1"))?;
        let (body, length) = body.split_last_chunk().ok_or_else(|| malformed("it has no footer"))?;
        let length = u32::from_le_bytes(*length) as usize;
        let start =
            body.len().checked_sub(length).ok_or_else(|| malformed("its footer is longer than the file"))?;
        let footer = Self::read(&mut ThriftReader::new(&body[start..])).map_err(malformed)?;
        if footer.groups.iter().any(|group| group.len() != footer.leaves.len()) {
            return Err(malformed("a group of rows does not have all columns"));
        }
        Ok(footer)
    }

    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, Trouble> {
        let mut footer = Self::default();
        let mut schema = Vec::new();
        reader.structure(|reader, field, _| {
            match field {
                2 => reader.list(|reader| {
                    schema.push(SchemaElement::read(reader)?);
                    Ok(())
                })?,
                3 => {
                    footer.rows =
                        u64::try_from(reader.integer()?).map_err(|_| "its number of rows is negative")?
                }
                4 => reader.list(|reader| {
                    footer.groups.push(read_group(reader)?);
                    Ok(())
                })?,
                5 => reader.list(|reader| {
                    let (mut key, mut value) = ("", "");
                    reader.structure(|reader, field, _| {
                        match field {
                            1 => key = reader.text()?,
                            2 => value = reader.text()?,
                            _ => return Ok(false),
                        }
                        Ok(true)
                    })?;
                    if key == CLASS_NAMES_KEY {
                        footer.class_names = Some(value.to_owned());
                    }
                    Ok(())
                })?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        footer.leaves = leaves(&schema)?;
        Ok(footer)
    }
}

#[derive(Default)]
struct SchemaElement {
    physical: Option<i64>,
    repetition: i64,
    name: String,
    children: usize,
}

impl SchemaElement {
    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, Trouble> {
        let mut element = Self::default();
        reader.structure(|reader, field, _| {
            match field {
                1 => element.physical = Some(reader.integer()?),
                3 => element.repetition = reader.integer()?,
                4 => element.name = reader.text()?.to_owned(),
                5 => {
                    element.children =
                        usize::try_from(reader.integer()?).map_err(|_| "its schema is broken")?
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(element)
    }
}

/// The levels of one open branch of the schema.
#[derive(Clone, Default)]
struct Branch {
    children_left: usize,
    top: Option<String>,
    defined: u32,
    repeated: u32,
    list_defined: u32,
}

fn leaves(schema: &[SchemaElement]) -> Result<Vec<Leaf>, Trouble> {
    let (root, elements) = schema.split_first().ok_or("its schema is empty")?;
    let mut branches = vec![Branch { children_left: root.children, ..Branch::default() }];
    let mut leaves = Vec::new();
    for element in elements {
        while branches.last().is_some_and(|branch| branch.children_left == 0) {
            branches.pop();
        }
        if branches.len() > 8 {
            return Err("its schema is nested too deeply");
        }
        let parent = branches.last_mut().ok_or("its schema has loose ends")?;
        parent.children_left -= 1;
        let mut branch = Branch { children_left: element.children, ..parent.clone() };
        branch.top.get_or_insert_with(|| element.name.clone());
        // 0 required, 1 optional, 2 repeated.
        branch.defined += u32::from(element.repetition != 0);
        if element.repetition == 2 {
            branch.repeated += 1;
            branch.list_defined = branch.defined;
        }
        if element.children == 0 {
            leaves.push(Leaf {
                name: branch.top.clone().unwrap_or_default(),
                physical: match element.physical {
                    Some(1) => Physical::Int32,
                    Some(2) => Physical::Int64,
                    Some(4) => Physical::Float,
                    Some(5) => Physical::Double,
                    Some(6) => Physical::Bytes,
                    _ => Physical::Other,
                },
                most_defined: branch.defined,
                most_repeated: branch.repeated,
                list_defined: branch.list_defined,
            });
        } else {
            branches.push(branch);
        }
    }
    Ok(leaves)
}

fn read_group(reader: &mut ThriftReader<'_>) -> Result<Vec<Chunk>, Trouble> {
    let mut chunks = Vec::new();
    reader.structure(|reader, field, _| {
        if field != 1 {
            return Ok(false);
        }
        reader.list(|reader| {
            let mut chunk = Chunk::default();
            reader.structure(|reader, field, _| {
                if field == 3 {
                    chunk = read_chunk(reader)?;
                }
                Ok(field == 3)
            })?;
            chunks.push(chunk);
            Ok(())
        })?;
        Ok(true)
    })?;
    Ok(chunks)
}

fn read_chunk(reader: &mut ThriftReader<'_>) -> Result<Chunk, Trouble> {
    let mut chunk = Chunk::default();
    let (mut data, mut dictionary) = (0, None);
    reader.structure(|reader, field, _| {
        let unsigned = |value: i64| u64::try_from(value).map_err(|_| "a column lies at a negative place");
        match field {
            4 => chunk.codec = reader.integer()?,
            5 => chunk.values = unsigned(reader.integer()?)?,
            7 => chunk.length = unsigned(reader.integer()?)?,
            9 => data = unsigned(reader.integer()?)?,
            11 => dictionary = Some(unsigned(reader.integer()?)?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    // Some writers note a dictionary at 0 when there is none.
    chunk.start = dictionary.filter(|&start| start > 0).map_or(data, |start| start.min(data));
    Ok(chunk)
}
