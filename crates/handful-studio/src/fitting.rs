//! What the pool looks like after an answer: at once by the quick rule, then by the full one.
//!
//! Two threads. The quick one follows every answer and also finds the rows to ask about next. The full one starts when
//! nobody has answered for a moment, on half of the cores, so that the next answer does not wait for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use handful_label::{Acceptance, LabelError, LabelEvidence, LabelFit, LabelModel, Labelling, Promise};

use crate::error::StudioError;
use crate::forecast::{Forecast, forecast};
use crate::pool::StudioPool;
use crate::studio::{Labels, Studio};

/// Share of labelled rows that may look as strange as an unknown row, as in `handful label --reject`.
const REJECT_MISS: f64 = 0.05;
/// Rows that are lined up to be asked about.
const QUEUE: usize = 24;
/// The most rows that are fitted by all members while somebody waits; of more, one member does until they have time.
const REFITTED_ROWS: usize = 5000;
/// Quiet after which the full rule starts.
const QUIET: Duration = Duration::from_millis(600);

/// A fitted pool.
pub struct Fit {
    /// Counts the fits of this run.
    pub number: u64,
    /// Events of the session that it has seen.
    pub events: usize,
    /// Whether it comes from the full rule; its calibration is an earlier one's, or none, otherwise.
    pub full: bool,
    /// What was learnt, once there are labels of two classes.
    pub learnt: Option<Arc<Learnt>>,
    /// Why nothing new was.
    pub error: Option<String>,
    /// Rows to ask about, the most useful first.
    pub queue: Vec<usize>,
    /// How many more labels it may take.
    pub forecast: Option<Forecast>,
}

/// What the labels taught.
pub struct Learnt {
    /// Names of the classes, and their numbers in the session, in the fit's order.
    pub names: Vec<String>,
    pub classes: Vec<usize>,
    pub labelling: Labelling,
    pub model: LabelModel,
    pub unknown: Vec<bool>,
    pub acceptance: Acceptance,
    pub evidence: Option<LabelEvidence>,
}

impl Learnt {
    fn new(fit: LabelFit, labels: &Labels, max_error: f64, network: Option<String>) -> Self {
        let rows = fit.labelling.rows.len();
        let mut unknown = fit.labelling.reject(REJECT_MISS).unwrap_or_else(|| vec![false; rows]);
        labels.discarded.iter().for_each(|&row| unknown[row] = false);
        let may: Vec<bool> = (0..rows).map(|row| !unknown[row]).collect();
        let mut acceptance = fit.labelling.accept(max_error, Promise::HighProbability, &may);
        for &row in &labels.discarded {
            acceptance.count -= usize::from(acceptance.accepted[row] && !fit.labelling.rows[row].given);
            acceptance.accepted[row] = false;
        }
        Self {
            names: labels.names.clone(),
            classes: labels.classes.clone(),
            unknown,
            acceptance,
            labelling: fit.labelling,
            model: fit.model.with_classes(&labels.names).with_network(network),
            evidence: fit.evidence,
        }
    }
}

/// Starts both threads; they end with the studio.
pub fn start(studio: &Arc<Studio>) -> Result<(), StudioError> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let background = rayon::ThreadPoolBuilder::new()
        .num_threads((cores / 2).max(1))
        .build()
        .map_err(|error| StudioError::Machine(format!("cannot start threads: {error}")))?;
    let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
        let started = thread::Builder::new().name(name.to_owned()).spawn(work);
        started.map(drop).map_err(|error| StudioError::Machine(format!("cannot start a thread: {error}")))
    };
    let quick = Arc::clone(studio);
    spawn("quick-fit", Box::new(move || follow(&quick, quick_fit)))?;
    let full = Arc::clone(studio);
    spawn(
        "full-fit",
        Box::new(move || {
            follow(&full, |studio, labels| {
                thread::sleep(QUIET);
                if studio.events() == labels.events {
                    // What it failed with, the quick fit has said.
                    let _ = background.install(|| full_fit(studio));
                }
            });
        }),
    )
}

/// Calls `work` for the labels after every change, skipping what was overtaken.
fn follow(studio: &Studio, work: impl Fn(&Studio, &Labels)) {
    let mut seen = None;
    while let Some(labels) = studio.labels_after(seen) {
        seen = Some(labels.events);
        work(studio, &labels);
    }
}

fn quick_fit(studio: &Studio, labels: &Labels) {
    let before = studio.fit();
    let pool = &studio.pool;
    let fitted = if labels.names.len() < 2 {
        Ok(None)
    } else {
        let earlier = studio.evidence.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let fit = match earlier {
            Some((ways, evidence)) if ways == labels.names.len() && pool.rows() <= REFITTED_ROWS => {
                pool.prepared.refit(&labels.of_rows, ways, &evidence)
            }
            _ => pool.quick.fit(&labels.of_rows, labels.names.len()),
        };
        fit.map(|fit| Some(Arc::new(Learnt::new(fit, labels, studio.max_error, pool.network.clone()))))
    };
    let (learnt, error) = match fitted {
        Ok(learnt) => (learnt, None),
        Err(error) => (before.learnt.clone(), Some(worded(&error, pool))),
    };
    let fit = |queue: Vec<usize>, learnt: Option<Arc<Learnt>>, error: Option<String>| Fit {
        number: 0,
        events: labels.events,
        full: false,
        learnt,
        error,
        queue,
        forecast: before.forecast,
    };
    // The predictions first; what to ask next takes as long again.
    let asked: Vec<usize> = before.queue.iter().copied().filter(|&row| !labels.is_marked(row)).collect();
    studio.publish(fit(asked, learnt.clone(), error.clone()));
    let queue = queue(pool, labels, learnt.as_deref());
    studio.publish_queue(labels.events, queue);
}

/// Rows to ask about: those that cover the pool while little is known, then the doubtful ones, each standing for others.
fn queue(pool: &StudioPool, labels: &Labels, learnt: Option<&Learnt>) -> Vec<usize> {
    let choice = match learnt {
        // Two labels of each class are the least that a doubt can be judged by.
        Some(learnt) if labels.of_rows.len() >= 2 * labels.names.len() => {
            let may: Vec<bool> = (0..pool.rows()).map(|row| !labels.is_marked(row)).collect();
            pool.prepared.review(&learnt.labelling, &may, QUEUE)
        }
        _ => {
            let mut marked: Vec<usize> = labels.of_rows.iter().map(|&(row, _)| row).collect();
            marked.extend(&labels.discarded);
            pool.prepared.choose(&marked, QUEUE)
        }
    };
    // That nothing is left to ask is no error.
    choice.map_or_else(|_| Vec::new(), |choice| choice.rows.iter().map(|chosen| chosen.row).collect())
}

/// Fits the labels as they are now by the full rule, unless that is done already.
pub fn full_fit(studio: &Studio) -> Result<Arc<Fit>, StudioError> {
    let _one = studio.full.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let labels = studio.labels();
    let current = studio.fit();
    if current.full && current.events == labels.events {
        return Ok(current);
    }
    if labels.names.len() < 2 {
        return Err(StudioError::NothingLearnt);
    }
    let fit = studio.pool.prepared.fit(&labels.of_rows, labels.names.len()).map_err(StudioError::Label)?;
    let learnt = Arc::new(Learnt::new(fit, &labels, studio.max_error, studio.pool.network.clone()));
    if let Some(evidence) = &learnt.evidence {
        let mut kept = studio.evidence.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *kept = Some((learnt.names.len(), evidence.clone()));
    }
    let mut past = studio.past.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    past.push((labels.of_rows.len(), learnt.acceptance.count));
    let forecast = forecast(&past, studio.pool.rows());
    drop(past);
    Ok(studio.publish(Fit {
        number: 0,
        events: labels.events,
        full: true,
        learnt: Some(learnt),
        error: None,
        queue: studio.fit().queue.clone(),
        forecast,
    }))
}

fn worded(error: &LabelError, pool: &StudioPool) -> String {
    match error {
        LabelError::Contradiction { first, second } => format!(
            "{} and {} look exactly the same but have different labels; correct one of them",
            pool.ids[*first], pool.ids[*second]
        ),
        other => other.to_string(),
    }
}

/// The next number of a fit.
pub fn next_number(studio: &Studio) -> u64 {
    studio.fits.fetch_add(1, Ordering::Relaxed) + 1
}
