//! The pool in two dimensions: as its principal coordinates have it until somebody looks, then better and better.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use handful_label::PoolMap;

use crate::error::StudioError;
use crate::pool::StudioPool;
use crate::studio::Studio;

/// Rounds between two looks at it.
const ROUNDS: usize = 8;

/// Where every row is, from 0 to 1 along both axes.
pub struct Map {
    places: Mutex<Arc<Places>>,
    begun: AtomicBool,
}

/// The map at one moment.
pub struct Places {
    /// Counts its versions.
    pub version: u64,
    /// Whether it will not change any more.
    pub finished: bool,
    pub of_rows: Vec<[f32; 2]>,
}

impl Map {
    /// The map at its beginning.
    ///
    /// # Errors
    /// Those of the pool's map.
    pub fn new(pool: &StudioPool) -> Result<Self, StudioError> {
        let places = Places { version: 0, finished: false, of_rows: pool.prepared.map()?.places() };
        Ok(Self { places: Mutex::new(Arc::new(places)), begun: AtomicBool::new(false) })
    }

    /// The map as it is.
    pub fn places(&self) -> Arc<Places> {
        Arc::clone(&self.places.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The map as it is now; the first to look starts its improvement.
///
/// # Errors
/// [`StudioError::Machine`] where no thread can be started.
pub fn look(studio: &Arc<Studio>) -> Result<Arc<Places>, StudioError> {
    if !studio.map.begun.swap(true, Ordering::Relaxed) {
        let improved = Arc::clone(studio);
        let work = move || {
            // What fails here has failed when the map was begun.
            let Ok(map) = improved.pool.prepared.map() else { return };
            improve(&improved, map);
        };
        let started = thread::Builder::new().name("map".to_owned()).spawn(work);
        started.map_err(|error| StudioError::Machine(format!("cannot start a thread: {error}")))?;
    }
    Ok(studio.map.places())
}

fn improve(studio: &Studio, mut map: PoolMap) {
    let mut version = 0;
    while !studio.is_closed() {
        map.improve(ROUNDS);
        version += 1;
        let finished = map.is_finished();
        let places = Places { version, finished, of_rows: map.places() };
        *studio.map.places.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(places);
        studio.tell_of_map(version);
        if finished {
            return;
        }
    }
}
