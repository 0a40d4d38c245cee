//! What once went wrong without a word, lost work or hung: one test for each, on the built binary.

mod support;

use support::pool::{Pool, text};
use support::{Array, clusters, handful, npz};

/// The rows of [`clusters`] as lines of text, under a header and after a beginning of each line.
fn table(header: &str, beginning: impl Fn(usize) -> String) -> String {
    let (values, _) = clusters();
    let line = |(row, values): (usize, &[f32])| {
        let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
        format!("{}{}\n", beginning(row), values.join(","))
    };
    format!("{header}\n{}", values.chunks(8).enumerate().map(line).collect::<String>())
}

#[test]
fn the_index_of_pandas_is_no_feature() {
    let mut pool = Pool::new();
    pool.pool = pool.write("indexed.csv", &table(",a,b,c,d,e,f,g,h", |row| format!("{row},")));
    let run = pool.label(&[&pool.labels(3)], "out.csv", &[]);
    assert!(run.succeeded().starts_with("180 rows x 8,"), "{}", run.stdout);
    assert!(run.stderr.contains("the first column has no name: an index"), "{}", run.stderr);
    pool.label(&[&pool.labels(3)], "out.csv", &["--id-column", "none"]).refused(&["no column `none`"]);
    let run = pool.label(&[&pool.labels(3)], "out.csv", &["--id-column", "1"]);
    assert!(run.succeeded().starts_with("180 rows x 8,") && run.stderr.is_empty(), "{}", run.stderr);
}

#[test]
fn numbers_over_columns_are_no_row() {
    let mut pool = Pool::new();
    pool.pool = pool.write("numbered.csv", &table("0,1,2,3,4,5,6,7", |_| String::new()));
    let run = pool.label(&[&pool.labels(3)], "out.csv", &[]);
    assert!(run.succeeded().starts_with("180 rows x 8,"), "{}", run.stdout);
    assert!(run.stderr.contains("taken for the names of the columns; --no-header"), "{}", run.stderr);
    for (flag, rows) in [("--no-header", "181 rows"), ("--header", "180 rows")] {
        let run = handful(&["data", "inspect", text(&pool.pool), flag]);
        assert!(run.succeeded().contains(rows) && run.stderr.is_empty(), "{} {}", run.stdout, run.stderr);
    }
    handful(&["data", "inspect", text(&pool.path("features.npz")), "--header"])
        .refused(&["only text tables"]);
}

#[test]
fn classes_that_differ_by_capitals_are_noticed() {
    let pool = Pool::new();
    let labels = pool.write("l.csv", "id,label\n0,Bee\n1,bee\n31, cat\n32,cat\n");
    let run = pool.label(&[&labels], "out.csv", &[]);
    assert!(run.succeeded().contains("4 labels of 3 classes"), "{}", run.stdout);
    assert!(run.stderr.contains("`Bee` and `bee` are different classes"), "{}", run.stderr);
}

#[test]
fn a_review_that_was_filled_in_is_not_overwritten() {
    let pool = Pool::new();
    let labels = pool.labels(3);
    let review = pool.path("check.csv");
    let more = ["--review", text(&review)];
    pool.label(&[&labels], "out.csv", &more).succeeded();
    pool.label(&[&labels], "out.csv", &more).succeeded();
    let filled = pool.read("check.csv").replacen(",,", ",class 2,", 1);
    pool.write("check.csv", &filled);
    pool.label(&[&labels], "out.csv", &more).refused(&["check.csv: somebody has written in it"]);
    assert_eq!(pool.read("check.csv"), filled);
}

#[test]
fn lines_of_files_from_windows_are_counted_right() {
    let pool = Pool::new();
    let labels = pool.write("l.csv", "id,label\r\n0,a\r\n40,b\r\n999,b\r\n");
    pool.label(&[&labels], "out.csv", &[]).refused(&["l.csv: line 4: the id `999`"]);
}

#[test]
fn a_folder_that_is_missing_is_missing() {
    let pool = Pool::new();
    let labels = pool.labels(2);
    let missing = pool.path("photos");
    handful(&["label", text(&missing), "--labels", text(&labels), "-o", text(&pool.path("o.csv"))])
        .refused(&["photos: ", "No such file or directory"]);
}

#[cfg(unix)]
#[test]
fn a_pipe_that_nobody_writes_to_is_not_waited_for() {
    let mut pool = Pool::new();
    let labels = pool.labels(2);
    pool.pool = pool.path("pipe.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pool.pool).status().expect("mkfifo runs").success());
    pool.label(&[&labels], "out.csv", &[]).refused(&["pipe.csv: a pipe or device is no table"]);
}

#[test]
fn semicolons_and_duplicates_do_not_stop_the_job() {
    let pool = Pool::new();
    let labels = pool.write("l.csv", "id;label\n0;a\n40;b\n0;b\n1;a\n");
    pool.label(&[&labels], "out.csv", &[]).refused(&["line 4", "`0` is labelled `b`", "--duplicates"]);
    for (choice, labels_left, words) in
        [("keep-first", "3 labels", "kept the first"), ("drop", "2 labels", "kept neither")]
    {
        let run = pool.label(&[&labels], "out.csv", &["--duplicates", choice]);
        assert!(run.succeeded().contains(labels_left), "{}", run.stdout);
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
}

#[test]
fn names_that_are_formulas_or_escapes_do_no_harm_and_come_back() {
    let mut pool = Pool::new();
    let name = |row: usize| match row {
        0 => "=cmd|' /C calc'!A0".to_owned(),
        31 => "\u{1b}[31mred".to_owned(),
        row => format!("-r{row}"),
    };
    pool.pool = pool.write("named.csv", &table("id,a,b,c,d,e,f,g,h", |row| format!("{},", name(row))));
    let lines = [(0, "@sum"), (1, "@sum"), (31, "\u{1b}]0;title\u{7}b"), (32, "\u{1b}]0;title\u{7}b")];
    let lines: String = lines.iter().map(|(row, class)| format!("{},{class}\n", name(*row))).collect();
    let labels = pool.write("l.csv", &format!("id,label\n{lines}"));
    let review = pool.path("review.csv");
    let more = ["--review", text(&review), "--explain", &name(31)];
    let run = pool.label(&[&labels], "out.csv", &more);
    assert!(run.succeeded().contains("4 labels of 2 classes"), "{}", run.stdout);
    assert!(!run.stdout.contains('\u{1b}') && run.stdout.contains("\\u{1b}]0;title"), "{}", run.stdout);
    for (file, columns) in [("out.csv", 2), ("review.csv", 3)] {
        for record in csv::Reader::from_path(pool.path(file)).expect("a table").records() {
            let record = record.expect("a line");
            for cell in record.iter().take(columns) {
                assert!(!cell.starts_with(['=', '+', '-', '@']), "{file}: {cell}");
            }
        }
    }
    // The review goes back as it is, with a class filled in.
    let filled = pool.read("review.csv").replacen(",,", ",'@sum,", 1);
    let filled = pool.write("filled.csv", &filled);
    let again = pool.label(&[&labels, &filled], "out.csv", &[]);
    assert!(again.succeeded().contains("5 labels of 2 classes"), "{}", again.stdout);
    assert!(again.stdout.contains("0 rows added, 0 removed"), "{}", again.stdout);
    let missing = pool.label(&[&pool.path("\u{1b}[2J.csv")], "out.csv", &[]);
    missing.refused(&["\\u{1b}[2J.csv"]);
}

#[test]
fn rounds_and_steps_have_an_end() {
    let pool = Pool::new();
    let labels = pool.labels(2);
    let endless = u64::MAX.to_string();
    pool.label(&[&labels], "out.csv", &["--set", &format!("selection_rounds={endless}")])
        .refused(&["selection_rounds", "at most 1000"]);
    let steps = format!("steps={}", i64::MAX);
    handful(&["bench", text(&pool.pool), "--method", "dm-ida", "--set", &steps, "--tasks", "1"])
        .refused(&["steps", "at most 1000000"]);
}

#[test]
fn nothing_is_accepted_where_nothing_was_promised() {
    let pool = Pool::new();
    let labels = pool.labels(3);
    let run = pool.label(&[&labels], "out.csv", &["--explain", "100"]);
    let line = run.succeeded().lines().find(|line| line.contains("estimated error")).expect("explained");
    assert!(!line.contains("accepted"), "{line}");
    let run = pool.label(&[&labels], "out.csv", &["--explain", "100", "--max-error", "0.05"]);
    let line = run.succeeded().lines().find(|line| line.contains("estimated error")).expect("explained");
    assert!(line.contains("accepted"), "{line}");
}

#[cfg(feature = "vision")]
#[test]
fn two_trainings_do_not_share_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let _other = handful_data::lock::FolderLock::take(&run).expect("free");
    handful(&["train", text(folder.path()), "-o", text(&run)])
        .refused(&["run: another run is writing there"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_job_beyond_the_memory_is_refused_before_it_begins() {
    const ROWS: usize = 39_000;
    let folder = tempfile::tempdir().expect("a folder");
    let values: Vec<f32> = (0..ROWS * 2).map(|at| (at * 7 % 1001) as f32).collect();
    let pool =
        Pool { pool: npz(folder.path(), "p.npz", &[Array::f32("features", &[ROWS, 2], &values)]), folder };
    let line = |row: usize| format!("{row},c{row}\n");
    let labels = pool.write("l.csv", &format!("id,label\n{}", (0..1000).map(line).collect::<String>()));
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 900000; exec \"$0\" label \"$1\" --labels \"$2\" -o \"$3\" --threads 1"])
        .args([env!("CARGO_BIN_EXE_handful"), text(&pool.pool), text(&labels), text(&pool.path("out.csv"))])
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("labelling 39000 rows with 1000 classes needs about") && said.lines().count() == 1,
        "{said}"
    );
    assert!(!pool.path("out.csv").exists());
}
