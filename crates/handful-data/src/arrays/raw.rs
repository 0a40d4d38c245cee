//! An array of a foreign file, and its conversion to features, labels and names.

use std::{borrow::Cow, path::Path};

use handful::Matrix;

use super::element::{ElementType, decode};
use crate::error::DataError;

/// How the elements of an array of two or more dimensions follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The last index runs fastest (C).
    RowMajor,
    /// The first index runs fastest (Fortran).
    ColumnMajor,
}

/// An array whose byte count is known to fit its shape.
#[derive(Clone, Debug)]
pub(crate) struct RawArray<'a> {
    element: ElementType,
    shape: Vec<usize>,
    order: Order,
    bytes: Cow<'a, [u8]>,
}

impl<'a> RawArray<'a> {
    /// Checks that `bytes` hold exactly the elements of `shape`.
    pub(crate) fn new(
        element: ElementType,
        shape: Vec<usize>,
        order: Order,
        bytes: Cow<'a, [u8]>,
    ) -> Result<Self, String> {
        let needed = byte_count(&element, &shape)
            .ok_or_else(|| format!("an array of shape {shape:?} cannot exist in memory"))?;
        if bytes.len() != needed {
            return Err(format!(
                "an array of shape {shape:?} and type {} takes {needed} bytes, but {} are there",
                element.name(),
                bytes.len()
            ));
        }
        Ok(Self { element, shape, order, bytes })
    }

    pub(crate) fn element(&self) -> ElementType {
        self.element
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes that the array holds in memory of its own.
    pub(crate) fn owned_bytes(&self) -> usize {
        if matches!(self.bytes, Cow::Owned(_)) { self.bytes.len() } else { 0 }
    }

    /// The bytes of all elements, in the order of the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The first rows of a row-major array; all of them without a number, or where there are no more.
    pub(crate) fn first_rows(self, rows: Option<usize>) -> Self {
        let Some((rows, total)) = rows.zip(self.shape.first().copied()).filter(|(rows, total)| rows < total)
        else {
            return self;
        };
        let mut shape = self.shape;
        shape[0] = rows;
        let length = self.bytes.len() / total * rows;
        let bytes = match self.bytes {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..length]),
            Cow::Owned(mut bytes) => {
                bytes.truncate(length);
                Cow::Owned(bytes)
            }
        };
        Self { shape, bytes, ..self }
    }

    /// One whole number, in the order of the file.
    pub(crate) fn integer_at(&self, place: usize) -> Option<i64> {
        let size = self.element.size;
        let bytes = self.bytes.get(place.checked_mul(size)?..)?.get(..size)?;
        if self.element.is_integer() { self.element.integer(bytes) } else { None }
    }

    /// The elements as features: a float array of two dimensions. Whether they are finite is for the table to check.
    pub(crate) fn to_features(&self, path: &Path, name: &str) -> Result<Matrix<f32>, DataError> {
        let &[rows, columns] = self.shape() else {
            return Err(DataError::content(
                path,
                format!("`{name}` has shape {:?}, but features are [rows, columns]", self.shape),
            ));
        };
        self.check_float(path, name)?;
        let values = match self.order {
            Order::RowMajor => self.to_f32(),
            Order::ColumnMajor => transpose(&self.to_f32(), rows, columns),
        };
        Ok(Matrix::from_vec(rows, columns, values))
    }

    fn check_float(&self, path: &Path, name: &str) -> Result<(), DataError> {
        if self.element.is_float() {
            return Ok(());
        }
        Err(DataError::content(
            path,
            format!("`{name}` holds {}, but features are float16, float32 or float64", self.element.name()),
        ))
    }

    /// The elements of a float array of any number of dimensions, a row for each value of the first.
    pub(crate) fn to_rows(&self, path: &Path, name: &str) -> Result<Matrix<f32>, DataError> {
        self.check_float(path, name)?;
        let rows = self.shape.first().copied().unwrap_or(0);
        if self.order == Order::ColumnMajor {
            let reason = format!("`{name}` is stored column by column; store it row by row");
            return Err(DataError::content(path, reason));
        }
        Ok(Matrix::from_vec(rows, self.len() / rows.max(1), self.to_f32()))
    }

    /// The elements of a float array of one dimension, as row number `row` of a table.
    pub(crate) fn to_row(&self, path: &Path, row: usize) -> Result<Vec<f32>, DataError> {
        if !self.element.is_float() {
            let reason = format!("it holds {}, but features are floats", self.element.name());
            return Err(DataError::row(path, row, reason));
        }
        Ok(self.to_f32())
    }

    /// The float elements in the order of the file.
    pub(crate) fn to_f32(&self) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.bytes.len() / self.element.size);
        decode(self.element, &self.bytes, &mut values);
        values
    }

    /// The elements as whole numbers: an integer array of one dimension (or `[n, 1]`).
    pub(crate) fn to_integers(&self, path: &Path, name: &str) -> Result<Vec<i64>, DataError> {
        self.check_vector(path, name)?;
        if !self.element.is_integer() {
            return Err(DataError::content(
                path,
                format!("`{name}` holds {}, but whole numbers are needed", self.element.name()),
            ));
        }
        (self.bytes.chunks_exact(self.element.size).enumerate())
            .map(|(row, bytes)| {
                self.element.integer(bytes).ok_or_else(|| {
                    DataError::row(path, row, format!("`{name}` exceeds a 64-bit signed integer"))
                })
            })
            .collect()
    }

    /// The elements as text: a `U` or `S` array of one dimension.
    pub(crate) fn to_texts(&self, path: &Path, name: &str) -> Result<Vec<String>, DataError> {
        self.check_vector(path, name)?;
        if !self.element.is_text() {
            return Err(DataError::content(
                path,
                format!("`{name}` holds {}, but text is needed", self.element.name()),
            ));
        }
        (self.bytes.chunks_exact(self.element.size).enumerate())
            .map(|(row, bytes)| {
                self.element
                    .text(bytes)
                    .ok_or_else(|| DataError::row(path, row, format!("`{name}` is not valid text")))
            })
            .collect()
    }

    fn check_vector(&self, path: &Path, name: &str) -> Result<(), DataError> {
        match self.shape() {
            [_] | [_, 1] => Ok(()),
            shape => {
                Err(DataError::content(path, format!("`{name}` has shape {shape:?}, but [rows] is needed")))
            }
        }
    }
}

/// The bytes that an array takes, unless that number overflows.
pub(crate) fn byte_count(element: &ElementType, shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(element.size, |bytes, &length| bytes.checked_mul(length))
}

fn transpose(columns_first: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let mut values = vec![0.0; columns_first.len()];
    if rows == 0 || columns == 0 {
        return values;
    }
    for (column, source) in columns_first.chunks_exact(rows).enumerate() {
        for (row, &value) in source.iter().enumerate() {
            values[row * columns + column] = value;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::ElementKind;

    fn floats(shape: Vec<usize>, order: Order, values: &[f32]) -> RawArray<'static> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        RawArray::new(ElementType::little(ElementKind::Float, 4), shape, order, bytes.into()).unwrap()
    }

    #[test]
    fn column_major_features_are_turned() {
        let array = floats(vec![2, 3], Order::ColumnMajor, &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        let matrix = array.to_features(Path::new("f"), "features").unwrap();
        assert_eq!(matrix.as_slice(), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn size_must_match_and_not_overflow() {
        let element = ElementType::little(ElementKind::Float, 4);
        assert!(RawArray::new(element, vec![2, 2], Order::RowMajor, vec![0; 15].into()).is_err());
        assert!(RawArray::new(element, vec![usize::MAX, 2], Order::RowMajor, vec![0; 8].into()).is_err());
        // Elements of no bytes must not let a shape of any size through.
        assert!(floats(vec![0, 5], Order::RowMajor, &[]).to_features(Path::new("f"), "x").is_ok());
    }
}
