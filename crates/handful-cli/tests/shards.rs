//! `handful predict` over shards: the labels of one table, resumed, and whatever can be wrong with a folder.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::{Run, clusters, features, handful};
use tempfile::TempDir;

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A `.npy` of some rows.
fn npy(path: &Path, columns: usize, values: &[f32]) {
    let rows = values.len() / columns;
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    fs::write(path, bytes).expect("written");
}

/// A model, and a folder with its pool in four shards.
struct Job {
    folder: TempDir,
    model: String,
    shards: PathBuf,
}

impl Job {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let pool = features(folder.path());
        let labels = folder.path().join("labels.csv");
        let lines: String =
            (0..18).map(|at| format!("{},class {}\n", at / 3 * 30 + at % 3, at / 3)).collect();
        fs::write(&labels, format!("id,label\n{lines}")).expect("written");
        let model = text(&folder.path().join("model.safetensors")).to_owned();
        let output = folder.path().join("labelled.csv");
        let args = ["label", text(&pool), "--labels", text(&labels), "-o", text(&output), "--save", &model];
        handful(&args).succeeded();
        let shards = folder.path().join("shards");
        fs::create_dir(&shards).expect("a folder");
        let job = Self { folder, model, shards };
        let values = clusters().0;
        values.chunks(45 * 8).enumerate().for_each(|(at, chunk)| npy(&job.shard(at), 8, chunk));
        job
    }

    fn shard(&self, at: usize) -> PathBuf {
        self.shards.join(format!("rows-{at:05}-of-00004.npy"))
    }

    fn labels(&self, at: usize) -> String {
        fs::read_to_string(self.shards.join(format!("rows-{at:05}-of-00004.predicted.csv"))).expect("written")
    }

    fn predict(&self, more: &[&str]) -> Run {
        handful(&[&["predict", &self.model, text(&self.shards)], more].concat())
    }

    /// Files in the folder besides the shards.
    fn written(&self) -> Vec<String> {
        let names =
            fs::read_dir(&self.shards).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        let names = names.map(|name| name.into_string().expect("UTF-8"));
        let mut names: Vec<String> = names.filter(|name| !name.ends_with(".npy")).collect();
        names.sort();
        names
    }
}

#[test]
fn shards_get_the_labels_that_one_table_gets() {
    let job = Job::new();
    let document: serde_json::Value =
        serde_json::from_str(job.predict(&["--format", "json"]).succeeded()).expect("JSON");
    assert_eq!((&document["shards"], &document["rows"]), (&4.into(), &180.into()));
    assert_eq!(document["labelled_before"], 0);
    let whole = job.folder.path().join("whole.csv");
    let pool = job.folder.path().join("features.npz");
    handful(&["predict", &job.model, text(&pool), "-o", text(&whole)]).succeeded();
    let whole = fs::read_to_string(whole).expect("written");
    let cells = |line: &str| line.split_once(',').map(|(_, cells)| cells.to_owned());
    let of_shards: Vec<_> =
        (0..4).flat_map(|at| job.labels(at).lines().skip(1).map(cells).collect::<Vec<_>>()).collect();
    assert_eq!(of_shards, whole.lines().skip(1).map(cells).collect::<Vec<_>>());
    assert_eq!(job.written().len(), 8);
}

#[test]
fn a_run_goes_on_where_it_was_and_makes_nothing_of_others_its_own() {
    let job = Job::new();
    job.predict(&[]).succeeded();
    let before: Vec<String> = (0..4).map(|at| job.labels(at)).collect();
    // One shard lost its labels, one its record (as a kill between the two leaves it), one has changed.
    let beside = |at: usize, end: &str| job.shards.join(format!("rows-{at:05}-of-00004.predicted.{end}"));
    fs::remove_file(beside(0, "csv")).expect("there");
    fs::remove_file(beside(1, "json")).expect("there");
    npy(&job.shard(2), 8, &clusters().0[..8 * 7]);
    let run = job.predict(&["--threads", "1"]);
    assert!(run.succeeded().contains("1 of them had their labels already"), "{}", run.stdout);
    assert_eq!(
        (job.labels(0), job.labels(1), job.labels(3)),
        (before[0].clone(), before[1].clone(), before[3].clone())
    );
    assert_eq!(job.labels(2).lines().count(), 8);
    assert!(job.predict(&[]).succeeded().contains("4 of them had their labels already"));
    // Another question, and another format, are other labels.
    assert!(!job.predict(&["--reject"]).succeeded().contains("already"));
    assert!(!job.predict(&["--reject", "--as", "jsonl"]).succeeded().contains("already"));
}

#[test]
fn a_shard_of_another_width_is_named_before_anything_is_written() {
    let job = Job::new();
    npy(&job.shard(2), 5, &[0.5; 50]);
    job.predict(&[]).refused(&["rows-00002-of-00004.npy", "5 columns", "model.safetensors", "features of 8"]);
    assert_eq!(job.written(), Vec::<String>::new());
}

#[test]
fn a_missing_shard_is_named() {
    let job = Job::new();
    fs::remove_file(job.shard(1)).expect("there");
    job.predict(&[]).refused(&["shard 1 of 4 of rows is missing"]);
    let (there, gone) = (job.shard(0), job.shard(1));
    handful(&["predict", &job.model, text(&there), text(&gone)]).refused(&["rows-00001-of-00004.npy"]);
    assert_eq!(job.written(), Vec::<String>::new());
    // Those that are named need not be all.
    handful(&["predict", &job.model, text(&there)]).succeeded();
}

#[test]
fn a_bad_value_stops_its_shard_and_leaves_whole_files_only() {
    let job = Job::new();
    let mut values = clusters().0[..8 * 9].to_vec();
    values[8 * 4 + 3] = f32::NAN;
    npy(&job.shard(3), 8, &values);
    job.predict(&["--threads", "1"]).refused(&["rows-00003-of-00004.npy", "row `4`, column 3 is NaN"]);
    let written = job.written();
    assert_eq!(written.len(), 6, "{written:?}");
    assert!(written.iter().all(|name| name.contains(".predicted.")), "{written:?}");
}

#[test]
fn what_cannot_be_shards_is_refused() {
    let job = Job::new();
    let output = job.folder.path().join("out.csv");
    let (one, two) = (job.shard(0), job.shard(1));
    handful(&["predict", &job.model, text(&one), text(&two), "-o", text(&output)])
        .refused(&["-o is for one table"]);
    let empty = job.folder.path().join("empty");
    fs::create_dir(&empty).expect("a folder");
    handful(&["predict", &job.model, text(&empty)]).refused(&["no table of features"]);
    handful(&["predict", &job.model, text(&one), text(&one)]).refused(&["both would have their labels in"]);
    handful(&["predict", &job.model, &job.model.replace(".safetensors", ".txt")]).refused(&["model.txt"]);
}
