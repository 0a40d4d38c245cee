//! Files that are broken, hostile or not what they seem: each must end in an error that names the trouble.

use std::path::Path;

use handful_data::read_table;

/// The error of a fixture; that the file is named is checked here for all of them.
fn error_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let error = match read_table(&path) {
        Ok(_) => panic!("{name} was read"),
        Err(error) => error.to_string(),
    };
    assert!(error.contains(name), "{name} is not named in: {error}");
    error
}

#[test]
fn broken_tables_say_what_is_wrong() {
    for (name, expected) in [
        ("bad/nan.npz", "row 3, column 2: the feature is NaN"),
        ("bad/infinite.npy", "row 5, column 2: the feature is inf"),
        ("bad/short-labels.npz", "6 rows of features but 5 labels"),
        ("bad/objects.npz", "Python objects"),
        ("bad/structured.npz", "structured"),
        ("bad/zero-rows.npz", "0 rows and 4 columns"),
        ("bad/whole-numbers.npz", "`features` holds int64"),
        ("bad/three-dimensions.npz", "shape [1, 6, 4]"),
        ("bad/duplicate-ids.npz", "row 3: the id `a` was already used by row 0"),
        ("bad/no-features.npz", "it holds `strange`"),
        ("bad/truncated.npz", "not a zip archive"),
        ("bad/truncated.npy", "takes 96 bytes, but 93 are there"),
        ("bad/bomb.npz", "beyond the limit"),
        // Found by fuzzing.
        ("regressions/rows-without-columns.npy", "5555555555555555556 rows and 0 columns"),
        ("regressions/map-of-truth-values.parquet", "value of unknown type"),
        ("bad/ragged.plk", "row 1: 3 features, but the rows before have 4"),
        ("bad/complex.plk", "complex"),
        ("bad/chunked.hdf5", "it is chunked"),
        ("bad/compressed.hdf5", "compressed; convert it"),
        ("bad/ragged.parquet", "row 1: `embedding` has 1 numbers, but the rows before have 2"),
        ("bad/missing.parquet", "row 0: a number of `embedding` is missing"),
        ("bad/no-features.parquet", "column `name` holds text"),
    ] {
        let error = error_of(name);
        assert!(error.contains(expected), "{name}: expected `{expected}` in `{error}`");
    }
}

#[test]
fn malicious_pickles_are_refused_by_name() {
    for protocol in [0, 2, 4] {
        for (name, asked) in
            [("os-system", "system`"), ("eval", ".eval`"), ("exec", ".exec`"), ("popen", ".Popen`")]
        {
            let error = error_of(&format!("malicious/{name}-{protocol}.pickle"));
            assert!(error.contains(asked) && error.contains("is refused"), "{name}: {error}");
        }
    }
    for (name, expected) in [
        ("getattr", "`builtins.getattr`"),
        ("import", "`builtins.__import__`"),
        ("inst", "`os.system`"),
        ("extension", "extension registry"),
        ("nested-bomb", "nested too deeply"),
        ("memo-loop", "nested too deeply"),
        ("memo-loop-dict", "nested too deeply"),
        ("repeated-array", "beyond the limit"),
        ("long-length", "it ends too early"),
        ("deep-marks", "nested too deeply"),
    ] {
        let error = error_of(&format!("malicious/{name}.pickle"));
        assert!(error.contains(expected), "{name}: expected `{expected}` in `{error}`");
    }
    assert!(
        error_of("bad/dataframe.pickle").contains("`pandas.DataFrame`"),
        "{}",
        error_of("bad/dataframe.pickle")
    );
}

#[test]
fn missing_and_unknown_files() {
    assert!(read_table(Path::new("absent.npz")).unwrap_err().to_string().starts_with("absent.npz: "));
    assert!(read_table(Path::new("absent/photos")).unwrap_err().to_string().contains("No such file"));
    let parent = tempfile::tempdir().unwrap();
    let notes = parent.path().join("notes.docx");
    std::fs::write(&notes, "").unwrap();
    let error = read_table(&notes).unwrap_err().to_string();
    assert!(error.contains("unknown kind of file; expected one of .npy"), "{error}");
    for folder in [".npy", ".npz", ".safetensors", ".pt"] {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join(format!("folder{folder}"));
        std::fs::create_dir(&path).unwrap();
        assert!(read_table(&path).is_err());
        std::fs::write(parent.path().join(format!("empty{folder}")), b"").unwrap();
        assert!(read_table(&parent.path().join(format!("empty{folder}"))).is_err());
    }
}
