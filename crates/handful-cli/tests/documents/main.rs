//! The documentation is held to the program: every shell block of the README and the book runs, every link leads somewhere,
//! and the pages that are made from the program are those it would make now.
#![cfg(all(unix, feature = "vision", feature = "studio"))]

#[path = "../support/mod.rs"]
mod support;

mod datasets;
mod generated;
mod links;
mod markdown;
mod setup;
mod shell;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Blocks that no test can run: a network, another program, hours. Every one has its reason above it; the number is here so
/// that one more is a decision.
const MOST_LEFT_OUT: usize = 29;

#[test]
fn every_shell_block_runs() {
    let pages: Vec<_> = markdown::pages().into_iter().filter(markdown::Page::is_run).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let programs = shell::programs(folder.path());
    let only = std::env::var("HANDFUL_PAGE").ok();
    let (next, reports) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if only.as_ref().is_none_or(|part| page.path.to_string_lossy().contains(part)) {
                        let report = shell::run(page, &programs);
                        reports.lock().expect("no panic").push(report);
                    }
                }
            });
        }
    });
    let reports = reports.into_inner().expect("no panic");
    let mut left_out: Vec<_> = reports.iter().flat_map(|report| &report.left_out).collect();
    left_out.sort();
    println!(
        "{} blocks run, {} left out:",
        reports.iter().map(|report| report.run).sum::<usize>(),
        left_out.len()
    );
    for (place, reason) in &left_out {
        println!("  {place}: {reason}");
    }
    let failed: Vec<_> = reports.iter().flat_map(|report| &report.failed).map(String::as_str).collect();
    assert!(failed.is_empty(), "{} blocks fail\n\n{}", failed.len(), failed.join("\n"));
    assert!(left_out.len() <= MOST_LEFT_OUT, "{} blocks are not run", left_out.len());
}

#[test]
fn commands_are_fenced_so_that_they_are_run() {
    let mut indented = Vec::new();
    for page in markdown::pages().iter().filter(|page| page.is_run()) {
        let prose = page.prose();
        for pair in prose.windows(2) {
            if pair[0].1.trim().is_empty() && pair[1].1.starts_with("    ") && !in_list(&prose, pair[1].0) {
                indented.push(format!("{}:{}", page.path.display(), pair[1].0));
            }
        }
    }
    assert!(indented.is_empty(), "indented code is not run; fence it: {indented:?}");
}

/// Whether an indented line goes on with an item of a list.
fn in_list(prose: &[(usize, &str)], line: usize) -> bool {
    let above = prose.iter().rev().filter(|(at, text)| *at < line && !text.trim().is_empty());
    let mut outer = above.map(|(_, text)| *text).skip_while(|text| text.starts_with(' '));
    outer
        .next()
        .is_some_and(|text| text.starts_with(['-', '*']) || text.starts_with(|c: char| c.is_ascii_digit()))
}

#[test]
fn links_lead_somewhere() {
    let pages = markdown::pages();
    let broken: Vec<String> = pages.iter().flat_map(|page| links::broken(page, &pages)).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(pages.len() > 20, "pages are looked for in the wrong place");
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    let pages = markdown::pages();
    let summary = pages.iter().find(|page| page.path.ends_with("docs/src/SUMMARY.md")).expect("a summary");
    let listed: Vec<_> = summary
        .links()
        .into_iter()
        .map(|(_, path)| links::plain(&std::path::Path::new("docs/src").join(path)))
        .collect();
    for page in pages.iter().filter(|page| page.path.starts_with("docs/src") && page.path != summary.path) {
        assert!(listed.contains(&page.path), "{} is not in the summary", page.path.display());
    }
}

/// Options of other programs that the pages name: cargo's, and those of the scripts in `benches`.
const OPTIONS_OF_OTHERS: [&str; 8] = [
    "--draws",
    "--features",
    "--jobs",
    "--members",
    "--no-default-features",
    "--profile",
    "--release",
    "--timings",
];

#[test]
fn options_named_in_sentences_exist() {
    let known = generated::commands();
    let mut unknown = Vec::new();
    for page in markdown::pages().iter().filter(|page| page.is_run()) {
        for (line, code) in page.inline_code() {
            let options = code.split(|c: char| !(c.is_ascii_lowercase() || c == '-'));
            for option in options.filter(|word| word.starts_with("--") && word.len() > 3) {
                let there = known.split_whitespace().any(|word| word.trim_end_matches(',') == option);
                if !there && !OPTIONS_OF_OTHERS.contains(&option) {
                    unknown.push(format!("{}:{line}: {option}", page.path.display()));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "no command has these options: {unknown:#?}");
}

#[test]
fn pages_made_from_the_program_are_as_it_would_make_them() {
    let stale = generated::stale();
    assert!(stale.is_empty(), "{stale:?} differ from the program: run `cargo xtask book`");
}
