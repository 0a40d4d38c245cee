//! The values of Arrow columns, whatever their width: numbers as 32-bit floats, names and labels as text or whole
//! numbers.

use std::ops::Range;

use arrow_array::{Array, cast::AsArray, types::*};
use arrow_schema::DataType;
use half::f16;

/// Whether a column of this type is one number a row.
pub(super) fn is_number(kind: &DataType) -> bool {
    kind.is_integer() || kind.is_floating()
}

/// Whether a column of this type can name rows or classes. Writers without a type for text leave it as bytes.
pub(super) fn is_text(kind: &DataType) -> bool {
    use DataType::{Binary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    matches!(kind, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary)
}

/// The numbers of an array, regardless of which of them are absent.
pub(super) enum Numbers<'a> {
    F16(&'a [f16]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    /// Not a column of numbers.
    None,
}

impl<'a> Numbers<'a> {
    pub(super) fn of(array: &'a dyn Array) -> Self {
        match array.data_type() {
            DataType::Float16 => Self::F16(array.as_primitive::<Float16Type>().values()),
            DataType::Float32 => Self::F32(array.as_primitive::<Float32Type>().values()),
            DataType::Float64 => Self::F64(array.as_primitive::<Float64Type>().values()),
            DataType::Int8 => Self::I8(array.as_primitive::<Int8Type>().values()),
            DataType::Int16 => Self::I16(array.as_primitive::<Int16Type>().values()),
            DataType::Int32 => Self::I32(array.as_primitive::<Int32Type>().values()),
            DataType::Int64 => Self::I64(array.as_primitive::<Int64Type>().values()),
            DataType::UInt8 => Self::U8(array.as_primitive::<UInt8Type>().values()),
            DataType::UInt16 => Self::U16(array.as_primitive::<UInt16Type>().values()),
            DataType::UInt32 => Self::U32(array.as_primitive::<UInt32Type>().values()),
            DataType::UInt64 => Self::U64(array.as_primitive::<UInt64Type>().values()),
            _ => Self::None,
        }
    }

    /// Hands over a range of the numbers as the nearest 32-bit floats.
    pub(super) fn for_each(&self, range: Range<usize>, mut visit: impl FnMut(f32)) {
        match self {
            Self::F16(values) => values[range].iter().for_each(|value| visit(value.to_f32())),
            Self::F32(values) => values[range].iter().for_each(|&value| visit(value)),
            Self::F64(values) => values[range].iter().for_each(|&value| visit(value as f32)),
            Self::I8(values) => values[range].iter().for_each(|&value| visit(value.into())),
            Self::I16(values) => values[range].iter().for_each(|&value| visit(value.into())),
            Self::I32(values) => values[range].iter().for_each(|&value| visit(value as f32)),
            Self::I64(values) => values[range].iter().for_each(|&value| visit(value as f32)),
            Self::U8(values) => values[range].iter().for_each(|&value| visit(value.into())),
            Self::U16(values) => values[range].iter().for_each(|&value| visit(value.into())),
            Self::U32(values) => values[range].iter().for_each(|&value| visit(value as f32)),
            Self::U64(values) => values[range].iter().for_each(|&value| visit(value as f32)),
            Self::None => {}
        }
    }

    fn integer(&self, at: usize) -> Option<i64> {
        match self {
            Self::I8(values) => Some(values[at].into()),
            Self::I16(values) => Some(values[at].into()),
            Self::I32(values) => Some(values[at].into()),
            Self::I64(values) => Some(values[at]),
            Self::U8(values) => Some(values[at].into()),
            Self::U16(values) => Some(values[at].into()),
            Self::U32(values) => Some(values[at].into()),
            Self::U64(values) => i64::try_from(values[at]).ok(),
            _ => None,
        }
    }
}

/// A name or label.
#[derive(Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Text(&'a str),
    Integer(i64),
    Absent,
}

/// A column of names or labels.
pub(super) struct Cells<'a> {
    array: &'a dyn Array,
    values: &'a dyn Array,
    numbers: Numbers<'a>,
    /// Where each row's value is among the values, for a column that refers to a dictionary.
    keys: Option<Vec<usize>>,
}

impl<'a> Cells<'a> {
    pub(super) fn of(array: &'a dyn Array) -> Self {
        let (values, keys): (&dyn Array, _) = match array.as_any_dictionary_opt() {
            // An empty dictionary can only be referred to by rows that are all absent.
            Some(dictionary) if dictionary.values().is_empty() => (dictionary.values(), Some(Vec::new())),
            Some(dictionary) => (dictionary.values(), Some(dictionary.normalized_keys())),
            None => (array, None),
        };
        Self { array, values, numbers: Numbers::of(values), keys }
    }

    pub(super) fn is_text(&self) -> bool {
        is_text(self.values.data_type())
    }

    /// The value of a row; `None` for bytes that are not UTF-8 and numbers beyond 63 bits.
    pub(super) fn get(&self, row: usize) -> Option<Cell<'a>> {
        if self.array.is_null(row) {
            return Some(Cell::Absent);
        }
        let at = match &self.keys {
            Some(keys) => *keys.get(row)?,
            None => row,
        };
        if self.values.is_null(at) {
            return Some(Cell::Absent);
        }
        let text = match self.values.data_type() {
            DataType::Utf8 => self.values.as_string::<i32>().value(at),
            DataType::LargeUtf8 => self.values.as_string::<i64>().value(at),
            DataType::Utf8View => self.values.as_string_view().value(at),
            DataType::Binary => std::str::from_utf8(self.values.as_binary::<i32>().value(at)).ok()?,
            DataType::LargeBinary => std::str::from_utf8(self.values.as_binary::<i64>().value(at)).ok()?,
            _ => return self.numbers.integer(at).map(Cell::Integer),
        };
        Some(Cell::Text(text))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{DictionaryArray, Int32Array, UInt64Array, types::Int8Type};

    use super::*;

    #[test]
    fn names_come_from_dictionaries_and_absent_ones_are_told() {
        let array: DictionaryArray<Int8Type> = [Some("b"), None, Some("a"), Some("b")].into_iter().collect();
        let cells = Cells::of(&array);
        let found: Vec<_> = (0..4).map(|row| cells.get(row)).collect();
        assert_eq!(found[0], Some(Cell::Text("b")));
        assert_eq!((&found[1], &found[2]), (&Some(Cell::Absent), &Some(Cell::Text("a"))));
        assert!(cells.is_text());
        let empty: DictionaryArray<Int8Type> = [None::<&str>, None].into_iter().collect();
        assert_eq!(Cells::of(&empty).get(1), Some(Cell::Absent));
    }

    #[test]
    fn whole_numbers_are_exact_or_refused() {
        let array = Int32Array::from(vec![Some(-7), None]);
        assert_eq!(Cells::of(&array).get(0), Some(Cell::Integer(-7)));
        assert_eq!(Cells::of(&array).get(1), Some(Cell::Absent));
        let array = UInt64Array::from(vec![u64::MAX]);
        assert_eq!(Cells::of(&array).get(0), None);
    }
}
