//! Columns that line up, and what becomes of them where the terminal is narrower than the table.

use std::fmt::Write;

/// Room between columns.
const GAP: &str = "   ";
/// A name keeps at least this much, however narrow the terminal.
const LEAST_NAME: usize = 12;

/// What a table looks like on a terminal.
pub struct Look<'a> {
    /// Its columns, if it has any end.
    pub width: Option<usize>,
    /// Makes text from files safe to print.
    pub clean: &'a dyn Fn(&str) -> String,
    /// Marks a heading.
    pub heading: &'a dyn Fn(&str) -> String,
    /// Marks the best numbers.
    pub best: &'a dyn Fn(&str) -> String,
}

impl Look<'_> {
    /// As wide as it is, nothing marked.
    pub fn plain() -> Self {
        let same = &str::to_owned;
        Self { width: None, clean: same, heading: same, best: same }
    }
}

/// What the last column of a table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Words, which stand to the left.
    Words,
    /// Numbers, which stand to the right as those of every other column.
    Numbers,
}

/// First and last column to the left, numbers to the right.
pub fn align(lines: &[Vec<String>]) -> String {
    align_within(lines, &[], Last::Words, &Look::plain())
}

/// The same within a width: names are broken, and columns that have no room go on below, with the names again. `best` are
/// lines and columns of cells to mark.
pub fn align_within(lines: &[Vec<String>], best: &[(usize, usize)], last: Last, look: &Look<'_>) -> String {
    let lines: Vec<Vec<String>> =
        lines.iter().map(|line| line.iter().map(|cell| (look.clean)(cell)).collect()).collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..columns).map(|column| width_of(&lines, column)).collect();
    let all: usize = widths.iter().sum::<usize>() + GAP.len() * columns.saturating_sub(1);
    let limit = look.width.unwrap_or(usize::MAX);
    if all > limit && columns > 0 {
        widths[0] = widths[0].min((limit / 3).max(LEAST_NAME));
    }
    let mut out = String::new();
    for (at, block) in blocks(&widths, limit).iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        write_block(&mut out, &lines, block, &widths, best, last, look);
    }
    out
}

fn width_of(lines: &[Vec<String>], column: usize) -> usize {
    lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
}

/// Columns besides the first, as many in a block as have room beside it.
fn blocks(widths: &[usize], limit: usize) -> Vec<Vec<usize>> {
    let name = widths.first().copied().unwrap_or(0);
    let (mut blocks, mut used) = (vec![Vec::new()], name);
    for (column, width) in widths.iter().enumerate().skip(1) {
        let more = GAP.len() + width;
        if used.saturating_add(more) > limit && blocks.last().is_some_and(|block| !block.is_empty()) {
            blocks.push(Vec::new());
            used = name;
        }
        if let Some(block) = blocks.last_mut() {
            block.push(column);
        }
        used += more;
    }
    blocks
}

fn write_block(
    out: &mut String,
    lines: &[Vec<String>],
    block: &[usize],
    widths: &[usize],
    best: &[(usize, usize)],
    last: Last,
    look: &Look<'_>,
) {
    let words = (last == Last::Words).then(|| widths.len().saturating_sub(1));
    for (at, line) in lines.iter().enumerate() {
        let name = broken(line.first().map_or("", String::as_str), widths.first().copied().unwrap_or(0));
        let mut pieces = name.iter();
        let mut text = format!("{:<width$}", pieces.next().map_or("", String::as_str), width = widths[0]);
        for &column in block {
            let Some(cell) = line.get(column) else { continue };
            let room = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            let marked = if best.contains(&(at, column)) { (look.best)(cell) } else { cell.clone() };
            let _ = if Some(column) == words {
                write!(text, "{GAP}{marked}{room}")
            } else {
                write!(text, "{GAP}{room}{marked}")
            };
        }
        let text = text.trim_end();
        out.push_str(&if at == 0 { (look.heading)(text) } else { text.to_owned() });
        out.push('\n');
        for piece in pieces {
            let _ = writeln!(out, "{piece}");
        }
        if at == 0 {
            let ruled = std::iter::once(0).chain(block.iter().copied());
            out.push_str(&ruled.map(|column| "─".repeat(widths[column])).collect::<Vec<_>>().join(GAP));
            out.push('\n');
        }
    }
}

/// Text in lines of at most this width, broken between words; all but the first are indented.
pub fn wrapped(text: &str, width: Option<usize>, indent: usize) -> String {
    let Some(width) = width else { return text.to_owned() };
    let lead = text.len() - text.trim_start().len();
    let mut lines = vec![text[..lead].to_owned()];
    for word in text.trim_start().split_inclusive(' ') {
        let used = lines.last().map_or(0, |line| line.chars().count());
        let begun = used > if lines.len() == 1 { lead } else { indent };
        if begun && used + word.trim_end().chars().count() > width {
            lines.push(" ".repeat(indent));
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(word);
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

/// A name in pieces of at most this width, broken behind a mark where there is one; later pieces are indented.
fn broken(name: &str, width: usize) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= width {
        return vec![name.to_owned()];
    }
    let (mut pieces, mut start) = (Vec::new(), 0);
    while start < letters.len() {
        let indent = if start == 0 { "" } else { "  " };
        let room = width.saturating_sub(indent.len()).max(1);
        let end = (start + room).min(letters.len());
        let marks = |at: &usize| matches!(letters[*at - 1], ':' | '[' | ' ' | ',' | '/');
        let nice = (start + room / 2..=end).rev().filter(|at| *at > start).find(marks);
        let end = if end == letters.len() { end } else { nice.unwrap_or(end) };
        pieces.push(format!("{indent}{}", letters[start..end].iter().collect::<String>()));
        start = end;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn columns_line_up_whatever_their_width() {
        let text = align(&[cells(&["m", "score", "x"]), cells(&["longer", "1", "y"])]);
        assert_eq!(text, "m        score   x\n──────   ─────   ─\nlonger       1   y\n");
    }

    #[test]
    fn a_table_that_is_too_wide_goes_on_below() {
        let mark = |text: &str| format!("<{text}>");
        let lines = [
            cells(&["method", "accuracy %", "difference", "wins/ties/losses", "knows"]),
            cells(&[
                "dm-ida:a-long-name[steps=100 rounds=3]",
                "75.31 ± 0.40",
                "+1.00 ± 0.20",
                "10/2/3",
                "rows",
            ]),
        ];
        for width in 20..120 {
            let look = Look { width: Some(width), ..Look::plain() };
            let text = align_within(&lines, &[], Last::Words, &look);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            // The widest column beside the least name is what cannot be had narrower.
            assert!(widest <= width.max(LEAST_NAME + 3 + 16), "{width}:\n{text}");
            for word in ["accuracy %", "75.31 ± 0.40", "+1.00 ± 0.20", "10/2/3", "rows"] {
                assert!(text.contains(word), "{word} at {width}:\n{text}");
            }
        }
        let look = Look { width: Some(60), best: &mark, ..Look::plain() };
        assert!(align_within(&lines, &[(1, 1)], Last::Words, &look).contains("<75.31 ± 0.40>"));
    }

    #[test]
    fn numbers_at_the_end_stand_to_the_right() {
        let lines = [cells(&["m", "score"]), cells(&["x", "1"])];
        let text = align_within(&lines, &[], Last::Numbers, &Look::plain());
        assert_eq!(text, "m   score\n─   ─────\nx       1\n");
    }

    #[test]
    fn text_is_wrapped_between_words_and_loses_none() {
        let text = "  holds          1-shot: this beats that (+2.67 ± 2.09 points)";
        assert_eq!(wrapped(text, None, 17), text);
        for width in 30..80 {
            let lines = wrapped(text, Some(width), 17);
            assert!(lines.lines().all(|line| line.chars().count() <= width), "{width}:\n{lines}");
            assert_eq!(
                lines.split_whitespace().collect::<Vec<_>>(),
                text.split_whitespace().collect::<Vec<_>>()
            );
        }
        assert_eq!(wrapped("  a longish word", Some(10), 4), "  a\n    longish\n    word");
    }

    #[test]
    fn names_are_broken_behind_marks() {
        assert_eq!(broken("short", 10), ["short"]);
        assert_eq!(broken("dm-ida:balanced", 10), ["dm-ida:", "  balanced"]);
        assert_eq!(broken("abcdefghij", 4), ["abcd", "  ef", "  gh", "  ij"]);
    }
}
