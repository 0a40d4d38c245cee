//! What all requests share: the pool, the session, and the latest fit.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use handful_label::session::{Event, Mark, Said};
use handful_label::{LabelEvidence, Session};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::error::StudioError;
use crate::fitting::{self, Fit};
use crate::map::Map;
use crate::pool::StudioPool;
use crate::thumbnails::Thumbnails;

/// A pool that is being labelled.
pub struct Studio {
    pub(crate) pool: StudioPool,
    pub(crate) max_error: f64,
    pub(crate) thumbnails: Thumbnails,
    pub(crate) map: Map,
    session: Mutex<Session>,
    changed: Condvar,
    closed: AtomicBool,
    fit: RwLock<Arc<Fit>>,
    notices: watch::Sender<Notice>,
    pub(crate) fits: AtomicU64,
    /// What labels left out said at the latest full fit, and its number of classes.
    pub(crate) evidence: Mutex<Option<(usize, LabelEvidence)>>,
    /// Held by the full fit that runs.
    pub(crate) full: Mutex<()>,
    /// Labels and accepted rows at every full fit.
    pub(crate) past: Mutex<Vec<(usize, usize)>>,
}

/// What every open page is told: there is something new to fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// Events of the session.
    pub events: usize,
    /// Number of the latest fit.
    pub fit: u64,
    /// Version of the map.
    pub map: u64,
}

/// The labels as a fit takes them: what `handful label` makes of the same labels in a file.
pub struct Labels {
    pub events: usize,
    /// Names of the classes that have a label, sorted, and their numbers in the session.
    pub names: Vec<String>,
    pub classes: Vec<usize>,
    /// Row and place of its class among the names, by row.
    pub of_rows: Vec<(usize, usize)>,
    pub discarded: Vec<usize>,
}

impl Labels {
    /// Whether somebody has said something about a row.
    pub fn is_marked(&self, row: usize) -> bool {
        self.of_rows.binary_search_by_key(&row, |&(row, _)| row).is_ok()
            || self.discarded.binary_search(&row).is_ok()
    }
}

impl Studio {
    /// Opens the session of a pool and starts to fit.
    ///
    /// # Errors
    /// [`StudioError::Machine`] where no thread can be started, [`StudioError::Label`] where the pool has no map.
    pub fn new(pool: StudioPool, session: Session, max_error: f64) -> Result<Arc<Self>, StudioError> {
        let none = Fit {
            number: 0,
            events: 0,
            full: false,
            learnt: None,
            error: None,
            queue: Vec::new(),
            forecast: None,
        };
        let studio = Arc::new(Self {
            thumbnails: Thumbnails::new(pool.rows()),
            map: Map::new(&pool)?,
            pool,
            max_error,
            session: Mutex::new(session),
            changed: Condvar::new(),
            closed: AtomicBool::new(false),
            fit: RwLock::new(Arc::new(none)),
            notices: watch::Sender::default(),
            fits: AtomicU64::new(0),
            evidence: Mutex::default(),
            full: Mutex::default(),
            past: Mutex::default(),
        });
        fitting::start(&studio)?;
        crate::thumbnails::start(&studio)?;
        Ok(studio)
    }

    /// The session, whatever became of a thread that held it: its log is never half changed.
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the threads of the studio.
    pub fn close(&self) {
        let _held = self.session();
        self.closed.store(true, std::sync::atomic::Ordering::Relaxed);
        self.changed.notify_all();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Takes an answer. It is on the disk when this returns.
    ///
    /// # Errors
    /// [`StudioError::Session`].
    pub fn record(&self, event: Event) -> Result<(), StudioError> {
        let mut session = self.session();
        session.record(event)?;
        let events = session.events();
        drop(session);
        self.changed.notify_all();
        self.notices.send_modify(|notice| notice.events = events);
        Ok(())
    }

    /// Ids of rows by their numbers.
    ///
    /// # Errors
    /// [`StudioError::NoRow`].
    pub fn ids(&self, rows: &[usize]) -> Result<Vec<String>, StudioError> {
        let id = |&row: &usize| {
            self.pool.ids.get(row).cloned().ok_or(StudioError::NoRow { row, rows: self.pool.rows() })
        };
        rows.iter().map(id).collect()
    }

    /// The number of the class of that name.
    pub fn class_named(&self, name: &str) -> Option<usize> {
        self.session().classes().find(|(_, other)| *other == name).map(|(class, _)| class)
    }

    /// What is said about a row, by id.
    pub fn mark(&self, id: &str) -> Option<Mark> {
        self.session().marks().get(id).copied()
    }

    /// Everything that was said about a row.
    pub fn history(&self, id: &str) -> Vec<Said> {
        self.session().history(id)
    }

    /// The name of a class.
    pub fn class_name(&self, class: usize) -> Option<String> {
        self.session().class_name(class).map(str::to_owned)
    }

    /// The session's log.
    pub(crate) fn log(&self) -> std::path::PathBuf {
        self.session().path().to_owned()
    }

    /// Events of the session.
    pub fn events(&self) -> usize {
        self.session().events()
    }

    /// The labels as they are.
    pub(crate) fn labels(&self) -> Labels {
        labels_of(&self.session(), &self.pool)
    }

    /// The labels once there are others than those after `seen` events; `None` when the studio closes.
    pub(crate) fn labels_after(&self, seen: Option<usize>) -> Option<Labels> {
        let mut session = self.session();
        while !self.is_closed() && seen == Some(session.events()) {
            session = self.changed.wait(session).unwrap_or_else(PoisonError::into_inner);
        }
        (!self.is_closed()).then(|| labels_of(&session, &self.pool))
    }

    /// The latest fit.
    pub(crate) fn fit(&self) -> Arc<Fit> {
        Arc::clone(&self.fit.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows a fit to every page, unless a later one is there.
    pub(crate) fn publish(&self, mut fit: Fit) -> Arc<Fit> {
        let mut current = self.fit.write().unwrap_or_else(PoisonError::into_inner);
        fit.number = fitting::next_number(self);
        let overtaken = fit.events < current.events || (fit.events == current.events && current.full);
        let number = fit.number;
        let fit = Arc::new(fit);
        if !overtaken {
            *current = Arc::clone(&fit);
            drop(current);
            self.notices.send_modify(|notice| notice.fit = number);
        }
        fit
    }

    /// Lines up the rows to ask about after as many events.
    pub(crate) fn publish_queue(&self, events: usize, queue: Vec<usize>) {
        let mut current = self.fit.write().unwrap_or_else(PoisonError::into_inner);
        if current.events != events {
            return;
        }
        let number = fitting::next_number(self);
        *current = Arc::new(Fit {
            number,
            events,
            full: current.full,
            learnt: current.learnt.clone(),
            error: current.error.clone(),
            queue,
            forecast: current.forecast,
        });
        drop(current);
        self.notices.send_modify(|notice| notice.fit = number);
    }

    /// Tells every page of a new version of the map.
    pub(crate) fn tell_of_map(&self, version: u64) {
        self.notices.send_modify(|notice| notice.map = version);
    }

    /// What is new, as it comes.
    pub(crate) fn notices(&self) -> watch::Receiver<Notice> {
        self.notices.subscribe()
    }

    /// The session as the page shows it: classes with counts, and a class (or -1 where it is discarded) for each row that
    /// something is said about.
    pub(crate) fn state(&self) -> Value {
        let session = self.session();
        let mut counts = vec![0usize; session.classes().map(|(class, _)| class + 1).max().unwrap_or(0)];
        let mut rows = Vec::new();
        let mut missing = 0;
        for (id, mark) in session.marks() {
            let Some(row) = self.pool.row_of_id(id) else {
                missing += 1;
                continue;
            };
            match *mark {
                Mark::Class(class) => {
                    counts[class] += 1;
                    rows.push((row, class as i64));
                }
                Mark::Discarded => rows.push((row, -1)),
            }
        }
        let classes: Vec<Value> = session
            .classes()
            .map(|(class, name)| json!({"id": class, "name": name, "count": counts[class]}))
            .collect();
        let (undo, redo) = session.can_undo_redo();
        json!({
            "events": session.events(), "classes": classes, "marks": rows, "missing": missing,
            "undo": undo, "redo": redo,
        })
    }
}

fn labels_of(session: &Session, pool: &StudioPool) -> Labels {
    let mut given = Vec::new();
    let mut discarded = Vec::new();
    for (id, mark) in session.marks() {
        match (pool.row_of_id(id), *mark) {
            (Some(row), Mark::Class(class)) => given.push((row, class)),
            (Some(row), Mark::Discarded) => discarded.push(row),
            (None, _) => {}
        }
    }
    discarded.sort_unstable();
    given.sort_unstable();
    let mut named: Vec<(String, usize)> =
        session.classes().map(|(class, name)| (name.to_owned(), class)).collect();
    let mut used = vec![false; named.iter().map(|(_, class)| class + 1).max().unwrap_or(0)];
    given.iter().for_each(|&(_, class)| used[class] = true);
    named.retain(|&(_, class)| used[class]);
    named.sort();
    let mut place = vec![0; used.len()];
    named.iter().enumerate().for_each(|(at, &(_, class))| place[class] = at);
    let (names, classes) = named.into_iter().unzip();
    let of_rows = given.into_iter().map(|(row, class)| (row, place[class])).collect();
    Labels { events: session.events(), names, classes, of_rows, discarded }
}
