//! Tasks, as Label Studio imports them: given labels as annotations, the others as predictions with a score, and what rows
//! can be sorted by in `data`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Line, Source};
use crate::DataError;
use crate::datasets::Pictures;

/// Longest side of an embedded image, and its quality as JPEG: a task then takes some ten kilobytes.
const EMBEDDED_SIDE: u32 = 256;
const EMBEDDED_QUALITY: u8 = 80;

/// What Label Studio's browser shows of a row.
#[derive(Clone, Debug, Default)]
pub enum TaskContent<'a> {
    /// An image by the row's id: for those who put their own address in front of it.
    #[default]
    Ids,
    /// An image in the folder that Label Studio serves local files from.
    LocalFiles {
        /// That folder.
        root: PathBuf,
        /// The images; without them ids are paths seen from the folder.
        pictures: Option<&'a Pictures>,
    },
    /// A small copy of the image, in the task itself.
    Embedded(&'a Pictures),
    /// A text, for each row.
    Texts(&'a [String]),
}

impl TaskContent<'_> {
    /// The key of a task's `data` that holds it, and the name of the tag that shows it.
    pub fn key(&self) -> &'static str {
        if matches!(self, Self::Texts(_)) { "text" } else { "image" }
    }

    /// The text, or where the image is.
    ///
    /// # Errors
    /// An image that is not below the folder of local files, or cannot be read.
    pub fn of(&self, row: usize, id: &str) -> Result<String, DataError> {
        match self {
            Self::Ids => Ok(id.to_owned()),
            Self::LocalFiles { root, pictures } => {
                let own = pictures.and_then(|pictures| pictures.file(row)).map(Path::to_owned);
                local_address(root, &own.unwrap_or_else(|| root.join(id)))
            }
            Self::Embedded(pictures) => match pictures.image(row) {
                None => Ok(id.to_owned()),
                Some(image) => {
                    let bytes = pictures.dataset.jpeg(image, Some(EMBEDDED_SIDE), EMBEDDED_QUALITY)?;
                    Ok(format!("data:image/jpeg;base64,{}", STANDARD.encode(bytes)))
                }
            },
            Self::Texts(texts) => Ok(texts.get(row).cloned().unwrap_or_else(|| id.to_owned())),
        }
    }
}

/// `/data/local-files/?d=PATH`, the path seen from the folder that Label Studio serves.
fn local_address(root: &Path, file: &Path) -> Result<String, DataError> {
    let whole = |path: &Path| path.canonicalize().map_err(|error| DataError::io(path, error));
    let (inside, file) = (whole(root)?, whole(file)?);
    let seen = file.strip_prefix(&inside).map_err(|_| {
        DataError::content(&file, format!("it is not below {}, from where images are served", root.display()))
    })?;
    let parts: Vec<String> =
        seen.components().map(|part| escaped(&part.as_os_str().to_string_lossy())).collect();
    Ok(format!("/data/local-files/?d={}", parts.join("/")))
}

/// With everything but letters, digits and `-._~` as `%20` and its like.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Writes the tasks of rows. What cannot be shown of a row ends it and is left in `unshown`.
pub(super) fn write<'a>(
    out: &mut dyn Write,
    lines: impl Iterator<Item = Line<'a>>,
    content: &TaskContent<'_>,
    unshown: &mut Option<DataError>,
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (at, line) in lines.enumerate() {
        out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
        let shown = content.of(line.row, &line.id).map_err(|error| {
            let said = error.to_string();
            *unshown = Some(error);
            io::Error::other(said)
        })?;
        serde_json::to_writer(&mut *out, &task(&line, content.key(), shown))?;
    }
    out.write_all(b"\n]\n")
}

fn task(line: &Line<'_>, key: &str, shown: String) -> Value {
    let result = json!([{
        "from_name": "label", "to_name": key, "type": "choices",
        "value": {"choices": [line.label]},
    }]);
    let mut task = json!({
        "data": {
            "id": line.id,
            "probability": line.probability,
            "uncertainty": 1.0 - line.probability,
            "credibility": line.credibility,
            "source": line.source.name(),
        },
    });
    task["data"][key] = shown.into();
    match line.source {
        Source::Given => task["annotations"] = json!([{"result": result}]),
        Source::Inferred => {
            task["predictions"] =
                json!([{"model_version": "handful", "score": line.probability, "result": result}]);
        }
        // Nothing is said about its class; whoever looks at it says more.
        Source::Rejected => {}
    }
    task
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::open_images;

    fn line(row: usize, id: &str, source: Source, probability: f32) -> Line<'static> {
        Line {
            row,
            id: id.to_owned(),
            label: if source == Source::Rejected { "" } else { "cat" },
            probability,
            credibility: 0.5,
            source,
            margin: 0.5,
            agreement: 1.0,
            familiarity: 1.0,
        }
    }

    fn tasks(lines: Vec<Line<'static>>, content: &TaskContent<'_>) -> Value {
        let mut out = Vec::new();
        write(&mut out, lines.into_iter(), content, &mut None).expect("written");
        serde_json::from_slice(&out).expect("JSON")
    }

    #[test]
    fn given_labels_are_annotations_and_the_others_predictions() {
        let lines = vec![
            line(0, "a", Source::Given, 1.0),
            line(1, "b", Source::Inferred, 0.75),
            line(2, "c", Source::Rejected, 0.25),
        ];
        let tasks = tasks(lines, &TaskContent::Ids);
        let choice = |value: &Value| value["result"][0]["value"]["choices"][0].clone();
        assert_eq!(choice(&tasks[0]["annotations"][0]), "cat");
        assert!(tasks[0].get("predictions").is_none());
        assert_eq!(choice(&tasks[1]["predictions"][0]), "cat");
        assert_eq!(tasks[1]["predictions"][0]["score"], 0.75);
        assert_eq!(tasks[1]["data"]["uncertainty"], 0.25);
        assert_eq!(tasks[1]["data"]["image"], "b");
        assert_eq!(tasks[2]["data"]["source"], "rejected");
        assert!(tasks[2].get("annotations").is_none() && tasks[2].get("predictions").is_none());
    }

    #[test]
    fn texts_have_their_own_key() {
        let texts = ["a <b> text".to_owned()];
        let tasks = tasks(vec![line(0, "a", Source::Given, 1.0)], &TaskContent::Texts(&texts));
        assert_eq!(tasks[0]["data"]["text"], "a <b> text");
        assert_eq!(tasks[0]["annotations"][0]["result"][0]["to_name"], "text");
    }

    #[cfg(feature = "images")]
    #[test]
    fn images_are_named_below_the_root_or_embedded() {
        let folder = tempfile::tempdir().expect("a folder");
        let photos = folder.path().join("my photos");
        std::fs::create_dir(&photos).expect("a folder");
        let file = photos.join("1 & 2.png");
        image::RgbImage::from_pixel(600, 300, image::Rgb([9, 90, 200])).save(&file).expect("an image");
        let dataset = open_images(std::slice::from_ref(&photos)).expect("images");
        let pictures = Pictures { dataset, of_row: vec![Some(0), None] };
        let local = |root: &Path, pictures| TaskContent::LocalFiles { root: root.to_owned(), pictures };
        let address = "/data/local-files/?d=my%20photos/1%20%26%202.png";
        assert_eq!(local(folder.path(), Some(&pictures)).of(0, "x").expect("named"), address);
        assert_eq!(local(folder.path(), None).of(0, "my photos/1 & 2.png").expect("named"), address);
        let elsewhere = tempfile::tempdir().expect("a folder");
        let error = local(elsewhere.path(), Some(&pictures)).of(0, "x").expect_err("not below it");
        assert!(error.to_string().contains("is not below"), "{error}");
        let error = local(&photos, None).of(0, "../../../etc/passwd").expect_err("outside");
        assert!(matches!(error, DataError::Io { .. } | DataError::Content { .. }), "{error}");
        let embedded = TaskContent::Embedded(&pictures).of(0, "x").expect("embedded");
        let bytes = embedded.strip_prefix("data:image/jpeg;base64,").map(|text| STANDARD.decode(text));
        let image = image::load_from_memory(&bytes.expect("a prefix").expect("base64")).expect("an image");
        assert_eq!((image.width(), image.height()), (256, 128));
        assert_eq!(TaskContent::Embedded(&pictures).of(1, "none").expect("named"), "none");
    }
}
