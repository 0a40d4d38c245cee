//! `handful label` on the built binary.

mod support;

use support::pool::{Pool, text};
use support::{Array, clusters, handful, npz};

fn records(csv: &str) -> Vec<Vec<&str>> {
    csv.lines().skip(1).map(|line| line.split(',').collect()).collect()
}

#[test]
fn the_whole_pool_is_labelled_and_the_columns_are_those_promised() {
    let pool = Pool::new();
    let run = pool.label(&[&pool.labels(3)], "labelled.csv", &[]);
    assert!(run.succeeded().contains("18 labels of 6 classes"), "{}", run.stdout);
    let csv = pool.read("labelled.csv");
    assert!(csv.starts_with("id,label,probability,credibility,source,"), "{csv}");
    let records = records(&csv);
    assert_eq!(records.len(), 180);
    let right = (0..180).filter(|&row| records[row][1] == format!("class {}", row / 30)).count();
    assert!(right > 160, "{right} of 180 right");
    assert_eq!(records.iter().filter(|record| record[4] == "given").count(), 18);
    for record in &records {
        let probability: f64 = record[2].parse().expect("a number");
        let credibility: f64 = record[3].parse().expect("a number");
        assert!((0.0..=1.0).contains(&probability) && (0.0..=1.0).contains(&credibility));
    }
}

#[test]
fn threads_change_nothing() {
    let pool = Pool::new();
    let labels = pool.labels(2);
    pool.label(&[&labels], "one.csv", &["--threads", "1"]).succeeded();
    pool.label(&[&labels], "three.csv", &["--threads", "3"]).succeeded();
    assert_eq!(pool.read("one.csv"), pool.read("three.csv"));
}

#[test]
fn what_is_not_accepted_is_reviewed_and_can_be_fed_back() {
    let pool = Pool::new();
    let labels = pool.labels(5);
    let run = pool.label(&[&labels], "labelled.csv", &["--max-error", "0.001"]);
    assert!(run.succeeded().contains("accepted for at most 0.1 % errors"), "{}", run.stdout);
    let (labelled, review) = (pool.read("labelled.csv"), pool.read("review.csv"));
    assert!(review.starts_with("id,label,suggested,"));
    assert_eq!(records(&labelled).len() + records(&review).len(), 180, "every row is in one of the two");
    assert!(!records(&review).is_empty());
    // Fill in the first row with another class and leave the others empty.
    let first = records(&review)[0][0].to_owned();
    let filled: String = review
        .lines()
        .map(|line| line.replacen(&format!("{first},,"), &format!("{first},class 5,"), 1) + "\n")
        .collect();
    let filled = pool.write("filled.csv", &filled);
    let run = pool.label(&[&labels, &filled], "labelled.csv", &[]);
    assert!(run.succeeded().contains("since the last run:"), "{}", run.stdout);
    assert!(run.stdout.contains("31 labels of 6 classes"), "{}", run.stdout);
    let csv = pool.read("labelled.csv");
    let record = records(&csv).into_iter().find(|record| record[0] == first).expect("labelled");
    assert_eq!((record[1], record[4]), ("class 5", "given"));
}

#[test]
fn what_somebody_filled_in_is_never_overwritten() {
    let pool = Pool::new();
    let labels = pool.labels(5);
    let promise = ["--max-error", "0.02"];
    pool.label(&[&labels], "labelled.csv", &promise).succeeded();
    let filled = pool.read("review.csv").replacen(",,", ",class 2,", 1);
    let review = pool.write("review.csv", &filled);
    let run = pool.label(&[&labels, &review], "labelled.csv", &promise);
    assert!(run.succeeded().contains("review-2.csv"), "{}", run.stdout);
    // Not named this time, but still somebody's work.
    pool.label(&[&labels], "labelled.csv", &promise).succeeded();
    assert_eq!(pool.read("review.csv"), filled);
    pool.label(&[&labels], "labels.csv", &[]).refused(&["labels.csv", "would be overwritten"]);
    let as_review = ["--review", text(&labels)];
    pool.label(&[&labels], "labelled.csv", &as_review).refused(&["labels.csv", "would be overwritten"]);
    pool.label(&[&pool.path("labelled.csv")], "again.csv", &[]).refused(&["labelled.csv", "inferred"]);
}

#[test]
fn a_pool_without_an_unlabelled_row_is_refused_unless_a_model_is_wanted() {
    let pool = Pool::new();
    let all = pool.labels(30);
    pool.label(&[&all], "labelled.csv", &[]).refused(&["every row has a label already", "--save"]);
    assert_eq!(pool.names(), ["features.npz", "labels.csv"], "nothing is written");
    let model = pool.path("pool.model");
    pool.label(&[&all], "labelled.csv", &["--save", text(&model)]).succeeded();
    assert!(model.is_file());
}

#[test]
fn later_files_win() {
    let pool = Pool::new();
    let later = pool.write("later.csv", "id,label\n0,class 1\n");
    let run = pool.label(&[&pool.labels(2), &later], "labelled.csv", &[]);
    assert!(run.succeeded().contains("1 labels were replaced"), "{}", run.stdout);
    assert_eq!(records(&pool.read("labelled.csv"))[0][1], "class 1");
}

#[test]
fn every_member_can_be_asked_alone() {
    let pool = Pool::new();
    let labels = pool.labels(3);
    for member in [
        "smoothed-half",
        "smoothed-strong",
        "laplace",
        "poisson",
        "entropy",
        "fisher-dependence",
        "dependence",
        "gaussian-dependence",
    ] {
        pool.label(&[&labels], "labelled.csv", &["--method", &format!("pool:{member}")]).succeeded();
        let csv = pool.read("labelled.csv");
        let records = records(&csv);
        let right = (0..180).filter(|&row| records[row][1] == format!("class {}", row / 30)).count();
        assert!(right > 150, "{member}: {right} of 180 right");
    }
    pool.label(&[&labels], "other.csv", &["--method", "pool:dependance"])
        .refused(&["dependance", "dependence"]);
}

#[test]
fn every_format_holds_every_row() {
    let pool = Pool::new();
    let labels = pool.labels(2);
    pool.label(&[&labels], "out.jsonl", &[]).succeeded();
    let jsonl = pool.read("out.jsonl");
    assert_eq!(jsonl.lines().count(), 180);
    let first: serde_json::Value = serde_json::from_str(jsonl.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["id"], &first["source"]), (&"0".into(), &"given".into()));

    pool.label(&[&labels], "out.json", &[]).succeeded();
    let tasks: serde_json::Value = serde_json::from_str(&pool.read("out.json")).expect("JSON");
    assert_eq!(tasks.as_array().expect("a list").len(), 180);
    let prediction = &tasks[100]["predictions"][0];
    assert_eq!(prediction["result"][0]["value"]["choices"][0], "class 3");
    assert!(prediction["score"].as_f64().expect("a score") > 0.0);

    pool.label(&[&labels], "out.parquet", &[]).succeeded();
    // A table of features has no text besides `id` and `label`: our own reader gets as far as the fifth column.
    let error = handful_data::read_table(&pool.path("out.parquet")).expect_err("not a feature table");
    assert!(error.to_string().contains("column `source` holds text"), "{error}");
}

#[test]
fn an_explanation_names_neighbours_and_rounds() {
    let pool = Pool::new();
    let labels = pool.labels(3);
    let explain = ["label", text(&pool.pool), "--labels", text(&labels), "--explain", "40"];
    let run = handful(&[&explain[..], &["--method", "pool:smoothing"]].concat());
    let said = run.succeeded();
    for words in ["`40`", "labelled class 1", "nearest labelled rows:", "selected by IDA"] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let unknown = handful(&["label", text(&pool.pool), "--labels", text(&labels), "--explain", "cat"]);
    unknown.refused(&["the id `cat` is not in", "ids like `0`"]);
}

#[test]
fn a_summary_for_programs() {
    let pool = Pool::new();
    let run = pool.label(&[&pool.labels(3)], "out.csv", &["--format", "json", "--reject"]);
    let summary: serde_json::Value = serde_json::from_str(run.succeeded()).expect("one JSON document");
    assert_eq!(
        (&summary["rows"], &summary["given"], &summary["calibrated"]),
        (&180.into(), &18.into(), &true.into())
    );
    let sources =
        summary["inferred"].as_u64().expect("a number") + summary["rejected"].as_u64().expect("a number");
    assert_eq!(sources, 162);
}

#[test]
fn bad_labels_are_refused_in_one_sentence() {
    let pool = Pool::new();
    let with = |labels: &str, more: &[&str]| pool.label(&[&pool.write("bad.csv", labels)], "out.csv", more);
    with("id,label\n0,a\n999,b\n", &[]).refused(&["bad.csv", "line 3", "`999`", "ids like `0`"]);
    with("id,label\n0,a\n1,a\n", &[]).refused(&["only one class (`a`)"]);
    with("0,a\n40,b\n", &[]).refused(&["bad.csv", "line 1", "`id,label`"]);
    with("id,label\n0,a\n40,\n", &[]).refused(&["line 3", "`40` is empty"]);
    with("id,label\n0,a\n0,b\n", &[]).refused(&["line 3", "`0` is labelled `b`, but `a` on line 2"]);
    with("id,label\n", &[]).refused(&["label no row"]);
    let good = "id,label\n0,a\n40,b\n";
    with(good, &["--max-error", "2"]).refused(&["--max-error 2"]);
    with(good, &["--reject"]).refused(&["--reject needs at least 10 labels"]);
    with(good, &["--set", "neighbors=3"]).refused(&["no parameter", "did you mean neighbours?"]);
    with(good, &["--set", "components=0"]).refused(&["components = 0", "at least 1"]);
    pool.label(&[], "out.csv", &[]).refused(&["--labels"]);
    pool.label(&[&pool.labels(2)], "out.txt", &[]).refused(&["out.txt", ".parquet"]);
    pool.label(&[&pool.labels(2)], "links", &["--as", "links"]).refused(&["folder of images"]);
    pool.label(&[&pool.path("none.csv")], "out.csv", &[]).refused(&["none.csv"]);
    assert!(!pool.path("out.csv").exists(), "nothing is written for input that is refused");
}

#[test]
fn the_same_row_under_two_classes_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut values, labels) = clusters();
    values.copy_within(0..8, 40 * 8);
    let arrays = [Array::f32("features", &[180, 8], &values), Array::i64("labels", &labels)];
    let pool = Pool { pool: npz(folder.path(), "twins.npz", &arrays), folder };
    let labels = pool.write("labels.csv", "id,label\n0,a\n40,b\n70,c\n");
    pool.label(&[&labels], "out.csv", &[]).refused(&[
        "`0` (labelled a)",
        "`40` (labelled b)",
        "same features",
    ]);
}

#[test]
fn empty_and_broken_pools_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = npz(folder.path(), "empty.npz", &[Array::f32("features", &[0, 8], &[])]);
    let pool = Pool { pool: empty, folder };
    let labels = pool.write("labels.csv", "id,label\n0,a\n1,b\n");
    pool.label(&[&labels], "out.csv", &[]).refused(&["empty.npz"]);
    let images = pool.path("images");
    std::fs::create_dir(&images).expect("made");
    let args = ["label", text(&images), "--labels", text(&labels), "-o", "out.csv"];
    handful(&args).refused(&["images", "holds no images"]);
    std::fs::write(images.join("broken.png"), "no image").expect("written");
    let cache = pool.path("cache");
    // Which network looks at the images is said before the first is opened.
    handful(&[&args[..], &["--cache", text(&cache)]].concat())
        .refused_with(&["broken.png: not a valid image"]);
}

#[test]
fn a_file_that_is_not_ours_is_not_overwritten() {
    let pool = Pool::new();
    pool.write("notes.csv", "dear diary\n");
    pool.label(&[&pool.labels(2)], "notes.csv", &[]).refused(&["notes.csv", "not a labelled pool"]);
    assert_eq!(pool.read("notes.csv"), "dear diary\n");
}

#[test]
fn output_that_cannot_be_written_fails_without_leftovers() {
    let pool = Pool::new();
    let labels = pool.labels(2);
    let run = pool.label(&[&labels], "missing/labelled.csv", &[]);
    run.refused(&["labelled.csv: cannot write it: there is no such folder"]);
    assert_eq!(pool.names(), ["features.npz", "labels.csv"]);
}

#[test]
fn an_interrupted_run_leaves_the_earlier_output() {
    let pool = Pool::new();
    let labels = pool.labels(2);
    pool.label(&[&labels], "labelled.csv", &[]).succeeded();
    let before = pool.read("labelled.csv");
    let output = pool.path("labelled.csv");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_handful"))
        .args(["label", text(&pool.pool), "--labels", text(&labels), "-o", text(&output)])
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the binary runs");
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert_eq!(pool.read("labelled.csv"), before, "either not written at all, or the same again");
}

#[test]
fn evaluation_reports_accuracy_promises_and_strangers() {
    let pool = Pool::new();
    let args = ["label", text(&pool.pool), "--evaluate", "2", "--labels-per-class", "4", "--strangers", "1"];
    let said = handful(&args).succeeded().to_owned();
    for words in ["2 draws", "accuracy", "at most 5 % errors", "expected 1 % errors", "AUROC of rejection"] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let too_many = ["label", text(&pool.pool), "--evaluate", "1", "--labels-per-class", "30"];
    handful(&too_many).refused(&["cannot draw 30 labelled rows"]);
}

#[test]
fn vectors_of_classes_label_without_a_single_example() {
    let folder = tempfile::tempdir().expect("a folder");
    let (values, truth) = clusters();
    let pool = npz(folder.path(), "pool.npz", &[Array::f32("features", &[180, 8], &values)]);
    let (vectors, output) = (folder.path().join("vectors.csv"), folder.path().join("labelled.csv"));
    // The axis of each class, which is what its rows scatter around.
    let axis = |class: usize| (0..8).map(|at| if at == class { ",1" } else { ",0" }).collect::<String>();
    let row = |class: usize| format!("class-{class}{}\n", axis(class));
    let header = "label,a,b,c,d,e,f,g,h\n";
    let write = |text: &str| std::fs::write(&vectors, text).expect("written");
    let label = |more: &[&str]| {
        let paths = [&pool, &output, &vectors].map(|path| path.to_str().expect("a plain path").to_owned());
        let args = ["label", &paths[0], "-o", &paths[1], "--class-vectors", &paths[2]];
        handful(&[&args[..], more].concat())
    };
    write(&format!("{header}{}", (0..6).map(row).collect::<String>()));
    label(&[]).succeeded();
    let text = std::fs::read_to_string(&output).expect("labels");
    let right =
        text.lines().skip(1).zip(&truth).filter(|(line, class)| line.contains(&format!(",class-{class},")));
    assert!(right.count() > 170, "{text}");
    assert_eq!(text.lines().count(), 181);

    // Beside labels, for some of the classes only, and for one that nobody has labelled.
    let labels = folder.path().join("labels.csv");
    std::fs::write(&labels, "id,label\n0,class-0\n30,class-1\n").expect("written");
    write(&format!("{header}{}{}", row(0), row(2)));
    let more = ["--labels", labels.to_str().expect("a plain path"), "--class-vector-rows", "0.5"];
    label(&more).succeeded();
    let text = std::fs::read_to_string(&output).expect("labels");
    assert!(["class-0", "class-1", "class-2"].iter().all(|class| text.contains(class)), "{text}");

    write("label,a,b\nclass-0,1,2\nclass-1,2,1\n");
    label(&[]).refused(&["vectors.csv", "class `class-0` has 2 numbers, but the features have 8"]);
    write(&format!("{header}{}", row(0)));
    label(&[]).refused(&["only one class"]);
    label(&["--class-vector-rows", "0"]).refused(&["--class-vector-rows 0"]);
}
