//! Every command that writes, killed at random moments, on a full disk, where nothing can be written, and twice at once:
//! a file is the earlier one or the new one, whole, never anything else.
//!
//! A run is short unless `HANDFUL_KILLS` says how often to kill each command:
//!
//! ```sh
//! HANDFUL_KILLS=50 cargo test -p handful-cli --release --test crash -- --nocapture
//! ```
//!
//! Training is killed in `vision.rs`, which goes on with what is left and compares the weights.
#![cfg(all(unix, feature = "vision", feature = "tables"))]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::pool::{Pool, text};
use support::{Array, clusters, npz};

/// Kills of each command where nobody asks for more.
const SHORT: usize = 3;

fn kills() -> usize {
    let asked = std::env::var("HANDFUL_KILLS").ok();
    asked.map_or(SHORT, |count| count.parse().expect("HANDFUL_KILLS is a number"))
}

/// A command in two forms, of which one has run before and the other is killed.
struct Writer {
    name: &'static str,
    /// `OUT` stands for the folder with the outputs.
    earlier: Vec<String>,
    later: Vec<String>,
    /// Files within `OUT`.
    outputs: Vec<&'static str>,
}

fn writer(name: &'static str, earlier: &str, later: &str, outputs: &[&'static str]) -> Writer {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    Writer { name, earlier: words(earlier), later: words(later), outputs: outputs.to_vec() }
}

impl Writer {
    fn command(&self, line: &[String], out: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_handful"));
        command
            .args(line.iter().map(|word| word.replace("OUT", text(out))))
            .env("XDG_CACHE_HOME", out.join("caches"))
            .env("HANDFUL_WEIGHTS", out.join("no-weights"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// What a run that nobody disturbs writes, and how long it takes.
    fn undisturbed(&self, line: &[String]) -> (BTreeMap<&'static str, Vec<u8>>, Duration) {
        let folder = tempfile::tempdir().expect("a folder");
        let start = Instant::now();
        let output =
            self.command(line, folder.path()).stderr(Stdio::piped()).output().expect("the binary runs");
        let time = start.elapsed();
        assert!(output.status.success(), "{}: {}", self.name, String::from_utf8_lossy(&output.stderr));
        (self.contents(folder.path()), time)
    }

    fn contents(&self, folder: &Path) -> BTreeMap<&'static str, Vec<u8>> {
        self.outputs
            .iter()
            .map(|&name| (name, std::fs::read(folder.join(name)).unwrap_or_default()))
            .collect()
    }

    /// Fails unless every output is one of the two.
    fn check(&self, folder: &Path, whole: &[&BTreeMap<&'static str, Vec<u8>>], when: &str) {
        for (name, found) in self.contents(folder) {
            let known = whole.iter().any(|contents| contents[name] == found);
            assert!(
                known,
                "{}, {when}: {name} is neither the earlier nor the new file ({} bytes)",
                self.name,
                found.len()
            );
        }
    }

    fn put(&self, folder: &Path, contents: &BTreeMap<&'static str, Vec<u8>>) {
        for (name, bytes) in contents {
            std::fs::write(folder.join(name), bytes).expect("written");
        }
    }
}

/// Moments that are the same in every run of this test.
fn moment(number: usize, time: Duration) -> Duration {
    let share = (number as u64 * 2_654_435_761 % 1000) as f64 / 1000.0;
    time.mul_f64(1.05 * share)
}

/// Every command that writes files, and what it reads.
fn writers(pool: &Pool) -> Vec<Writer> {
    let path = |name: &str| pool.path(name).to_str().expect("UTF-8").to_owned();
    let (values, labels) = clusters();
    npz(
        pool.folder.path(),
        "half.npz",
        &[Array::f32("features", &[90, 8], &values[..720]), Array::i64("labels", &labels[..90])],
    );
    let (whole, half) = (path("features.npz"), path("half.npz"));
    pool.labels(2);
    std::fs::rename(pool.path("labels.csv"), pool.path("two.csv")).expect("renamed");
    pool.labels(3);
    let (two, three) = (path("two.csv"), path("labels.csv"));
    pool.label(&[&pool.path("two.csv")], "labelled.csv", &["--save", &path("model.safetensors")]).succeeded();
    let model = path("model.safetensors");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-data/tests/fixtures");
    for (folder, photos) in [("one", &["plain.bmp"][..]), ("two", &["plain.bmp", "grey.jpg", "palette.png"])]
    {
        std::fs::create_dir(pool.path(folder)).expect("a folder");
        for photo in photos {
            std::fs::copy(fixtures.join("images").join(photo), pool.path(folder).join(photo))
                .expect("copied");
        }
    }
    let (one, more) = (path("one"), path("two"));
    let cifar = fixtures.join("datasets/cifar-100-python.tar.gz").to_str().expect("UTF-8").to_owned();
    let both = |name, line: &str, outputs: &[&'static str]| {
        writer(name, &line.replace("POOL", &half), &line.replace("POOL", &whole), outputs)
    };
    let label = |name, line: &str, outputs: &[&'static str]| {
        writer(name, &line.replace("LABELS", &two), &line.replace("LABELS", &three), outputs)
    };
    vec![
        both(
            "tasks sample",
            "tasks sample POOL --tasks 400 --queries 5 --ways 3 -o OUT/t.jsonl",
            &["t.jsonl"],
        ),
        writer(
            "data split",
            &format!("data split {cifar} --part novel -o OUT/s.csv"),
            &format!("data split {cifar} -o OUT/s.csv"),
            &["s.csv"],
        ),
        both("data convert (npy)", "data convert POOL OUT/c.npy", &["c.npy"]),
        both("data convert (npz)", "data convert POOL OUT/c.npz", &["c.npz"]),
        both("data convert (csv)", "data convert POOL OUT/c.csv", &["c.csv"]),
        both("data convert (parquet)", "data convert POOL OUT/c.parquet", &["c.parquet"]),
        both("data convert (safetensors)", "data convert POOL OUT/c.safetensors", &["c.safetensors"]),
        both(
            "bench tune",
            "bench tune POOL --tasks 2 --ways 3 --method label-spreading --grid neighbours=3,4 -o OUT/p.toml",
            &["p.toml"],
        ),
        label(
            "label (csv)",
            &format!(
                "label {whole} --labels LABELS -o OUT/l.csv --review OUT/r.csv --save OUT/m.safetensors"
            ),
            &["l.csv", "r.csv", "m.safetensors"],
        ),
        label("label (jsonl)", &format!("label {whole} --labels LABELS -o OUT/l.jsonl"), &["l.jsonl"]),
        label("label (json)", &format!("label {whole} --labels LABELS -o OUT/l.json"), &["l.json"]),
        label("label (parquet)", &format!("label {whole} --labels LABELS -o OUT/l.parquet"), &["l.parquet"]),
        both("predict", &format!("predict {model} POOL -o OUT/q.csv"), &["q.csv"]),
        both("choose", "choose POOL -n 9 -o OUT/n.csv", &["n.csv"]),
        writer(
            "embed",
            &format!("embed {one} --output OUT/e.npz"),
            &format!("embed {more} --output OUT/e.npz"),
            &["e.npz"],
        ),
    ]
}

#[test]
fn a_killed_command_leaves_the_earlier_file_or_the_new_one() {
    let pool = Pool::new();
    for writer in writers(&pool) {
        let (earlier, _) = writer.undisturbed(&writer.earlier);
        let (later, time) = writer.undisturbed(&writer.later);
        assert_ne!(earlier, later, "{}: the two forms must differ", writer.name);
        let (mut killed, mut replaced) = (0, 0);
        let mut runs = 0;
        // Some runs are over before their moment comes.
        while killed < kills() && runs < 4 * kills() {
            let number = runs;
            runs += 1;
            let folder = tempfile::tempdir().expect("a folder");
            writer.put(folder.path(), &earlier);
            let mut child = writer.command(&writer.later, folder.path()).spawn().expect("the binary runs");
            std::thread::sleep(moment(number, time));
            child.kill().expect("killed, or over");
            killed += usize::from(child.wait().expect("ended").code().is_none());
            writer.check(folder.path(), &[&earlier, &later], "killed");
            replaced += usize::from(writer.contents(folder.path()) == later);
            // What a kill leaves behind is a file of its own, and no hindrance for the next run.
            if number == 0 {
                assert!(
                    writer.command(&writer.later, folder.path()).status().expect("runs").success(),
                    "{}",
                    writer.name
                );
                writer.check(folder.path(), &[&later], "run again");
            }
        }
        println!(
            "{:28} {killed:3} kills in {runs} runs of {time:.0?}, {replaced} after the file was replaced, 0 damaged",
            writer.name,
        );
    }
}

#[test]
fn a_full_disk_and_a_place_without_writing_change_nothing() {
    let pool = Pool::new();
    for writer in writers(&pool) {
        let (earlier, _) = writer.undisturbed(&writer.earlier);
        let folder = tempfile::tempdir().expect("a folder");
        writer.put(folder.path(), &earlier);
        let full = writer.command(&writer.later, folder.path());
        let output = Command::new("sh")
            .args(["-c", "ulimit -f 0; trap '' XFSZ; exec \"$@\"", "sh"])
            .arg(full.get_program())
            .args(full.get_args())
            // What images look like is kept where there is room.
            .env("XDG_CACHE_HOME", "/dev/null")
            .output()
            .expect("the shell runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}: {said}", writer.name);
        writer.check(folder.path(), &[&earlier], "on a full disk");
        let nowhere =
            writer.command(&writer.later, Path::new("/proc/self")).status().expect("the binary runs");
        assert!(matches!(nowhere.code(), Some(1 | 2)), "{}: {nowhere}", writer.name);
    }
}

#[test]
fn two_runs_at_once_leave_the_file_of_one() {
    let pool = Pool::new();
    for writer in writers(&pool) {
        let (earlier, _) = writer.undisturbed(&writer.earlier);
        let (later, _) = writer.undisturbed(&writer.later);
        for _ in 0..kills().div_ceil(5) {
            let folder = tempfile::tempdir().expect("a folder");
            let lines = [&writer.earlier, &writer.later];
            let mut children =
                lines.map(|line| writer.command(line, folder.path()).spawn().expect("the binary runs"));
            for child in &mut children {
                assert!(child.wait().expect("ended").success(), "{}", writer.name);
            }
            writer.check(folder.path(), &[&earlier, &later], "twice at once");
        }
    }
}

/// The numbers of a table, which a run that was stopped and started again must give too.
fn table(out: &Path) -> Vec<u8> {
    std::fs::read(out.join("table1.csv")).expect("a table")
}

#[test]
fn a_reproduction_killed_again_and_again_ends_with_the_same_table() {
    let pool = Pool::new();
    let features = pool.path("features.npz");
    let run = |out: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_handful"));
        command.args([
            "reproduce",
            "table1",
            "--tasks",
            "30",
            "--features",
            text(&features),
            "--out",
            text(out),
        ]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let (whole, broken) = (pool.path("whole"), pool.path("broken"));
    let start = Instant::now();
    assert!(run(&whole).status().expect("runs").success());
    let time = start.elapsed();
    for number in 0..kills() {
        let mut child = run(&broken).spawn().expect("the binary runs");
        std::thread::sleep(moment(number, time));
        child.kill().expect("killed, or over");
        child.wait().expect("ended");
        for page in ["report.html", "report.md", "table1.csv"].map(|page| broken.join(page)) {
            let text = std::fs::read_to_string(&page).unwrap_or_default();
            assert!(text.is_empty() || text.ends_with('\n'), "{} is torn", page.display());
        }
    }
    // One of two at once is told that the other is there; the other ends as if it were alone.
    let mut both = [0, 1].map(|_| run(&broken).spawn().expect("the binary runs"));
    let codes: Vec<Option<i32>> = both.iter_mut().map(|child| child.wait().expect("ended").code()).collect();
    assert!(codes.contains(&Some(0)) && codes.iter().all(|code| matches!(code, Some(0 | 2))), "{codes:?}");
    assert!(table(&whole) == table(&broken), "the tables differ");
    println!("reproduce                    {} kills, the table is the same", kills());
}

/// Links below a folder.
fn links(folder: &Path) -> usize {
    let entries =
        std::fs::read_dir(folder).map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
    entries.iter().map(|entry| if entry.path().is_symlink() { 1 } else { links(&entry.path()) }).sum()
}

#[test]
fn a_folder_of_links_is_whole_or_not_there() {
    let pool = Pool::new();
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-data/tests/fixtures/images");
    for (photo, place) in
        [("plain.bmp", "support/a"), ("grey.jpg", "support/b"), ("palette.png", "x"), ("upright.png", "x")]
    {
        let folder = pool.path("photos").join(place);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::copy(images.join(photo), folder.join(photo)).expect("copied");
    }
    let photos = pool.path("photos");
    let run = |out: &PathBuf| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_handful"));
        command.args(["label", text(&photos), "--as", "links", "-o", text(out)]);
        command.env("XDG_CACHE_HOME", pool.path("caches")).env("HANDFUL_WEIGHTS", pool.path("no-weights"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let start = Instant::now();
    assert!(run(&pool.path("sorted")).status().expect("runs").success());
    let time = start.elapsed();
    assert_eq!(links(&pool.path("sorted")), 4);
    for number in 0..kills() {
        let out = pool.path(&format!("sorted-{number}"));
        let mut child = run(&out).spawn().expect("the binary runs");
        std::thread::sleep(moment(number, time));
        child.kill().expect("killed, or over");
        child.wait().expect("ended");
        assert!(!out.exists() || links(&out) == 4, "half a folder of links");
    }
    println!("label (links)                {} kills, 0 damaged", kills());
}
