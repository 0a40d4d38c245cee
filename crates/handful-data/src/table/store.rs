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

/// Bytes gathered from a map before its pages are given back: the system maps up to a hundred times as much around rows
/// that lie far apart, which would count as the memory of this process.
const GATHERED_BYTES: usize = 4 << 20;

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

    /// Gives the pages of the map back; they stay in the system's cache.
    fn give_back(&self) {
        #[cfg(unix)]
        // SAFETY: the map is of a file and only read, so that a page that is touched again is that of the file again. That it
        // could not be done costs memory and nothing else.
        let _ = unsafe { self.map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
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
                let at_once = (GATHERED_BYTES / mapped.row_bytes().max(1)).max(1);
                for some in rows.chunks(at_once) {
                    for &row in some {
                        decode(mapped.element, mapped.row(row), &mut values);
                    }
                    if some.len() == at_once {
                        mapped.give_back();
                    }
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

#[cfg(test)]
mod tests {
    use crate::{OpenOptions, open_table};

    #[test]
    fn rows_of_a_map_whose_pages_were_given_back_are_those_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.npy");
        let (rows, columns) = (3000usize, 512usize);
        let mut header =
            format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
        header.push_str(&" ".repeat(117 - header.len()));
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend((0..rows * columns).flat_map(|at| (at as f32).to_le_bytes()));
        std::fs::write(&path, bytes).unwrap();
        let table = open_table(&path, &OpenOptions::default()).unwrap();
        // Six megabytes, backwards, twice: more than is gathered at once.
        let order: Vec<usize> = (0..rows).rev().collect();
        for _ in 0..2 {
            let found = table.gather(&order);
            let right = |(at, &row): (usize, &usize)| found.row(at)[7] == (row * columns + 7) as f32;
            assert!(order.iter().enumerate().all(right));
        }
    }
}
