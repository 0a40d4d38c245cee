//! What mdBook asks for between reading the pages and drawing them: formulas as MathML, which browsers draw by themselves, and
//! links to files outside the book as addresses in the repository.

use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

use pulldown_latex::config::{DisplayMode, RenderConfig};
use pulldown_latex::{Parser, Storage, mathml};
use serde_json::Value;

use crate::root;

/// Reads the book from standard input and writes it to standard output, as mdBook's protocol has it.
///
/// # Errors
/// What is wrong with the input, or with a formula.
pub fn run() -> Result<(), String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| format!("cannot read the book: {error}"))?;
    let mut input: Value = serde_json::from_str(&text).map_err(|error| format!("not a book: {error}"))?;
    let repository = input
        .pointer("/0/config/output/html/git-repository-url")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut book = input.get_mut(1).ok_or("there is no book in the input")?.take();
    chapters(&mut book, &repository)?;
    std::io::stdout()
        .write_all(book.to_string().as_bytes())
        .map_err(|error| format!("cannot answer: {error}"))
}

/// Goes through everything that has content and a path, however deep.
fn chapters(value: &mut Value, repository: &str) -> Result<(), String> {
    match value {
        Value::Object(fields) => {
            let path = fields.get("path").and_then(Value::as_str).map(PathBuf::from);
            if let (Some(path), Some(Value::String(content))) = (path, fields.get_mut("content")) {
                *content = page(content, &path, repository)?;
            }
            fields.values_mut().try_for_each(|inner| chapters(inner, repository))
        }
        Value::Array(items) => items.iter_mut().try_for_each(|inner| chapters(inner, repository)),
        _ => Ok(()),
    }
}

fn page(content: &str, path: &Path, repository: &str) -> Result<String, String> {
    let mut made = String::with_capacity(content.len());
    let mut lines = content.lines();
    let mut fenced = false;
    while let Some(line) = lines.next() {
        if line.trim() == "```math" {
            let formula: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
            made += &math(&formula.join(" ")).map_err(|error| format!("{}: {error}", path.display()))?;
        } else {
            fenced ^= line.trim_start().starts_with("```");
            made += &if fenced { line.to_owned() } else { links(line, path, repository) };
        }
        made.push('\n');
    }
    Ok(made)
}

fn math(formula: &str) -> Result<String, String> {
    let storage = Storage::new();
    let config =
        RenderConfig { display_mode: DisplayMode::Block, annotation: Some(formula), ..Default::default() };
    let events: Result<Vec<_>, _> = Parser::new(formula, &storage).collect();
    let events = events.map_err(|error| format!("{formula}: {error}"))?;
    let mut drawn = String::new();
    mathml::push_mathml(&mut drawn, events.into_iter().map(Ok::<_, std::convert::Infallible>), config)
        .map_err(|error| format!("{formula}: {error}"))?;
    // One line: a blank one would end the block of HTML.
    Ok(drawn.replace('\n', " "))
}

/// A line whose links out of the book lead to the repository.
fn links(line: &str, page: &Path, repository: &str) -> String {
    let mut made = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        let (before, after) = rest.split_at(at + 2);
        made += before;
        let end = after.find(')').unwrap_or(after.len());
        let (target, tail) = after.split_at(end);
        made += &outside(target, page, repository).unwrap_or_else(|| target.to_owned());
        rest = tail;
    }
    made + rest
}

/// The address of a file that is not part of the book.
fn outside(target: &str, page: &Path, repository: &str) -> Option<String> {
    if target.contains("://") || target.starts_with('#') || repository.is_empty() {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let mut full = PathBuf::from("docs/src");
    for part in page.parent()?.join(path).components() {
        match part {
            Component::ParentDir => {
                full.pop();
            }
            Component::CurDir => {}
            other => full.push(other),
        }
    }
    if full.starts_with("docs/src") {
        return None;
    }
    let kind = if root().join(&full).is_dir() { "tree" } else { "blob" };
    let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
    Some(format!("{repository}/{kind}/main/{}{anchor}", full.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_mathml_and_links_out_of_the_book_addresses() {
        let text = "a [b](../../../README.md#x) [c](../other.md)\n\n```math\nx^2\n```\n\n```text\n[d](../../../e)\n```\n";
        let made = page(text, Path::new("guides/f.md"), "https://example.org/r").expect("understood");
        assert!(
            made.starts_with("a [b](https://example.org/r/blob/main/README.md#x) [c](../other.md)\n"),
            "{made}"
        );
        assert!(made.contains("<math display=\"block\"") && made.contains("<msup>"), "{made}");
        assert!(made.contains("[d](../../../e)"), "{made}");
    }

    #[test]
    fn a_formula_that_is_not_understood_is_an_error() {
        assert!(math("\\nothinglikethis{x}").is_err());
    }
}
