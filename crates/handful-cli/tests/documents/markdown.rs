//! The little of Markdown that the tests look at: fenced blocks, directives in comments, links, headings.

use std::path::{Path, PathBuf};

/// A page of the documentation.
pub struct Page {
    /// Its path from the root of the repository.
    pub path: PathBuf,
    pub text: String,
}

/// A fenced block.
pub struct Block {
    /// The line of its opening fence, from 1.
    pub line: usize,
    pub language: String,
    pub body: String,
    /// Why it is not run: `<!-- not run: REASON -->` on the line above.
    pub not_run: Option<String>,
    /// Whether it is Python's to run: `<!-- run by: python/tests/test_book.py -->` on the line above.
    pub by_python: bool,
}

/// What comments of a page ask the tests for.
#[derive(Default)]
pub struct Directives {
    /// `<!-- setup: photos features -->`: sample data to put into the folder that the page's blocks run in.
    pub setups: Vec<String>,
    /// `<!-- where: NOVEL = novel.npz; --tasks 10000 = --tasks 5 -->`: what placeholders and sizes stand for in a test.
    pub replacements: Vec<(String, String)>,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Every page that people read: those of the root, of crates and the Python package, and the book.
pub fn pages() -> Vec<Page> {
    let root = root();
    let mut paths = Vec::new();
    for folder in ["", "crates", "python", "docs", ".github"] {
        collect(&root.join(folder), !folder.is_empty(), &mut paths);
    }
    paths.sort();
    let page = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a page");
        Page { path: path.strip_prefix(&root).expect("below the root").to_owned(), text }
    };
    paths.into_iter().map(page).collect()
}

fn collect(folder: &Path, deep: bool, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            let made = ["target", "node_modules", "book"].iter().any(|name| path.ends_with(name));
            if deep && !made {
                collect(&path, deep, paths);
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        }
    }
}

impl Page {
    /// Whether its blocks are run: the README and the book.
    pub fn is_run(&self) -> bool {
        self.path == Path::new("README.md") || self.path.starts_with("docs/src")
    }

    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut open: Option<(String, Block)> = None;
        let mut above = "";
        for (at, line) in self.text.lines().enumerate() {
            let bare = line.trim_start();
            match &mut open {
                Some((fence, _)) if bare.trim_end() == fence => {
                    blocks.extend(open.take().map(|(_, block)| block));
                }
                Some((_, block)) => {
                    block.body.push_str(line);
                    block.body.push('\n');
                }
                None if bare.starts_with("```") => {
                    let ticks = bare.len() - bare.trim_start_matches('`').len();
                    let language = bare[ticks..].trim().to_owned();
                    let not_run = directive(above, "not run").map(str::to_owned);
                    let by_python = directive(above, "run by") == Some("python/tests/test_book.py");
                    let block = Block { line: at + 1, language, body: String::new(), not_run, by_python };
                    open = Some(("`".repeat(ticks), block));
                }
                None => above = line,
            }
        }
        assert!(open.is_none(), "{}: a fence is not closed", self.path.display());
        blocks
    }

    /// The lines outside fenced blocks, with their numbers from 1.
    pub fn prose(&self) -> Vec<(usize, &str)> {
        let mut fence = None;
        let mut lines = Vec::new();
        for (at, line) in self.text.lines().enumerate() {
            let ticks = line.trim_start().bytes().take_while(|&byte| byte == b'`').count();
            match fence {
                Some(open) if ticks == open => fence = None,
                Some(_) => {}
                None if ticks >= 3 => fence = Some(ticks),
                None => lines.push((at + 1, line)),
            }
        }
        lines
    }

    pub fn directives(&self) -> Directives {
        let mut found = Directives::default();
        for (_, line) in self.prose() {
            if let Some(names) = directive(line, "setup") {
                found.setups.extend(names.split_whitespace().map(str::to_owned));
            }
            for pair in directive(line, "where").into_iter().flat_map(|pairs| pairs.split(';')) {
                let (from, to) = pair.split_once(" = ").expect("`where` has pairs A = B");
                found.replacements.push((from.trim().to_owned(), to.trim().to_owned()));
            }
        }
        // The longest first: `--tasks 1000` is also the beginning of `--tasks 10000`.
        found.replacements.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        found
    }

    /// What is run unseen: `<!-- then: COMMANDS -->`, for what a reader would do by hand.
    pub fn hidden(&self) -> Vec<Block> {
        let block = |(line, text): (usize, &str)| {
            let body = format!("{}\n", directive(text, "then")?);
            Some(Block { line, language: "sh".to_owned(), body, not_run: None, by_python: false })
        };
        self.prose().into_iter().filter_map(block).collect()
    }

    /// What stands between backticks in sentences, with its lines.
    pub fn inline_code(&self) -> Vec<(usize, &str)> {
        let mut found = Vec::new();
        for (at, text) in self.prose() {
            found.extend(text.split('`').skip(1).step_by(2).map(|code| (at, code)));
        }
        found
    }

    /// Targets of links and pictures, with their lines.
    pub fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (at, line) in self.prose() {
            let mut rest = without_code(line);
            while let Some(start) = rest.find("](") {
                rest = rest[start + 2..].to_owned();
                let Some(end) = rest.find(')') else { break };
                links.push((at, rest[..end].trim().to_owned()));
            }
        }
        links
    }

    /// The anchors of its headings, as GitHub and mdBook make them.
    pub fn anchors(&self) -> Vec<String> {
        let headings = self.prose().into_iter().filter_map(|(_, line)| {
            let text = line.trim_start_matches('#');
            (text.len() < line.len() && text.starts_with(' ')).then(|| anchor(text))
        });
        headings.collect()
    }
}

fn anchor(heading: &str) -> String {
    let letters = heading.trim().to_lowercase();
    let kept = letters.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The text of `<!-- NAME: TEXT -->`, where a line is that.
fn directive<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let inner = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?.trim();
    inner.strip_prefix(name)?.strip_prefix(':').map(str::trim)
}

/// A line without what stands between backticks, where a bracket is no link.
fn without_code(line: &str) -> String {
    let mut inside = false;
    line.chars()
        .filter(|&c| {
            if c == '`' {
                inside = !inside;
            }
            !inside && c != '`'
        })
        .collect()
}
