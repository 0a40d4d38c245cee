//! What every target does: read the bytes, and watch how much memory that takes.
//!
//! A panic, a hang and a leak are found by the fuzzer itself. What it would not notice is a length field that is
//! believed: so the allocator counts, and a reading that took more than its file deserves is a crash too.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use handful_data::{
    FeatureTable, TableFormat,
    datasets::{DatasetKind, open_dataset},
    parse_table, parse_task_list,
    synthetic::SyntheticSpec,
};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed to the system's allocator unchanged; only sizes are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is the system's too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the pointer came from `alloc` above, which is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Memory that a reading may take besides what its file deserves: buffers and tables of the decompressors. The most is
/// an LZ4 frame with blocks of 8 MB, the largest there are, of which the decoder holds two.
const SLACK: usize = 20 << 20;
/// A compressed file may honestly unpack to this many times its size.
const EXPANSION: usize = 200;

/// Runs `read` on a file of `bytes` and fails when it took more than four times the file and the slack.
pub fn bounded<T>(bytes: usize, read: impl FnOnce() -> T) -> T {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = read();
    let taken = PEAK.load(Ordering::Relaxed) - before;
    assert!(taken <= 4 * bytes + SLACK, "reading {bytes} bytes took {taken} bytes of memory");
    result
}

/// Reads a table of an uncompressed format.
pub fn table(format: TableFormat, data: &[u8]) {
    let _ = bounded(data.len(), || parse_table(format, Path::new("fuzz"), data));
}

/// Reads a table of a compressed format.
pub fn compressed_table(format: TableFormat, data: &[u8]) {
    let _ = bounded(data.len() * EXPANSION, || parse_table(format, Path::new("fuzz"), data));
}

/// Reads a task list for a small table.
pub fn task_list(data: &[u8]) {
    static TABLE: OnceLock<FeatureTable> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let spec = SyntheticSpec { classes: 4, rows_per_class: 5, dim: 3, ..SyntheticSpec::default() };
        spec.table().expect("a valid specification")
    });
    let _ = bounded(8 * data.len(), || parse_task_list(Path::new("fuzz"), data, table));
}

/// Opens a file of that name as a dataset, and loads its first images. The bytes go through a real file, because
/// datasets are folders and archives on disk.
pub fn dataset(name: &str, kind: DatasetKind, data: &[u8]) {
    let path = std::env::temp_dir().join(format!("handful-fuzz-{}-{name}", std::process::id()));
    std::fs::write(&path, data).expect("the temporary folder can be written");
    let _ = bounded(data.len() * EXPANSION, || {
        let dataset = open_dataset(&path, Some(kind), None)?;
        (0..dataset.len().min(4)).map(|image| dataset.load(image).map(drop)).collect::<Result<Vec<_>, _>>()
    });
}
