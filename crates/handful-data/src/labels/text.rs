//! Lines `id,label`, a review that was filled in, or Label Studio's CSV.

use std::path::Path;

use csv::{ByteRecord, Trim};

use super::{GivenLabel, RowsById, label_studio};
use crate::{
    error::DataError,
    readers::{Records, Separator},
    spreadsheet::plain,
};

/// Reads the labels of a text.
///
/// Columns after the first two, as a review has them, are passed over; so are its lines without a label.
pub(super) fn read(path: &Path, bytes: &[u8], rows: &RowsById<'_>) -> Result<Vec<GivenLabel>, DataError> {
    let malformed = |error: csv::Error| DataError::malformed(path, "labels", error.to_string());
    let mut records = Records::new(bytes, Separator::of_first_line(bytes), Trim::None);
    let header = match records.next().map_err(malformed)? {
        Some((_, record)) => cells(path, 1, record)?,
        None => return Err(DataError::content(path, "it is empty; it needs lines `id,label`")),
    };
    let columns = Columns::of(path, &header)?;
    let mut given = Vec::new();
    while let Some((line, record)) = records.next().map_err(malformed)? {
        let cells = cells(path, line, record)?;
        if cells.len() != header.len() {
            let reason = format!("{} values, but the header has {}", cells.len(), header.len());
            return Err(DataError::line(path, line, reason));
        }
        let (id, label) = (plain(&cells[columns.id]), plain(cells[columns.label].trim()));
        if label.is_empty() {
            if header.len() > 2 {
                continue;
            }
            return Err(DataError::line(path, line, format!("the label of `{id}` is empty")));
        }
        if columns.is_label_studio && label.starts_with('{') {
            return Err(DataError::line(
                path,
                line,
                format!("it has the classes {label}, but a row has one"),
            ));
        }
        let found = if columns.is_label_studio { label_studio::row_of(rows, id) } else { rows.find(id) };
        if found.is_none() && rows.is_skipped(id) {
            continue;
        }
        let row = found.ok_or_else(|| DataError::line(path, line, rows.unknown(id)))?;
        given.push(GivenLabel { place: line, id: id.to_owned(), row, label: label.to_owned() });
    }
    Ok(given)
}

fn cells(path: &Path, line: usize, record: &ByteRecord) -> Result<Vec<String>, DataError> {
    let text = |cell: &[u8]| std::str::from_utf8(cell).map(str::to_owned);
    record
        .iter()
        .map(text)
        .collect::<Result<_, _>>()
        .map_err(|_| DataError::line(path, line, "it is not UTF-8 text"))
}

struct Columns {
    id: usize,
    label: usize,
    is_label_studio: bool,
}

impl Columns {
    fn of(path: &Path, header: &[String]) -> Result<Self, DataError> {
        let names: Vec<&str> = header.iter().map(|name| name.trim()).collect();
        if names.contains(&"source") && names.contains(&"credibility") {
            let reason = "it is a labelled pool: most of its labels are inferred, not labels you know";
            return Err(DataError::content(path, reason));
        }
        if names.contains(&"annotation_id") {
            let place = |known: &[&str]| names.iter().position(|name| known.contains(name));
            let (id, label) = (place(label_studio::IMAGE), place(label_studio::CHOICE));
            return id.zip(label).map(|(id, label)| Self { id, label, is_label_studio: true }).ok_or_else(|| {
                let reason = format!(
                    "it looks like an export of Label Studio, but has no column `image` and `choice`; it has {}",
                    names.join(", ")
                );
                DataError::line(path, 1, reason)
            });
        }
        if names.len() < 2 || names[..2] != ["id", "label"] {
            let reason = format!("the header must begin with `id,label`, but is `{}`", names.join(","));
            return Err(DataError::line(path, 1, reason));
        }
        Ok(Self { id: 0, label: 1, is_label_studio: false })
    }
}

#[cfg(test)]
mod tests {
    use super::super::read_labels;

    fn read(text: &str) -> Result<Vec<(usize, String)>, crate::DataError> {
        let spec =
            crate::synthetic::SyntheticSpec { classes: 2, rows_per_class: 3, dim: 2, ..Default::default() };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.csv");
        std::fs::write(&path, text).unwrap();
        read_labels(&path, &spec.table().unwrap())
    }

    #[test]
    fn labels_are_found_by_id_whatever_separates_them() {
        let expected = [(4, "cat".to_owned()), (0, "dog".to_owned())];
        for text in [
            "id,label\n4, cat \n0,dog\n",
            "id;label\n4;cat\n0;dog\n",
            "id\tlabel\n4\tcat\n0\tdog\n",
            "\u{feff}id,label\r\n4,cat\r\n0,dog\r\n",
            "id,label,suggested\n4,cat,dog\n1,,dog\n0,dog,cat\n",
        ] {
            assert_eq!(read(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_named_by_line() {
        for (text, expected) in [
            ("4,cat\n", "line 1: the header must begin with `id,label`"),
            ("id,label\n4,cat\n9,dog\n", "line 3: the id `9` is not in <synthetic>"),
            ("id,label\r\n4,cat\r\n9,dog\r\n", "line 3: the id `9` is not in <synthetic>"),
            ("id,label\n4,cat\n4,dog\n", "line 3: the id `4` is labelled `dog`, but `cat` on line 2"),
            ("id,label\n4,\n", "line 2: the label of `4` is empty"),
            ("id,label\n4\n", "line 2: 1 values, but the header has 2"),
            ("id,label\n", "it labels no row"),
            ("", "it is empty"),
            ("id,label,probability,credibility,source\n", "it is a labelled pool"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "expected `{expected}` in `{error}`");
        }
    }

    #[test]
    fn exports_of_label_studio_are_read() {
        let head = "annotation_id,annotator,choice,created_at,id,image,lead_time,updated_at\n";
        let text = format!(
            "{head}1,1,cat,2024,17,/data/local-files/?d=4,1.5,2024\n2,1,dog,2024,18,0,1.5,2024\n3,1,,2024,19,1,1.5,2024\n"
        );
        assert_eq!(read(&text).unwrap(), [(4, "cat".to_owned()), (0, "dog".to_owned())]);
        let several = format!("{head}1,1,\"{{\"\"choices\"\": []}}\",2024,17,4,1.5,2024\n");
        assert!(read(&several).unwrap_err().to_string().contains("line 2: it has the classes"));
        let error = read("annotation_id,sentiment,text\n").unwrap_err().to_string();
        assert!(error.contains("no column `image` and `choice`; it has annotation_id"), "{error}");
    }
}
