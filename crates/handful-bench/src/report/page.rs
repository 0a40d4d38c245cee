//! What every page of ours has: one file without script or network, light and dark, from a phone to print.

use std::fmt::Write;

const STYLE: &str = include_str!("../../assets/report.css");

/// A whole page around its body.
pub fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(title)
    )
}

/// The head of a page: what made it, its title, a sentence, and links to its sections. What comes next is in `<main>`,
/// which the caller closes.
pub fn header(kicker: &str, title: &str, lead: &str, sections: &[(&str, &str)]) -> String {
    let mut out = format!(
        "<header><div class=\"wide\"><p class=\"kicker\">{}</p>\n<h1>{}</h1>\n<p class=\"lead\">{}</p></div></header>\n\
         <nav><div class=\"wide\">",
        escape(kicker),
        escape(title),
        escape(lead)
    );
    for (id, name) in sections {
        let _ = write!(out, "<a href=\"#{}\">{}</a>", escape(id), escape(name));
    }
    out.push_str("</div></nav>\n<main class=\"wide\">\n");
    out
}

/// A table in a container that scrolls; `lines` are its cells, already markup, the first line its headings.
pub fn table(lines: &[Vec<String>]) -> String {
    let mut out = String::from("<div class=\"scroll\" tabindex=\"0\"><table>");
    for (at, line) in lines.iter().enumerate() {
        out.push_str(if at == 0 { "<thead><tr>" } else { "<tr>" });
        for (column, cell) in line.iter().enumerate() {
            let tag = if at == 0 || column == 0 { "th" } else { "td" };
            let _ = write!(out, "<{tag}>{cell}</{tag}>");
        }
        out.push_str(if at == 0 { "</tr></thead>\n<tbody>" } else { "</tr>\n" });
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// A drawing with what it shows.
pub fn figure(id: &str, svg: &str, caption: &str) -> String {
    format!(
        "<figure id=\"{}\">{}<figcaption>{}</figcaption></figure>\n",
        escape(id),
        inline_svg(svg, caption),
        escape(caption)
    )
}

/// An SVG inside the page: it scales with its column, takes the page's colour for ink, and has a name.
fn inline_svg(svg: &str, name: &str) -> String {
    let svg = svg.find("<svg").map_or(svg, |start| &svg[start..]);
    svg.replace("#1B1B1F", "currentColor").replacen(
        "<svg ",
        &format!("<svg role=\"img\" aria-label=\"{}\" ", escape(name)),
        1,
    )
}

/// A number with commas.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Text that is no markup.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_safe_to_print() {
        assert_eq!(
            (thousands(999), thousands(1_000), thousands(1_234_567)),
            ("999".into(), "1,000".into(), "1,234,567".into())
        );
        assert_eq!(escape("<script>\"&"), "&lt;script&gt;&quot;&amp;");
    }
}
