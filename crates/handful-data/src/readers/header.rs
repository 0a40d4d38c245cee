//! Which column of a text table is what, from its first two lines and what the user says.
//!
//! Two things that pandas writes look like features and are not: the index, a first column without a name, and column
//! names that are numbers. Both are recognised, what was decided is noted, and the user can decide otherwise.

use std::path::Path;

use super::{OpenOptions, raw_table::KnownNames};
use crate::error::DataError;

/// Which column is what.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub has_header: bool,
    pub names: Vec<String>,
    pub id: Option<usize>,
    pub label: Option<usize>,
    /// A column that is neither: an index beside ids.
    pub left_out: Option<usize>,
    /// The ids are an index without a name, which may repeat.
    pub id_is_index: bool,
    pub notes: Vec<String>,
}

impl Columns {
    /// Decides from the first line and, where there is one, the second.
    pub(super) fn of(
        path: &Path,
        first: &[String],
        second: Option<&[String]>,
        options: &OpenOptions,
    ) -> Result<Self, DataError> {
        let all_numbers = first.iter().all(|cell| is_number(cell));
        let numbered = all_numbers && are_column_numbers(first, second);
        let has_header = options.header.unwrap_or(!all_numbers || numbered);
        let names: Vec<String> = if has_header {
            first.to_vec()
        } else {
            (1..=first.len()).map(|column| column.to_string()).collect()
        };
        let mut columns = Self { has_header, names, ..Self::default() };
        if numbered && options.header.is_none() {
            columns.notes.push(format!(
                "the first line ({}) was taken for the names of the columns; --no-header makes it a row",
                shortened(first)
            ));
        }
        if has_header {
            columns.label = columns.place(path, KnownNames::is_label)?;
        }
        columns.id = match &options.id_column {
            Some(name) => Some(place(path, &columns.names, name)?),
            None if has_header => columns.place(path, KnownNames::is_id)?,
            None => None,
        };
        if columns.label == columns.id {
            columns.label = None;
        }
        if has_header && columns.names.len() > 1 && is_index(&columns.names[0]) && columns.id != Some(0) {
            columns.take_index();
        }
        Ok(columns)
    }

    fn take_index(&mut self) {
        if self.id.is_some() {
            self.left_out = Some(0);
            self.notes.push("the first column has no name: an index, left out".to_owned());
        } else {
            self.id = Some(0);
            self.id_is_index = true;
            self.notes.push(
                "the first column has no name: an index, taken for the ids of the rows; --id-column names another"
                    .to_owned(),
            );
        }
    }

    /// The one column whose name is known.
    fn place(&self, path: &Path, known: fn(&str) -> bool) -> Result<Option<usize>, DataError> {
        let mut places = self.names.iter().enumerate().filter(|(_, name)| known(name)).map(|(at, _)| at);
        match (places.next(), places.next()) {
            (Some(first), Some(second)) => {
                let (first, second) = (&self.names[first], &self.names[second]);
                let reason = format!("the columns `{first}` and `{second}` say the same; keep one");
                Err(DataError::line(path, 1, reason))
            }
            (place, _) => Ok(place),
        }
    }

    pub(super) fn is_feature(&self, column: usize) -> bool {
        ![self.id, self.label, self.left_out].contains(&Some(column))
    }

    pub(super) fn feature_count(&self) -> usize {
        (0..self.names.len()).filter(|&column| self.is_feature(column)).count()
    }
}

/// The column that the user names, by its name or else by its number from 1.
pub(super) fn place(path: &Path, names: &[String], name: &str) -> Result<usize, DataError> {
    let by_name = names.iter().position(|one| one == name);
    let by_number = || name.parse::<usize>().ok()?.checked_sub(1).filter(|&at| at < names.len());
    by_name.or_else(by_number).ok_or_else(|| {
        DataError::content(path, format!("there is no column `{name}`; there are {}", shortened(names)))
    })
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f32>().is_ok()
}

/// The name of an index: none, or what pandas calls it when it reads its own file again.
fn is_index(name: &str) -> bool {
    name.is_empty() || name == "Unnamed: 0"
}

/// Whether a line of numbers is the names of columns: 0, 1, 2, …, or other ascending whole numbers above a line that
/// has fractions.
fn are_column_numbers(first: &[String], second: Option<&[String]>) -> bool {
    let numbers: Option<Vec<u64>> = first.iter().map(|cell| cell.parse().ok()).collect();
    let Some(numbers) = numbers.filter(|numbers| numbers.len() > 1) else { return false };
    if numbers.iter().copied().eq(0..numbers.len() as u64) {
        return true;
    }
    let ascending = numbers.len() > 2 && numbers.windows(2).all(|pair| pair[0] < pair[1]);
    let fractions = second.is_some_and(|line| line.iter().all(|cell| cell.contains('.') && is_number(cell)));
    ascending && fractions
}

fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown}, …") } else { shown }
}
