//! Tables of texts through `embed` and `label`, with the sentence encoder of eight words that handful-vision tests with.
#![cfg(feature = "vision")]

mod support;

use std::path::Path;

use support::{Run, handful};
use tempfile::{TempDir, tempdir};

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../handful-vision/fixtures").join(name);
    path.to_str().expect("a plain path").to_owned()
}

struct Bench(TempDir);

impl Bench {
    /// A folder with a table.
    fn with(table: &str) -> Self {
        let bench = Self(tempdir().expect("a folder"));
        std::fs::write(bench.at("texts.csv"), table).expect("written");
        bench
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("a plain path").to_owned()
    }

    /// Runs a command on the table with the encoder of eight words.
    fn run(&self, command: &str, output: &str, more: &[&str]) -> Run {
        let (table, output, cache) = (self.at("texts.csv"), self.at(output), self.at("cache"));
        let (network, tokenizer) = (fixture("words.onnx"), fixture("words.json"));
        let mut args = vec![command, &table, "-o", &output, "--cache", &cache];
        if !more.contains(&"--weights") {
            args.extend(["--weights", &network, "--tokenizer", &tokenizer]);
        }
        args.extend(more);
        handful(&args)
    }

    fn read(&self, name: &str) -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(self.at(name)).expect("a table");
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    }
}

const REVIEWS: &str = "id,text,label\n\
    a,good food,happy\nb,very good friendly service,\nc,bad slow food,\nd,friendly service,happy\n\
    e,slow service,angry\nf,bad food,angry\ng,very bad,\nh,good friendly,\n";

#[test]
fn texts_are_labelled_like_a_folder_of_photographs() {
    let bench = Bench::with(REVIEWS);
    let run = bench.run("label", "labelled.csv", &[]);
    run.succeeded();
    assert!(run.stderr.contains("column `text` through"), "{}", run.stderr);
    let labels: Vec<(String, String)> =
        bench.read("labelled.csv")[1..].iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let expected = [("b", "happy"), ("c", "angry"), ("g", "angry"), ("h", "happy")];
    for (id, label) in expected {
        assert!(labels.contains(&(id.to_owned(), label.to_owned())), "{labels:?}");
    }
    // What label has computed, embed need not compute again.
    let run = bench.run("embed", "features.csv", &["--column", "text"]);
    run.succeeded();
    assert!(
        run.stderr.contains("8 rows x 3 columns (8 rows kept from an earlier run), 2 classes"),
        "{}",
        run.stderr
    );
    assert_eq!(bench.read("features.csv")[2][0], "b");
}

#[test]
fn texts_without_an_encoder_say_where_to_get_one() {
    let bench = Bench::with(REVIEWS);
    let (table, output) = (bench.at("texts.csv"), bench.at("labelled.csv"));
    handful(&["label", &table, "-o", &output]).refused(&["sentence encoder", "handful weights get minilm"]);
    bench.run("label", "x.csv", &["--weights", "minilm"]).refused(&["handful weights get minilm"]);
    bench.run("label", "x.csv", &["--weights", "efficientnet-lite0"]).refused(&["looks at images"]);
}

#[test]
fn what_does_not_fit_is_named_with_its_file() {
    let bench = Bench::with(REVIEWS);
    let words = std::fs::read_to_string(fixture("words.json")).expect("a tokenizer");
    let other = bench.at("other.json");
    std::fs::write(&other, words.replace("\"friendly\": 7", "\"friendly\": 7, \"dear\": 8"))
        .expect("written");
    let (network, grid) = (fixture("words.onnx"), fixture("words_grid.onnx"));
    for command in ["embed", "label"] {
        let run = |network: &str, tokenizer: &str| {
            bench.run(command, "x.csv", &["--weights", network, "--tokenizer", tokenizer])
        };
        run(&network, &other).refused(&["other.json", "9 words and pieces", "another network"]);
        run(&grid, &fixture("words.json")).refused(&["words_grid.onnx", "neither a vector for each text"]);
        run(&fixture("pooled.onnx"), &fixture("words.json")).refused(&["pooled.onnx", "input_ids"]);
        bench.run(command, "x.csv", &["--column", "review"]).refused(&["texts.csv", "`review`", "`text`"]);
    }
    assert!(!Path::new(&bench.at("x.csv")).exists());
}
