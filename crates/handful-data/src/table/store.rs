//! Where the numbers of a table live: in memory, or in a mapped file that is decoded row by row.
//!
//! A mapped table opens at once whatever its size, and only the rows that are asked for are ever read. Walking
//! through all rows uses ordinary reads instead of the map: a sequential read of a few hundred kilobytes at a time
//! is as fast as the disk and leaves the process small, where touching every page of a map would count the whole
//! file as resident.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

use handful::Matrix;
use memmap2::Mmap;

use crate::{
    arrays::{ElementType, decode},
    error::DataError,
};

/// Bytes read at a time while walking through a file: fits the second-level cache with its decoded copy.
const BLOCK_BYTES: usize = 256 << 10;

/// The features of a table.
#[derive(Clone, Debug)]
pub(crate) enum FeatureStore {
    Memory(Arc<Matrix<f32>>),
    File(MappedFeatures),
}

/// Row-major features inside a mapped file.
#[derive(Clone, Debug)]
pub(crate) struct MappedFeatures {
    map: Arc<Mmap>,
    start: usize,
    element: ElementType,
    rows: usize,
    columns: usize,
}

/// Maps a file for reading.
pub(crate) fn map_file(path: &Path) -> Result<Arc<Mmap>, DataError> {
    let file = File::open(path).map_err(|error| DataError::io(path, error))?;
    let metadata = file.metadata().map_err(|error| DataError::io(path, error))?;
    if metadata.is_dir() {
        return Err(DataError::content(path, "it is a folder, not a file"));
    }
    // SAFETY: the map is only read, and every read goes through bounds-checked slices of bytes, for which any value
    // is valid. What a map cannot exclude is another process shortening the file while it is open, which ends this
    // process with a bus error as it would any program that maps files; it cannot be made to yield wrong types.
    let map = unsafe { Mmap::map(&file) }.map_err(|error| DataError::io(path, error))?;
    Ok(Arc::new(map))
}

impl MappedFeatures {
    /// Row-major floats that begin at byte `start`; `None` where the map is too short for them.
    pub(crate) fn new(
        map: Arc<Mmap>,
        start: usize,
        element: ElementType,
        rows: usize,
        columns: usize,
    ) -> Option<Self> {
        let bytes = rows.checked_mul(columns)?.checked_mul(element.size)?;
        (start.checked_add(bytes)? <= map.len()).then_some(Self { map, start, element, rows, columns })
    }

    fn row_bytes(&self) -> usize {
        self.columns * self.element.size
    }

    fn row(&self, row: usize) -> &[u8] {
        let begin = self.start + row * self.row_bytes();
        &self.map[begin..begin + self.row_bytes()]
    }

    /// All bytes of the file.
    pub(crate) fn file_bytes(&self) -> &[u8] {
        &self.map
    }
}

impl FeatureStore {
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Memory(matrix) => matrix.rows(),
            Self::File(mapped) => mapped.rows,
        }
    }

    pub(crate) fn columns(&self) -> usize {
        match self {
            Self::Memory(matrix) => matrix.columns(),
            Self::File(mapped) => mapped.columns,
        }
    }

    pub(crate) fn gather(&self, rows: &[usize]) -> Matrix<f32> {
        match self {
            Self::Memory(matrix) => matrix.gather(rows),
            Self::File(mapped) => {
                let mut values = Vec::with_capacity(rows.len() * mapped.columns);
                for &row in rows {
                    decode(mapped.element, mapped.row(row), &mut values);
                }
                Matrix::from_vec(rows.len(), mapped.columns, values)
            }
        }
    }

    /// Hands over all rows in order, some at a time: the number of the first and the values.
    pub(crate) fn for_each_block(
        &self,
        path: &Path,
        mut visit: impl FnMut(usize, &[f32]) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let mapped = match self {
            Self::Memory(matrix) => return visit(0, matrix.as_slice()),
            Self::File(mapped) => mapped,
        };
        let mut file = File::open(path).map_err(|error| DataError::io(path, error))?;
        file.seek(SeekFrom::Start(mapped.start as u64)).map_err(|error| DataError::io(path, error))?;
        let rows_at_once = (BLOCK_BYTES / mapped.row_bytes().max(1)).clamp(1, mapped.rows.max(1));
        let mut bytes = vec![0; rows_at_once * mapped.row_bytes()];
        let mut values = Vec::with_capacity(rows_at_once * mapped.columns);
        let mut first = 0;
        while first < mapped.rows {
            let rows = rows_at_once.min(mapped.rows - first);
            let block = &mut bytes[..rows * mapped.row_bytes()];
            file.read_exact(block).map_err(|error| DataError::io(path, error))?;
            values.clear();
            decode(mapped.element, block, &mut values);
            visit(first, &values)?;
            first += rows;
        }
        Ok(())
    }
}
