//! Runs the shell blocks of a page in one folder, as a reader would who types them one after the other.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::markdown::{Block, Page};
use crate::setup;

/// What became of the blocks of a page.
#[derive(Default)]
pub struct Report {
    pub run: usize,
    /// Blocks that were not run: where, and why.
    pub left_out: Vec<(String, String)>,
    /// Blocks that failed: where, and what they said.
    pub failed: Vec<String>,
}

/// What stands in for `handful`: a server is stopped as soon as it says where it listens, and opens no browser.
const WRAPPER: &str = r#"#!/usr/bin/env bash
case "${1:-}" in
studio | serve)
    more=(); [ "$1" = studio ] && more=(--no-open) || [[ "$*" = *--port* ]] || more=(--port 0)
    "$HANDFUL_BUILT" "$@" "${more[@]}" > .address 2> .notes & server=$!
    for _ in $(seq 600); do
        grep -q '^http' .address && { kill $server; wait $server 2>/dev/null; exit 0; }
        kill -0 $server 2>/dev/null || { cat .notes >&2; exit 1; }
        sleep 0.1
    done
    kill $server; echo "no address after a minute" >&2; exit 1 ;;
esac
exec "$HANDFUL_BUILT" "$@"
"#;

/// `fill-in FILE`: fills the column `label` as a person would, from `truth.csv`.
const FILL_IN: &str = r#"#!/usr/bin/env bash
awk -F, -v OFS=, '
    FNR == NR { truth[$1] = $2; next }
    FNR == 1 { for (at = 1; at <= NF; at++) if ($at == "label") column = at }
    FNR > 1 { $column = truth[$1] }
    { print }' truth.csv "$1" > "$1.filled" && mv "$1.filled" "$1"
"#;

/// Runs every shell block of a page; `then` comments are run between them, unseen by readers.
pub fn run(page: &Page, programs: &Path) -> Report {
    let mut report = Report::default();
    let directives = page.directives();
    let folder = tempfile::tempdir().expect("a folder");
    for name in &directives.setups {
        setup::put(name, folder.path());
    }
    for block in blocks(page) {
        let place = format!("{}:{}", page.path.display(), block.line);
        if let Some(reason) = block.not_run {
            report.left_out.push((place, reason));
            continue;
        }
        let mut script = script(&block);
        for (from, to) in &directives.replacements {
            script = script.replace(from.as_str(), to);
        }
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &script])
            .current_dir(folder.path())
            .env("PATH", path_with(programs))
            .env("HANDFUL_BUILT", env!("CARGO_BIN_EXE_handful"))
            // The program that scripts of `benches` run.
            .env("HANDFUL", "handful")
            .env("REPOSITORY", crate::markdown::root())
            .env("HANDFUL_WEIGHTS", folder.path().join(".weights"))
            .env("XDG_CACHE_HOME", folder.path().join(".cache"))
            .env("XDG_CONFIG_HOME", folder.path().join(".config"))
            .env_remove("VIRTUAL_ENV")
            .env_remove("CONDA_PREFIX")
            .output()
            .expect("bash runs");
        report.run += 1;
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let shown: Vec<&str> = if block.language == "console" { shown(&block) } else { Vec::new() };
        let refused = shown.iter().any(|line| line.starts_with("handful: "));
        let missing = shown.iter().find(|line| !said.contains(*line));
        if output.status.success() == refused || missing.is_some() {
            report
                .failed
                .push(format!("{place}: {}, {missing:?} not printed\n{script}{said}", output.status));
            // What follows rests on what this block should have made.
            break;
        }
    }
    report
}

/// Shell blocks of a page and what is run unseen between them, in order.
fn blocks(page: &Page) -> Vec<Block> {
    let mut all: Vec<Block> = page
        .blocks()
        .into_iter()
        .filter(|block| ["sh", "console"].contains(&block.language.as_str()) && !block.by_python)
        .collect();
    all.extend(page.hidden());
    all.sort_by_key(|block| block.line);
    all
}

/// The commands of a block: of a console those after `$`.
fn script(block: &Block) -> String {
    if block.language != "console" {
        return block.body.clone();
    }
    let commands = block.body.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.map(|line| format!("{line}\n")).collect()
}

/// What a console shows; a line that begins with `handful: ` is an error that the command must end with.
fn shown(block: &Block) -> Vec<&str> {
    block.body.lines().filter(|line| !line.starts_with("$ ") && !line.is_empty()).collect()
}

/// A folder with the programs that blocks find first.
pub fn programs(folder: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    for (name, text) in [("handful", WRAPPER), ("fill-in", FILL_IN)] {
        let path = bin.join(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    }
    bin
}

fn path_with(programs: &Path) -> std::ffi::OsString {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&rest));
    std::env::join_paths(folders).expect("no colon in a folder's name")
}
