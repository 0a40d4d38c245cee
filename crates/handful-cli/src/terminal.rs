//! What people read on a terminal: names from files cannot move its cursor or change its colours.
//!
//! A file name or a class can hold any character, and a terminal obeys some of them. They are shown as the number they
//! have. Output that programs read (JSON, CSV) does not pass here.

use std::io::{self, IsTerminal, Write};

use handful_bench::report::{Report, text};
use handful_bench::table::{Group, Look, render_within};

/// A writer of text that shows control characters instead of sending them.
pub struct Printable<W>(W);

/// Standard output for people.
pub fn stdout() -> Printable<io::StdoutLock<'static>> {
    Printable(io::stdout().lock())
}

impl<W: Write> Printable<W> {
    /// The same for another writer.
    pub fn new(out: W) -> Self {
        Self(out)
    }
}

/// Says something on standard error. That nobody can hear it is no reason to stop.
pub fn note(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", printable(&text.to_string()));
}

/// Says on standard error why the command ends, under the program's name.
pub fn complain(sentence: &str) {
    let name = Paint::for_stream(&io::stderr()).wrong("handful:");
    let _ = writeln!(io::stderr(), "{name} {}", printable(sentence));
}

/// Colours, where they are wanted. What is painted must be [`printable`] before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint(bool);

impl Paint {
    /// Colours for a stream: those of a terminal, unless the environment says otherwise (no-color.org, CLICOLOR).
    pub fn for_stream(stream: &impl IsTerminal) -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self(wanted(stream.is_terminal(), variable))
    }

    /// The best of several numbers.
    pub fn best(self, text: &str) -> String {
        self.with("1;32", text)
    }

    /// A heading.
    pub fn heading(self, text: &str) -> String {
        self.with("1", text)
    }

    /// Something to look at.
    pub fn warning(self, text: &str) -> String {
        self.with("33", text)
    }

    /// Something wrong.
    fn wrong(self, text: &str) -> String {
        self.with("1;31", text)
    }

    /// The table of a study, within the width of standard output.
    pub fn table(self, groups: &[Group<'_>]) -> String {
        self.looking(|look| render_within(groups, look))
    }

    /// The tables of a report and its claims, within the width of standard output.
    pub fn report(self, report: &Report) -> String {
        self.looking(|look| text::render(report, look))
    }

    fn looking(self, render: impl Fn(&Look<'_>) -> String) -> String {
        render(&Look {
            width: width(),
            clean: &printable,
            heading: &|text| self.heading(text),
            best: &|text| self.best(text),
        })
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

fn wanted(terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    if variable("NO_COLOR").is_some() {
        return false;
    }
    if variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    let refused = variable("CLICOLOR").is_some_and(|value| value == "0");
    let dumb = variable("TERM").is_some_and(|value| value == "dumb");
    terminal && !refused && !dumb
}

/// Columns of standard output, if it is a terminal or COLUMNS says so.
pub fn width() -> Option<usize> {
    let terminal = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(said).filter(|width| *width > 0)
}

/// Text for people in one piece.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() && !matches!(character, '\n' | '\t') {
            out.push_str(&format!("\\u{{{:x}}}", u32::from(character)));
        } else {
            out.push(character);
        }
    }
    out
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What is written here was formatted from strings, which are never cut within a character.
        match std::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(printable(text).as_bytes())?,
            Err(_) => self.0.write_all(&bytes.escape_ascii().collect::<Vec<u8>>())?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_shown_and_text_is_left_alone() {
        let mut out = Printable(Vec::new());
        write!(out, "a\x1b[31m b\u{9b}c\r\n\tgrün").expect("written");
        assert_eq!(String::from_utf8(out.0).expect("text"), "a\\u{1b}[31m b\\u{9b}c\\u{d}\n\tgrün");
    }

    #[test]
    fn the_environment_decides_about_colours() {
        let with = |terminal, set: &[(&str, &str)]| {
            wanted(terminal, |name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(with(true, &[]) && !with(false, &[]));
        assert!(!with(true, &[("NO_COLOR", "1")]) && !with(true, &[("CLICOLOR", "0")]));
        assert!(with(false, &[("CLICOLOR_FORCE", "1")]) && !with(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!with(true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
        assert!(!with(true, &[("TERM", "dumb")]));
    }
}
