//! Text tables: separated by commas, semicolons or tabs, one row a line, a header that names the columns.
//!
//! A column named `id` (or `path`, `filename`, `image`) gives the ids, a column named `label` (or `class`,
//! `class_name`, `target`) the classes, and all others must be numbers: the features, in their order. A file whose
//! first line is all numbers has no header and only features, unless they are the numbers of columns: see `header`.

use std::{collections::HashSet, path::Path};

use csv::{ByteRecord, Trim};
use handful::Matrix;

use super::{
    OpenOptions,
    header::Columns,
    raw_table::{Labels, RawTable},
    records::{Records, Separator},
};
use crate::{error::DataError, spreadsheet::plain};

/// Reads a text table.
pub(crate) fn read(
    path: &Path,
    bytes: &[u8],
    separator: Separator,
    options: &OpenOptions,
) -> Result<RawTable, DataError> {
    let malformed = |error: csv::Error| DataError::malformed(path, "text table", error.to_string());
    let mut head = Records::new(bytes, separator, Trim::None);
    let Some((_, first)) = head.next().map_err(malformed)? else {
        return Err(DataError::EmptyTable { path: path.to_owned(), rows: 0, columns: 0 });
    };
    let first = cells(first);
    let second = head.next().map_err(malformed)?.map(|(_, record)| cells(record));
    let columns = Columns::of(path, &first, second.as_deref(), options)?;
    let mut contents = Contents::default();
    let mut records = Records::new(bytes, separator, Trim::None);
    if columns.has_header {
        records.next().map_err(malformed)?;
    }
    while let Some((line, record)) = records.next().map_err(malformed)? {
        contents.take(path, line, &columns, record)?;
    }
    contents.into_table(path, columns)
}

fn cells(record: &ByteRecord) -> Vec<String> {
    record.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned()).collect()
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
                self.ids.push(plain(text).to_owned());
            } else if columns.label == Some(at) {
                self.labels.push((!text.is_empty()).then(|| plain(text).to_owned()));
            } else if columns.is_feature(at) {
                self.values.push(number(path, line, columns, at, text)?);
            }
        }
        self.rows += 1;
        Ok(())
    }

    fn into_table(self, path: &Path, columns: Columns) -> Result<RawTable, DataError> {
        let (rows, dim) = (self.rows, columns.feature_count());
        if dim == 0 {
            return Err(DataError::EmptyTable { path: path.to_owned(), rows, columns: 0 });
        }
        let mut table = RawTable::new("text table (csv or tsv)", Matrix::from_vec(rows, dim, self.values));
        if columns.label.is_some() {
            table.labels = Labels::Names(self.labels);
        }
        table.notes = columns.notes;
        let mut seen = HashSet::new();
        if columns.id_is_index && !self.ids.iter().all(|id| seen.insert(id)) {
            table.notes.push("the index repeats, so rows are named by their number instead".to_owned());
        } else {
            table.ids = columns.id.map(|_| self.ids);
        }
        Ok(table)
    }
}

fn number(path: &Path, line: usize, columns: &Columns, at: usize, text: &str) -> Result<f32, DataError> {
    let name = &columns.names[at];
    let value: f32 = text.trim().parse().map_err(|_| {
        let mut reason = format!("column `{name}` holds `{text}`, not a number");
        if at == 0 && columns.id.is_none() {
            reason.push_str(&format!("; if it names the rows, say --id-column {name}"));
        }
        DataError::line(path, line, reason)
    })?;
    if value.is_finite() {
        return Ok(value);
    }
    Err(DataError::line(path, line, format!("column `{name}` holds `{text}`, not a finite 32-bit number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_with(text: &str, options: &OpenOptions) -> Result<RawTable, DataError> {
        read(Path::new("t.csv"), text.as_bytes(), Separator::of_first_line(text.as_bytes()), options)
    }

    fn read_text(text: &str) -> Result<RawTable, DataError> {
        read_with(text, &OpenOptions::default())
    }

    fn shape(table: &RawTable) -> (usize, usize) {
        (table.features.rows(), table.features.columns())
    }

    #[test]
    fn ids_labels_and_features_are_told_apart() {
        let table = read_text("\u{feff}id,f0,label,f1\na,1,\"x, y\",2\nb,3,,4e-1\n").unwrap();
        assert_eq!(table.ids, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(table.labels, Labels::Names(vec![Some("x, y".to_owned()), None]));
        assert_eq!(table.features.gather(&[1, 0]).as_slice(), [3.0, 0.4, 1.0, 2.0]);
        assert!(table.notes.is_empty());
        let table = read_text("id;label;f0\na;x;1.5\n").unwrap();
        assert_eq!(
            (table.ids, table.features.gather(&[0]).as_slice()),
            (Some(vec!["a".to_owned()]), &[1.5][..])
        );
    }

    #[test]
    fn numbers_alone_need_no_header() {
        let table = read_text("1,2\n3,4\n").unwrap();
        assert_eq!((shape(&table), table.notes.len()), ((2, 2), 0));
    }

    #[test]
    fn the_index_of_pandas_names_the_rows() {
        for text in [",a,b\n5,1.0,2.0\n7,3.0,4.0\n", "Unnamed: 0,a,b\n5,1.0,2.0\n7,3.0,4.0\n"] {
            let table = read_text(text).unwrap();
            assert_eq!(shape(&table), (2, 2));
            assert_eq!(table.ids, Some(vec!["5".to_owned(), "7".to_owned()]));
            assert!(table.notes[0].contains("the first column has no name"), "{:?}", table.notes);
        }
        let repeated = read_text(",a\n0,1.0\n0,2.0\n").unwrap();
        assert_eq!((repeated.ids, repeated.notes.len()), (None, 2));
        let beside = read_text(",id,a\n0,x,1.0\n1,y,2.0\n").unwrap();
        assert_eq!((shape(&beside), beside.ids), ((2, 1), Some(vec!["x".to_owned(), "y".to_owned()])));
    }

    #[test]
    fn column_names_that_are_numbers_are_no_row() {
        for text in ["0,1,2\n4,5,6\n7,8,9\n", "3,5,8\n0.5,1.5,2.5\n0.0,1.0,2.0\n"] {
            let table = read_text(text).unwrap();
            assert_eq!(shape(&table), (2, 3), "{text}");
            assert!(table.notes[0].contains("--no-header"), "{:?}", table.notes);
            let options = OpenOptions { header: Some(false), ..OpenOptions::default() };
            let table = read_with(text, &options).unwrap();
            assert_eq!((shape(&table), table.notes.len()), ((3, 3), 0));
        }
        let options = OpenOptions { header: Some(true), ..OpenOptions::default() };
        assert_eq!(shape(&read_with("1,2\n3,4\n", &options).unwrap()), (1, 2));
    }

    #[test]
    fn the_user_names_the_column_of_ids() {
        let by = |column: &str| OpenOptions { id_column: Some(column.to_owned()), ..OpenOptions::default() };
        let table = read_with("picture,a\np.png,1\nq.png,2\n", &by("picture")).unwrap();
        assert_eq!((shape(&table), table.ids.unwrap()[1].as_str()), ((2, 1), "q.png"));
        let table = read_with("9,1.5\n8,2.5\n", &by("1")).unwrap();
        assert_eq!((shape(&table), table.ids.unwrap()[1].as_str()), ((2, 1), "8"));
        let error = read_with("a,b\n1,2\n", &by("c")).unwrap_err().to_string();
        assert!(error.contains("there is no column `c`; there are a, b"), "{error}");
        let error = read_text("picture,a\np.png,1\n").unwrap_err().to_string();
        assert!(error.contains("say --id-column picture"), "{error}");
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, expected) in [
            ("id,f0\na,1\nb\n", "line 3: 1 values, but the first line has 2"),
            ("id,f0\r\na,1\r\nb,x\r\n", "line 3: column `f0` holds `x`, not a number"),
            ("id,f0\na,1\n\n\nb,x\n", "line 5: column `f0` holds `x`, not a number"),
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
