//! From raw rows to the coordinates in which a pool is compared and classified.
//!
//! A row x becomes `unit(unit(root(x)) - m)` (root: `sqrt|x| sign(x)`, left out where the features are signed; m the mean),
//! and then its coordinates on the leading principal directions of a sample of the pool.

use handful::Matrix;
use handful::graph::evenly_spread;
use handful::linalg::pca::PrincipalDirections;
use handful::linalg::unit;
use handful::signed::are_signed;
use rayon::prelude::*;

use super::LabelError;
use super::pool::PoolRows;

/// Rows that mean and directions are computed from.
const SAMPLE: usize = 4096;
/// Rows handled at a time by one thread.
const BLOCK: usize = 256;

/// Mean and principal directions of a pool.
#[derive(Debug)]
pub(crate) struct Projection {
    /// Whether the root is taken.
    pub rooted: bool,
    pub mean: Vec<f32>,
    pub directions: PrincipalDirections,
}

impl Projection {
    /// Learns both from a sample.
    pub fn fit(pool: &dyn PoolRows, components: usize, seed: u64) -> Result<Self, LabelError> {
        let numbers = evenly_spread(pool.rows(), SAMPLE);
        let mut sample = pool.gather(&numbers);
        if let Some((row, column, value)) = sample.first_non_finite() {
            return Err(LabelError::NotFinite { row: numbers[row], column, value });
        }
        let columns = sample.columns();
        let rooted = !are_signed([sample.as_slice()]);
        sample.as_mut_slice().par_chunks_mut(columns).for_each(|row| unit_root(row, rooted));
        let mean = sample.mean_row();
        sample.as_mut_slice().par_chunks_mut(columns).for_each(|row| centred_unit(row, &mean));
        Ok(Self { rooted, mean, directions: PrincipalDirections::fit(&sample, components, seed) })
    }

    /// Coordinates of every row of the pool; reads it once.
    pub fn apply(&self, pool: &dyn PoolRows) -> Result<Matrix<f32>, LabelError> {
        let components = self.directions.components();
        let mut out = Matrix::zeros(pool.rows(), components);
        let mut bad = None;
        let columns = pool.dim();
        pool.for_each_block(&mut |first, values| {
            let to = &mut out.as_mut_slice()[first * components..][..values.len() / columns * components];
            if let Err(error) = self.apply_block(first, values, to) {
                bad.get_or_insert(error);
            }
        })
        .map_err(LabelError::Read)?;
        bad.map_or(Ok(out), Err)
    }

    /// Coordinates of rows in memory, the first of which is row `first` of its source.
    pub fn apply_block(&self, first: usize, values: &[f32], to: &mut [f32]) -> Result<(), LabelError> {
        let (columns, components) = (self.mean.len(), self.directions.components());
        if let Some(at) = (!all_finite(values)).then(|| values.iter().position(|v| !v.is_finite())).flatten()
        {
            return Err(LabelError::NotFinite {
                row: first + at / columns,
                column: at % columns,
                value: f64::from(values[at]),
            });
        }
        to.par_chunks_mut((BLOCK * components).max(1))
            .zip(values.par_chunks((BLOCK * columns).max(1)))
            .for_each(|(to, rows)| self.project(rows, columns, to));
        Ok(())
    }

    fn project(&self, rows: &[f32], columns: usize, to: &mut [f32]) {
        let fill = |at: usize, copy: &mut [f32]| {
            copy.copy_from_slice(&rows[at * columns..(at + 1) * columns]);
            unit_root(copy, self.rooted);
            centred_unit(copy, &self.mean);
        };
        self.directions.project(rows.len() / columns, fill, to);
    }
}

/// Gives every row unit length; rows of zeros stay.
pub(crate) fn unit_rows(rows: &mut Matrix<f32>) {
    let columns = rows.columns();
    rows.as_mut_slice().par_chunks_mut(columns.max(1)).for_each(unit);
}

fn all_finite(values: &[f32]) -> bool {
    values.iter().fold(true, |finite, value| finite & value.is_finite())
}

/// `sqrt|x| sign(x)` if wanted, then unit length; a row of zeros stays.
fn unit_root(row: &mut [f32], rooted: bool) {
    if rooted {
        row.iter_mut().for_each(|value| *value = value.abs().sqrt().copysign(*value));
    }
    unit(row);
}

fn centred_unit(row: &mut [f32], mean: &[f32]) {
    row.iter_mut().zip(mean).for_each(|(value, mean)| *value -= mean);
    unit(row);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn pool(rows: usize, columns: usize) -> Matrix<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        Matrix::from_vec(rows, columns, (0..rows * columns).map(|_| rng.random_range(0.0..1.0)).collect())
    }

    #[test]
    fn a_block_is_projected_as_the_pool_is() {
        let pool = pool(600, 20);
        let projection = Projection::fit(&pool, 5, 1).expect("finite");
        let all = projection.apply(&pool).expect("readable");
        let mut block = vec![0.0; 100 * 5];
        projection.apply_block(300, &pool.as_slice()[300 * 20..400 * 20], &mut block).expect("finite");
        assert_eq!(block, all.as_slice()[300 * 5..400 * 5]);
    }

    #[test]
    fn fewer_rows_than_directions_and_rows_of_zeros_are_fine() {
        let mut few = pool(3, 40);
        few.row_mut(1).fill(0.0);
        let projected = Projection::fit(&few, 128, 1).expect("finite").apply(&few).expect("readable");
        assert!(projected.rows() == 3 && projected.first_non_finite().is_none());
    }

    #[test]
    fn a_bad_value_is_located() {
        let mut bad = pool(10, 4);
        bad.row_mut(7)[2] = f32::NAN;
        let error = Projection::fit(&bad, 2, 1).expect_err("NaN is refused");
        assert!(matches!(error, LabelError::NotFinite { row: 7, column: 2, .. }));
    }
}
