//! `handful reproduce` end to end: results that survive, a report that opens, and every kind of bad input.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{features, handful};
use tempfile::tempdir;

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("a file")
}

/// The results without what differs from run to run: times.
fn numbers(folder: &Path) -> Vec<serde_json::Value> {
    let timeless = |line: &str| {
        let mut record: serde_json::Value = serde_json::from_str(line).expect("JSON");
        record["seconds"] = 0.into();
        for key in ["microseconds_ida", "microseconds_bound"] {
            if record["extra"].get(key).is_some() {
                record["extra"][key] = 0.into();
            }
        }
        record
    };
    read(folder.join("results.jsonl")).lines().map(timeless).collect()
}

#[test]
fn all_runs_without_data_and_says_what_it_runs_on_and_leaves_out() {
    let folder = tempdir().expect("a folder");
    let out = folder.path().join("out");
    let run = handful(&["reproduce", "all", "--tasks", "2", "--preset", "fast", "--out", text(&out)]);
    let stdout = run.succeeded();
    assert!(run.stderr.contains("features that come with handful"), "{}", run.stderr);
    assert!(stdout.contains("Table 6") && stdout.contains("--cross-features"), "{stdout}");
    for file in ["report.html", "report.md", "table2.csv", "picture-after.svg", "figure1-fast-dependence.png"]
    {
        assert!(out.join(file).exists(), "{file}");
    }
    support::browser::open_in_chromium(&out.join("report.html"));
}

#[test]
fn a_second_run_computes_nothing_and_a_report_needs_no_features() {
    let folder = tempdir().expect("a folder");
    let (file, out) = (features(folder.path()), folder.path().join("out"));
    let args = [
        "reproduce",
        "table5",
        "--features",
        text(&file),
        "--tasks",
        "3",
        "--preset",
        "fast",
        "--out",
        text(&out),
    ];
    let first = handful(&args).succeeded().to_owned();
    let bytes = std::fs::read(out.join("results.jsonl")).expect("results");
    assert_eq!(handful(&args).succeeded(), first);
    assert_eq!(std::fs::read(out.join("results.jsonl")).expect("results"), bytes, "nothing was appended");

    let page = read(out.join("report.html"));
    std::fs::remove_file(&file).expect("removed");
    std::fs::remove_file(out.join("report.html")).expect("removed");
    handful(&["reproduce", "report", "--out", text(&out)]).succeeded();
    assert_eq!(read(out.join("report.html")), page);

    let other = folder.path().join("other");
    features(folder.path());
    let again = [&args[..9], &[text(&other)]].concat();
    handful(&again).succeeded();
    assert_eq!(numbers(&other), numbers(&out), "another run gives the same numbers");
}

#[test]
fn a_killed_run_goes_on_to_the_same_numbers() {
    let folder = tempdir().expect("a folder");
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    let args = |out: &Path| {
        ["reproduce", "table6", "--tasks", "6", "--preset", "fast", "--threads", "1", "--out", text(out)]
            .map(str::to_owned)
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_handful"))
        .args(args(&killed))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    // Killed as soon as a few cells are there; if it was faster than that, the comparison still holds.
    let results = killed.join("results.jsonl");
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        let lines = std::fs::read_to_string(&results).map_or(0, |text| text.lines().count());
        if lines >= 3 || child.try_wait().expect("a child").is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    // And torn, as if it had been killed while writing.
    let mut bytes = std::fs::read(&results).expect("results");
    bytes.extend_from_slice(b"{\"table\":\"tab");
    std::fs::write(&results, bytes).expect("torn");

    let owned = args(&killed);
    handful(&owned.each_ref().map(String::as_str)).succeeded();
    let owned = args(&whole);
    handful(&owned.each_ref().map(String::as_str)).succeeded();
    assert_eq!(numbers(&killed), numbers(&whole));
}

#[test]
fn cross_domain_tasks_come_from_the_other_features() {
    let folder = tempdir().expect("a folder");
    let (file, out) = (features(folder.path()), folder.path().join("out"));
    let args = ["reproduce", "table3", "--tasks", "2", "--preset", "fast", "--out", text(&out)];
    handful(&args).refused_with(&["table3", "--cross-features"]);
    handful(&[&args[..], &["--cross-features", text(&file)]].concat()).succeeded();
    let records = numbers(&out);
    assert_eq!(records[0]["features"]["rows"], 180);
    assert_ne!(records[0]["features"]["sha256"], records[0]["run"]["features_sha256"]);
}

/// Both ways of Table 3 need images of the other dataset only.
#[test]
fn cross_domain_tasks_come_from_images_of_another_dataset() {
    let folder = tempdir().expect("a folder");
    let (birds, out) = (folder.path().join("CUB_200_2011"), folder.path().join("out"));
    for class in 0..200 {
        let name =
            if class == 0 { "001.Black_footed_Albatross".into() } else { format!("{:03}.Bird", class + 1) };
        let class_folder = birds.join("images").join(name);
        std::fs::create_dir_all(&class_folder).expect("a folder");
        // Only novel classes are looked at, and each has rows for a label, queries, and one more unlabelled.
        for image in 0..if class % 4 == 3 { 21 } else { 1 } {
            std::fs::write(class_folder.join(format!("{image}.bmp")), bitmap([class as u8, image, 90]))
                .expect("written");
        }
    }
    let args = ["--tasks", "1", "--preset", "fast", "--out", text(&out)];
    let run = |more: &[&str]| handful(&[&["reproduce"], more, &args[..]].concat());
    run(&["table3", "--cross-dataset", text(&birds)]).succeeded();
    let records = numbers(&out);
    assert_eq!(
        (&records[0]["features"]["name"], &records[0]["features"]["classes"]),
        (&"<cub>".into(), &50.into())
    );
    // The birds' own column of Table 2 stands beside the paper's, and their small classes serve the semi-supervised rows.
    std::fs::remove_dir_all(&out).expect("removed");
    let of_birds = run(&["table2", "--dataset", text(&birds)]);
    let stdout = of_birds.succeeded();
    assert!(
        stdout.contains("paper, CUB, 1-shot") && stdout.contains("the smallest class has 21 rows"),
        "{stdout}"
    );
    std::fs::remove_dir_all(&out).expect("removed");
    // With weights of the birds' network there need be no features of birds.
    let weights =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../handful-vision/assets/compact-cifar-fs.safetensors");
    run(&["table3", "--cross-dataset", text(&birds), "--weights", weights]).succeeded();
    let records = numbers(&out);
    assert_eq!(records[0]["features"]["sha256"], records[0]["run"]["features_sha256"]);
    run(&["table5", "--cross-dataset", text(&birds), "--weights", weights]).refused(&["--dataset"]);
}

/// A picture of one colour, 8 pixels square.
fn bitmap(colour: [u8; 3]) -> Vec<u8> {
    let mut bytes = b"BM".to_vec();
    for number in [54 + 3 * 64, 0u32, 54, 40, 8, 8] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend([1, 0, 24, 0]);
    bytes.extend([0; 24]);
    (0..64).for_each(|_| bytes.extend(colour));
    bytes
}

#[test]
fn wrong_command_lines_are_refused() {
    let folder = tempdir().expect("a folder");
    let (file, out) = (features(folder.path()), folder.path().join("out"));
    let run = |args: &[&str]| handful(&[&["reproduce"], args, &["--out", text(&out)]].concat());
    run(&["table7"]).refused(&["table7", "table6"]);
    run(&["table5", "--features", text(&file), "--preset", "best"]).refused(&["best", "authors"]);
    run(&["table5", "--tasks", "0"]).refused(&["--tasks"]);
    run(&["table5", "--features", "absent.npz"]).refused(&["absent.npz", "No such file"]);
    run(&["table5", "--dataset", "cifar"]).refused(&["cifar"]);
    run(&["table5", "--weights", "x.safetensors"]).refused(&["--dataset"]);
    run(&["table5", "--features", text(&file), "--benchmark", "mnist"]).refused(&["mnist", "cifar-fs"]);
    run(&["report"]).refused(&["no results", "reproduce all"]);
    assert!(!out.exists(), "nothing was made");
    // Six classes serve no task of ten.
    run(&["table4", "--features", text(&file)]).refused(&["table4", "10 classes", "6"]);
}

#[test]
fn results_of_another_run_are_not_touched_without_force() {
    let folder = tempdir().expect("a folder");
    let (file, out) = (features(folder.path()), folder.path().join("out"));
    let base = ["reproduce", "table1", "--tasks", "2", "--preset", "fast", "--out", text(&out)];
    let on = |extra: &[&str]| handful(&[&base[..], extra].concat());
    on(&["--features", text(&file)]).succeeded();
    let before = std::fs::read(out.join("results.jsonl")).expect("results");
    on(&[]).refused_with(&["another run", "SHA-256", "--force"]);
    on(&["--features", text(&file), "--seed", "2"]).refused(&["--seed", "2", "--force"]);
    assert_eq!(std::fs::read(out.join("results.jsonl")).expect("results"), before);
    on(&["--features", text(&file), "--seed", "2", "--force"]).succeeded();
    assert_eq!(std::fs::read(out.join("results.old-1.jsonl")).expect("set aside"), before);

    let mine = folder.path().join("mine");
    std::fs::create_dir(&mine).expect("a folder");
    std::fs::write(mine.join("report.html"), "mine").expect("written");
    let args = ["reproduce", "table1", "--features", text(&file), "--tasks", "2", "--out", text(&mine)];
    handful(&args).refused(&["report.html", "--force"]);
    assert_eq!(read(mine.join("report.html")), "mine");
    std::fs::write(mine.join("results.jsonl"), "not a result\n").expect("written");
    handful(&args).refused(&["results.jsonl", "line 1"]);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempdir().expect("a folder");
    let file: PathBuf = features(folder.path());
    // A file where the folder should be: refused for every user, root included.
    let out = folder.path().join("taken");
    std::fs::write(&out, "a file").expect("written");
    let args = ["reproduce", "table1", "--features", text(&file), "--tasks", "2", "--out", text(&out)];
    handful(&args).refused(&["taken"]);
    assert_eq!(read(&out), "a file");
}
