//! The fuzz targets' short run for stable compilers: every committed file, truncated and mutated at random places,
//! through every reader. None may panic, and none may take more memory than its file deserves.
//!
//! The long runs are `cargo +nightly fuzz run <target>`; what they ever found is kept in `fixtures/regressions`.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    path::{Path, PathBuf},
};

use handful_data::{TableFormat, parse_table};

/// Counts what the current thread holds, so that tests running beside this one do not disturb it.
struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that is ending has no counters any more.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
}

// SAFETY: every call is handed to the system's allocator unchanged; only sizes are counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`, which is the system's too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the pointer came from `alloc` above, which is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Buffers and tables of the decompressors, and small files that unpack to much.
const SLACK: usize = 24 << 20;

fn read_within_bounds(format: TableFormat, name: &str, bytes: &[u8]) {
    let before = NOW.get();
    PEAK.set(before);
    let result = parse_table(format, Path::new(name), bytes);
    let taken = (PEAK.get() - before) as usize;
    let expansion =
        if matches!(format, TableFormat::Npz | TableFormat::Parquet | TableFormat::Arrow) { 200 } else { 1 };
    assert!(taken <= 4 * expansion * bytes.len() + SLACK, "{name}: {} bytes took {taken}", bytes.len());
    if let Err(error) = result {
        assert!(!error.to_string().is_empty());
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// A small generator of its own: the mutations must be the same in every run.
struct Mutations(u64);

impl Mutations {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % bound.max(1) as u64) as usize
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..1 + self.below(4) {
            if bytes.is_empty() {
                return;
            }
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
                2 => bytes.truncate(at),
                3 => {
                    // Length fields are what readers trip over.
                    let huge = [0xff; 8];
                    let end = bytes.len().min(at + 8);
                    bytes[at..end].copy_from_slice(&huge[..end - at]);
                }
                _ => {
                    let from = self.below(bytes.len());
                    let piece: Vec<u8> = bytes[from..bytes.len().min(from + 32)].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
    }
}

#[test]
fn committed_files_truncated_and_mutated() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut mutations = Mutations(1);
    let mut read = 0;
    for path in files_below(&folder) {
        let Ok(format) = TableFormat::of_path(&path) else { continue };
        let name = path.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
        let whole = std::fs::read(&path).unwrap();
        read_within_bounds(format, &name, &whole);
        // Large files are few and slow to read; small ones are read many times.
        for _ in 0..if whole.len() > 50_000 { 5 } else { 150 } {
            let mut bytes = whole.clone();
            mutations.mutate(&mut bytes);
            read_within_bounds(format, &name, &bytes);
            read += 1;
        }
    }
    assert!(read > 10_000, "only {read} mutated files were read");
}
