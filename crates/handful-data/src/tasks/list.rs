//! Task lists: tasks as lines of JSON that any program can make or read.
//!
//! They are how two tools are compared on identical tasks, so a list from elsewhere is believed in nothing: every
//! row is checked against the table before a method sees it.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::episode::Episode;
use crate::{error::DataError, table::FeatureTable};

/// The version of the format that is written, and the only one that is read.
pub const TASK_LIST_VERSION: u32 = 1;

/// No honest line is longer: it would name more than ten million rows.
const LONGEST_LINE: u64 = 128 << 20;

#[derive(Serialize, Deserialize)]
struct Header {
    handful_tasks: u32,
    rows: usize,
    dim: usize,
}

/// Writes a task list for a table of `rows` rows and `dim` columns: one header line, then one line per task.
pub fn write_task_list(
    mut out: impl Write,
    rows: usize,
    dim: usize,
    episodes: impl IntoIterator<Item = Episode>,
) -> std::io::Result<()> {
    serde_json::to_writer(&mut out, &Header { handful_tasks: TASK_LIST_VERSION, rows, dim })?;
    out.write_all(b"\n")?;
    for episode in episodes {
        serde_json::to_writer(&mut out, &episode)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Reads a task list and checks every row of every task against the table it is for.
pub fn read_task_list(path: &Path, table: &FeatureTable) -> Result<Vec<Episode>, DataError> {
    let file = std::fs::File::open(path).map_err(|error| DataError::io(path, error))?;
    parse_task_list(path, BufReader::new(file), table)
}

/// Reads a task list from anywhere; `path` is only used in messages.
pub fn parse_task_list(
    path: &Path,
    reader: impl BufRead,
    table: &FeatureTable,
) -> Result<Vec<Episode>, DataError> {
    let mut lines = Lines { path, reader, number: 0 };
    let header = lines.next_line()?.ok_or_else(|| DataError::line(path, 1, "the task list is empty"))?;
    let header: Header =
        parse(path, 1, &header, "the first line must be {\"handful_tasks\":1,\"rows\":…,\"dim\":…}")?;
    if header.handful_tasks != TASK_LIST_VERSION {
        let reason = format!("version {} is not known; this program reads version 1", header.handful_tasks);
        return Err(DataError::line(path, 1, reason));
    }
    if (header.rows, header.dim) != (table.rows(), table.dim()) {
        let reason = format!(
            "the list is for a table of {} rows and {} columns, but {} has {} rows and {} columns",
            header.rows,
            header.dim,
            table.path().display(),
            table.rows(),
            table.dim()
        );
        return Err(DataError::line(path, 1, reason));
    }
    let mut episodes = Vec::new();
    while let Some(line) = lines.next_line()? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let episode: Episode = parse(path, lines.number, &line, "not a task")?;
        check(&episode, table).map_err(|reason| DataError::line(path, lines.number, reason))?;
        episodes.push(episode);
    }
    if episodes.is_empty() {
        return Err(DataError::content(path, "the list holds no task"));
    }
    Ok(episodes)
}

fn parse<'a, T: Deserialize<'a>>(
    path: &Path,
    number: usize,
    line: &'a [u8],
    what: &str,
) -> Result<T, DataError> {
    serde_json::from_slice(line).map_err(|error| DataError::line(path, number, format!("{what} ({error})")))
}

/// Says what is wrong with a task, if anything is.
fn check(episode: &Episode, table: &FeatureTable) -> Result<(), String> {
    let ways = episode.classes.len();
    if ways < 2 {
        return Err(format!("the task has {ways} classes; at least 2 are needed"));
    }
    for (name, lists) in
        [("support", &episode.support), ("query", &episode.query), ("unlabeled", &episode.unlabeled)]
    {
        // A pool of no lists is how a transductive task is written.
        if lists.len() != ways && !(name == "unlabeled" && lists.is_empty()) {
            return Err(format!("`{name}` has {} lists for {ways} classes", lists.len()));
        }
    }
    let mut classes = BTreeSet::new();
    for (way, &class) in episode.classes.iter().enumerate() {
        if class >= table.class_count() {
            return Err(format!(
                "class {class} is not in the table, which has {} classes",
                table.class_count()
            ));
        }
        if !classes.insert(class) {
            return Err(format!("class {class} is named twice"));
        }
        if episode.support[way].is_empty() {
            return Err(format!("class {class} has no support row"));
        }
    }
    let mut used = BTreeSet::new();
    for (name, lists) in
        [("support", &episode.support), ("unlabeled", &episode.unlabeled), ("query", &episode.query)]
    {
        for (&class, rows) in episode.classes.iter().zip(lists) {
            for &row in rows {
                check_row(name, row, table)?;
                if table.class_of_row(row) != Some(class) {
                    return Err(format!("`{name}` row {row} is not of class {class}"));
                }
                if !used.insert(row) {
                    return Err(format!(
                        "`{name}` row {row} is used twice; support, unlabeled and query must not overlap"
                    ));
                }
            }
        }
    }
    for (name, rows) in [("distractors", &episode.distractors), ("open_query", &episode.open_query)] {
        for &row in rows {
            check_row(name, row, table)?;
            if table.class_of_row(row).is_some_and(|class| classes.contains(&class)) {
                return Err(format!("`{name}` row {row} is of a class of the task"));
            }
            if !used.insert(row) {
                return Err(format!("`{name}` row {row} is used twice"));
            }
        }
    }
    if episode.query.iter().all(Vec::is_empty) && episode.unlabeled.iter().all(Vec::is_empty) {
        return Err("the task has neither queries nor an unlabelled pool".to_owned());
    }
    Ok(())
}

fn check_row(name: &str, row: usize, table: &FeatureTable) -> Result<(), String> {
    if row < table.rows() {
        Ok(())
    } else {
        Err(format!("`{name}` row {row} is beyond the table, which has {} rows", table.rows()))
    }
}

struct Lines<'a, R> {
    path: &'a Path,
    reader: R,
    number: usize,
}

impl<R: BufRead> Lines<'_, R> {
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, DataError> {
        let mut line = Vec::new();
        self.number += 1;
        let length = (&mut self.reader)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
            .map_err(|error| DataError::io(self.path, error))?;
        if length as u64 == LONGEST_LINE {
            return Err(DataError::line(self.path, self.number, "the line is longer than 128 MiB"));
        }
        Ok((length > 0).then_some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EpisodeSampler, EpisodeSpec, synthetic::SyntheticSpec};

    fn table() -> FeatureTable {
        SyntheticSpec { classes: 4, rows_per_class: 5, dim: 3, ..SyntheticSpec::default() }.table().unwrap()
    }

    fn read(text: &str) -> Result<Vec<Episode>, DataError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks.jsonl");
        std::fs::write(&path, text).unwrap();
        read_task_list(&path, &table())
    }

    #[test]
    fn what_is_written_is_read_back() {
        for unlabeled in [0, 2] {
            let spec = EpisodeSpec {
                ways: 2,
                shots: 1,
                queries: 2,
                unlabeled,
                open_classes: 1,
                open_rows: 1,
                ..EpisodeSpec::default()
            };
            let spec = if unlabeled > 0 {
                EpisodeSpec { distractor_classes: 1, distractor_rows: 3, ..spec }
            } else {
                spec
            };
            let sampler = EpisodeSampler::new(&table(), spec, 3).unwrap();
            let episodes: Vec<Episode> = (0..20).map(|index| sampler.episode(index)).collect();
            let mut text = Vec::new();
            write_task_list(&mut text, 20, 3, episodes.clone()).unwrap();
            assert_eq!(read(std::str::from_utf8(&text).unwrap()).unwrap(), episodes);
        }
    }

    #[test]
    fn every_kind_of_wrong_line_is_named() {
        let header = "{\"handful_tasks\":1,\"rows\":20,\"dim\":3}\n";
        let cases = [
            ("".to_owned(), "line 1: the task list is empty"),
            ("{}\n".to_owned(), "line 1: the first line must be"),
            ("{\"handful_tasks\":2,\"rows\":20,\"dim\":3}\n".to_owned(), "line 1: version 2"),
            (
                "{\"handful_tasks\":1,\"rows\":21,\"dim\":3}\n".to_owned(),
                "line 1: the list is for a table of 21 rows",
            ),
            (header.to_owned(), "the list holds no task"),
            (format!("{header}\n{{\"classes\":[0"), "line 3: not a task"),
            (
                format!("{header}{{\"classes\":[0],\"support\":[[0]],\"query\":[[1]]}}"),
                "line 2: the task has 1 classes",
            ),
            (
                format!("{header}{{\"classes\":[0,1],\"support\":[[0]],\"query\":[[1],[6]]}}"),
                "`support` has 1 lists",
            ),
            (
                format!("{header}{{\"classes\":[0,9],\"support\":[[0],[5]],\"query\":[[1],[6]]}}"),
                "class 9 is not in",
            ),
            (
                format!("{header}{{\"classes\":[0,0],\"support\":[[0],[2]],\"query\":[[1],[3]]}}"),
                "class 0 is named twice",
            ),
            (
                format!("{header}{{\"classes\":[0,1],\"support\":[[0],[]],\"query\":[[1],[6]]}}"),
                "class 1 has no support",
            ),
            (
                format!("{header}{{\"classes\":[0,1],\"support\":[[0],[5]],\"query\":[[1],[60]]}}"),
                "row 60 is beyond",
            ),
            (
                format!("{header}{{\"classes\":[0,1],\"support\":[[0],[5]],\"query\":[[1],[11]]}}"),
                "row 11 is not of class 1",
            ),
            (
                format!("{header}{{\"classes\":[0,1],\"support\":[[0],[5]],\"query\":[[0],[6]]}}"),
                "row 0 is used twice",
            ),
            (
                format!("{header}{{\"classes\":[0,1],\"support\":[[0],[5]],\"query\":[[],[]]}}"),
                "neither queries nor",
            ),
            (
                format!("{header}{{\"classes\":[0,1],\"support\":[[0],[-5]],\"query\":[[],[]]}}"),
                "line 2: not a task",
            ),
            (
                format!(
                    "{header}{{\"classes\":[0,1],\"support\":[[0],[5]],\"query\":[[1],[6]],\"open_query\":[7]}}"
                ),
                "`open_query` row 7 is of a class of the task",
            ),
        ];
        for (text, expected) in cases {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "expected `{expected}` in `{error}`");
        }
    }
}
