//! The columns of an Arrow file and their types.

use super::flatbuffer::Table;
use crate::arrays::{ElementKind, ElementType};

/// The type of a column or of its children.
#[derive(Clone, Debug)]
pub(super) enum Type {
    Number(ElementType),
    /// Text with offsets of 4 or 8 bytes.
    Text {
        wide: bool,
    },
    /// A list of any length a row, with offsets of 4 or 8 bytes.
    List {
        wide: bool,
        item: Box<Field>,
    },
    /// A list of the same length in each row.
    FixedList {
        length: usize,
        item: Box<Field>,
    },
    /// Not features, labels or ids: only the number of its buffers matters.
    Other {
        buffers: usize,
        children: Vec<Field>,
    },
}

/// A column.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub name: String,
    pub kind: Type,
    /// The dictionary that its values are places in.
    pub dictionary: Option<Dictionary>,
}

/// A dictionary, and the type of the places in it.
#[derive(Clone, Debug)]
pub(super) struct Dictionary {
    pub id: i64,
    pub places: ElementType,
}

/// Deeper nesting holds no features.
const DEEPEST: usize = 6;

impl Field {
    pub(super) fn read(table: Table<'_>, depth: usize) -> Result<Self, &'static str> {
        if depth > DEEPEST {
            return Err("its columns are nested too deeply");
        }
        let kind = table.table(3).ok_or("a column has no type")?;
        let children = table.tables(5).unwrap_or_default();
        let child = || -> Result<Box<Self>, &'static str> {
            let child = children.first().ok_or("a list has no type of items")?;
            Self::read(*child, depth + 1).map(Box::new)
        };
        let kind = match table.u8(2) {
            2 => Type::Number(integer(kind)?),
            3 => Type::Number(ElementType::little(ElementKind::Float, 2 << kind.i16(0).clamp(0, 2))),
            5 => Type::Text { wide: false },
            20 => Type::Text { wide: true },
            12 => Type::List { wide: false, item: child()? },
            21 => Type::List { wide: true, item: child()? },
            16 => {
                let length = usize::try_from(kind.i32(0)).map_err(|_| "a list has a negative length")?;
                Type::FixedList { length, item: child()? }
            }
            1 => Type::Other { buffers: 0, children: Vec::new() },
            4 | 19 => Type::Other { buffers: 3, children: Vec::new() },
            6..=11 | 15 | 18 => Type::Other { buffers: 2, children: Vec::new() },
            13 => {
                let children = children
                    .into_iter()
                    .map(|child| Self::read(child, depth + 1))
                    .collect::<Result<_, _>>()?;
                Type::Other { buffers: 1, children }
            }
            _ => return Err("a column is of a type that is not read here"),
        };
        let dictionary = match table.table(4) {
            Some(encoding) => {
                let places =
                    encoding.table(1).map_or(Ok(ElementType::little(ElementKind::Signed, 4)), integer)?;
                Some(Dictionary { id: encoding.i64(0), places })
            }
            None => None,
        };
        Ok(Self { name: table.text(0).unwrap_or_default().to_owned(), kind, dictionary })
    }
}

fn integer(kind: Table<'_>) -> Result<ElementType, &'static str> {
    let signed = if kind.u8(1) != 0 { ElementKind::Signed } else { ElementKind::Unsigned };
    match kind.i32(0) {
        bits @ (8 | 16 | 32 | 64) => Ok(ElementType::little(signed, bits as usize / 8)),
        _ => Err("a column holds whole numbers of no known width"),
    }
}
