//! Rows of features laid out for the kernels, and the three products every prototype method is made of: with a few
//! vectors (scores), squared distances to them, and weighted sums of the rows.
//!
//! Features stay in single precision and go through the machine's vector instructions; the small results (rows x
//! classes) come back in double precision, where the methods do the rest.

use std::cell::{OnceCell, RefCell};

use crate::linalg::Matrix;
use crate::linalg::sums::squared_length;
use crate::scalar::Scalar;
use crate::simd::{PaddedRows, RowsView, padded};

/// See the module.
pub(crate) struct FeatureRows<'a> {
    rows: Layout<'a>,
    /// Made when first asked for: many methods never do.
    moments: OnceCell<Moments>,
}

/// What one pass over all rows gives.
struct Moments {
    /// The sum of the rows.
    sum: Vec<f32>,
    /// |z|^2 of each row.
    squared_norms: Vec<f64>,
}

/// Where the rows lie.
enum Layout<'a> {
    /// In the task, whose rows happen to be whole registers.
    AsGiven(RowsView<'a, f32>),
    /// In a padded copy.
    Copied(PaddedRows<f32>),
}

/// Rows of a Gram matrix computed at a time: small enough that little is computed twice, large enough for the kernels.
const GRAM_BLOCK: usize = 6;

impl<'a> FeatureRows<'a> {
    pub fn new(rows: &'a Matrix<f32>) -> Self {
        match RowsView::of_matrix(rows) {
            Some(view) => Self { rows: Layout::AsGiven(view), moments: OnceCell::new() },
            None => Self::copied(rows.columns(), rows.rows(), rows.iter_rows()),
        }
    }

    /// The rows of one matrix followed by those of another, without a stacked copy in between.
    pub fn stacked(first: &Matrix<f32>, second: &Matrix<f32>) -> Self {
        let rows = first.iter_rows().chain(second.iter_rows());
        Self::copied(first.columns(), first.rows() + second.rows(), rows)
    }

    fn copied<'b>(columns: usize, count: usize, rows: impl Iterator<Item = &'b [f32]>) -> Self {
        let storage = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
        let rows = Layout::Copied(PaddedRows::from_rows_in(storage, columns, count, rows));
        Self { rows, moments: OnceCell::new() }
    }

    fn view(&self) -> RowsView<'_, f32> {
        match &self.rows {
            Layout::AsGiven(view) => *view,
            Layout::Copied(rows) => rows.into(),
        }
    }

    pub fn count(&self) -> usize {
        self.view().rows()
    }

    /// Inner product of each row with each vector (rows x vectors).
    pub fn products(&self, vectors: &Matrix<f32>) -> Matrix<f64> {
        let mut out = Matrix::zeros(self.count(), vectors.rows());
        if self.count() > 0 && vectors.rows() > 0 {
            // They are few and read once for every two rows: on cache lines of their own.
            let vectors = PaddedRows::from_matrix(vectors);
            let by_vector = self.products_from(0, (&vectors).into());
            for vector in 0..vectors.rows() {
                for (row, &product) in by_vector.row(vector)[..self.count()].iter().enumerate() {
                    out.row_mut(row)[vector] = f64::from(product);
                }
            }
        }
        out
    }

    /// Inner products of the rows with each other.
    pub fn gram(&self) -> Matrix<f64> {
        let (count, columns) = (self.count(), self.view().columns());
        let mut out = Matrix::zeros(count, count);
        let mut copy = PaddedRows::zeros(0, columns);
        for start in (0..count).step_by(GRAM_BLOCK) {
            // Rows before the block have met it already.
            let mut block = self.view().part(start..(start + GRAM_BLOCK).min(count));
            if let Layout::AsGiven(_) = self.rows {
                // It is read once for every two rows: on cache lines of its own.
                let rows = (0..block.rows()).map(|row| block.row(row));
                copy = PaddedRows::from_rows_in(copy.into_storage(), columns, block.rows(), rows);
                block = (&copy).into();
            }
            let products = self.products_from(start, block);
            for at in 0..block.rows() {
                let row = start + at;
                for (place, &product) in products.row(at)[..count - start].iter().enumerate() {
                    out.row_mut(row)[start + place] = f64::from(product);
                    out.row_mut(start + place)[row] = f64::from(product);
                }
            }
        }
        out
    }

    /// Inner products of the rows from `first` on with vectors, a row for each vector.
    fn products_from(&self, first: usize, vectors: RowsView<f32>) -> PaddedRows<f32> {
        let rows = self.view().part(first..self.count());
        let mut out = PaddedRows::zeros(vectors.rows(), rows.rows());
        let bias = vec![0.0; padded(vectors.rows())];
        f32::kernels().scores(rows, vectors, &bias, &mut out);
        out
    }

    fn moments(&self) -> &Moments {
        self.moments.get_or_init(|| {
            let (mut sum, squares) = f32::kernels().moments(self.view());
            sum.truncate(self.view().columns());
            Moments { sum, squared_norms: squares.into_iter().map(f64::from).collect() }
        })
    }

    /// The sum of the rows.
    pub fn sum(&self) -> &[f32] {
        &self.moments().sum
    }

    /// |z|^2 of each row.
    pub fn squared_norms(&self) -> &[f64] {
        &self.moments().squared_norms
    }

    /// |z - w|^2 for each row and vector.
    pub fn squared_distances(&self, vectors: &Matrix<f32>) -> Matrix<f64> {
        let norms: Vec<f64> = vectors.iter_rows().map(|row| f64::from(squared_length(row))).collect();
        let mut out = self.products(vectors);
        for (row, &own) in self.squared_norms().iter().enumerate() {
            for (value, norm) in out.row_mut(row).iter_mut().zip(&norms) {
                // Rounding can leave a tiny negative number where a row is the vector itself.
                *value = (own + norm - 2.0 * *value).max(0.0);
            }
        }
        out
    }

    /// Cosine of each row with each vector; zero where either has no length.
    pub fn cosines(&self, vectors: &Matrix<f32>) -> Matrix<f64> {
        let norms: Vec<f64> = vectors.iter_rows().map(|row| f64::from(squared_length(row))).collect();
        let mut out = self.products(vectors);
        for (row, &own) in self.squared_norms().iter().enumerate() {
            for (value, norm) in out.row_mut(row).iter_mut().zip(&norms) {
                let lengths = (own * norm).sqrt();
                *value = if lengths > 0.0 { *value / lengths } else { 0.0 };
            }
        }
        out
    }

    /// `sum_i weights[i][c] z_i` for each column of `weights`.
    pub fn weighted_sums(&self, weights: &Matrix<f64>) -> Matrix<f32> {
        let mut sums = PaddedRows::zeros(weights.columns(), self.view().columns());
        self.add_weighted_sums(weights.as_slice(), &mut sums);
        to_matrix(&sums)
    }

    /// The same added to what is there; `weights` as in a matrix, row by row.
    pub fn add_weighted_sums(&self, weights: &[f64], sums: &mut PaddedRows<f32>) {
        let mut by_class = PaddedRows::zeros(sums.rows(), self.count());
        for (row, weights) in weights.chunks_exact(sums.rows().max(1)).enumerate() {
            for (class, &weight) in weights.iter().enumerate() {
                by_class.row_mut(class)[row] = weight as f32;
            }
        }
        f32::kernels().add_weight_gradient(self.view(), &by_class, sums);
    }

    /// The same divided by the weights' sum; a column without weight gives zeros.
    pub fn weighted_means(&self, weights: &Matrix<f64>) -> Matrix<f32> {
        let mut means = self.weighted_sums(weights);
        for (class, total) in column_sums(weights).into_iter().enumerate() {
            let scale = if total > 0.0 { (1.0 / total) as f32 } else { 0.0 };
            means.row_mut(class).iter_mut().for_each(|value| *value *= scale);
        }
        means
    }
}

thread_local! {
    /// Storage of rows that are no longer needed. A task's rows take half a megabyte, which the system's allocator would
    /// fetch from and give back to the kernel for every task, and zeroing its pages takes longer than a quick method.
    static SPARE: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
}

/// How much a thread keeps: a few buffers of at most 8 MB.
const MOST_SPARE: usize = 4;
const LARGEST_SPARE: usize = 2 << 20;

impl Drop for FeatureRows<'_> {
    fn drop(&mut self) {
        let Layout::Copied(rows) = &mut self.rows else { return };
        let storage = std::mem::replace(rows, PaddedRows::zeros(0, 0)).into_storage();
        // A thread that is ending has no place for it any more.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < MOST_SPARE && storage.capacity() <= LARGEST_SPARE {
                spare.push(storage);
            }
        });
    }
}

/// Rows without their padding.
pub(crate) fn to_matrix(rows: &PaddedRows<f32>) -> Matrix<f32> {
    let columns = rows.columns();
    let mut values = Vec::with_capacity(rows.rows() * columns);
    (0..rows.rows()).for_each(|row| values.extend_from_slice(&rows.row(row)[..columns]));
    Matrix::from_vec(rows.rows(), columns, values)
}

/// Sum of each column.
pub(crate) fn column_sums(values: &Matrix<f64>) -> Vec<f64> {
    let mut sums = vec![0.0; values.columns()];
    for row in values.iter_rows() {
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    sums
}

/// Divides each row by its length; a zero row stays zero.
pub(crate) fn unit_rows(rows: &mut Matrix<f32>) {
    for row in 0..rows.rows() {
        let row = rows.row_mut(row);
        let norm = squared_length(row).sqrt();
        if norm > 0.0 {
            row.iter_mut().for_each(|value| *value /= norm);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize, dim: usize, seed: usize) -> Matrix<f32> {
        let value = |at: usize| ((at * 7919 + seed * 104_729) % 1009) as f32 / 500.0 - 1.0;
        Matrix::from_vec(count, dim, (0..count * dim).map(value).collect())
    }

    #[test]
    fn products_distances_and_sums_are_those_of_the_definition() {
        // Rows that fill no register are copied, others are read where they are; more rows than a block of the Gram.
        for dim in [37, 48] {
            assert_definition(dim);
        }
    }

    fn assert_definition(dim: usize) {
        let (z, w) = (rows(19, dim, 1), rows(3, dim, 2));
        let many = rows(45, dim, 3);
        assert_eq!(FeatureRows::new(&many).gram(), FeatureRows::new(&many).products(&many));
        let features = FeatureRows::new(&z);
        let parts = z.gather(&[0, 1, 2, 3, 4]);
        let stacked = FeatureRows::stacked(&parts, &z.gather(&(5..19).collect::<Vec<_>>()));
        assert_eq!(stacked.gram(), features.gram());
        assert_eq!(features.gram().row(4)[2], features.products(&parts).row(4)[2]);
        let (products, distances) = (features.products(&w), features.squared_distances(&w));
        let weights = Matrix::from_vec(19, 3, (0..57).map(|at| at as f64 / 57.0).collect());
        let (sums, means) = (features.weighted_sums(&weights), features.weighted_means(&weights));
        for i in 0..19 {
            for c in 0..3 {
                let pairs = || z.row(i).iter().zip(w.row(c)).map(|(&a, &b)| (f64::from(a), f64::from(b)));
                assert!((products.row(i)[c] - pairs().map(|(a, b)| a * b).sum::<f64>()).abs() < 1e-4);
                let distance: f64 = pairs().map(|(a, b)| (a - b).powi(2)).sum();
                assert!((distances.row(i)[c] - distance).abs() < 1e-4);
            }
        }
        for c in 0..3 {
            let total: f64 = (0..19).map(|i| weights.row(i)[c]).sum();
            for k in 0..dim {
                let sum: f64 = (0..19).map(|i| weights.row(i)[c] * f64::from(z.row(i)[k])).sum();
                assert!((f64::from(sums.row(c)[k]) - sum).abs() < 1e-4);
                assert!((f64::from(means.row(c)[k]) - sum / total).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn no_rows_have_no_products() {
        let none = Matrix::zeros(0, 0);
        assert_eq!(FeatureRows::new(&none).squared_distances(&rows(3, 5, 0)).rows(), 0);
    }

    #[test]
    fn cosine_with_a_zero_row_is_zero() {
        let rows = Matrix::from_vec(2, 2, vec![0.0, 0.0, 3.0, 4.0]);
        let cosines = FeatureRows::new(&rows).cosines(&Matrix::from_vec(1, 2, vec![4.0, 3.0]));
        assert_eq!(cosines.row(0)[0], 0.0);
        assert!((cosines.row(1)[0] - 0.96).abs() < 1e-6);
    }
}
