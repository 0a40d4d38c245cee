//! Texts through a sentence encoder that can be worked out by hand: fixtures of `fixtures/write_words.py`.

use std::path::{Path, PathBuf};

use handful_vision::error::VisionError;
use handful_vision::text::{MAX_TOKENS, TextEncoder, TextError, Texts, embed_texts};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn open(network: &str, max_tokens: usize) -> Result<TextEncoder, VisionError> {
    TextEncoder::open(&path(network), &path("words.json"), max_tokens)
}

fn encoder(network: &str) -> TextEncoder {
    open(network, MAX_TOKENS).expect("an encoder")
}

#[track_caller]
fn assert_direction(found: &[f32], expected: [f32; 3]) {
    let length = expected.iter().map(|value| value * value).sum::<f32>().sqrt();
    assert_eq!(found.len(), 3);
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected / length).abs() < 1e-6, "{found} instead of {}", expected / length);
    }
}

#[test]
fn a_text_is_the_mean_of_its_tokens_however_long_its_neighbours_are() {
    // `good food` is (4, 1, 0) and (0, 3, 1), their mean (2, 2, 0.5), the mean of tokens to which it is added the same.
    for network in ["words.onnx", "words_pooled.onnx"] {
        let long = "very ".repeat(200);
        let rows = encoder(network).embed(&["good food", &long, "bad", "good food"]).expect("features");
        assert_direction(&rows[0], [2.0, 2.0, 0.5]);
        assert_direction(&rows[1], [1.0, 0.0, 2.0]);
        assert_direction(&rows[2], [-4.0, 1.0, 0.0]);
        assert_eq!(rows[0], rows[3]);
    }
}

#[test]
fn what_is_too_long_is_cut_off() {
    let rows =
        open("words.onnx", 2).expect("an encoder").embed(&["good food bad bad bad"]).expect("features");
    assert_direction(&rows[0], [2.0, 2.0, 0.5]);
    assert!(open("words.onnx", 0).expect_err("nothing to look at").to_string().contains("1 to 8192"));
}

#[test]
fn a_text_without_a_token_has_no_direction() {
    let rows = encoder("words.onnx").embed(&["", "good"]).expect("features");
    assert_eq!(rows[0], [0.0; 3]);
}

#[test]
fn refusals_name_the_file_and_the_reason() {
    let refusal = |network: &str| open(network, MAX_TOKENS).expect_err("a refusal").to_string();
    assert!(refusal("pooled.onnx").contains("no input `input_ids`"), "{}", refusal("pooled.onnx"));
    let grid = refusal("words_grid.onnx");
    assert!(grid.contains("words_grid.onnx") && grid.contains("[1, 1, 1, 3]"), "{grid}");
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("tokenizer.json");
    let words = std::fs::read_to_string(path("words.json")).expect("a tokenizer");
    std::fs::write(&other, words.replace("\"friendly\": 7", "\"friendly\": 7, \"dear\": 8"))
        .expect("written");
    let error = TextEncoder::open(&path("words.onnx"), &other, MAX_TOKENS).expect_err("another network's");
    assert!(matches!(error, VisionError::Text(TextError::Misfit { tokens: 9, known: 8, .. })), "{error}");
    std::fs::write(&other, "{}").expect("written");
    let error = TextEncoder::open(&path("words.onnx"), &other, MAX_TOKENS).expect_err("no tokenizer");
    assert!(matches!(error, VisionError::Text(TextError::Tokenizer { .. })), "{error}");
}

#[test]
fn what_was_computed_is_kept_text_by_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("texts.csv");
    let cache = folder.path().join("cache");
    let embed = |text: &str| {
        std::fs::write(&table, text).expect("written");
        let texts = Texts::read(&table, None).expect("texts");
        embed_texts(&texts, &encoder("words.onnx"), Some(&cache), &|_| ()).expect("features")
    };
    let first = embed("id,text,label\na,good food,yes\nb,bad,\n");
    assert_eq!((first.kept, first.table.rows(), first.table.dim()), (0, 2, 3));
    let second = embed("id,text,label\nb,bad,\nc,slow service,\na,good food,\n");
    assert_eq!((second.kept, second.table.rows()), (2, 3));
}
