//! Labels and class names as files spell them, turned into a [`ClassIndex`].

use std::path::{Path, PathBuf};

use crate::{error::DataError, table::ClassIndex};

/// Classes from integer labels, where -1 means "no class" as it does in scikit-learn, and `names`, if there are
/// any, are looked up by label.
pub(crate) fn classes_of_integers(
    path: &Path,
    labels: &[i64],
    names: Option<&[String]>,
) -> Result<ClassIndex, DataError> {
    for (row, &label) in labels.iter().enumerate() {
        if label < -1 {
            let reason =
                format!("the label is {label}; labels are 0 or more, or -1 for a row without a class");
            return Err(DataError::row(path, row, reason));
        }
        if let Some(names) = names
            && usize::try_from(label).is_ok_and(|label| label >= names.len())
        {
            let reason = format!("the label is {label}, but only {} class names are given", names.len());
            return Err(DataError::row(path, row, reason));
        }
    }
    let labels: Vec<Option<i64>> = labels.iter().map(|&label| (label >= 0).then_some(label)).collect();
    Ok(ClassIndex::from_integers(&labels, |label| {
        names.and_then(|names| names.get(label as usize)).cloned().unwrap_or_else(|| label.to_string())
    }))
}

/// Class names from the file beside a table: `features.npz` has its names in `features.classes.json`, a JSON list
/// in the order of the integer labels. `Ok(None)` without such a file.
pub(crate) fn sibling_class_names(path: &Path) -> Result<Option<Vec<String>>, DataError> {
    let sibling = sibling(path, "classes.json");
    let text = match std::fs::read(&sibling) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(DataError::io(&sibling, error)),
    };
    let names: Vec<String> = serde_json::from_slice(&text)
        .map_err(|error| DataError::malformed(&sibling, "JSON list of class names", error.to_string()))?;
    Ok(Some(names))
}

/// Two classes of the same name could not be told apart in any output.
pub(crate) fn check_names_differ(path: &Path, names: &[String]) -> Result<(), DataError> {
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(DataError::content(path, format!("the class name `{}` is given twice", pair[0]))),
        None => Ok(()),
    }
}

/// `dir/name.ext` with another extension: `dir/name.extension`.
pub(crate) fn sibling(path: &Path, extension: &str) -> PathBuf {
    path.with_extension(extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minus_one_is_no_class_and_other_negatives_are_errors() {
        let classes = classes_of_integers(Path::new("f"), &[3, -1, 3], None).unwrap();
        assert_eq!((classes.names(), classes.class_of_row(1)), (["3".to_owned()].as_slice(), None));
        assert!(
            classes_of_integers(Path::new("f"), &[0, -2], None).unwrap_err().to_string().contains("row 1")
        );
    }

    #[test]
    fn label_without_a_name_is_an_error() {
        let names = ["a".to_owned(), "b".to_owned()];
        assert_eq!(classes_of_integers(Path::new("f"), &[1, 0], Some(&names)).unwrap().names(), names);
        let error = classes_of_integers(Path::new("f"), &[1, 2], Some(&names)).unwrap_err();
        assert!(error.to_string().contains("row 1: the label is 2, but only 2 class names"));
    }
}
