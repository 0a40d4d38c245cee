//! NumPy arrays.

use std::{io::Write, path::Path};

use super::write_features;
use crate::{
    atomic::write_file,
    error::DataError,
    readers::sibling,
    table::{FeatureTable, RowParts},
};

/// Writes the features, and labels and ids beside them.
pub(super) fn write(path: &Path, table: &FeatureTable) -> Result<(), DataError> {
    write_file(path, |out| features(path, table, out))?;
    let labels = sibling(path, "labels.npy");
    if table.class_count() > 0 {
        let names: Vec<&str> = (0..table.rows())
            .map(|row| table.class_of_row(row).map_or("", |class| &table.class_names()[class]))
            .collect();
        write_file(&labels, |out| texts(&labels, &names, out))?;
    }
    super::write_class_order(path, table)?;
    if let Some(ids) = table.ids() {
        let beside = sibling(path, "ids.npy");
        write_file(&beside, |out| texts(&beside, ids, out))?;
    }
    Ok(())
}

/// Writes the features as one array.
pub(super) fn features(path: &Path, table: &FeatureTable, out: &mut dyn Write) -> Result<(), DataError> {
    header(path, "<f4", &format!("({}, {})", table.rows(), table.dim()), out)?;
    write_features(path, table, out)
}

/// Writes the features as one array of 16-bit floats.
pub(super) fn half_features(path: &Path, table: &FeatureTable, out: &mut dyn Write) -> Result<(), DataError> {
    header(path, "<f2", &format!("({}, {})", table.rows(), table.dim()), out)?;
    table.for_each_block(|_, values| {
        let bytes: Vec<u8> = values.iter().flat_map(|&value| shortened(value).to_le_bytes()).collect();
        out.write_all(&bytes).map_err(|error| DataError::write(path, error))
    })
}

/// The nearest 16-bit float whose last two binary digits are zero: two and a half decimal digits, and a tenth less of
/// a compressed file.
fn shortened(value: f32) -> half::f16 {
    let exact = half::f16::from_f32(value);
    let bits = exact.to_bits();
    // Half-way cases go to the even neighbour, as everywhere.
    let nearest = half::f16::from_bits(bits.wrapping_add(1 + ((bits >> 2) & 1)) & !3);
    if nearest.is_finite() { nearest } else { exact }
}

/// Writes what the rows are made of as one array of three dimensions.
pub(super) fn parts(path: &Path, parts: &RowParts, half: bool, out: &mut dyn Write) -> Result<(), DataError> {
    let shape = format!("({}, {}, {})", parts.vectors().rows(), parts.count(), parts.width());
    header(path, if half { "<f2" } else { "<f4" }, &shape, out)?;
    // A row at a time: there may be gigabytes of them.
    for row in parts.vectors().iter_rows() {
        let bytes: Vec<u8> = if half {
            row.iter().flat_map(|&value| shortened(value).to_le_bytes()).collect()
        } else {
            row.iter().flat_map(|value| value.to_le_bytes()).collect()
        };
        out.write_all(&bytes).map_err(|error| DataError::write(path, error))?;
    }
    Ok(())
}

/// Writes whole numbers as one array.
pub(super) fn integers(
    path: &Path,
    count: usize,
    values: impl Iterator<Item = i64>,
    out: &mut dyn Write,
) -> Result<(), DataError> {
    header(path, "<i8", &format!("({count},)"), out)?;
    let bytes: Vec<u8> = values.flat_map(i64::to_le_bytes).collect();
    out.write_all(&bytes).map_err(|error| DataError::write(path, error))
}

/// Writes texts as one array of fixed width.
pub(super) fn texts<S: AsRef<str>>(path: &Path, texts: &[S], out: &mut dyn Write) -> Result<(), DataError> {
    let longest = texts.iter().map(|text| text.as_ref().chars().count()).max().unwrap_or(0).max(1);
    header(path, &format!("<U{longest}"), &format!("({},)", texts.len()), out)?;
    for text in texts {
        let codes = text.as_ref().chars().map(u32::from).chain(std::iter::repeat(0)).take(longest);
        let bytes: Vec<u8> = codes.flat_map(u32::to_le_bytes).collect();
        out.write_all(&bytes).map_err(|error| DataError::write(path, error))?;
    }
    Ok(())
}

/// The header, padded so that the data begins at a multiple of 64 bytes, as NumPy does.
fn header(path: &Path, element: &str, shape: &str, out: &mut dyn Write) -> Result<(), DataError> {
    let mut text = format!("{{'descr': '{element}', 'fortran_order': False, 'shape': {shape}, }}");
    let padding = 63 - (10 + text.len()) % 64;
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    out.write_all(&bytes).map_err(|error| DataError::write(path, error))
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn shortened_numbers_are_near_and_large_ones_stay_finite() {
        for value in [0.0, 1.0, -1.0, 0.3337, 5.8195, -123.4, 6.1e-5] {
            let near = shortened(value).to_f32();
            assert!((near - value).abs() <= value.abs() / 400.0, "{value} became {near}");
            assert_eq!(shortened(value).to_bits() & 3, 0);
        }
        assert!(shortened(65504.0).is_finite());
        assert!(shortened(f32::INFINITY).is_infinite());
    }
}
