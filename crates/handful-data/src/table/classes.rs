//! Which row belongs to which class, looked up in both directions.
//!
//! Every format spells classes its own way (integers, names, none at all). Readers translate into this index
//! once, so that samplers and methods see dense class numbers and never a file's labels.

use std::{cmp::Ordering, collections::BTreeMap};

/// The classes of a table: names, the class of each row, and the rows of each class.
///
/// Only classes that have rows are numbered. Classes that a file labels by integers are in numerical order.
/// Classes that it labels by text are in the order of the text, except that texts which are all whole numbers are
/// in numerical order too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassIndex {
    names: Vec<String>,
    class_of_row: Vec<Option<u32>>,
    rows_of_class: Vec<Vec<usize>>,
}

impl ClassIndex {
    /// Rows without any class.
    pub fn unlabeled(rows: usize) -> Self {
        Self { names: Vec::new(), class_of_row: vec![None; rows], rows_of_class: Vec::new() }
    }

    /// Classes from integer labels. `name_of` gives the name of a label.
    pub fn from_integers(labels: &[Option<i64>], name_of: impl Fn(i64) -> String) -> Self {
        Self::from_keys(labels, |&label| name_of(label))
    }

    /// Classes from names.
    pub fn from_names<S: AsRef<str>>(labels: &[Option<S>]) -> Self {
        let labels: Vec<Option<&str>> =
            labels.iter().map(|label| label.as_ref().map(AsRef::as_ref)).collect();
        match labels.iter().map(|label| label.map(whole_number).transpose()).collect::<Result<Vec<_>, ()>>() {
            Ok(numbers) => Self::from_integers(&numbers, |number| number.to_string()),
            Err(()) => Self::from_keys(&labels, |name| (*name).to_owned()),
        }
    }

    /// Classes from names, in the order of `order`; names that are not in it come after, sorted.
    pub fn from_names_in_order<S: AsRef<str>>(labels: &[Option<S>], order: &[String]) -> Self {
        let places: BTreeMap<&str, usize> = order.iter().map(String::as_str).zip(0..).collect();
        let labels: Vec<Option<Placed<'_>>> = (labels.iter())
            .map(|label| label.as_ref().map(AsRef::as_ref))
            .map(|name| {
                name.map(|name| Placed { place: places.get(name).copied().unwrap_or(usize::MAX), name })
            })
            .collect();
        Self::from_keys(&labels, |placed| placed.name.to_owned())
    }

    fn from_keys<K: Ord>(labels: &[Option<K>], name_of: impl Fn(&K) -> String) -> Self {
        let mut numbers: BTreeMap<&K, u32> = labels.iter().flatten().map(|key| (key, 0)).collect();
        for (number, slot) in (0u32..).zip(numbers.values_mut()) {
            *slot = number;
        }
        let mut rows_of_class = vec![Vec::new(); numbers.len()];
        let mut class_of_row = Vec::with_capacity(labels.len());
        for (row, label) in labels.iter().enumerate() {
            let class = label.as_ref().and_then(|key| numbers.get(key).copied());
            if let Some(class) = class {
                rows_of_class[class as usize].push(row);
            }
            class_of_row.push(class);
        }
        Self { names: numbers.keys().map(|key| name_of(key)).collect(), class_of_row, rows_of_class }
    }

    /// The number of rows, with or without a class.
    pub fn rows(&self) -> usize {
        self.class_of_row.len()
    }

    /// The number of classes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no row has a class.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The names, by class number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The class of a row; `None` for a row without a class or beyond the table.
    pub fn class_of_row(&self, row: usize) -> Option<usize> {
        self.class_of_row.get(row).copied().flatten().map(|class| class as usize)
    }

    /// The rows of each class in ascending order, by class number.
    pub fn rows_of_class(&self) -> &[Vec<usize>] {
        &self.rows_of_class
    }

    /// Whether the order of the classes is the one that their names alone would give.
    pub(crate) fn is_in_name_order(&self) -> bool {
        let names: Vec<Option<&String>> = self.names.iter().map(Some).collect();
        Self::from_names(&names).names == self.names
    }
}

/// A name with its place in a given order.
#[derive(PartialEq, Eq)]
struct Placed<'a> {
    place: usize,
    name: &'a str,
}

impl Ord for Placed<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.place, self.name).cmp(&(other.place, other.name))
    }
}

impl PartialOrd for Placed<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The number that a text is the only spelling of: `7`, but not `07` or `+7`.
fn whole_number(text: &str) -> Result<i64, ()> {
    text.parse().ok().filter(|number: &i64| number.to_string() == text).ok_or(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_numbered_in_order_and_gaps_close() {
        let index =
            ClassIndex::from_integers(&[Some(7), None, Some(-3), Some(7)], |label| format!("c{label}"));
        assert_eq!(index.names(), ["c-3", "c7"]);
        assert_eq!(index.rows_of_class(), [vec![2], vec![0, 3]]);
        let classes: Vec<Option<usize>> = (0..5).map(|row| index.class_of_row(row)).collect();
        assert_eq!(classes, [Some(1), None, Some(0), Some(1), None]);
    }

    #[test]
    fn names_are_sorted_and_numbers_numerically() {
        let index = ClassIndex::from_names(&[Some("b"), Some("a"), Some("b")]);
        assert_eq!(index.names(), ["a", "b"]);
        assert_eq!(index.rows_of_class(), [vec![1], vec![0, 2]]);
        assert_eq!(ClassIndex::from_names(&[Some("10"), Some("9")]).names(), ["9", "10"]);
        assert_eq!(ClassIndex::from_names(&[Some("10"), Some("9"), Some("x")]).names(), ["10", "9", "x"]);
    }

    #[test]
    fn given_order_is_kept() {
        let order = ["b".to_owned(), "unused".to_owned(), "a".to_owned()];
        let index = ClassIndex::from_names_in_order(&[Some("z"), Some("a"), Some("b")], &order);
        assert_eq!(index.names(), ["b", "a", "z"]);
        assert!(!index.is_in_name_order());
    }
}
