//! One tiny file of every foreign format, made by `fixtures/make.py` with the real Python libraries: all hold the
//! same table, so all must read the same.

use std::path::{Path, PathBuf};

use handful_data::{FeatureTable, read_table};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Row r, column c is r + c / 4.
fn expected(row: usize) -> Vec<f32> {
    (0..4).map(|column| row as f32 + column as f32 / 4.0).collect()
}

fn read(name: &str) -> FeatureTable {
    let table = read_table(&fixture(name)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((table.rows(), table.dim()), (6, 4), "{name}");
    for row in 0..6 {
        assert_eq!(table.gather(&[row]).row(0), expected(row), "{name}, row {row}");
    }
    table
}

/// Two rows of each class, in order.
fn check_classes(name: &str, table: &FeatureTable, names: [&str; 3]) {
    assert_eq!(table.class_names(), names, "{name}");
    assert_eq!(table.rows_of_class(), [vec![0, 1], vec![2, 3], vec![4, 5]], "{name}");
}

const NUMBERS: [&str; 3] = ["0", "1", "2"];
const NAMES: [&str; 3] = ["ant", "bee", "cat"];

#[test]
fn numpy_arrays_of_every_type_and_order() {
    for name in ["littlef2", "littlef4", "littlef8", "bigf4", "bigf8", "fortran"] {
        let name = format!("numpy/{name}.npy");
        assert_eq!(read(&name).class_count(), 0, "{name}");
    }
    let table = read("numpy/with-labels.npy");
    check_classes("with-labels", &table, NAMES);
    assert_eq!(table.id(5), "row-5");
}

#[test]
fn numpy_archives() {
    let table = read("numpy/stored.npz");
    check_classes("stored", &table, NAMES);
    assert_eq!(table.id(3), "row-3");
    check_classes("deflated", &read("numpy/deflated.npz"), NAMES);
    for kind in ["i1", "u1", "i2", "i4", "u8"] {
        check_classes(kind, &read(&format!("numpy/labels-{kind}.npz")), NUMBERS);
    }
    check_classes("default-names", &read("numpy/default-names.npz"), NUMBERS);
}

#[test]
fn pickles_of_every_protocol() {
    for protocol in 0..=5 {
        for (writer, names) in [
            ("s2m2", NUMBERS),
            ("simpleshot", NUMBERS),
            ("tafssl", NUMBERS),
            ("tim", NUMBERS),
            ("easyfsl", NAMES),
        ] {
            let extension = if matches!(writer, "easyfsl" | "tafssl") { "pickle" } else { "plk" };
            let name = format!("pickle/{writer}-protocol{protocol}.{extension}");
            check_classes(&name, &read(&name), names);
        }
    }
}

#[test]
fn pickles_of_other_shapes() {
    for name in ["numpy-scalar-keys", "lists-of-numbers", "fortran", "big-endian"] {
        let name = format!("pickle/{name}.plk");
        check_classes(&name, &read(&name), NUMBERS);
    }
    check_classes("pair", &read("pickle/pair.plk"), NAMES);
}

#[test]
fn torch_files_new_and_old() {
    for name in ["zip.pt", "legacy.pth", "pair.pt", "transposed.pt", "parameter.pt"] {
        check_classes(name, &read(&format!("torch/{name}")), NUMBERS);
    }
    check_classes("by-class", &read("torch/by-class.pt"), NAMES);
    assert_eq!(read_table(&fixture("torch/bfloat16.pt")).unwrap().gather(&[3]).row(0), expected(3));
}

#[test]
fn text_tables() {
    for name in ["text/wide.csv", "text/wide.tsv"] {
        let table = read(name);
        check_classes(name, &table, NUMBERS);
        assert_eq!(table.id(1), "row-1");
    }
}

#[test]
fn parquet_of_both_layouts_and_all_codecs() {
    for codec in ["plain", "snappy", "gzip", "zstd"] {
        let name = format!("parquet/easyfsl-{codec}.parquet");
        check_classes(&name, &read(&name), NAMES);
    }
    for name in ["parquet/fixed-size.parquet", "parquet/no-dictionary.parquet"] {
        let table = read(name);
        check_classes(name, &table, NAMES);
        assert_eq!(table.id(4), "row-4");
    }
    let table = read("parquet/wide.parquet");
    check_classes("wide", &table, NUMBERS);
    assert_eq!(table.id(4), "row-4");
}

#[test]
fn arrow_files_and_streams() {
    for name in ["arrow/lz4.feather", "arrow/plain.feather", "arrow/stream.arrow"] {
        let table = read(name);
        check_classes(name, &table, NAMES);
        assert_eq!(table.id(4), "row-4");
    }
    check_classes("easyfsl", &read("arrow/easyfsl.arrow"), NAMES);
}

#[test]
fn safetensors_files() {
    let table = read("safetensors/full.safetensors");
    check_classes("full", &table, NAMES);
    assert_eq!(table.id(2), "row-2");
    assert_eq!(read("safetensors/half.safetensors").class_count(), 0);
}

#[test]
fn hdf5_of_closerlook() {
    // Two rows of padding are not read.
    check_classes("closerlook", &read("hdf5/closerlook.hdf5"), NUMBERS);
}
