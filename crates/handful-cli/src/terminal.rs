//! What people read on a terminal: names from files cannot move its cursor or change its colours.
//!
//! A file name or a class can hold any character, and a terminal obeys some of them. They are shown as the number they
//! have. Output that programs read (JSON, CSV) does not pass here.

use std::io::{self, Write};

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
}
