//! Studies at several numbers of labelled rows in every format, and the pages of `bench` and `label` in a browser.

mod support;

use support::pool::Pool;
use support::{browser, features, handful};
use tempfile::tempdir;

fn needs_nothing_else(page: &str) {
    let page = page.replace("http://www.w3.org/2000/svg", "").replace("src=\"data:", "");
    for outside in ["http://", "https://", "src=", "@import", "<script"] {
        assert!(!page.contains(outside), "the page asks for {outside}");
    }
}

#[test]
fn several_shots_are_one_table_in_every_format() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    let file = file.to_str().expect("plain");
    let run = |format: &str, shots: &str| {
        let args = ["--tasks", "4", "--queries", "5", "--method", "protonet,ridge", "--format", format];
        handful(&[&["bench", file, "--shots", shots][..], &args].concat())
    };
    let table = run("table", "1,5");
    assert!(table.succeeded().contains("5-way 1- and 5-shot"), "{}", table.stdout);
    assert!(table.stdout.contains("1-shot %") && table.stdout.contains("5-shot %"), "{}", table.stdout);
    assert!(run("markdown", "1,5").succeeded().starts_with("| method | 1-shot % |"));
    let csv = run("csv", "1,5");
    assert!(csv.succeeded().starts_with("shots,method,"), "{}", csv.stdout);
    assert_eq!(csv.stdout.lines().count(), 5);
    let latex = run("latex", "1,5");
    assert!(latex.succeeded().contains("Method & 1-shot & 5-shot \\\\"), "{}", latex.stdout);
    assert!(latex.stdout.contains("\\textbf{") && latex.stdout.contains("\\toprule"), "{}", latex.stdout);
    let document: serde_json::Value = serde_json::from_str(run("json", "1,5").succeeded()).expect("JSON");
    assert_eq!(document["setting"]["shots"], serde_json::json!([1, 5]));

    // Each group is what a run of its own prints.
    for (at, shots) in ["1", "5"].into_iter().enumerate() {
        let alone: serde_json::Value = serde_json::from_str(run("json", shots).succeeded()).expect("JSON");
        for method in 0..2 {
            let of = |value: &serde_json::Value| value["methods"][method]["accuracy"].clone();
            assert_eq!(of(&document["results"][at]), of(&alone), "{shots}-shot");
        }
    }
    run("table", "1,1").refused(&["--shots", "twice"]);
    run("table", "1,x").refused(&["--shots", "x"]);
    handful(&["bench", file, "--shots", "1,5", "--task-range", "0..2"]).refused(&["--task-range", "--shots"]);
    handful(&["tasks", "sample", file, "--shots", "1,5"]).refused(&["--shots 1,5", "one number"]);
}

#[test]
fn the_page_of_a_study_opens_and_has_its_numbers() {
    let folder = tempdir().expect("a folder");
    let file = features(folder.path());
    let page = folder.path().join("study.html");
    let (file, name) = (file.to_str().expect("plain"), page.to_str().expect("plain"));
    let args = ["--tasks", "6", "--queries", "5", "--shots", "1,5", "--report", name];
    let run = handful(&[&["bench", file][..], &args].concat());
    assert!(run.succeeded().contains("1-shot %"), "{}", run.stdout);
    let text = std::fs::read_to_string(&page).expect("a page");
    for word in
        ["Paired differences", "Accuracy against time", "handful bench", "--shots 1,5", "dm-ida", "SHA-256"]
    {
        assert!(text.contains(word), "{word}");
    }
    needs_nothing_else(&text);
    browser::open_in_chromium(&page);
    let nowhere = folder.path().join("none/study.html");
    handful(&["bench", file, "--report", nowhere.to_str().expect("plain")]).refused(&["study.html"]);
    handful(&["bench", file, "--task-range", "0..2", "--report", name]).refused(&["--report"]);
}

#[test]
fn the_page_of_a_labelled_table_opens_and_says_how_far_to_trust_it() {
    let pool = Pool::new();
    let labels = pool.labels(5);
    let page = pool.path("page.html");
    let name = page.to_str().expect("plain");
    let run = pool.label(&[&labels], "out.csv", &["--max-error", "0.2", "--report", name]);
    assert!(run.succeeded().contains("report: "), "{}", run.stdout);
    let text = std::fs::read_to_string(&page).expect("a page");
    for word in ["How far to trust it", "Promised", "class 3", "Check these", "reliability", "features.npz"] {
        assert!(text.contains(word), "{word}");
    }
    assert!(!text.contains("Contact sheet"), "a table has no pictures");
    needs_nothing_else(&text);
    browser::open_in_chromium(&page);
    pool.label(&[&labels], "out.csv", &["--report", labels.to_str().expect("plain")])
        .refused(&["overwritten"]);
}

#[cfg(feature = "vision")]
#[test]
fn the_page_of_labelled_photographs_shows_them() {
    let folder = tempdir().expect("a folder");
    let fixture = |name: &str| {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../handful-data/tests/fixtures/images")
            .join(name)
    };
    let photos = folder.path().join("photos");
    for (from, to) in [
        ("orientation-6.jpg", "support/<up>/1.jpg"),
        ("grey.jpg", "support/grey/1.jpg"),
        ("animated.gif", "b.gif"),
        ("orientation-8.jpg", "a.jpg"),
    ] {
        let to = photos.join(to);
        std::fs::create_dir_all(to.parent().expect("inside")).expect("folders");
        std::fs::copy(fixture(from), to).expect("copied");
    }
    let (page, out) = (folder.path().join("page.html"), folder.path().join("out.csv"));
    let text = |path: &std::path::Path| path.to_str().expect("plain").to_owned();
    handful(&["label", &text(&photos), "-o", &text(&out), "--report", &text(&page)]).succeeded();
    let html = std::fs::read_to_string(&page).expect("a page");
    assert!(html.matches("data:image/jpeg;base64,").count() >= 4, "pictures are inside");
    assert!(html.contains("Contact sheet") && html.contains("&lt;up&gt;") && !html.contains("<up>"));
    needs_nothing_else(&html);
    browser::open_in_chromium(&page);
}
