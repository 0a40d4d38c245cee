//! `handful bench` end to end: answers, determinism, and every kind of bad input.

mod support;

use support::{Array, clusters, features, handful, npz};
use tempfile::tempdir;

fn path(path: &std::path::Path) -> &str {
    path.to_str().expect("a plain path")
}

fn json(args: &[&str]) -> serde_json::Value {
    let run = handful(args);
    serde_json::from_str(run.succeeded()).expect("one JSON document")
}

#[test]
fn a_table_for_people() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    let run = handful(&["bench", path(&file), "--tasks", "10", "--method", "protonet,dm-ida"]);
    let text = run.succeeded();
    assert!(text.contains("180 rows x 8, 6 classes") && text.contains("5-way 1-shot"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("dm-ida ")), "{text}");
    assert_eq!(run.stderr, "", "no progress bar on a pipe");
}

#[test]
fn json_has_the_documented_shape() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    let args = ["bench", path(&file), "--tasks", "6", "--method", "dm-ida", "--format", "json"];
    let document = json(&args);
    assert_eq!(document["features"]["rows"], 180);
    assert_eq!(document["features"]["dim"], 8);
    assert_eq!(document["features"]["sha256"].as_str().map(str::len), Some(64));
    for (key, value) in
        [("ways", 5), ("shots", 1), ("queries", 15), ("unlabeled", 0), ("tasks", 6), ("seed", 1)]
    {
        assert_eq!(document["setting"][key], value, "{key}");
    }
    assert_eq!(document["setting"]["mode"], "transductive");
    let method = &document["methods"][0];
    assert_eq!((&method["name"], &method["preset"]), (&"dm-ida".into(), &"default".into()));
    for key in ["accuracy", "ci95", "seconds", "tasks_per_second"] {
        assert!(method[key].is_number(), "{key}");
    }
    assert!(method.get("per_task").is_none());

    let with = json(&[&args[..], &["--per-task"]].concat());
    let per_task: Vec<f64> = with["methods"][0]["per_task"]
        .as_array()
        .expect("there with --per-task")
        .iter()
        .map(|value| value.as_f64().expect("a number"))
        .collect();
    let mean = per_task.iter().sum::<f64>() / 6.0;
    let sd = (per_task.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 6.0).sqrt();
    assert!((mean - method["accuracy"].as_f64().expect("a number")).abs() < 1e-12);
    assert!((1.96 * sd / 6f64.sqrt() - method["ci95"].as_f64().expect("a number")).abs() < 1e-12);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    for unlabeled in ["0", "5"] {
        let run = |threads: &str| {
            let methods = "protonet,baseline,entropy-min,tim-gd,dm,dm-ida";
            let document = json(&[
                "bench",
                path(&file),
                "--method",
                methods,
                "--tasks",
                "12",
                "--queries",
                "8",
                "--unlabeled",
                unlabeled,
                "--per-task",
                "--format",
                "json",
                "--threads",
                threads,
            ]);
            let methods = document["methods"].as_array().expect("a list").clone();
            methods.iter().map(|method| method["per_task"].to_string()).collect::<Vec<_>>()
        };
        assert_eq!(run("1"), run("2"));
    }
}

#[test]
fn any_parameter_can_be_set() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    let document = json(&[
        "bench",
        path(&file),
        "--tasks",
        "2",
        "--method",
        "tim-gd,dm-ida",
        "--set",
        "steps=3",
        "--set",
        "dm-ida.max_rounds=2",
        "--objective",
        "dependence",
        "--selector",
        "confidence",
        "--format",
        "json",
    ]);
    let (tim, ours) = (&document["methods"][0]["params"], &document["methods"][1]["params"]);
    assert_eq!((&tim["steps"], &ours["steps"]), (&3.into(), &3.into()));
    assert_eq!(ours["max_rounds"], 2);
    assert_eq!((&ours["objective"], &ours["selector"]), (&"dependence".into(), &"confidence".into()));
}

#[test]
fn vectors_of_classes_help_and_are_named() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    let vectors = folder.path().join("vectors.csv");
    // The axis of each class, which is what its rows scatter around.
    let axis = |class: usize| (0..8).map(|at| if at == class { ",1" } else { ",0" }).collect::<String>();
    let rows = (0..6).map(|class| format!("{class}{}\n", axis(class))).collect::<String>();
    std::fs::write(&vectors, format!("label,a,b,c,d,e,f,g,h\n{rows}")).expect("written");
    let usual = ["bench", path(&file), "--tasks", "20", "--method", "protonet", "--format", "json"];
    let more = ["--class-vectors", path(&vectors), "--class-vector-rows", "5"];
    let accuracy =
        |document: &serde_json::Value| document["methods"][0]["accuracy"].as_f64().expect("a number");
    let (without, with) = (json(&usual), json(&[&usual[..], &more].concat()));
    assert!(accuracy(&with) > accuracy(&without), "{} after {}", accuracy(&with), accuracy(&without));
    assert_eq!(with["setting"]["class_vectors"]["rows"], 5);
    let run = handful(&[&usual[..6], &more].concat());
    assert!(run.succeeded().contains("each as 5 labelled rows"));

    let refused = |text: &str, words: &[&str]| {
        std::fs::write(&vectors, text).expect("written");
        handful(&[&usual[..], &more].concat()).refused(words);
    };
    refused("label,a,b\n0,1,2\n", &["vectors.csv", "class `0` has 2 numbers, but the features have 8"]);
    refused(
        "label,a,b,c,d,e,f,g,h\ncat,1,2,3,4,5,6,7,8\n",
        &["vectors.csv", "`cat`", "none of the classes `0`"],
    );
    handful(&[&usual[..], &more[..3], &["0"]].concat()).refused(&["--class-vector-rows 0", "1 to 100"]);
}

#[test]
fn wrong_settings_are_refused() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    let bench = |args: &[&str]| handful(&[&["bench", path(&file)], args].concat());
    bench(&["--ways", "7"]).refused(&["6 classes", "7"]);
    bench(&["--shots", "0"]).refused(&["shots is 0"]);
    bench(&["--shots", "20"]).refused(&["class", "30 rows", "35"]);
    bench(&["--tasks", "0"]).refused(&["--tasks"]);
    bench(&["--method", "dm-idaa"]).refused(&["dm-idaa", "did you mean dm-ida?"]);
    bench(&["--method", "dm-ida", "--set", "step=5"]).refused(&["step", "did you mean steps?"]);
    bench(&["--method", "tim-gd,dm-ida", "--set", "nonsense=5"]).refused(&["nonsense"]);
    bench(&["--method", "dm-ida", "--set", "steps=many"]).refused(&["steps", "many"]);
    bench(&["--method", "dm-ida", "--set", "steps"]).refused(&["key=value"]);
    bench(&["--method", "dm-ida", "--set", "ridge=-1"]).refused(&["ridge", "-1"]);
    bench(&["--method", "dm-ida:best"]).refused(&["best", "default"]);
    bench(&["--preset", "best"]).refused(&["best", "authors"]);
    bench(&["--bogus"]).refused(&["--bogus"]);
    bench(&["--ways", "five"]).refused(&["five", "--ways"]);
    handful(&["bench"]).refused(&["FEATURES"]);
}

#[test]
fn wrong_files_are_refused() {
    let folder = tempdir().expect("a folder");
    let refused = |file: &std::path::Path, words: &[&str]| handful(&["bench", path(file)]).refused(words);
    let (values, labels) = clusters();
    let write = |name: &str, arrays: &[Array]| npz(folder.path(), name, arrays);
    let features = || Array::f32("features", &[180, 8], &values);

    refused(&folder.path().join("absent.npz"), &["absent.npz", "No such file"]);
    let mut bad = values.clone();
    bad[8 * 11 + 3] = f32::NAN;
    let file = write("nan.npz", &[Array::f32("features", &[180, 8], &bad), Array::i64("labels", &labels)]);
    refused(&file, &["row 11", "column 3", "NaN"]);
    bad[8 * 11 + 3] = f32::NEG_INFINITY;
    let file = write("inf.npz", &[Array::f32("features", &[180, 8], &bad), Array::i64("labels", &labels)]);
    refused(&file, &["row 11", "column 3", "-inf"]);
    refused(&write("short.npz", &[features(), Array::i64("labels", &labels[1..])]), &["180", "179"]);
    refused(
        &write("flat.npz", &[Array::f32("features", &[1440], &values), Array::i64("labels", &labels)]),
        &["features"],
    );
    refused(
        &write("float-labels.npz", &[features(), Array::f32("labels", &[180], &[0.5; 180])]),
        &["labels"],
    );
    refused(&write("no-features.npz", &[Array::i64("labels", &labels)]), &["features"]);
    let objects = Array::raw("features", "|O", &[180, 8], vec![0; 64]);
    refused(
        &write("objects.npz", &[objects, Array::i64("labels", &labels)]),
        &["objects.npz", "Python objects"],
    );
    let strings = Array::raw("features", "<U3", &[1, 2], vec![0; 24]);
    refused(&write("strings.npz", &[strings, Array::i64("labels", &[0])]), &["strings.npz"]);

    let whole =
        std::fs::read(write("whole.npz", &[features(), Array::i64("labels", &labels)])).expect("read");
    let cut = folder.path().join("cut.npz");
    std::fs::write(&cut, &whole[..whole.len() / 2]).expect("written");
    refused(&cut, &["cut.npz"]);
    let text = folder.path().join("text.npz");
    std::fs::write(&text, "these are not features").expect("written");
    refused(&text, &["text.npz"]);
}

#[test]
fn negative_features_are_as_good_as_any() {
    let folder = tempdir().expect("a folder");
    let (mut values, labels) = clusters();
    values.iter_mut().for_each(|value| *value -= 0.5);
    let file = npz(
        folder.path(),
        "n.npz",
        &[Array::f32("features", &[180, 8], &values), Array::i64("labels", &labels)],
    );
    handful(&["bench", path(&file), "--method", "dm-ida", "--tasks", "2"]).succeeded();
}

#[test]
fn demo_and_params_work_without_any_file() {
    let run = handful(&["demo", "--tasks", "5"]);
    assert!(run.succeeded().lines().any(|line| line.starts_with("dm-ida ")), "{}", run.stdout);
    let run = handful(&["params", "dm-ida", "--preset", "authors"]);
    let words: Vec<&str> = run.succeeded().split_whitespace().collect();
    assert!(words.windows(3).any(|line| line == ["temperature_five_shot", "=", "32.0"]), "{}", run.stdout);
    assert!(handful(&["params"]).succeeded().contains("tim-gd"));
    handful(&["params", "dm-id"]).refused(&["did you mean dm-ida?"]);
}

/// The document without what a clock says.
fn timeless(mut document: serde_json::Value) -> String {
    for method in document["methods"].as_array_mut().expect("a list") {
        let method = method.as_object_mut().expect("an object");
        assert!(method.remove("seconds").is_some() && method.remove("tasks_per_second").is_some());
    }
    document.to_string()
}

#[test]
fn parts_of_a_study_merge_to_the_result_of_one_process() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    let study = ["bench", path(&file), "--tasks", "20", "--method", "protonet,dm-ida:fast", "--queries", "9"];
    let part = |range: &str, more: &[&str]| {
        let run = handful(&[&study[..], &["--task-range", range], more].concat());
        let file = folder.path().join(format!("{}{}.json", range, more.concat()));
        std::fs::write(&file, run.succeeded()).expect("written");
        path(&file).to_owned()
    };
    let (first, second, last) = (part("0..7", &[]), part("7..8", &["--threads", "1"]), part("8..20", &[]));
    let whole = json(&[&study[..], &["--per-task", "--format", "json"]].concat());
    let merged = json(&["bench", "merge", &last, &first, &second, "--per-task", "--format", "json"]);
    assert_eq!(timeless(merged), timeless(whole));

    handful(&["bench", "merge", &first, &last]).refused(&["tasks 7..8 of 20 are in no part"]);
    handful(&["bench", "merge", &first, &first, &second, &last]).refused(&["0..7.json", "both have tasks"]);
    let other = part("8..20", &["--seed", "2"]);
    handful(&["bench", "merge", &first, &second, &other]).refused(&["seed is 2, but 1"]);
    handful(&["bench", "merge", &first, path(&file)]).refused(&["not a part of a study"]);
    handful(&[&study[..], &["--task-range", "5..21"]].concat()).refused(&["there are 20 tasks"]);
    handful(&[&study[..], &["--task-range", "5..5"]].concat()).refused(&["no task from 5 up to 5"]);
    handful(&[&study[..], &["--task-range", "all"]].concat()).refused(&["A..B"]);
}

#[test]
fn parts_of_another_instruction_set_are_refused() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    let run =
        handful(&["bench", path(&file), "--tasks", "4", "--method", "protonet", "--task-range", "0..2"]);
    let other = run.succeeded().replace("\"instruction_set\":\"", "\"instruction_set\":\"other-");
    let (one, two) = (folder.path().join("one.json"), folder.path().join("two.json"));
    std::fs::write(&one, &run.stdout).expect("written");
    std::fs::write(&two, other).expect("written");
    handful(&["bench", "merge", path(&one), path(&two)]).refused(&["two.json: instruction set is"]);
}

/// Six classes of twelve rows with `width` columns, and what the rows are made of under `parts`, `count` vectors each.
fn table_of_parts(
    folder: &std::path::Path,
    name: &str,
    width: usize,
    parts: &'static str,
    count: usize,
) -> std::path::PathBuf {
    let (classes, rows) = (6, 72);
    let value = |row: usize, column: usize| {
        let class = row % classes;
        let noise = ((row * 7919 + column * 104_729) % 1009) as f32 / 1009.0;
        noise + if column % classes == class { 2.0 } else { 0.0 }
    };
    let numbers = |columns: usize| -> Vec<f32> {
        (0..rows * columns).map(|at| value(at / columns, at % columns)).collect()
    };
    let labels: Vec<i64> = (0..rows).map(|row| (row % classes) as i64).collect();
    let arrays = [
        Array::f32("features", &[rows, width], &numbers(width)),
        Array::i64("labels", &labels),
        Array::f32(parts, &[rows, count, width], &numbers(count * width)),
    ];
    npz(folder, name, &arrays)
}

#[test]
fn maps_and_views_are_read_used_and_written_again() {
    let folder = tempdir().expect("a folder");
    let maps = table_of_parts(folder.path(), "maps.npz", 12, "maps", 4);
    let views = table_of_parts(folder.path(), "views.npz", 12, "views", 2);
    let bench = |file: &str, method: &str, shots: &str| {
        let run = handful(&[
            "bench",
            file,
            "--method",
            method,
            "--shots",
            shots,
            "--queries",
            "5",
            "--tasks",
            "4",
            "--format",
            "json",
        ]);
        let document: serde_json::Value = serde_json::from_str(run.succeeded()).expect("JSON");
        document["methods"][0]["accuracy"].as_f64().expect("a number")
    };
    for (file, method, shots) in [(&maps, "deepemd", "1"), (&maps, "deepemd", "2"), (&views, "dsn", "1")] {
        assert!(bench(path(file), method, shots) > 0.6, "{method} {shots}");
    }
    let inspected = handful(&["data", "inspect", path(&maps)]);
    assert!(
        inspected.succeeded().contains("maps: 4 vectors of 12 numbers beside each row"),
        "{}",
        inspected.stdout
    );

    let (copy, text) = (folder.path().join("copy.npz"), folder.path().join("copy.csv"));
    handful(&["data", "convert", path(&maps), path(&copy)]).succeeded();
    assert_eq!(bench(path(&copy), "deepemd", "1"), bench(path(&maps), "deepemd", "1"));
    let run = handful(&["data", "convert", path(&maps), path(&text)]);
    run.succeeded();
    assert!(run.stderr.contains("the maps are left out"), "{}", run.stderr);
    handful(&["bench", path(&text), "--method", "deepemd", "--queries", "5"]).refused(&["embed --maps"]);

    let (broken, labels) = (vec![1.0f32; 24], [0i64, 1]);
    let flat = [
        Array::f32("features", &[2, 3], &broken[..6]),
        Array::i64("labels", &labels),
        Array::f32("maps", &[2, 12], &broken),
    ];
    let flat = npz(folder.path(), "flat.npz", &flat);
    handful(&["data", "inspect", path(&flat)]).refused(&["flat.npz", "[rows, vectors, numbers]"]);
}

#[test]
fn what_a_head_was_not_trained_for_is_refused_in_one_sentence() {
    let folder = tempdir().expect("a folder");
    let narrow = features(folder.path());
    let wide = table_of_parts(folder.path(), "wide.npz", 256, "maps", 1);
    let bench = |file: &std::path::Path, more: &[&str]| {
        handful(&[&["bench", path(file), "--queries", "5", "--tasks", "2"], more].concat())
    };
    // The features of another network, tasks of other classes, too few rows for a subspace.
    bench(&narrow, &["--method", "sib"]).refused(&["256 dimensions, not 8"]);
    bench(&wide, &["--method", "sib:5-shot", "--shots", "5", "--ways", "3"]).refused(&["5 classes, not 3"]);
    bench(&wide, &["--method", "dsn:5-shot"]).refused(&["at least 2", "embed --views"]);
    bench(&wide, &["--method", "leo:1-shot,metaoptnet:5-shot,relationnet,feat"]).succeeded();

    let out = folder.path().join("head");
    let train = |more: &[&str]| {
        handful(&[&["train", path(&narrow), "--system", "sib", "-o", path(&out)], more].concat())
    };
    train(&[]).refused(&["--validation"]);
    let (values, _) = clusters();
    let unlabelled = npz(folder.path(), "validation.npz", &[Array::f32("features", &[180, 8], &values)]);
    train(&["--validation", path(&unlabelled)]).refused(&["validation.npz has 0 classes"]);
}
