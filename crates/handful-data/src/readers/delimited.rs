//! Text tables: comma- or tab-separated, one row a line, a header that names the columns.
//!
//! A column named `id` (or `path`, `filename`, `image`) gives the ids, a column named `label` (or `class`,
//! `class_name`, `target`) the classes, and all others must be numbers: the features, in their order. A file whose
//! first line is all numbers has no header and only features.

use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};
use handful::Matrix;

use super::raw_table::{KnownNames, Labels, RawTable};
use crate::error::DataError;

/// What separates the values of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    Comma,
    Tab,
}

impl Separator {
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Tab => b'\t',
        }
    }
}

/// Reads a text table.
pub(crate) fn read(path: &Path, bytes: &[u8], separator: Separator) -> Result<RawTable, DataError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader =
        ReaderBuilder::new().delimiter(separator.byte()).has_headers(false).flexible(true).from_reader(bytes);
    let mut record = ByteRecord::new();
    let mut next = |record: &mut ByteRecord| -> Result<bool, DataError> {
        reader
            .read_byte_record(record)
            .map_err(|error| DataError::malformed(path, "text table", error.to_string()))
    };
    if !next(&mut record)? {
        return Err(DataError::EmptyTable { path: path.to_owned(), rows: 0, columns: 0 });
    }
    let columns = Columns::of(path, &record)?;
    let mut contents = Contents::default();
    // Without a header the first line is a row like all others.
    let mut more = if columns.has_header { next(&mut record)? } else { true };
    while more {
        let line = record.position().map_or(0, |position| position.line() as usize);
        contents.take(path, line, &columns, &record)?;
        more = next(&mut record)?;
    }
    contents.into_table(path, &columns)
}

/// Which column is what.
struct Columns {
    has_header: bool,
    names: Vec<String>,
    id: Option<usize>,
    label: Option<usize>,
}

impl Columns {
    fn of(path: &Path, first: &ByteRecord) -> Result<Self, DataError> {
        let names: Vec<String> =
            first.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect();
        let has_header = names.iter().any(|name| name.parse::<f32>().is_err());
        let place = |known: fn(&str) -> bool| {
            let mut places =
                names.iter().enumerate().filter(|(_, name)| has_header && known(name)).map(|(at, _)| at);
            match (places.next(), places.next()) {
                (Some(first), Some(second)) => Err(DataError::line(
                    path,
                    1,
                    format!("the columns `{}` and `{}` say the same; keep one", names[first], names[second]),
                )),
                (place, _) => Ok(place),
            }
        };
        let id = place(KnownNames::is_id)?;
        let label = place(KnownNames::is_label)?;
        Ok(Self { has_header, id, label, names })
    }

    fn feature_count(&self) -> usize {
        self.names.len() - usize::from(self.id.is_some()) - usize::from(self.label.is_some())
    }
}

/// The rows read so far.
#[derive(Default)]
struct Contents {
    rows: usize,
    values: Vec<f32>,
    labels: Vec<Option<String>>,
    ids: Vec<String>,
}

impl Contents {
    fn take(
        &mut self,
        path: &Path,
        line: usize,
        columns: &Columns,
        record: &ByteRecord,
    ) -> Result<(), DataError> {
        if record.len() != columns.names.len() {
            let reason = format!("{} values, but the first line has {}", record.len(), columns.names.len());
            return Err(DataError::line(path, line, reason));
        }
        for (at, field) in record.iter().enumerate() {
            let text = std::str::from_utf8(field)
                .map_err(|_| DataError::line(path, line, "it is not UTF-8 text"))?;
            if columns.id == Some(at) {
                self.ids.push(text.to_owned());
            } else if columns.label == Some(at) {
                self.labels.push((!text.is_empty()).then(|| text.to_owned()));
            } else {
                let value: f32 = text.trim().parse().map_err(|_| {
                    DataError::line(
                        path,
                        line,
                        format!("column `{}` holds `{text}`, not a number", columns.names[at]),
                    )
                })?;
                if !value.is_finite() {
                    let reason =
                        format!("column `{}` holds `{text}`, not a finite 32-bit number", columns.names[at]);
                    return Err(DataError::line(path, line, reason));
                }
                self.values.push(value);
            }
        }
        self.rows += 1;
        Ok(())
    }

    fn into_table(self, path: &Path, columns: &Columns) -> Result<RawTable, DataError> {
        let (rows, dim) = (self.rows, columns.feature_count());
        if dim == 0 {
            return Err(DataError::EmptyTable { path: path.to_owned(), rows, columns: 0 });
        }
        let mut table = RawTable::new("text table (csv or tsv)", Matrix::from_vec(rows, dim, self.values));
        if columns.label.is_some() {
            table.labels = Labels::Names(self.labels);
        }
        table.ids = columns.id.map(|_| self.ids);
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<RawTable, DataError> {
        read(Path::new("t.csv"), text.as_bytes(), Separator::Comma)
    }

    #[test]
    fn ids_labels_and_features_are_told_apart() {
        let table = read_text("\u{feff}id,f0,label,f1\na,1,\"x, y\",2\nb,3,,4e-1\n").unwrap();
        assert_eq!(table.ids, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(table.labels, Labels::Names(vec![Some("x, y".to_owned()), None]));
        assert_eq!(table.features.gather(&[1, 0]).as_slice(), [3.0, 0.4, 1.0, 2.0]);
    }

    #[test]
    fn numbers_alone_need_no_header() {
        let table = read_text("1,2\n3,4\n").unwrap();
        assert_eq!((table.features.rows(), table.features.columns()), (2, 2));
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, expected) in [
            ("id,f0\na,1\nb\n", "line 3: 1 values, but the first line has 2"),
            ("id,f0\na,1\nb,x\n", "line 3: column `f0` holds `x`, not a number"),
            ("id,f0\na,1\nb,1e99\n", "line 3: column `f0` holds `1e99`, not a finite"),
            ("id,path,f0\n", "the columns `id` and `path` say the same"),
            ("", "0 rows and 0 columns"),
            ("id,label\na,b\n", "1 rows and 0 columns"),
        ] {
            let error = read_text(text).unwrap_err().to_string();
            assert!(error.contains(expected), "expected `{expected}` in `{error}`");
        }
    }
}
