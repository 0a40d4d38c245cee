//! Text that a spreadsheet must not run.
//!
//! A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, and a file name can begin with
//! anything. Such text is written with an apostrophe before it, which spreadsheets show as text; readers here take the
//! apostrophe away again, so that ids and classes survive the way there and back. Numbers are left alone.

use std::borrow::Cow;

/// The text of a cell, made harmless.
///
/// ```
/// use handful_data::spreadsheet::{guarded, plain};
/// assert_eq!(guarded("=1+1"), "'=1+1");
/// assert_eq!(plain("'=1+1"), "=1+1");
/// assert_eq!(guarded("-0.5"), "-0.5");
/// ```
pub fn guarded(text: &str) -> Cow<'_, str> {
    if is_formula(text.trim_start_matches('\'')) { format!("'{text}").into() } else { text.into() }
}

/// The text that [`guarded`] made a cell of.
pub fn plain(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if is_formula(text.trim_start_matches('\'')) => text,
        _ => cell,
    }
}

fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_text_and_come_back_as_they_were() {
        for text in ["=cmd|' /C calc'!A0", "+1+1", "-a.png", "@SUM(A1)", "'=x", "''@", "\tx"] {
            assert_eq!(guarded(text), format!("'{text}"));
            assert_eq!(plain(&guarded(text)), text);
        }
        for text in ["a=b", "-1", "+0.5e3", "'quoted'", "", "'"] {
            assert_eq!((guarded(text).as_ref(), plain(text)), (text, text));
        }
    }
}
