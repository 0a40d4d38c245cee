//! Damaged input of every kind, given to the built binary: one sentence and an exit code, never a panic, an abort, a
//! hang or more memory than is stated.
//!
//! Seeds are files of other programs (see `handful-data/tests/fixtures/make*.py`) and our own output. A run is short
//! unless `HANDFUL_MUTATIONS` says how many mutations of each kind to try:
//!
//! ```sh
//! HANDFUL_MUTATIONS=1600 cargo test -p handful-cli --release --test mutation -- --nocapture
//! ```
#![cfg(all(unix, feature = "vision", feature = "tables"))]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use support::pool::Pool;

/// Mutations of each kind where nobody asks for more.
const SHORT: usize = 24;
/// Longer than any honest answer to a file of this size takes, on a machine that is busy.
const HANG: Duration = Duration::from_secs(10);
/// Address space of a run, in kilobytes: the caps of the readers, and what threads and code reserve.
const MOST_MEMORY: usize = 3_000_000;

/// A kind of input: its seeds, and how the program is given one.
struct Kind {
    name: &'static str,
    seeds: Vec<PathBuf>,
    /// `FILE` stands for the mutated file, `OUT` for a place to write to.
    arguments: Vec<String>,
    /// The name that the file must have, where its extension is not enough.
    file_name: Option<&'static str>,
}

/// Chance that is the same on every machine.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Numbers at which programs overflow.
const EXTREMES: [u64; 10] =
    [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];
const WORDS: [&str; 14] = [
    "99999999999999999999",
    "-1",
    "1e999",
    "nan",
    "",
    "\"",
    "[",
    "{",
    "null",
    "\u{0}",
    "\u{1b}[31m",
    "../",
    "=1+1",
    "\u{feff}",
];

/// One to four changes of the kinds that transfers, editors and attackers make.
fn mutated(seed: &[u8], other: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=chance.below(4) {
        let at = chance.below(bytes.len());
        let end = (at + 1 + chance.below(64)).min(bytes.len());
        match chance.below(10) {
            _ if bytes.is_empty() => bytes.push(chance.next() as u8),
            0 => bytes[at] ^= 1 << chance.below(8),
            1 => bytes[at] = chance.next() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            5 | 6 => {
                let value = EXTREMES[chance.below(EXTREMES.len())].to_le_bytes();
                let width = [1, 2, 4, 8][chance.below(4)].min(bytes.len() - at);
                let mut value = value[..width].to_vec();
                if chance.below(2) == 0 {
                    value.reverse();
                }
                bytes[at..at + width].copy_from_slice(&value);
            }
            7 => {
                let word = WORDS[chance.below(WORDS.len())].bytes();
                bytes.splice(at..end.min(at + 8), word);
            }
            8 => {
                let from = chance.below(other.len());
                let piece = other[from..(from + 1 + chance.below(256)).min(other.len())].to_vec();
                bytes.splice(at..end, piece);
            }
            _ => {
                let digits: Vec<usize> =
                    (at..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).take(20).collect();
                for at in digits {
                    bytes[at] = b'0' + chance.below(10) as u8;
                }
            }
        }
    }
    bytes
}

/// What a run did wrong, if anything.
fn misbehaved(command: &mut Command) -> Option<String> {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let stderr = child.stderr.take().expect("piped");
    let reader = std::thread::spawn(move || std::io::read_to_string(stderr).unwrap_or_default());
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if start.elapsed() > HANG {
            child.kill().expect("killed");
            child.wait().expect("ended");
            return Some(format!("it ran for more than {HANG:?}"));
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let said = reader.join().expect("read");
    match status.code() {
        _ if said.contains("panicked at") => Some(said),
        Some(0..=2) => None,
        _ => Some(format!("{status}: {said}")),
    }
}

fn run(kind: &Kind, count: usize, failures: &Mutex<Vec<String>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let seeds: Vec<Vec<u8>> = kind.seeds.iter().map(|seed| std::fs::read(seed).expect("a seed")).collect();
    let mut chance = Chance(kind.name.bytes().fold(7, |sum, byte| sum.wrapping_mul(31) ^ u64::from(byte)));
    for number in 0..count {
        // Every seed is first given as it is: one that is refused would make the others worthless.
        let at = if number < seeds.len() { number } else { chance.below(seeds.len()) };
        let other = chance.below(seeds.len());
        let bytes = if number < seeds.len() {
            seeds[at].clone()
        } else {
            mutated(&seeds[at], &seeds[other], &mut chance)
        };
        let place = folder.path().join(format!("run{number}"));
        std::fs::create_dir(&place).expect("a folder");
        let name =
            kind.file_name.map_or_else(|| kind.seeds[at].file_name().expect("a name").to_owned(), Into::into);
        let file = place.join(name);
        std::fs::write(&file, &bytes).expect("written");
        let fill = |argument: &String| {
            let parent = file.parent().expect("in a folder");
            argument
                .replace("FOLDER", parent.to_str().expect("UTF-8"))
                .replace("FILE", file.to_str().expect("UTF-8"))
                .replace("OUT", folder.path().join("out").to_str().expect("UTF-8"))
        };
        let arguments: Vec<String> = kind.arguments.iter().map(fill).collect();
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                &format!("ulimit -v {MOST_MEMORY}; exec \"$0\" \"$@\""),
                env!("CARGO_BIN_EXE_handful"),
            ])
            .args(&arguments)
            .env("XDG_CACHE_HOME", folder.path().join("caches"))
            .env("HANDFUL_WEIGHTS", folder.path().join("no-weights"))
            .env("RAYON_NUM_THREADS", "2")
            .env("RUST_BACKTRACE", "0");
        if number < seeds.len() {
            let output = command.output().expect("the binary runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: seed {}: {said}", kind.name, kind.seeds[at].display());
        } else if let Some(why) = misbehaved(&mut command) {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutations");
            std::fs::create_dir_all(&kept).expect("a folder");
            let kept = kept.join(format!(
                "{}-{number}-{}",
                kind.name,
                file.file_name().expect("a name").to_string_lossy()
            ));
            std::fs::copy(&file, &kept).expect("kept");
            let words: String = why.chars().take(600).collect();
            failures.lock().expect("no panic").push(format!(
                "{}: handful {arguments:?} with {}: {words}",
                kind.name,
                kept.display()
            ));
        }
        std::fs::remove_dir_all(&place).expect("removed");
    }
}

fn fixtures(folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let entries = std::fs::read_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.is_file() && wanted(path.file_name().and_then(|name| name.to_str()).unwrap_or_default())
        })
        .collect();
    files.sort();
    files.truncate(12);
    files
}

fn kind(name: &'static str, seeds: Vec<PathBuf>, arguments: &str) -> Kind {
    assert!(!seeds.is_empty(), "{name} has no seeds");
    Kind { name, seeds, arguments: arguments.split(' ').map(str::to_owned).collect(), file_name: None }
}

/// Every kind of input there is. `pool` holds what the program has to write itself.
fn kinds(pool: &Pool) -> Vec<Kind> {
    let path = |name: &str| pool.path(name).to_str().expect("UTF-8").to_owned();
    let table = |name: &'static str, folder: &str, ending: &'static str| {
        let seeds = fixtures(&format!("handful-data/tests/fixtures/{folder}"), |file| {
            file.ends_with(ending) && ![".labels.", "named-index"].iter().any(|part| file.contains(part))
        });
        kind(name, seeds, "data inspect FILE")
    };
    let photos = |ending: &'static str| {
        fixtures("handful-data/tests/fixtures/images", |file| {
            file.ends_with(ending) && !file.contains("heic")
        })
    };
    let image = |name: &'static str, ending: &'static str| {
        kind(name, photos(ending), "embed FOLDER --output OUT.npz")
    };
    let features = path("features.npz");
    let mut kinds = vec![
        table("npy", "numpy", ".npy"),
        table("npz", "numpy", ".npz"),
        table("pickle", "pickle", "e"),
        table("plk", "pickle", ".plk"),
        table("torch", "torch", ".pt"),
        table("parquet", "tables", ".parquet"),
        table("parquet-by-pyarrow", "parquet", ".parquet"),
        table("arrow", "tables", ".arrow"),
        table("feather", "arrow", "r"),
        table("safetensors", "safetensors", ".safetensors"),
        table("csv", "tables", ".csv"),
        table("tsv", "text", ".tsv"),
        table("hdf5", "hdf5", ".hdf5"),
        table("tar", "datasets", ".tar.gz"),
        image("jpeg", ".jpg"),
        image("png", ".png"),
        image("tiff", ".tiff"),
        image("webp", ".webp"),
        image("gif", ".gif"),
        image("bmp", ".bmp"),
        kind(
            "onnx",
            fixtures("handful-vision/fixtures", |file| ["pooled.onnx", "channels_last.onnx"].contains(&file)),
            &format!("embed {} --weights FILE --output OUT.npz", path("photo")),
        ),
        kind(
            "labels",
            vec![pool.path("labels.csv"), pool.path("review.csv")],
            &format!("label {features} --labels FILE -o OUT.csv"),
        ),
        kind(
            "label-studio",
            vec![pool.path("export.json")],
            &format!("label {features} --labels FILE -o OUT.csv"),
        ),
        kind(
            "preset",
            vec![pool.path("preset.toml")],
            &format!("bench {features} --method label-spreading:FILE --tasks 1"),
        ),
        kind("task-list", vec![pool.path("tasks.jsonl")], &format!("tasks show FILE {features}")),
        kind("results", vec![pool.path("results/results.jsonl")], "reproduce report --out FOLDER"),
        kind("model", vec![pool.path("model.safetensors")], &format!("predict FILE {features} -o OUT.csv")),
    ];
    for kind in kinds.iter_mut().filter(|kind| kind.name == "tar") {
        kind.arguments.extend(["--dataset", "cifar-fs"].map(str::to_owned));
    }
    for kind in kinds.iter_mut().filter(|kind| kind.name == "results") {
        kind.file_name = Some("results.jsonl");
    }
    kinds
}

/// What only the program itself writes: labels, a review, a model, tasks, results, a preset.
fn written() -> Pool {
    let pool = Pool::new();
    let labels = pool.labels(2);
    let path = |name: &str| pool.path(name).to_str().expect("UTF-8").to_owned();
    let features = path("features.npz");
    let review = path("review.csv");
    let model = path("model.safetensors");
    pool.label(&[&labels], "labelled.csv", &["--review", &review, "--save", &model]).succeeded();
    let filled = pool.read("review.csv").replacen(",,", ",class 2,", 1).replacen(",,", ",class 3,", 1);
    pool.write("review.csv", &filled);
    pool.write(
        "export.json",
        r#"[{"id": 1, "data": {"image": "/data/local-files/?d=3"}, "predictions": [], "annotations": [{"id": 7, "was_cancelled": false,
            "result": [{"from_name": "label", "to_name": "image", "type": "choices", "value": {"choices": ["bee"]}}]}]},
            {"id": 2, "image": "50", "choice": "ant", "annotation_id": 2}]"#,
    );
    let tasks = path("tasks.jsonl");
    support::handful(&["tasks", "sample", &features, "--tasks", "3", "--queries", "3", "-o", &tasks])
        .succeeded();
    let preset = path("preset.toml");
    let grid = ["--method", "label-spreading", "--grid", "neighbours=5,10", "--tasks", "2", "-o", &preset];
    support::handful(&[&["bench", "tune", &features][..], &grid].concat()).succeeded();
    let results = path("results");
    let args = ["reproduce", "table1", "--features", &features, "--tasks", "2", "--out", &results];
    support::handful(&args).succeeded();
    std::fs::create_dir(pool.path("photo")).expect("a folder");
    let photo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-data/tests/fixtures/images/plain.bmp");
    std::fs::copy(photo, pool.path("photo/plain.bmp")).expect("copied");
    pool
}

#[test]
fn damaged_input_is_refused_in_one_sentence() {
    let asked = std::env::var("HANDFUL_MUTATIONS")
        .ok()
        .map(|count| count.parse().expect("HANDFUL_MUTATIONS is a number"));
    let count: usize = asked.unwrap_or(SHORT);
    let pool = written();
    let (kinds, failures, next) = (kinds(&pool), Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(kind) = kinds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let start = Instant::now();
                    run(kind, kind.seeds.len() + count, &failures);
                    println!(
                        "{:20} {:6} mutations  {:.0} s",
                        kind.name,
                        count,
                        start.elapsed().as_secs_f64()
                    );
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no panic");
    assert!(
        failures.is_empty(),
        "{} of {} runs misbehaved:\n{}",
        failures.len(),
        count * kinds.len(),
        failures.join("\n")
    );
}
