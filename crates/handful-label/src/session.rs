//! A labelling session that survives a kill: an append-only log of what people said about rows.
//!
//! One JSON object a line. Every event is on the disk before it counts, nothing is ever rewritten, and any state is the
//! replay of a prefix of the log; undo and redo are events like the others. A kill in the middle of a write leaves a last
//! line without its end, which was never acknowledged and is cut off when the log is opened again.
//!
//! Rows are named by their ids, not by their numbers: a pool may grow between two sittings.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Version of the log's format.
const VERSION: u32 = 1;
/// The most classes of a session; beyond this it is a program that made them.
pub const MOST_CLASSES: usize = 1000;
/// The most bytes of a class name.
const LONGEST_NAME: usize = 200;

/// What somebody said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// There is a class of this name, and these rows (none, often) are of it. Its number is the next free one.
    NewClass {
        /// The name.
        name: String,
        /// Rows of it.
        rows: Vec<String>,
    },
    /// A class has another name.
    Rename {
        /// Its number.
        class: usize,
        /// The new name.
        name: String,
    },
    /// Two classes are one.
    Merge {
        /// The class that goes.
        from: usize,
        /// The class that its rows go to.
        into: usize,
    },
    /// Rows are of a class.
    Label {
        /// The rows.
        rows: Vec<String>,
        /// The class.
        class: usize,
    },
    /// Nothing is said about rows any more.
    Unlabel {
        /// The rows.
        rows: Vec<String>,
    },
    /// Rows are of no class and are not asked about.
    Discard {
        /// The rows.
        rows: Vec<String>,
    },
    /// The last event that is not undone is.
    Undo,
    /// The last undone event is not.
    Redo,
}

/// What is said about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is of the class.
    Class(usize),
    /// It is of none.
    Discarded,
}

/// Why a session could not be opened or an event was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The log could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The log.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Somebody else has the log open.
    #[error("{}: another studio has this session open", path.display())]
    Locked {
        /// The log.
        path: PathBuf,
    },
    /// A line that is no event, or one that does not follow from those before it.
    #[error("{}, line {line}: {reason}", path.display())]
    Line {
        /// The log.
        path: PathBuf,
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// A class that does not exist.
    #[error("there is no class {class}")]
    NoClass {
        /// Its number.
        class: usize,
    },
    /// A name that another class has.
    #[error("there is a class `{name}` already")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A name that cannot be one.
    #[error(
        "a class name has 1 to {LONGEST_NAME} bytes, none of them control characters or blanks at the ends"
    )]
    BadName,
    /// More classes than people make.
    #[error("there are {MOST_CLASSES} classes already")]
    TooManyClasses,
    /// A class cannot be merged into itself.
    #[error("a class cannot be merged into itself")]
    MergeIntoItself,
    /// Nothing was done yet, or everything is undone.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// Nothing is undone.
    #[error("there is nothing to redo")]
    NothingToRedo,
}

/// One thing that an event changed; forwards it is done, backwards undone.
#[derive(Clone, Debug)]
enum Change {
    Class { class: usize, before: Option<String>, after: Option<String> },
    Mark { id: String, before: Option<Mark>, after: Option<Mark> },
}

impl Change {
    fn reversed(self) -> Self {
        match self {
            Self::Class { class, before, after } => Self::Class { class, before: after, after: before },
            Self::Mark { id, before, after } => Self::Mark { id, before: after, after: before },
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    handful_session: u32,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    /// Milliseconds since 1970.
    at: u64,
    event: Event,
}

/// What was said about a row, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// Milliseconds since 1970.
    pub at: u64,
    /// What; nothing any more where it is `None`.
    pub mark: Option<Mark>,
}

/// A log of label events, and the state it comes to.
#[derive(Debug)]
pub struct Session {
    path: PathBuf,
    file: File,
    bytes: u64,
    cut: u64,
    classes: Vec<Option<String>>,
    marks: BTreeMap<String, Mark>,
    done: Vec<Vec<Change>>,
    undone: Vec<Vec<Change>>,
    history: Vec<(u64, Vec<Change>)>,
}

impl Session {
    /// Opens a log, or begins one.
    ///
    /// # Errors
    /// [`SessionError::File`], [`SessionError::Locked`], [`SessionError::Line`].
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        let failed = |source| SessionError::File { path: path.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            // A file system without locks, as some network drives are, is no reason to refuse the work.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => return Err(SessionError::Locked { path: path.to_owned() }),
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let mut session = Self {
            path: path.to_owned(),
            file,
            bytes: 0,
            cut: 0,
            classes: Vec::new(),
            marks: BTreeMap::new(),
            done: Vec::new(),
            undone: Vec::new(),
            history: Vec::new(),
        };
        session.replay(&text)?;
        session.cut = text.len() as u64 - session.bytes;
        session.file.set_len(session.bytes).map_err(failed)?;
        session.file.seek(SeekFrom::End(0)).map_err(failed)?;
        if session.bytes == 0 {
            let header = serde_json::to_vec(&Header { handful_session: VERSION });
            session.append(header.map_err(|error| failed(error.into()))?)?;
        }
        Ok(session)
    }

    fn replay(&mut self, text: &[u8]) -> Result<(), SessionError> {
        let mut lines = text.split_inclusive(|&byte| byte == b'\n').enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            let wrong = |reason: String| SessionError::Line { path: self.path.clone(), line: at + 1, reason };
            let last = lines.peek().is_none();
            if at == 0 {
                match serde_json::from_slice::<Header>(line) {
                    Ok(Header { handful_session: VERSION }) if line.ends_with(b"\n") => {}
                    // Torn while it was begun; anything else is not ours to cut.
                    _ if last && b"{\"handful_session\":1}\n".starts_with(line) => return Ok(()),
                    Ok(Header { handful_session }) => {
                        return Err(wrong(format!(
                            "version {handful_session} of a session; {VERSION} is known"
                        )));
                    }
                    Err(_) => return Err(wrong("it is not the log of a labelling session".to_owned())),
                }
            } else {
                let entry = match serde_json::from_slice::<Entry>(line) {
                    Ok(entry) if line.ends_with(b"\n") => entry,
                    // A kill cuts a line short, a power cut may leave zeros in it.
                    _ if last => return Ok(()),
                    Ok(_) => return Err(wrong("it does not end".to_owned())),
                    Err(error) => return Err(wrong(error.to_string())),
                };
                let step = self.step(&entry.event).map_err(|error| wrong(error.to_string()))?;
                self.take(entry.at, step);
            }
            self.bytes += line.len() as u64;
        }
        Ok(())
    }

    /// Takes an event: checked, written, synced to the disk, and only then part of the state.
    ///
    /// # Errors
    /// What is wrong with the event, or [`SessionError::File`]; the state is then as it was.
    pub fn record(&mut self, event: Event) -> Result<(), SessionError> {
        let step = self.step(&event)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let line = serde_json::to_vec(&Entry { at, event })
            .map_err(|error| SessionError::File { path: self.path.clone(), source: error.into() })?;
        self.append(line)?;
        self.take(at, step);
        Ok(())
    }

    fn append(&mut self, mut line: Vec<u8>) -> Result<(), SessionError> {
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // What is half written must not stand before the next event. Where even this fails, opening cuts it off.
            let _ = self.file.set_len(self.bytes).and_then(|()| self.file.seek(SeekFrom::End(0)).map(drop));
            return Err(SessionError::File { path: self.path.clone(), source });
        }
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// What an event would change.
    fn step(&self, event: &Event) -> Result<Step, SessionError> {
        let class =
            |class: usize| self.class_name(class).map(str::to_owned).ok_or(SessionError::NoClass { class });
        let mark = |id: &String, after: Option<Mark>| {
            let before = self.marks.get(id).copied();
            (before != after).then(|| Change::Mark { id: id.clone(), before, after })
        };
        let marks = |rows: &[String], after| rows.iter().filter_map(|id| mark(id, after)).collect::<Vec<_>>();
        Ok(Step::Do(match event {
            Event::NewClass { name, rows } => {
                self.check_name(name)?;
                if self.classes.len() >= MOST_CLASSES {
                    return Err(SessionError::TooManyClasses);
                }
                let class = self.classes.len();
                let mut changes = vec![Change::Class { class, before: None, after: Some(name.clone()) }];
                changes.extend(marks(rows, Some(Mark::Class(class))));
                changes
            }
            Event::Rename { class: number, name } => {
                let before = Some(class(*number)?);
                self.check_name(name)?;
                vec![Change::Class { class: *number, before, after: Some(name.clone()) }]
            }
            Event::Merge { from, into } => {
                let before = Some(class(*from)?);
                class(*into)?;
                if from == into {
                    return Err(SessionError::MergeIntoItself);
                }
                let moved = self.marks.iter().filter(|(_, mark)| **mark == Mark::Class(*from));
                let after = Some(Mark::Class(*into));
                let mut changes: Vec<Change> = moved.filter_map(|(id, _)| mark(id, after)).collect();
                changes.push(Change::Class { class: *from, before, after: None });
                changes
            }
            Event::Label { rows, class: number } => {
                class(*number)?;
                marks(rows, Some(Mark::Class(*number)))
            }
            Event::Unlabel { rows } => marks(rows, None),
            Event::Discard { rows } => marks(rows, Some(Mark::Discarded)),
            Event::Undo if self.done.is_empty() => return Err(SessionError::NothingToUndo),
            Event::Undo => return Ok(Step::Undo),
            Event::Redo if self.undone.is_empty() => return Err(SessionError::NothingToRedo),
            Event::Redo => return Ok(Step::Redo),
        }))
    }

    fn take(&mut self, at: u64, step: Step) {
        let changes = match step {
            Step::Do(changes) => {
                self.undone.clear();
                self.done.push(changes.clone());
                changes
            }
            Step::Undo => {
                let Some(changes) = self.done.pop() else { return };
                self.undone.push(changes.clone());
                changes.into_iter().rev().map(Change::reversed).collect()
            }
            Step::Redo => {
                let Some(changes) = self.undone.pop() else { return };
                self.done.push(changes.clone());
                changes
            }
        };
        for change in &changes {
            match change {
                Change::Class { class, after, .. } => {
                    if *class == self.classes.len() {
                        self.classes.push(None);
                    }
                    self.classes[*class].clone_from(after);
                }
                Change::Mark { id, after: Some(mark), .. } => drop(self.marks.insert(id.clone(), *mark)),
                Change::Mark { id, after: None, .. } => drop(self.marks.remove(id)),
            }
        }
        self.history.push((at, changes));
    }

    fn check_name(&self, name: &str) -> Result<(), SessionError> {
        let length = (1..=LONGEST_NAME).contains(&name.len());
        if !length || name.trim() != name || name.chars().any(char::is_control) {
            return Err(SessionError::BadName);
        }
        if self.classes().any(|(_, other)| other == name) {
            return Err(SessionError::NameTaken { name: name.to_owned() });
        }
        Ok(())
    }

    /// The log's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of an unfinished event that were cut off when the log was opened.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Events of the log.
    pub fn events(&self) -> usize {
        self.history.len()
    }

    /// Number and name of every class that is there.
    pub fn classes(&self) -> impl Iterator<Item = (usize, &str)> {
        self.classes.iter().enumerate().filter_map(|(class, name)| Some((class, name.as_deref()?)))
    }

    /// The name of a class that is there.
    pub fn class_name(&self, class: usize) -> Option<&str> {
        self.classes.get(class)?.as_deref()
    }

    /// What is said about each row, by id.
    pub fn marks(&self) -> &BTreeMap<String, Mark> {
        &self.marks
    }

    /// Whether something can be undone, and redone.
    pub fn can_undo_redo(&self) -> (bool, bool) {
        (!self.done.is_empty(), !self.undone.is_empty())
    }

    /// Everything that was said about a row, the first first.
    pub fn history(&self, id: &str) -> Vec<Said> {
        let said = |(at, changes): &(u64, Vec<Change>)| {
            changes.iter().rev().find_map(|change| match change {
                Change::Mark { id: of, after, .. } if of == id => Some(Said { at: *at, mark: *after }),
                _ => None,
            })
        };
        self.history.iter().filter_map(said).collect()
    }
}

enum Step {
    Do(Vec<Change>),
    Undo,
    Redo,
}

#[cfg(test)]
mod tests;
