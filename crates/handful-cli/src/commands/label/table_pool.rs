//! A feature table as the engine reads a pool.

use handful::Matrix;
use handful::labelling::{PoolRows, ReadError};
use handful_data::FeatureTable;

/// Floats handed over at once: enough rows for every thread to have work.
const FLOATS: usize = 8 << 20;

/// The adapter.
pub struct TablePool<'a>(pub &'a FeatureTable);

impl PoolRows for TablePool<'_> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn gather(&self, rows: &[usize]) -> Matrix<f32> {
        self.0.gather(rows)
    }

    fn for_each_block(&self, visit: &mut dyn FnMut(usize, &[f32])) -> Result<(), ReadError> {
        let mut buffer: Vec<f32> = Vec::new();
        let mut first = 0;
        self.0.for_each_block(|row, values| {
            if buffer.is_empty() {
                first = row;
                if values.len() >= FLOATS {
                    visit(row, values);
                    return Ok(());
                }
            }
            buffer.extend_from_slice(values);
            if buffer.len() >= FLOATS {
                visit(first, &buffer);
                buffer.clear();
            }
            Ok(())
        })?;
        if !buffer.is_empty() {
            visit(first, &buffer);
        }
        Ok(())
    }
}
