//! Every format we write is read back to the same table, bit for bit, through any other.

use std::path::Path;

use handful::embedder::Embedder;
use handful_data::{FeatureTable, OpenOptions, open_table, read_table, write_table};
use proptest::prelude::*;

const EXTENSIONS: [&str; 6] = ["npz", "npy", "safetensors", "parquet", "csv", "tsv"];

fn assert_same(one: &FeatureTable, other: &FeatureTable, what: &str) {
    assert_eq!((one.rows(), one.dim()), (other.rows(), other.dim()), "{what}");
    assert_eq!(one.class_names(), other.class_names(), "{what}");
    assert_eq!(one.ids(), other.ids(), "{what}");
    for row in 0..one.rows() {
        assert_eq!(one.class_of_row(row), other.class_of_row(row), "{what}, row {row}");
        let bits = |table: &FeatureTable| {
            table.gather(&[row]).row(0).iter().map(|value| value.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(bits(one), bits(other), "{what}, row {row}");
    }
}

/// A CSV is the easiest table to write by hand.
fn table_of(folder: &Path, text: &str, order: Option<&str>) -> FeatureTable {
    let path = folder.join("source.csv");
    std::fs::write(&path, text).unwrap();
    if let Some(order) = order {
        std::fs::write(folder.join("source.classes.json"), order).unwrap();
    }
    read_table(&path).unwrap()
}

#[test]
fn every_pair_of_formats_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = ["0.1", "-3.4028235e38", "1e-45", "-0", "16777217", "3.14159274"];
    let text = format!(
        "id,label,a,b\n\"x, 1\",zebra,{},{}\nü\"2,,{},{}\n3,apple,{},{}\n4,zebra,1,2\n",
        numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    );
    // The order of the classes is not that of their names, and must survive too.
    let source = table_of(folder.path(), &text, Some(r#"["zebra","apple"]"#));
    assert_eq!(source.class_names(), ["zebra", "apple"]);
    for first in EXTENSIONS {
        let path = folder.path().join(format!("first.{first}"));
        write_table(&path, &source).unwrap();
        let read = read_table(&path).unwrap();
        assert_same(&source, &read, first);
        for second in EXTENSIONS {
            let path = folder.path().join(format!("{first}-second.{second}"));
            write_table(&path, &read).unwrap();
            assert_same(&source, &read_table(&path).unwrap(), &format!("{first} to {second}"));
        }
    }
}

#[test]
fn tables_without_classes_or_ids_stay_so() {
    let folder = tempfile::tempdir().unwrap();
    let source = table_of(folder.path(), "1,2\n3,4\n", None);
    for extension in EXTENSIONS {
        let path = folder.path().join(format!("bare.{extension}"));
        write_table(&path, &source).unwrap();
        assert_same(&source, &read_table(&path).unwrap(), extension);
    }
}

#[test]
fn the_network_goes_along_where_there_is_room_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = Embedder::new("conv4 at 32 px", "0123456789abcdef");
    let source =
        table_of(folder.path(), "id,label,a\nx,u,1\ny,v,2\n", None).with_embedder(Some(embedder.clone()));
    assert_eq!(source.select(&[1]).unwrap().embedder(), Some(&embedder));
    for extension in EXTENSIONS {
        let path = folder.path().join(format!("of.{extension}"));
        write_table(&path, &source).unwrap();
        let expected = matches!(extension, "npz" | "safetensors").then_some(&embedder);
        assert_eq!(read_table(&path).unwrap().embedder(), expected, "{extension}");
    }
}

#[test]
fn a_table_is_not_written_over_itself() {
    let folder = tempfile::tempdir().unwrap();
    let source = table_of(folder.path(), "1,2\n3,4\n", None);
    let error = write_table(&folder.path().join("source.csv"), &source).unwrap_err().to_string();
    assert!(error.contains("it is the file being read"), "{error}");
    assert!(
        write_table(&folder.path().join("out.pickle"), &source)
            .unwrap_err()
            .to_string()
            .contains("expected one of .npy")
    );
}

#[test]
fn labels_file_replaces_the_classes() {
    let folder = tempfile::tempdir().unwrap();
    table_of(folder.path(), "id,label,f\na,x,1\nb,x,2\nc,y,3\n", None);
    let labels = folder.path().join("labels.csv");
    std::fs::write(&labels, "id,label\nc,new\n").unwrap();
    let options = OpenOptions { labels: Some(labels.clone()), ..OpenOptions::default() };
    let table = open_table(&folder.path().join("source.csv"), &options).unwrap();
    assert_eq!(
        (table.class_names(), table.rows_of_class()),
        (["new".to_owned()].as_slice(), [vec![2]].as_slice())
    );
    std::fs::write(&labels, "id,label\nd,new\n").unwrap();
    let error = open_table(&folder.path().join("source.csv"), &options).unwrap_err().to_string();
    assert!(error.contains("labels.csv: line 2: the id `d` is not in"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any finite bit pattern, any number of rows and columns, any names.
    #[test]
    fn any_table_is_exact(
        rows in 1usize..40,
        columns in 1usize..20,
        bits in prop::collection::vec(any::<u32>(), 800),
        names in prop::collection::vec("[ -~é]{1,12}", 1..6),
        labels in prop::collection::vec(0usize..7, 40),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("source.csv");
        let mut writer = csv::Writer::from_path(&path).unwrap();
        writer.write_record(["label".to_owned()].into_iter().chain((0..columns).map(|column| format!("c{column}")))).unwrap();
        for row in 0..rows {
            let label = names.get(labels[row]).cloned().unwrap_or_default();
            let values = (0..columns).map(|column| f32::from_bits(bits[row * columns + column]));
            let values = values.map(|value| if value.is_finite() { value } else { 0.5 }.to_string());
            writer.write_record([label].into_iter().chain(values)).unwrap();
        }
        writer.flush().unwrap();
        let source = read_table(&path).unwrap();
        for extension in EXTENSIONS {
            let path = folder.path().join(format!("copy.{extension}"));
            write_table(&path, &source).unwrap();
            assert_same(&source, &read_table(&path).unwrap(), extension);
        }
    }
}
