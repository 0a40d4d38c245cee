//! Parquet and Arrow files by every tool, codec, encoding and page version: each reads as pyarrow reads it, and none
//! that was cut off is read at all. Made by `fixtures/make_tables.py`.
#![cfg(feature = "tables")]

use std::path::{Path, PathBuf};

use handful_data::{FeatureTable, TableFormat, parse_table, read_table};
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    table: Table,
    files: Vec<String>,
}

#[derive(Deserialize)]
struct Table {
    ids: Vec<String>,
    labels: Vec<Option<i64>>,
    features: Vec<Vec<f32>>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tables")
}

fn expected() -> Expected {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn read(name: &str) -> FeatureTable {
    read_table(&folder().join(name)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_kind_reads_as_pyarrow_reads_it() {
    let expected = expected();
    assert!(expected.files.len() > 120, "only {} files", expected.files.len());
    for name in &expected.files {
        let table = read(name);
        assert_eq!(table.ids(), Some(expected.table.ids.as_slice()), "{name}");
        assert_eq!((table.rows(), table.dim()), (12, 4), "{name}");
        for (row, (features, label)) in expected.table.features.iter().zip(&expected.table.labels).enumerate()
        {
            assert_eq!(table.gather(&[row]).row(0), features, "{name}, row {row}");
            let class = table.class_of_row(row).map(|class| table.class_names()[class].clone());
            assert_eq!(class, label.map(|label| label.to_string()), "{name}, row {row}");
        }
        let is_wide = name.contains("wide");
        let notes = table.notes().join(" ");
        assert_eq!(notes.contains("column `caption` holds text"), !is_wide, "{name}: {notes}");
        assert_eq!(notes.contains("column `box` holds structures"), !is_wide, "{name}: {notes}");
    }
}

#[test]
fn a_file_cut_at_any_byte_is_refused() {
    for name in expected().files {
        let path = folder().join(&name);
        let (format, whole) = (TableFormat::of_path(&path).unwrap(), std::fs::read(&path).unwrap());
        for length in 0..whole.len() {
            let result = parse_table(format, &path, &whole[..length]);
            assert!(result.is_err(), "{name} cut to {length} of {} bytes was read", whole.len());
        }
    }
}

#[test]
fn an_arrow_file_cut_between_batches_is_refused() {
    // A batch ends where the next message begins.
    for name in ["pyarrow-wide-None-file.arrow", "pyarrow-wide-None-stream.arrow"] {
        let path = folder().join(name);
        let whole = std::fs::read(&path).unwrap();
        let starts: Vec<usize> =
            (8..whole.len() - 8).filter(|&at| whole[at..at + 4] == [0xff; 4] && at % 8 == 0).collect();
        assert!(starts.len() > 2, "{name} has {} messages", starts.len());
        for start in starts {
            let error = parse_table(TableFormat::Arrow, &path, &whole[..start]).unwrap_err().to_string();
            assert!(error.contains("it may be cut off"), "{name} at {start}: {error}");
        }
    }
}

#[test]
fn the_index_of_pandas_is_named_and_left_out() {
    let notes = read("pandas-index.parquet").notes().join(" ");
    assert!(notes.contains("`__index_level_0__` is the index of pandas"), "{notes}");
}
