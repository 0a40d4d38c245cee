//! Which rows are labelled: from folders of labelled images, and from label files, of which later ones win.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use handful_data::FeatureTable;

use crate::error::CliError;

/// The labels people gave.
pub struct GivenLabels {
    /// Names of the classes, sorted.
    pub classes: Vec<String>,
    /// Row and class of every label, by row.
    pub labels: Vec<(usize, usize)>,
    /// Labels of earlier files that a later one replaced by another class.
    pub replaced: usize,
    row_of_id: RowOfId,
}

/// From id to row; a table without ids needs no map.
enum RowOfId {
    Numbers,
    Names(HashMap<String, usize>),
}

/// Where labels come from.
#[derive(Default)]
pub struct LabelSources<'a> {
    /// Rows that are labelled by their folder, or in the pool itself.
    pub from_folders: Vec<(usize, String)>,
    /// Files of labels; later ones win.
    pub files: &'a [PathBuf],
    /// Classes that need no label, since something else is known of them.
    pub classes: Vec<String>,
    /// Ids of images that could not be read: their labels are of no use, but not wrong.
    pub skipped: &'a [String],
}

impl GivenLabels {
    /// Reads all labels for a table.
    pub fn read(table: &FeatureTable, sources: LabelSources<'_>) -> Result<Self, CliError> {
        let LabelSources { from_folders, files, classes: known, skipped } = sources;
        if files.is_empty() && from_folders.is_empty() && known.is_empty() {
            return Err(CliError::Usage(
                "there is no label to learn from: give --labels FILE with lines `id,label`".into(),
            ));
        }
        let row_of_id = match table.ids() {
            Some(ids) => RowOfId::Names(ids.iter().enumerate().map(|(row, id)| (id.clone(), row)).collect()),
            None => RowOfId::Numbers,
        };
        let mut of_row: HashMap<usize, String> = from_folders.into_iter().collect();
        let mut replaced = 0;
        for path in files {
            for (row, label) in read_file(path, table, &row_of_id, skipped)? {
                let earlier = of_row.insert(row, label.clone());
                replaced += usize::from(earlier.is_some_and(|earlier| earlier != label));
            }
        }
        let mut classes: Vec<String> = of_row.values().cloned().chain(known).collect();
        classes.sort();
        classes.dedup();
        let class = |name: &String| classes.binary_search(name).unwrap_or_default();
        let mut labels: Vec<(usize, usize)> = of_row.iter().map(|(&row, name)| (row, class(name))).collect();
        labels.sort_unstable();
        if classes.is_empty() {
            return Err(CliError::Usage("the label files label no row".into()));
        }
        Ok(Self { classes, labels, replaced, row_of_id })
    }

    /// The row with an id.
    pub fn row_of_id(&self, table: &FeatureTable, id: &str) -> Result<usize, CliError> {
        find(&self.row_of_id, table, id).ok_or_else(|| {
            let path = table.path().display();
            CliError::Usage(format!("the id `{id}` is not in {path} (which has ids like `{}`)", table.id(0)))
        })
    }

    /// The class a labelled row was given.
    pub fn name_of_row(&self, row: usize) -> &str {
        let found = self.labels.binary_search_by_key(&row, |&(row, _)| row);
        found.map_or("", |at| &self.classes[self.labels[at].1])
    }
}

fn find(row_of_id: &RowOfId, table: &FeatureTable, id: &str) -> Option<usize> {
    match row_of_id {
        RowOfId::Names(rows) => rows.get(id).copied(),
        RowOfId::Numbers => id.parse().ok().filter(|&row| row < table.rows()),
    }
}

/// Lines `id,label`; further columns, as a review file has them, are ignored, and so are its lines without a label.
fn read_file(
    path: &Path,
    table: &FeatureTable,
    row_of_id: &RowOfId,
    skipped: &[String],
) -> Result<Vec<(usize, String)>, CliError> {
    let wrong = |reason: String| CliError::Usage(format!("{}: {reason}", path.display()));
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_path(path)
        .map_err(|error| wrong(format!("cannot read it: {error}")))?;
    let headers = reader.headers().map_err(|error| wrong(error.to_string()))?;
    let header: Vec<&str> = headers.iter().map(|name| name.trim_start_matches('\u{feff}')).collect();
    if header.len() < 2 || header[..2] != ["id", "label"] {
        return Err(wrong(format!(
            "line 1: the header must begin with `id,label`, but is `{}`",
            header.join(",")
        )));
    }
    if header.contains(&"source") {
        return Err(wrong(
            "it is a labelled pool: most of its labels are inferred, not labels you know".into(),
        ));
    }
    let is_review = header.len() > 2;
    let mut lines: HashMap<usize, (u64, String)> = HashMap::new();
    for record in reader.records() {
        let record = record.map_err(|error| wrong(error.to_string()))?;
        let line = record.position().map_or(0, |position| position.line());
        let (id, label) = (&record[0], &record[1]);
        if label.is_empty() && is_review {
            continue;
        }
        if label.is_empty() {
            return Err(wrong(format!("line {line}: the label of `{id}` is empty")));
        }
        let row = find(row_of_id, table, id);
        if row.is_none() && skipped.iter().any(|skipped| skipped == id) {
            continue;
        }
        let row = row.ok_or_else(|| {
            wrong(format!(
                "line {line}: the id `{id}` is not in {} (which has ids like `{}`)",
                table.path().display(),
                table.id(0)
            ))
        })?;
        if let Some((earlier, other)) = lines.get(&row).filter(|(_, other)| other != label) {
            return Err(wrong(format!(
                "line {line}: the id `{id}` is labelled `{label}`, but `{other}` on line {earlier}"
            )));
        }
        lines.insert(row, (line, label.to_owned()));
    }
    Ok(lines.into_iter().map(|(row, (_, label))| (row, label)).collect())
}
