//! `handful choose`, `label --save`, `label --method` and `handful predict` on the built binary.

mod support;

use std::path::{Path, PathBuf};

use support::{Array, Run, features, handful, npz};

struct Pool {
    folder: tempfile::TempDir,
    pool: PathBuf,
}

impl Pool {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let pool = features(folder.path());
        Self { folder, pool }
    }

    fn path(&self, name: &str) -> String {
        text(&self.folder.path().join(name)).to_owned()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("written")
    }

    fn run(&self, command: &str, more: &[&str]) -> Run {
        handful(&[&[command, text(&self.pool)], more].concat())
    }

    /// Labels the first `each` rows of the six classes.
    fn labels(&self, each: usize) -> String {
        let line = |at: usize| format!("{},class {}\n", at / each * 30 + at % each, at / each);
        let path = self.path("labels.csv");
        std::fs::write(&path, format!("id,label\n{}", (0..6 * each).map(line).collect::<String>()))
            .expect("written");
        path
    }

    /// Labels the pool and keeps the model.
    fn model(&self) -> String {
        let (labels, output, model) =
            (self.labels(3), self.path("labelled.csv"), self.path("model.safetensors"));
        self.run("label", &["--labels", &labels, "-o", &output, "--save", &model]).succeeded();
        model
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn column(csv: &str, at: usize) -> Vec<&str> {
    csv.lines().skip(1).map(|line| line.split(',').nth(at).expect("a cell")).collect()
}

#[test]
fn a_saved_model_says_of_the_pool_what_label_said() {
    let pool = Pool::new();
    let model = pool.model();
    let output = pool.path("predicted.csv");
    let run = handful(&["predict", &model, text(&pool.pool), "-o", &output]);
    assert!(run.succeeded().contains("180 rows"), "{}", run.stdout);
    let (labelled, predicted) = (pool.read("labelled.csv"), pool.read("predicted.csv"));
    assert_eq!(labelled.lines().next(), predicted.lines().next());
    assert_eq!(column(&labelled, 1), column(&predicted, 1));
    assert!(column(&predicted, 4).iter().all(|source| *source == "inferred"));
    handful(&["predict", &model, text(&pool.pool), "-o", &pool.path("again.csv"), "--threads", "3"])
        .succeeded();
    assert_eq!(pool.read("again.csv"), predicted);
}

#[test]
fn models_that_do_not_fit_are_refused_and_nothing_is_written() {
    let pool = Pool::new();
    let model = pool.model();
    let output = pool.path("out.csv");
    let other = npz(pool.folder.path(), "other.npz", &[Array::f32("features", &[4, 3], &[0.5; 12])]);
    let predict = |model: &str, rows: &str| handful(&["predict", model, rows, "-o", &output]);
    predict(&model, text(&other)).refused(&["3 columns", "model.safetensors", "other.npz"]);
    let bytes = std::fs::read(&model).expect("written");
    let cut = pool.path("cut.safetensors");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).expect("written");
    predict(&cut, text(&pool.pool)).refused(&["cut.safetensors", "not a whole model"]);
    let newer = pool.path("newer.safetensors");
    let mark = br#"\"handful_model\":1"#;
    let at = bytes.windows(mark.len()).position(|part| part == mark).expect("a version");
    let mut changed = bytes.clone();
    changed[at + mark.len() - 1] = b'9';
    std::fs::write(&newer, changed).expect("written");
    predict(&newer, text(&pool.pool)).refused(&["newer.safetensors", "version 9"]);
    predict(text(&pool.pool), text(&pool.pool)).refused(&["not a whole model"]);
    predict(&pool.path("none.safetensors"), text(&pool.pool)).refused(&["none.safetensors"]);
    assert!(!Path::new(&output).exists());
}

#[test]
fn any_method_of_the_benchmark_labels_the_pool() {
    let pool = Pool::new();
    let (labels, output) = (pool.labels(3), pool.path("out.csv"));
    let with = |method: &str| pool.run("label", &["--labels", &labels, "-o", &output, "--method", method]);
    for method in ["dm-ida:authors", "protonet", "pool:fast", "pool:laplace"] {
        with(method).succeeded();
        let csv = pool.read("out.csv");
        let labels = column(&csv, 1);
        let right = (0..180).filter(|&row| labels[row] == format!("class {}", row / 30)).count();
        assert!(right > 140, "{method}: {right}");
    }
    with("dm-idea").refused(&["dm-idea", "did you mean dm-ida?"]);
    with("pool:quick").refused(&["pool:quick", "adaptive, fast, smoothing"]);
}

#[test]
fn chosen_rows_are_of_every_class_and_can_be_filled_in() {
    let pool = Pool::new();
    let list = pool.path("choose.csv");
    let run = pool.run("choose", &["-n", "12", "--random", "4", "-o", &list]);
    assert!(run.succeeded().contains("coverage of the pool"), "{}", run.stdout);
    let csv = pool.read("choose.csv");
    assert!(csv.starts_with("id,label,reason,coverage\n"), "{csv}");
    let rows: Vec<usize> = column(&csv, 0).iter().map(|id| id.parse().expect("a row")).collect();
    assert_eq!(rows.len(), 16);
    let mut met: Vec<usize> = rows[..12].iter().map(|row| row / 30).collect();
    met.sort_unstable();
    met.dedup();
    assert!(met.len() >= 5, "of six classes {met:?}");
    assert_eq!(column(&csv, 2).iter().filter(|reason| **reason == "random").count(), 4);

    let filled: String = csv
        .lines()
        .enumerate()
        .map(|(at, line)| match at {
            0 => format!("{line}\n"),
            _ => line.replacen(",,", &format!(",class {},", rows[at - 1] / 30), 1) + "\n",
        })
        .collect();
    std::fs::write(&list, &filled).expect("written");
    pool.run("choose", &["-n", "5", "-o", &list]).refused(&["choose.csv", "filled in"]);
    assert_eq!(pool.read("choose.csv"), filled, "nothing overwritten");
    let next = pool.path("next.csv");
    pool.run("choose", &["-n", "5", "--labels", &list, "-o", &next]).succeeded();
    let again = pool.read("next.csv");
    assert!(column(&again, 0).iter().all(|id| !rows.contains(&id.parse().expect("a row"))));
    pool.run("label", &["--labels", &list, "-o", &pool.path("out.csv")]).succeeded();
    pool.run("label", &["--audit", &list, "-o", &pool.path("out.csv")])
        .refused(&["4 labelled rows", "--random"]);
}

#[test]
fn what_cannot_be_chosen_is_refused() {
    let pool = Pool::new();
    let list = pool.path("choose.csv");
    pool.run("choose", &["-n", "181", "-o", &list]).refused(&["-n 181", "only 180 of the 180 rows"]);
    pool.run("choose", &["-n", "0", "-o", &list]).refused(&["at least one row"]);
    pool.run("choose", &["-n", "5", "-o", &pool.path("choose.txt")]).refused(&["choose.txt", ".csv"]);
    pool.run("choose", &["-n", "5", "-o", &pool.path("folder")]).refused(&["links need a folder of images"]);
    let all = pool.labels(30);
    pool.run("choose", &["-n", "1", "--labels", &all, "-o", &list]).refused(&["only 0 of the 180 rows"]);
    assert!(!Path::new(&list).exists() && !Path::new(&pool.path("folder")).exists());
}
