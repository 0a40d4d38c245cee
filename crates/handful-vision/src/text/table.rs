//! A table with a column of texts.

use std::path::{Path, PathBuf};

use csv::{ReaderBuilder, StringRecord};

use super::error::TextError;

/// Columns of these names hold texts.
const TEXT_NAMES: [&str; 8] =
    ["text", "texts", "sentence", "utterance", "content", "message", "body", "description"];
/// Names that tables of features and lists of images have too.
const ID_NAMES: [&str; 5] = ["id", "path", "filename", "image", "image_name"];
const LABEL_NAMES: [&str; 4] = ["label", "class", "class_name", "target"];
/// Rows that are looked at to tell numbers from texts.
const LOOKED_AT: usize = 100;

/// The texts of a table, in their order.
#[derive(Clone, Debug)]
pub struct Texts {
    /// The file.
    pub path: PathBuf,
    /// The column that holds the texts.
    pub column: String,
    /// The texts.
    pub texts: Vec<String>,
    /// The ids, where the table has a column of that name.
    pub ids: Option<Vec<String>>,
    /// The classes of rows that have one.
    pub labels: Vec<Option<String>>,
}

impl Texts {
    /// Reads a `.txt` with a text on every line, or a `.csv` or `.tsv` with a header. The column of texts is the one asked for, else one with a usual name such
    /// as `text`, else the only one besides `id` and `label` that does not hold numbers.
    ///
    /// # Errors
    /// A file that cannot be read, a column that is not there, no or several columns that could be meant.
    pub fn read(path: &Path, column: Option<&str>) -> Result<Self, TextError> {
        let wrong = |reason: String| TextError::Table { path: path.to_owned(), reason };
        if column.is_none() && path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt"))
        {
            return lines(path);
        }
        let (header, records) = read(path)?;
        let present = || header.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let place = match column {
            Some(column) => header.iter().position(|name| name == column).ok_or_else(|| {
                TextError::NoColumn { path: path.to_owned(), column: column.to_owned(), present: present() }
            })?,
            None => text_column(&header, &records)
                .ok_or_else(|| TextError::WhichColumn { path: path.to_owned(), present: present() })?,
        };
        if records.is_empty() {
            return Err(wrong("it has a header and no texts".to_owned()));
        }
        let cells =
            |at: usize| records.iter().map(move |record| record.get(at).unwrap_or_default().to_owned());
        let ids = named(&header, &ID_NAMES).filter(|&at| at != place).map(|at| cells(at).collect());
        let labels = match named(&header, &LABEL_NAMES).filter(|&at| at != place) {
            Some(at) => cells(at)
                .map(|label| Some(label.trim().to_owned()).filter(|label| !label.is_empty()))
                .collect(),
            None => vec![None; records.len()],
        };
        let (column, texts) = (header[place].clone(), cells(place).collect());
        Ok(Self { path: path.to_owned(), column, texts, ids, labels })
    }
}

/// The lines of a file; empty ones are none.
fn lines(path: &Path) -> Result<Texts, TextError> {
    let wrong = |reason: String| TextError::Table { path: path.to_owned(), reason };
    if !path.is_file() {
        return Err(wrong("it is not a file".to_owned()));
    }
    let all = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let texts: Vec<String> = all.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
    if texts.is_empty() {
        return Err(wrong("it has no line with a text on it".to_owned()));
    }
    let labels = vec![None; texts.len()];
    Ok(Texts { path: path.to_owned(), column: "line".to_owned(), texts, ids: None, labels })
}

/// Whether a file is a table of texts: it has a column of texts, and no column of numbers that could be features.
pub fn is_text_table(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if !matches!(extension.to_ascii_lowercase().as_str(), "csv" | "tsv") {
        return false;
    }
    let Ok((header, records)) = read_some(path, LOOKED_AT) else { return false };
    let has_numbers = candidates(&header).any(|at| is_numeric(&records, at));
    !has_numbers && text_column(&header, &records).is_some()
}

fn named(header: &[String], names: &[&str]) -> Option<usize> {
    header.iter().position(|name| names.contains(&name.to_lowercase().as_str()))
}

/// Columns that are neither ids nor labels.
fn candidates(header: &[String]) -> impl Iterator<Item = usize> + '_ {
    let taken = [named(header, &ID_NAMES), named(header, &LABEL_NAMES)];
    (0..header.len()).filter(move |at| !taken.contains(&Some(*at)))
}

fn is_numeric(records: &[StringRecord], at: usize) -> bool {
    let mut cells = records.iter().take(LOOKED_AT).filter_map(|record| record.get(at)).peekable();
    cells.peek().is_some() && cells.all(|cell| cell.trim().is_empty() || cell.trim().parse::<f64>().is_ok())
}

fn text_column(header: &[String], records: &[StringRecord]) -> Option<usize> {
    if let Some(at) = named(header, &TEXT_NAMES) {
        return Some(at);
    }
    let mut words = candidates(header).filter(|&at| !is_numeric(records, at));
    match (words.next(), words.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

fn read(path: &Path) -> Result<(Vec<String>, Vec<StringRecord>), TextError> {
    read_some(path, usize::MAX)
}

fn read_some(path: &Path, most: usize) -> Result<(Vec<String>, Vec<StringRecord>), TextError> {
    let wrong = |reason: String| TextError::Table { path: path.to_owned(), reason };
    let facts = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
    // Reading a pipe or a device may never end.
    if !facts.is_file() {
        return Err(wrong("it is not a file".to_owned()));
    }
    let is_tsv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
    let mut reader = ReaderBuilder::new()
        .delimiter(if is_tsv { b'\t' } else { b',' })
        .from_path(path)
        .map_err(|error| wrong(error.to_string()))?;
    let header = reader.headers().map_err(|error| wrong(error.to_string()))?;
    let header = header.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_owned()).collect();
    let records = reader.records().take(most).collect::<Result<_, _>>();
    Ok((header, records.map_err(|error| wrong(error.to_string()))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("texts.csv");
        std::fs::write(&path, text).expect("written");
        (folder, path)
    }

    #[test]
    fn texts_ids_and_labels_are_told_apart() {
        let (_folder, path) = table("\u{feff}id,Text,label\na,\"one, two\",x\nb,three,\n");
        let texts = Texts::read(&path, None).expect("texts");
        assert_eq!(
            (texts.column.as_str(), texts.texts),
            ("Text", vec!["one, two".to_owned(), "three".to_owned()])
        );
        assert_eq!(texts.ids, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(texts.labels, [Some("x".to_owned()), None]);
        assert!(is_text_table(&path));
        let (_folder, path) = table("review,stars\ngood stuff,5\nbad stuff,1\n");
        assert_eq!(Texts::read(&path, None).expect("texts").column, "review");
        assert!(!is_text_table(&path), "stars might be features");
    }

    #[test]
    fn tables_of_features_are_no_texts() {
        for text in [
            "id,f0,f1\na,1,2\n",
            "filename,label\na.png,cat\n",
            "id,label,f0\na,cat,0.5\n",
            "1,2\n3,4\n",
            "id,label\na,b\n",
        ] {
            assert!(!is_text_table(&table(text).1), "{text}");
        }
        let (_folder, path) = table("id,text\n1,hello\n");
        assert!(!is_text_table(&path.with_extension("npz")));
    }

    #[test]
    fn what_is_unclear_is_asked_for() {
        let refusal = |text: &str, column: Option<&str>| {
            Texts::read(&table(text).1, column).expect_err("unclear").to_string()
        };
        assert!(refusal("title,author\nx,y\n", None).contains("--column; its columns are `title`, `author`"));
        assert!(refusal("title\nx\n", Some("text")).contains("no column `text`"));
        assert!(refusal("text\n", None).contains("no texts"));
        assert!(refusal("text,b\nx\n", None).contains("2 fields"));
    }
}
