//! Small images for the grid: made once each, by several threads, ahead of the eye where there is time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;

use crate::error::StudioError;
use crate::studio::Studio;

/// The most memory they take; the oldest go.
const MOST_BYTES: usize = 256 << 20;

/// Longest side: the largest cell of the grid on a dense screen.
const SIDE: u32 = 256;
const QUALITY: u8 = 82;
/// Of images that browsers do not know, in their whole size.
const WHOLE_QUALITY: u8 = 92;

/// Thumbnails by row.
pub struct Thumbnails {
    rows: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    of_row: HashMap<usize, Bytes>,
    order: VecDeque<usize>,
    bytes: usize,
}

impl Thumbnails {
    /// None yet.
    pub fn new(rows: usize) -> Self {
        Self { rows, kept: Mutex::default() }
    }

    fn get(&self, row: usize) -> Option<Bytes> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).of_row.get(&row).cloned()
    }

    fn keep(&self, row: usize, thumbnail: &Bytes) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.of_row.insert(row, thumbnail.clone()).is_none() {
            kept.order.push_back(row);
            kept.bytes += thumbnail.len();
        }
        while kept.bytes > MOST_BYTES {
            let Some(oldest) = kept.order.pop_front() else { break };
            let gone = kept.of_row.remove(&oldest).map_or(0, |thumbnail| thumbnail.len());
            kept.bytes -= gone;
        }
    }

    fn is_full(&self) -> bool {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).bytes > MOST_BYTES / 10 * 9
    }
}

/// The thumbnail of a row, as JPEG.
///
/// # Errors
/// [`StudioError::NoRow`], [`StudioError::NoImage`], an image that cannot be read.
pub fn thumbnail(studio: &Studio, row: usize) -> Result<Bytes, StudioError> {
    if let Some(thumbnail) = studio.thumbnails.get(row) {
        return Ok(thumbnail);
    }
    if row >= studio.pool.rows() {
        return Err(StudioError::NoRow { row, rows: studio.pool.rows() });
    }
    let (dataset, image) = studio.pool.image(row).ok_or(StudioError::NoImage { row })?;
    let thumbnail = Bytes::from(dataset.jpeg(image, Some(SIDE), QUALITY)?);
    studio.thumbnails.keep(row, &thumbnail);
    Ok(thumbnail)
}

/// The image of a row as the browser can show it, with its media type: the file's own bytes where it knows the format.
///
/// # Errors
/// As [`thumbnail`].
pub fn picture(studio: &Studio, row: usize) -> Result<(Bytes, &'static str), StudioError> {
    if row >= studio.pool.rows() {
        return Err(StudioError::NoRow { row, rows: studio.pool.rows() });
    }
    let (dataset, image) = studio.pool.image(row).ok_or(StudioError::NoImage { row })?;
    if let Some(bytes) = dataset.encoded(image)?
        && let Some(kind) = shown_by_browsers(&bytes)
    {
        return Ok((Bytes::from(bytes.into_owned()), kind));
    }
    Ok((Bytes::from(dataset.jpeg(image, None, WHOLE_QUALITY)?), "image/jpeg"))
}

/// By what the bytes say, not by a name that could say anything.
fn shown_by_browsers(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'B', b'M', ..] => Some("image/bmp"),
        _ => None,
    }
}

/// Begins to make all thumbnails in the order of the pool.
///
/// # Errors
/// [`StudioError::Machine`] where no thread can be started.
pub fn start(studio: &Arc<Studio>) -> Result<(), StudioError> {
    if studio.pool.pictures.is_none() {
        return Ok(());
    }
    let studio = Arc::clone(studio);
    let work = move || {
        for row in 0..studio.thumbnails.rows {
            if studio.is_closed() || studio.thumbnails.is_full() {
                return;
            }
            // An image that cannot be read says so when it is asked for.
            let _ = thumbnail(&studio, row);
        }
    };
    let started = std::thread::Builder::new().name("thumbnails".to_owned()).spawn(work);
    started.map(drop).map_err(|error| StudioError::Machine(format!("cannot start a thread: {error}")))
}
