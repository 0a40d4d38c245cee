//! Preset files: tuned parameters of several methods, as TOML with one table per method.
//!
//! ```toml
//! [tim-gd]
//! temperature = 15.0
//! transform = "power+l2"
//! ```
//!
//! A file need not name every key: the others keep the values of the method's default preset. TOML has no null, so a
//! parameter that is switched off is written as the text `"null"`.

use std::path::{Path, PathBuf};

use handful::methods::Change;
use serde_json::Value;

/// Parameters by method.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PresetFile {
    methods: Vec<(String, Vec<Change>)>,
}

/// A preset file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PresetFileError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not TOML with one table per method.
    #[error("{path}: {reason}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl PresetFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, PresetFileError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| PresetFileError::Read { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|reason| PresetFileError::Malformed { path: path.to_owned(), reason })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let document: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            format!("line {line}: {}", error.message())
        })?;
        let methods = document.into_iter().map(|(method, table)| {
            let toml::Value::Table(table) = table else {
                return Err(format!("`{method}` must be a table of parameters, written [{method}]"));
            };
            let changes = table.into_iter().map(|(key, value)| {
                let text = match value {
                    toml::Value::String(text) => text,
                    toml::Value::Table(_) | toml::Value::Array(_) | toml::Value::Datetime(_) => {
                        return Err(format!("{method}.{key} must be a number, a text, true or false"));
                    }
                    plain => plain.to_string(),
                };
                Ok((key, text))
            });
            let changes = changes.collect::<Result<_, String>>()?;
            Ok((method, changes))
        });
        Ok(Self { methods: methods.collect::<Result<_, String>>()? })
    }

    /// The parameters of a method, if the file has any.
    pub fn changes(&self, method: &str) -> Option<&[Change]> {
        self.methods.iter().find(|(name, _)| name == method).map(|(_, changes)| changes.as_slice())
    }

    /// The methods of the file.
    pub fn method_names(&self) -> impl Iterator<Item = &str> {
        self.methods.iter().map(|(name, _)| name.as_str())
    }
}

/// One method's complete parameters as a table of a preset file, below a comment that says where they come from.
pub fn section(method: &str, params: &Value, origin: &str) -> String {
    let mut text: String = origin.lines().map(|line| format!("# {line}\n")).collect();
    text.push_str(&format!("[{method}]\n"));
    for (key, value) in params.as_object().into_iter().flatten() {
        let value = match value {
            Value::Null => toml::Value::from("null"),
            Value::Bool(value) => toml::Value::from(*value),
            Value::Number(number) => match number.as_i64() {
                Some(integer) => toml::Value::from(integer),
                None => toml::Value::from(number.as_f64().unwrap_or(f64::NAN)),
            },
            other => toml::Value::from(other.as_str().map_or_else(|| other.to_string(), str::to_owned)),
        };
        text.push_str(&format!("{key} = {value}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use handful::methods::{METHODS, build};

    use super::*;

    #[test]
    fn every_preset_of_every_method_survives_the_file() {
        for entry in METHODS {
            for preset in entry.presets {
                let method = build(entry.name, Some(preset), &[]).expect("a preset");
                let text = section(entry.name, &method.params(), "made for a test\non two lines");
                let file = PresetFile::parse(&text).expect("what was written can be read");
                let changes = file.changes(entry.name).expect("the method is there");
                let rebuilt = build(entry.name, None, changes).expect("valid parameters");
                assert_eq!(rebuilt.params(), method.params(), "{}:{preset}", entry.name);
            }
        }
    }

    #[test]
    fn a_mistake_is_located() {
        let error = PresetFile::parse("[tim-gd]\nsteps = \n").unwrap_err();
        assert!(error.starts_with("line 2: "), "{error}");
        let error = PresetFile::parse("steps = 3\n").unwrap_err();
        assert!(error.contains("[steps]"), "{error}");
        let error = PresetFile::parse("[tim-gd]\nsteps = [1]\n").unwrap_err();
        assert!(error.starts_with("tim-gd.steps must be"), "{error}");
    }
}
