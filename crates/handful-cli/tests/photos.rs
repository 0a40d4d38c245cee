//! Folders of photographs through `embed` and `label`, as people have them: turned, broken, of strange kinds, in loops.
#![cfg(feature = "vision")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::Run;
use tempfile::{TempDir, tempdir};

/// A folder for everything a run touches.
struct Bench(TempDir);

impl Bench {
    fn new() -> Self {
        Self(tempdir().expect("a folder"))
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("a plain path").to_owned()
    }

    /// Puts a fixture of `handful-data` under another name.
    fn put(&self, fixture: &str, name: &str) {
        self.write(name, &std::fs::read(fixture_path(fixture)).expect("a fixture"));
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = PathBuf::from(self.at(name));
        std::fs::create_dir_all(path.parent().expect("inside")).expect("folders");
        std::fs::write(path, bytes).expect("written");
    }

    /// Runs the program with no weights but its own, and with a cache of its own.
    fn run(&self, args: &[&str]) -> Run {
        let output = Command::new(env!("CARGO_BIN_EXE_handful"))
            .args(args)
            .env("XDG_CACHE_HOME", self.at("caches"))
            .env("HANDFUL_WEIGHTS", self.at("weights"))
            .env_remove("VIRTUAL_ENV")
            .env_remove("CONDA_PREFIX")
            .output()
            .expect("the binary runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The first column of a CSV.
    fn ids(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.at(name)).expect("a table");
        text.lines().skip(1).filter_map(|line| Some(line.split(',').next()?.to_owned())).collect()
    }

    /// Two classes of one labelled photograph each, and three more.
    fn photos() -> Self {
        let bench = Self::new();
        bench.put("orientation-6.jpg", "photos/support/up/1.jpg");
        bench.put("grey.jpg", "photos/support/grey/1.jpg");
        bench.put("animated.gif", "photos/b.gif");
        bench.put("cmyk.tiff", "photos/deep/er/c.tiff");
        bench.put("orientation-8.jpg", "photos/a.jpg");
        bench
    }
}

fn fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-data/tests/fixtures/images").join(name)
}

#[test]
fn embed_and_label_agree_on_ids_and_share_what_they_computed() {
    let bench = Bench::photos();
    let (photos, table, labelled) = (bench.at("photos"), bench.at("f.csv"), bench.at("labelled.csv"));
    let first = bench.run(&["embed", &photos, "-o", &table]);
    first.succeeded();
    assert!(first.stderr.contains("weights get efficientnet-lite0"), "{}", first.stderr);
    assert!(first.stderr.contains("compact at 32 px"), "{}", first.stderr);
    let expected = ["a.jpg", "b.gif", "deep/er/c.tiff", "support/grey/1.jpg", "support/up/1.jpg"];
    assert_eq!(bench.ids("f.csv"), expected);
    bench.run(&["label", &photos, "-o", &labelled]).succeeded();
    assert_eq!(bench.ids("labelled.csv"), expected);
    let again = bench.run(&["embed", &photos, "-o", &table]);
    again.succeeded();
    assert!(again.stderr.contains("(5 rows kept from an earlier run)"), "{}", again.stderr);
}

#[test]
fn turned_photographs_have_nearly_the_features_of_upright_ones() {
    let bench = Bench::new();
    for orientation in 1..=8 {
        bench.put(&format!("orientation-{orientation}.jpg"), &format!("photos/{orientation}.jpg"));
    }
    bench.run(&["embed", &bench.at("photos"), "-o", &bench.at("f.csv")]).succeeded();
    let text = std::fs::read_to_string(bench.at("f.csv")).expect("a table");
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').skip(1).filter_map(|cell| cell.parse().ok()).collect())
        .collect();
    let cosine = |a: &[f64], b: &[f64]| {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    for row in &rows[1..] {
        assert!(cosine(&rows[0], row) > 0.99, "{}", cosine(&rows[0], row));
    }
}

#[test]
fn a_broken_photograph_is_named_and_can_be_skipped() {
    let bench = Bench::photos();
    let whole = std::fs::read(fixture_path("orientation-1.jpg")).expect("a fixture");
    bench.write("photos/cut.jpg", &whole[..whole.len() / 2]);
    let (photos, table, labelled) = (bench.at("photos"), bench.at("f.csv"), bench.at("labelled.csv"));
    bench.run(&["embed", &photos, "-o", &table]).refused_with(&["cut.jpg", "truncated"]);
    bench.run(&["label", &photos, "-o", &labelled]).refused_with(&["cut.jpg", "truncated"]);
    for (command, output, file) in [("embed", &table, "f.csv"), ("label", &labelled, "labelled.csv")] {
        let run = bench.run(&[command, &photos, "-o", output, "--skip-bad"]);
        run.succeeded();
        assert!(run.stderr.contains("skipped cut.jpg"), "{}", run.stderr);
        assert_eq!(bench.ids(file).len(), 5);
    }
}

#[test]
fn the_label_of_a_skipped_photograph_is_no_error() {
    let bench = Bench::photos();
    let whole = std::fs::read(fixture_path("orientation-1.jpg")).expect("a fixture");
    bench.write("photos/cut.jpg", &whole[..whole.len() / 2]);
    bench.write("labels.csv", b"id,label\ncut.jpg,up\nb.gif,grey\n");
    let (photos, labels, labelled) = (bench.at("photos"), bench.at("labels.csv"), bench.at("labelled.csv"));
    let args = ["label", &photos, "-o", &labelled, "--labels", &labels, "--skip-bad"];
    let run = bench.run(&args);
    run.succeeded();
    assert!(run.stderr.contains("skipped cut.jpg"), "{}", run.stderr);
    bench.write("labels.csv", b"id,label\ncutt.jpg,up\nb.gif,grey\n");
    bench.run(&args).refused_with(&["labels.csv", "`cutt.jpg` is not in"]);
}

#[test]
fn images_that_cannot_be_read_are_counted() {
    let bench = Bench::photos();
    bench.put("phone.heic", "photos/1.heic");
    bench.put("phone.heic", "photos/deep/2.HEIC");
    let run = bench.run(&["embed", &bench.at("photos"), "-o", &bench.at("f.csv")]);
    run.succeeded();
    assert!(
        run.stderr.contains("left out 2 .heic, which cannot be read; convert them to JPEG"),
        "{}",
        run.stderr
    );
    bench
        .run(&["embed", &bench.at("photos/1.heic"), "-o", &bench.at("g.csv")])
        .refused_with(&["1.heic", "HEIC", "JPEG"]);
}

#[test]
fn a_cache_that_cannot_be_written_is_noticed_before_the_work() {
    let bench = Bench::photos();
    bench.write("file", b"x");
    let (photos, table) = (bench.at("photos"), bench.at("f.csv"));
    let named = bench.run(&["embed", &photos, "-o", &table, "--cache", &bench.at("file")]);
    named.refused_with(&[&bench.at("file")]);
    // The usual place is nobody's wish: the work is done without it.
    bench.write("caches", b"x");
    let usual = bench.run(&["embed", &photos, "-o", &table]);
    usual.succeeded();
    assert!(usual.stderr.contains("features are not kept for the next run"), "{}", usual.stderr);
}

#[cfg(unix)]
#[test]
fn loops_of_links_and_pipes_hang_nothing() {
    use std::os::unix::fs::symlink;
    let bench = Bench::photos();
    symlink(bench.at("photos"), bench.at("photos/loop")).expect("a link");
    let pipe = Command::new("mkfifo").arg(bench.at("photos/pipe.jpg")).status().expect("mkfifo runs");
    assert!(pipe.success());
    let run = bench.run(&["label", &bench.at("photos"), "-o", &bench.at("labelled.csv")]);
    run.succeeded();
    assert!(run.stderr.contains("left out 1 broken links, pipes, sockets or devices"), "{}", run.stderr);
    assert_eq!(bench.ids("labelled.csv").len(), 5);
}

/// Everything below a folder that is not a folder, by its path from there.
fn links(folder: &Path) -> Vec<String> {
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .flat_map(|entry| {
            let entry = entry.expect("an entry");
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().expect("a kind").is_dir() {
                links(&entry.path()).into_iter().map(|inner| format!("{name}/{inner}")).collect()
            } else {
                vec![name]
            }
        })
        .collect();
    found.sort();
    found
}

#[test]
fn links_lose_no_image_and_a_slash_behind_the_folder_does_no_harm() {
    let bench = Bench::photos();
    // Both would be `deep--er--c.tiff`, in whichever class.
    bench.put("cmyk.tiff", "photos/deep--er--c.tiff");
    let (photos, sorted) = (bench.at("photos"), bench.at("sorted/"));
    bench.run(&["label", &photos, "--as", "links", "-o", &sorted]).succeeded();
    let found = links(sorted.as_ref());
    assert_eq!(found.len(), 6, "{found:?}");
    assert_eq!(found.iter().filter(|link| link.contains("deep--er--c")).count(), 2, "{found:?}");
    let left: Vec<_> = std::fs::read_dir(bench.0.path()).expect("a folder").flatten().collect();
    assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().contains("partial")), "{left:?}");
}
