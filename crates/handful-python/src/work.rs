//! Long work on a thread of its own, while the thread of Python listens for signals.
//!
//! Rust cannot be stopped from outside. So the work runs elsewhere, the calling thread wakes ten times a second to let
//! Python look at its signals, and on Ctrl-C the call returns at once; an [`Interrupt`] tells the abandoned work to end at
//! the next place where it looks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use rayon::ThreadPool;

/// How long Python's signals may wait.
const GLANCE: Duration = Duration::from_millis(100);

/// Tells work that nobody waits for it any more.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Whether the work should end.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs work without the interpreter.
///
/// # Errors
/// What a signal's handler raised; a bug in Rust as a `RuntimeError`.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    interrupt: &Interrupt,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    run_watched(py, interrupt, work, |_| Ok(()))
}

/// The same, and calls `glance` ten times a second with the interpreter.
///
/// # Errors
/// As [`run`]; what `glance` raised.
pub fn run_watched<T: Send + 'static>(
    py: Python<'_>,
    interrupt: &Interrupt,
    work: impl FnOnce() -> T + Send + 'static,
    mut glance: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> PyResult<T> {
    let threads = threads()?;
    let (sender, receiver) = channel();
    let job = move || {
        let result = catch_unwind(AssertUnwindSafe(|| threads.install(work)));
        // Nobody listens after an interrupt.
        let _ = sender.send(result);
    };
    std::thread::Builder::new()
        .name("handful".into())
        .spawn(job)
        .map_err(|error| PyOSError::new_err(format!("cannot start a thread: {error}")))?;
    py.detach(move || {
        loop {
            match receiver.recv_timeout(GLANCE) {
                Ok(Ok(result)) => return Ok(result),
                Ok(Err(panic)) => return Err(bug(panic.as_ref())),
                Err(RecvTimeoutError::Timeout) => {
                    let looked = Python::attach(|py| py.check_signals().and_then(|()| glance(py)));
                    if let Err(error) = looked {
                        interrupt.raise();
                        return Err(error);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the working thread ended without an answer"));
                }
            }
        }
    })
}

fn bug(panic: &(dyn std::any::Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    PyRuntimeError::new_err(format!("a bug in handful, please report it: {text}"))
}

/// The threads of this process. A forked child has none of its parent's, and gets its own.
fn threads() -> PyResult<Arc<ThreadPool>> {
    static THREADS: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);
    let mut held = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, threads)) = held.as_ref()
        && *owner == process
    {
        return Ok(Arc::clone(threads));
    }
    let threads = rayon::ThreadPoolBuilder::new()
        .build()
        .map_err(|error| PyOSError::new_err(format!("cannot start threads: {error}")))?;
    let threads = Arc::new(threads);
    // The parent's pool must not be dropped here: that would wait for threads that this process does not have.
    std::mem::forget(held.replace((process, Arc::clone(&threads))));
    Ok(threads)
}
