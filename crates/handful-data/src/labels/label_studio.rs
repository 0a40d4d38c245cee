//! Exports of Label Studio: JSON (tasks with annotations) and JSON-MIN (one flat object for each annotation).
//!
//! A task names its image by an address: our own id, a path below a *Local files* storage
//! (`/data/local-files/?d=photos/p0.png`) or an upload (`/data/upload/1/3f2a9c01-p0.png`). The row is the one whose id
//! that address ends in.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{GivenLabel, RowsById};
use crate::error::DataError;

/// Keys under which a task has its image, most telling first.
pub(super) const IMAGE: &[&str] = &["image", "img", "url", "path", "filename"];
/// Keys under which a flat export has the class.
pub(super) const CHOICE: &[&str] = &["choice", "label", "class", "labels"];

#[derive(Deserialize)]
struct Task {
    data: Option<Map<String, Value>>,
    #[serde(default)]
    annotations: Vec<Annotation>,
    #[serde(flatten)]
    flat: Map<String, Value>,
}

#[derive(Deserialize)]
struct Annotation {
    #[serde(default)]
    was_cancelled: bool,
    #[serde(default)]
    result: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    value: Option<Choices>,
}

#[derive(Deserialize)]
struct Choices {
    #[serde(default)]
    choices: Vec<String>,
}

/// Reads the labels of an export. Predictions are not labels, and tasks that nobody labelled are passed over.
pub(super) fn read(path: &Path, bytes: &[u8], rows: &RowsById<'_>) -> Result<Vec<GivenLabel>, DataError> {
    let tasks: Vec<Task> = serde_json::from_slice(bytes)
        .map_err(|error| DataError::malformed(path, "Label Studio JSON", error.to_string()))?;
    let mut given = Vec::new();
    for (place, task) in (1..).zip(&tasks) {
        let wrong = |reason: String| DataError::content(path, format!("task {place}: {reason}"));
        let labels = task.labels().map_err(wrong)?;
        if labels.is_empty() {
            continue;
        }
        let data = task.data.as_ref().unwrap_or(&task.flat);
        // Tasks that `handful choose` wrote carry the id itself.
        let own = data.get("id").and_then(Value::as_str).filter(|id| rows.find(id).is_some());
        let address = own.or_else(|| IMAGE.iter().find_map(|key| data.get(*key)?.as_str()));
        let id = address.ok_or_else(|| wrong("it has no `image` that names a row".to_owned()))?;
        let row = row_of(rows, id);
        if row.is_none() && rows.is_skipped(id) {
            continue;
        }
        let row = row.ok_or_else(|| wrong(rows.unknown(id)))?;
        given.extend(labels.into_iter().map(|label| GivenLabel { place, id: id.to_owned(), row, label }));
    }
    Ok(given)
}

impl Task {
    /// The classes that people chose.
    fn labels(&self) -> Result<Vec<String>, String> {
        let flat = || CHOICE.iter().find_map(|key| self.flat.get(*key));
        if self.data.is_none() {
            return match flat() {
                None | Some(Value::Null) => Ok(Vec::new()),
                Some(Value::String(label)) => Ok(Vec::from_iter(named(label))),
                Some(other) => Err(format!("it has the classes {other}, but a row has one")),
            };
        }
        let counted = self.annotations.iter().filter(|annotation| !annotation.was_cancelled);
        let chosen = counted.flat_map(|annotation| &annotation.result).filter_map(|one| one.value.as_ref());
        let mut labels = Vec::new();
        for choices in chosen.map(|value| &value.choices) {
            match choices.as_slice() {
                [] => {}
                [label] => labels.extend(named(label)),
                several => {
                    return Err(format!("it has the classes {}, but a row has one", several.join(", ")));
                }
            }
        }
        Ok(labels)
    }
}

fn named(label: &str) -> Option<String> {
    Some(label.trim()).filter(|label| !label.is_empty()).map(str::to_owned)
}

/// The row whose id an address is or ends in, the longest such id.
pub(super) fn row_of(rows: &RowsById<'_>, address: &str) -> Option<usize> {
    row_of_address(address, |id| rows.find(id))
}

/// The row that an image's address in a task of Label Studio means, the one with the longest id that it ends in.
pub fn row_of_address(address: &str, find: impl Fn(&str) -> Option<usize>) -> Option<usize> {
    if let Some(row) = find(address) {
        return Some(row);
    }
    let local = address.split_once("?d=").map_or(address, |(_, path)| path);
    let decoded = decoded(local);
    let starts = std::iter::once(0).chain(decoded.match_indices('/').map(|(at, _)| at + 1));
    let mut names: Vec<&str> = starts.filter_map(|start| decoded.get(start..)).collect();
    let uploaded = names.last().copied().and_then(without_upload_mark);
    names.extend(uploaded);
    names.into_iter().find_map(find)
}

/// `3f2a9c01-p0.png` is the upload of `p0.png`.
fn without_upload_mark(name: &str) -> Option<&str> {
    let (mark, rest) = name.split_once('-')?;
    (mark.len() == 8 && mark.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(rest)
}

/// With `%20` and its like read as the bytes they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let pair = after.get(..2).filter(|_| byte == b'%').and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(value) => {
                bytes.push(value);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::read_labels;
    use crate::{DataError, FeatureTable, TableFormat, parse_table};

    fn table() -> FeatureTable {
        let text = "id,f0\np0.png,1\nbees/p1.png,2\na b.png,3\n";
        parse_table(TableFormat::Csv, "pool.csv".as_ref(), text.as_bytes()).unwrap()
    }

    fn read(text: &str) -> Result<Vec<(usize, String)>, DataError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("export.json");
        std::fs::write(&path, text).unwrap();
        read_labels(&path, &table())
    }

    #[test]
    fn tasks_with_annotations_are_labels() {
        let text = r#"[
            {"id": 1, "data": {"image": "/data/local-files/?d=photos/bees/p1.png"}, "predictions": [],
             "annotations": [{"id": 7, "was_cancelled": false, "result": [
                {"from_name": "label", "to_name": "image", "type": "choices", "value": {"choices": ["bee"]}}]}]},
            {"id": 2, "data": {"image": "/data/upload/1/3f2a9c01-p0.png"},
             "annotations": [{"was_cancelled": true, "result": [{"value": {"choices": ["wasp"]}}]},
                             {"result": [{"value": {"choices": ["ant "]}}]}]},
            {"id": 3, "data": {"image": "a%20b.png"}, "annotations": [],
             "predictions": [{"result": [{"value": {"choices": ["bee"]}}]}]},
            {"id": 4, "data": {"id": "a b.png", "image": null},
             "annotations": [{"result": [{"value": {"choices": ["bee"]}}]}]}]"#;
        assert_eq!(
            read(text).unwrap(),
            [(1, "bee".to_owned()), (0, "ant".to_owned()), (2, "bee".to_owned())]
        );
    }

    #[test]
    fn flat_exports_are_labels() {
        let text = r#"[{"id": 3, "image": "a%20b.png", "choice": "ant", "annotation_id": 1},
                       {"id": 4, "image": "p0.png", "annotation_id": 2}]"#;
        assert_eq!(read(text).unwrap(), [(2, "ant".to_owned())]);
    }

    #[test]
    fn what_is_no_label_is_refused_by_task() {
        for (text, expected) in [
            ("{}", "not a valid Label Studio JSON file"),
            ("[]", "it labels no row"),
            (r#"[{"image": "p9.png", "choice": "ant"}]"#, "task 1: the id `p9.png` is not in pool.csv"),
            (r#"[{"image": "p0.png", "choice": {"choices": ["a", "b"]}}]"#, "task 1: it has the classes"),
            (r#"[{"text": "hello", "choice": "a"}]"#, "task 1: it has no `image`"),
            (
                r#"[{"image": "p0.png", "choice": "ant"}, {"image": "x/p0.png", "choice": "bee"}]"#,
                "task 2: the id `x/p0.png` is labelled `bee`, but `ant` on task 1",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "expected `{expected}` in `{error}`");
        }
    }
}
