//! Labels that people give: which row of a table is of which class.
//!
//! They come from folders of labelled images and from files, of which later ones win: lines `id,label`, a review that
//! was filled in, or an export of Label Studio. A row that one file labels twice, differently, is a question only
//! people can answer, so [`Duplicates`] asks it.

mod label_studio;
mod text;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

pub use label_studio::row_of_address;

use crate::{error::DataError, table::FeatureTable};

/// What becomes of a row that one file labels twice, differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// Nothing is read at all.
    #[default]
    Error,
    /// The first label counts.
    KeepFirst,
    /// None of them counts.
    Drop,
}

/// The labels people gave for the rows of a table.
#[derive(Clone, Debug)]
pub struct GivenLabels {
    /// Names of the classes, sorted.
    pub classes: Vec<String>,
    /// Row and class of every label, by row.
    pub labels: Vec<(usize, usize)>,
    /// Labels of earlier files that a later one replaced by another class.
    pub replaced: usize,
    /// What was decided, and what looks like a slip.
    pub notes: Vec<String>,
}

impl GivenLabels {
    /// Puts the labels of folders and of all files together.
    ///
    /// # Errors
    /// [`DataError`] where a file cannot be read, names a row that the table does not have or, with
    /// [`Duplicates::Error`], labels a row twice, differently.
    pub fn read(
        table: &FeatureTable,
        from_folders: Vec<(usize, String)>,
        files: &[PathBuf],
        duplicates: Duplicates,
    ) -> Result<Self, DataError> {
        Self::read_skipping(table, from_folders, files, duplicates, &[])
    }

    /// The same where some rows had to be left out of the table, as images that cannot be read: their labels are of no
    /// use, but not wrong.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_skipping(
        table: &FeatureTable,
        from_folders: Vec<(usize, String)>,
        files: &[PathBuf],
        duplicates: Duplicates,
        skipped: &[String],
    ) -> Result<Self, DataError> {
        let rows = RowsById { skipped, ..RowsById::of(table) };
        let from_folders = from_folders.into_iter().map(|(row, label)| (row, label.trim().to_owned()));
        let mut of_row: HashMap<usize, String> = from_folders.collect();
        let (mut replaced, mut notes) = (0, Vec::new());
        for path in files {
            let (labels, note) = read_file(path, &rows, duplicates)?;
            notes.extend(note);
            for (row, label) in labels {
                let earlier = of_row.insert(row, label.clone());
                replaced += usize::from(earlier.is_some_and(|earlier| earlier != label));
            }
        }
        let mut classes: Vec<String> = of_row.values().cloned().collect();
        classes.sort();
        classes.dedup();
        notes.extend(alike(&classes));
        let class = |name: &String| classes.binary_search(name).unwrap_or_default();
        let mut labels: Vec<(usize, usize)> = of_row.iter().map(|(&row, name)| (row, class(name))).collect();
        labels.sort_unstable();
        Ok(Self { classes, labels, replaced, notes })
    }

    /// With further classes, of which something else than rows is known.
    #[must_use]
    pub fn with_classes<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let before = std::mem::take(&mut self.classes);
        self.classes = before.iter().cloned().chain(names.into_iter().map(str::to_owned)).collect();
        self.classes.sort();
        self.classes.dedup();
        let class = |name: &String| self.classes.binary_search(name).unwrap_or_default();
        let now: Vec<usize> = before.iter().map(class).collect();
        self.labels.iter_mut().for_each(|(_, class)| *class = now[*class]);
        self
    }

    /// The class a labelled row was given.
    pub fn name_of_row(&self, row: usize) -> Option<&str> {
        let at = self.labels.binary_search_by_key(&row, |&(row, _)| row).ok()?;
        Some(&self.classes[self.labels[at].1])
    }
}

/// Reads a label file for a table: the row and the label of each line.
///
/// # Errors
/// [`DataError`] as [`GivenLabels::read`] gives it, and where the file labels no row.
pub fn read_labels(path: &Path, table: &FeatureTable) -> Result<Vec<RowLabel>, DataError> {
    let (labels, _) = read_file(path, &RowsById::of(table), Duplicates::Error)?;
    if labels.is_empty() {
        return Err(DataError::content(path, "it labels no row"));
    }
    Ok(labels)
}

/// Classes that only capitals or spaces tell apart: probably slips.
pub(crate) fn alike(classes: &[String]) -> Option<String> {
    let mut spellings: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for class in classes {
        let plain = class.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
        spellings.entry(plain).or_default().push(class);
    }
    let slips: Vec<String> = spellings
        .values()
        .filter(|spellings| spellings.len() > 1)
        .map(|spellings| spellings.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and "))
        .collect();
    let differ = "are different classes; if they are meant to be one, spell them alike";
    (!slips.is_empty()).then(|| format!("{} {differ}", slips.join(", ")))
}

/// From id to row; a table without ids needs no map.
pub struct RowsById<'t> {
    table: &'t FeatureTable,
    rows: Option<HashMap<&'t str, usize>>,
    /// Ids of rows that had to be left out.
    skipped: &'t [String],
}

impl<'t> RowsById<'t> {
    /// The rows of a table.
    pub fn of(table: &'t FeatureTable) -> Self {
        let rows = table.ids().map(|ids| ids.iter().map(String::as_str).zip(0..).collect());
        Self { table, rows, skipped: &[] }
    }

    /// The row with an id, with or without the spaces around it.
    pub fn find(&self, id: &str) -> Option<usize> {
        match &self.rows {
            Some(rows) => rows.get(id).or_else(|| rows.get(id.trim())).copied(),
            None => id.trim().parse().ok().filter(|&row| row < self.table.rows()),
        }
    }

    /// Whether an id is of a row that had to be left out.
    pub(crate) fn is_skipped(&self, id: &str) -> bool {
        self.skipped.iter().any(|skipped| skipped == id || skipped == id.trim())
    }

    /// What to say of an id that no row has.
    pub fn unknown(&self, id: &str) -> String {
        let path = self.table.path().display();
        format!("the id `{id}` is not in {path} (which has ids like `{}`)", self.table.id(0))
    }
}

/// One label as a file gives it.
struct GivenLabel {
    /// The line of a text, or the number of a task.
    place: usize,
    id: String,
    row: usize,
    label: String,
}

/// A row and its label.
type RowLabel = (usize, String);

/// The labels of one file, a row once, and what was decided about rows that it labels twice.
fn read_file(
    path: &Path,
    rows: &RowsById<'_>,
    duplicates: Duplicates,
) -> Result<(Vec<RowLabel>, Option<String>), DataError> {
    let bytes = std::fs::read(path).map_err(|error| DataError::io(path, error))?;
    let (given, word) = if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
        (label_studio::read(path, &bytes, rows)?, "task")
    } else {
        (text::read(path, &bytes, rows)?, "line")
    };
    let mut labels: Vec<RowLabel> = Vec::new();
    let mut first_of_row: HashMap<usize, (usize, &GivenLabel)> = HashMap::new();
    let mut twice: BTreeMap<usize, (&GivenLabel, &GivenLabel)> = BTreeMap::new();
    for one in &given {
        match first_of_row.get(&one.row) {
            Some((_, first)) if first.label != one.label => {
                twice.entry(one.row).or_insert((first, one));
            }
            Some(_) => {}
            None => {
                first_of_row.insert(one.row, (labels.len(), one));
                labels.push((one.row, one.label.clone()));
            }
        }
    }
    let Some((first, second)) = twice.values().min_by_key(|(_, second)| second.place).copied() else {
        return Ok((labels, None));
    };
    let more = match twice.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more like it"),
    };
    let question = format!(
        "the id `{}` is labelled `{}`, but `{}` on {word} {}{more}",
        second.id, second.label, first.label, first.place
    );
    match duplicates {
        Duplicates::Error => {
            let choice = "keep-first or drop as --duplicates goes on without an answer";
            Err(DataError::content(path, format!("{word} {}: {question}; {choice}", second.place)))
        }
        Duplicates::KeepFirst => {
            let note = format!("{}: {word} {}: {question}: kept the first", path.display(), second.place);
            Ok((labels, Some(note)))
        }
        Duplicates::Drop => {
            labels.retain(|(row, _)| !twice.contains_key(row));
            let note = format!("{}: {word} {}: {question}: kept neither", path.display(), second.place);
            Ok((labels, Some(note)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered() -> FeatureTable {
        let spec =
            crate::synthetic::SyntheticSpec { classes: 2, rows_per_class: 3, dim: 2, ..Default::default() };
        spec.table().unwrap()
    }

    fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn given(text: &str, duplicates: Duplicates) -> Result<GivenLabels, DataError> {
        let (_folder, path) = file("labels.csv", text);
        GivenLabels::read(&numbered(), Vec::new(), &[path], duplicates)
    }

    #[test]
    fn a_row_labelled_twice_is_a_question() {
        let text = "id,label\n0,a\n1,b\n1,b\n0,c\n2,b\n2,a\n";
        let error = given(text, Duplicates::Error).unwrap_err().to_string();
        assert!(
            error.contains("line 5: the id `0` is labelled `c`, but `a` on line 2, and 1 more"),
            "{error}"
        );
        let kept = given(text, Duplicates::KeepFirst).unwrap();
        assert_eq!(kept.labels, [(0, 0), (1, 1), (2, 1)]);
        assert!(kept.notes[0].ends_with("kept the first"), "{:?}", kept.notes);
        let dropped = given(text, Duplicates::Drop).unwrap();
        assert_eq!(
            (dropped.labels.as_slice(), dropped.classes.as_slice()),
            (&[(1, 0)][..], &["b".to_owned()][..])
        );
    }

    #[test]
    fn spaces_do_not_make_a_class_and_capitals_are_noticed() {
        let labels = given("id,label\n0, cat\n1,cat \n2,Bee\n3,bee\n", Duplicates::Error).unwrap();
        assert_eq!(labels.classes, ["Bee", "bee", "cat"]);
        assert_eq!(labels.notes.len(), 1);
        assert!(labels.notes[0].starts_with("`Bee` and `bee` are different classes"), "{:?}", labels.notes);
        let folders = vec![(0, " cat".to_owned()), (1, "cat".to_owned())];
        let labels = GivenLabels::read(&numbered(), folders, &[], Duplicates::Error).unwrap();
        assert_eq!((labels.classes, labels.notes), (vec!["cat".to_owned()], Vec::new()));
    }

    #[test]
    fn classes_without_labels_join_in_order_and_labels_of_skipped_rows_are_left_out() {
        let labels = given("id,label\n0,b\n1,d\n", Duplicates::Error).unwrap();
        let more = labels.with_classes(["c", "a", "b"]);
        assert_eq!((more.classes.concat().as_str(), more.labels), ("abcd", vec![(0, 1), (1, 3)]));
        let (_folder, path) = file("labels.csv", "id,label\nbroken.jpg,a\n1,b\n");
        let skipping = |skipped: &str| {
            let (files, skipped) = ([path.clone()], [skipped.to_owned()]);
            GivenLabels::read_skipping(&numbered(), Vec::new(), &files, Duplicates::Error, &skipped)
        };
        assert_eq!(skipping("broken.jpg").unwrap().classes, ["b"]);
        assert!(skipping("other.jpg").is_err());
    }

    #[test]
    fn later_files_win() {
        let (_one, first) = file("first.csv", "id,label\n0,a\n1,b\n");
        let (_two, second) = file("second.csv", "id;label\r\n1;a\r\n");
        let given = GivenLabels::read(&numbered(), Vec::new(), &[first, second], Duplicates::Error).unwrap();
        assert_eq!((given.labels.as_slice(), given.replaced), (&[(0, 0), (1, 0)][..], 1));
        assert_eq!((given.name_of_row(1), given.name_of_row(2)), (Some("a"), None));
    }
}
