//! The file as a list of keys, each with the line it stands on.

use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

use crate::error::CliError;

/// A file that was read.
#[derive(Debug)]
pub struct Config {
    /// Where it is.
    pub path: PathBuf,
    /// What it says, in the order of its lines.
    pub entries: Vec<Entry>,
}

/// One key.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The section: a command and its subcommands.
    pub section: Vec<String>,
    /// The key; none for a section that says nothing.
    pub key: Option<String>,
    /// One value, or those of a list.
    pub values: Vec<String>,
    /// Whether it was written as a list.
    pub list: bool,
    /// The line, from 1.
    pub line: usize,
}

impl Config {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is not TOML, and values that no option can have.
    pub fn parse(path: PathBuf, text: &str) -> Result<Self, CliError> {
        let line_of = |at: usize| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(span.start));
            let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            CliError::Usage(format!("{}, line {line}: {message}", path.display()))
        })?;
        let mut config = Self { path, entries: Vec::new() };
        config.walk(table.get_ref(), &[], &line_of)?;
        config.entries.sort_by_key(|entry| entry.line);
        Ok(config)
    }

    fn walk(
        &mut self,
        table: &DeTable<'_>,
        section: &[String],
        line_of: &dyn Fn(usize) -> usize,
    ) -> Result<(), CliError> {
        for (key, value) in table {
            let (name, line) = (key.get_ref().clone().into_owned(), line_of(key.span().start));
            let entry = |key: Option<String>, values, list| Entry {
                section: section.to_vec(),
                key,
                values,
                list,
                line,
            };
            match value.get_ref() {
                DeValue::Table(inner) => {
                    let section = [section, &[name]].concat();
                    self.entries.push(Entry {
                        section: section.clone(),
                        key: None,
                        values: Vec::new(),
                        list: false,
                        line,
                    });
                    self.walk(inner, &section, line_of)?;
                }
                DeValue::Array(items) => {
                    let values = items.iter().map(|item| scalar(item.get_ref())).collect::<Option<Vec<_>>>();
                    let Some(values) = values else { return Err(self.not_an_option(line, &name)) };
                    self.entries.push(entry(Some(name), values, true));
                }
                other => {
                    let Some(value) = scalar(other) else { return Err(self.not_an_option(line, &name)) };
                    self.entries.push(entry(Some(name), vec![value], false));
                }
            }
        }
        Ok(())
    }

    fn not_an_option(&self, line: usize, key: &str) -> CliError {
        self.wrong(line, key, "write a text, a number, true, false, or a list of such")
    }

    /// What is wrong with a line.
    pub fn wrong(&self, line: usize, key: &str, reason: &str) -> CliError {
        CliError::Usage(format!("{}, line {line}, {key}: {reason}", self.path.display()))
    }
}

/// As it would be typed.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().replace('_', "")),
        DeValue::Float(number) => Some(number.as_str().replace('_', "")),
        DeValue::Boolean(value) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Config, CliError> {
        Config::parse("handful.toml".into(), text)
    }

    #[test]
    fn every_key_knows_its_section_and_line() {
        let config =
            parsed("# mine\n[bench]\nways = 1_0\nmethod = [\"a\", \"b\"]\n[bench.tune]\nbudget = 5\n")
                .expect("read");
        let keys: Vec<_> = config.entries.iter().filter(|entry| entry.key.is_some()).collect();
        assert_eq!((keys[0].line, keys[0].values[0].as_str()), (3, "10"));
        assert_eq!((keys[1].values.len(), keys[1].list), (2, true));
        assert_eq!((keys[2].section.join("."), keys[2].line), ("bench.tune".to_owned(), 6));
    }

    #[test]
    fn what_is_not_toml_is_told_with_its_line() {
        let error = parsed("[bench]\nways = = 3\n").expect_err("not TOML").to_string();
        assert!(error.starts_with("handful.toml, line 2: "), "{error}");
        let error = parsed("[bench]\nways = 2020-01-01\n").expect_err("a date").to_string();
        assert!(error.starts_with("handful.toml, line 2, ways: write "), "{error}");
    }
}
