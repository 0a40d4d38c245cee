//! Fisher's criterion psi = tr(S^-1 S_B) and what each row contributes to it: Instance Discriminant Analysis.
//!
//! With S = sum (z - mu)(z - mu)' + rho I (total scatter) and S_B = sum_c M_c (mu_c - mu)(mu_c - mu)', the paper's
//! IDA value of row u is `dpsi_u = psi(all) - psi(all without u)` (Eq. 6), which its authors compute by U inversions.
//! Here one factorisation per pool is enough, whatever the labels: the pool is whitened once, v_i = S^(-1/2) (z_i -
//! mu), so that v_i . v_j = (z_i - mu)' S^-1 (z_j - mu), and each leave-one-out value follows exactly from the class
//! means of the v and a rank-one update (Sherman and Morrison) in O(C r).
//!
//! For row v of class c with m rows among n, h = |v|^2, k = n/(n-1), class means w_j of the v:
//!
//! ```text
//! mean after removal        u  = -v/(n-1)
//! class mean after removal  w' = (m w_c - v)/(m-1)              (m = 1: the class vanishes)
//! trace part                t  = psi - m|w_c|^2 + (m-1)|w'|^2 - (n-1)|u|^2
//! rank-one part             s  = sum_j m_j (v.w_j)^2 - m (v.w_c)^2 + (m-1)(v.w')^2 - (n-1)(v.u)^2
//! psi without the row          = t + k/(1 - k h) s
//! ```
//!
//! The authors' code also divides psi by the number of classes present minus one, and projects the pool on its ten
//! leading principal components first; both are options.

use nalgebra::DMatrix;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::ParamError;
use crate::error::check_range;
use crate::linalg::Matrix;
use crate::linalg::dense::{inner_products, symmetric_eigen};
use crate::scalar::Scalar;

/// Rows from which the values of single rows are worth several threads; tasks have fewer and run side by side.
const PARALLEL_ROWS: usize = 2000;

/// What the ridge `rho` is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RidgeScale {
    /// As it is.
    Absolute,
    /// In mean eigenvalues of the scatter matrix (over the dimensions kept), so that it follows the features' scale.
    Relative,
}

/// Parameters of Fisher's criterion and IDA.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FisherParams {
    /// Principal components kept; 0 keeps all dimensions.
    pub pca: usize,
    /// rho, added to the diagonal of the scatter matrix.
    pub ridge: f64,
    /// What rho is measured in.
    pub ridge_scale: RidgeScale,
    /// Divide psi by the number of classes present minus one (the authors' code) instead of one (the paper).
    pub psi_per_class: bool,
}

impl FisherParams {
    /// Checks that the ridge is positive: without one the scatter of few rows cannot be inverted.
    ///
    /// # Errors
    /// [`ParamError::OutOfRange`] names the first value that is wrong.
    pub fn check(&self) -> Result<(), ParamError> {
        check_range("ridge", self.ridge, self.ridge > 0.0, "a number above 0")
    }
}

/// A pool in whitened coordinates; labels come later and may change.
#[derive(Clone, Debug)]
pub struct WhitenedPool {
    coordinates: Matrix<f64>,
    psi_per_class: bool,
}

impl WhitenedPool {
    /// Factorises the scatter of the rows, in the smaller of the two spaces: dimensions (primal) or rows (dual).
    pub fn new<T: Scalar>(rows: &Matrix<T>, params: &FisherParams) -> Self {
        let centred = centre(rows);
        let (eigenvalues, mut coordinates) =
            if centred.columns() <= centred.rows() { primal(&centred) } else { dual(&centred) };
        let keep = match params.pca {
            0 => eigenvalues.len(),
            components => components.min(eigenvalues.len()),
        };
        let kept = &eigenvalues[..keep];
        let ridge = match params.ridge_scale {
            RidgeScale::Absolute => params.ridge,
            RidgeScale::Relative => params.ridge * kept.iter().sum::<f64>() / keep.max(1) as f64,
        };
        let mut whitened = Matrix::zeros(centred.rows(), keep);
        for (column, &eigenvalue) in kept.iter().enumerate() {
            // A direction without variance has nothing to whiten; with no variance at all the ridge is zero too.
            let scale = if eigenvalue + ridge > 0.0 { 1.0 / (eigenvalue + ridge).sqrt() } else { 0.0 };
            for (row, value) in coordinates.column_mut(column).iter_mut().enumerate() {
                whitened.row_mut(row)[column] = *value * scale;
            }
        }
        Self { coordinates: whitened, psi_per_class: params.psi_per_class }
    }

    /// Computes Fisher's criterion under these labels (each below `ways`); 0 for fewer than two rows.
    pub fn fisher(&self, labels: &[usize], ways: usize) -> f64 {
        let classes = self.class_means(labels, ways);
        classes.psi() / self.divisor(classes.present())
    }

    /// Computes the exact IDA value of each row: what psi loses when the row goes.
    pub fn ida(&self, labels: &[usize], ways: usize) -> Vec<f64> {
        let rows = self.coordinates.rows();
        if rows < 2 {
            return vec![0.0; rows];
        }
        let classes = self.class_means(labels, ways);
        let all = classes.psi();
        let present = classes.present();
        let n = rows as f64;
        let k = n / (n - 1.0);
        let value = |(v, &label): (&[f64], &usize)| {
            let own = classes.counts[label];
            let h = dot(v, v);
            // Squares and products with the class means before, then corrected for the one that changes.
            let own_mean = classes.means.row(label);
            let (own_square, own_product) = (dot(own_mean, own_mean), dot(v, own_mean));
            let mut trace = all - own * own_square - h / (n - 1.0);
            let mut rank_one = -own * own_product * own_product - h * h / (n - 1.0);
            for (mean, &count) in classes.means.iter_rows().zip(&classes.counts) {
                rank_one += count * dot(v, mean).powi(2);
            }
            let mut left = present;
            if own > 1.0 {
                // |m w - v|^2 / (m-1) and (v.(m w - v))^2 / (m-1), expanded.
                trace += (own * own * own_square - 2.0 * own * own_product + h) / (own - 1.0);
                rank_one += (own * own_product - h).powi(2) / (own - 1.0);
            } else {
                left -= 1;
            }
            let without = trace + k / (1.0 - k * h) * rank_one;
            all / self.divisor(present) - without / self.divisor(left)
        };
        if rows < PARALLEL_ROWS {
            return self.coordinates.iter_rows().zip(labels).map(value).collect();
        }
        (0..rows).into_par_iter().map(|row| value((self.coordinates.row(row), &labels[row]))).collect()
    }

    /// Returns the whitened rows: their scatter is the identity, up to the ridge.
    pub fn coordinates(&self) -> &Matrix<f64> {
        &self.coordinates
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.coordinates.rows()
    }

    /// What psi is divided by. With one class left psi is zero, whatever it is divided by.
    fn divisor(&self, classes: usize) -> f64 {
        if self.psi_per_class { classes.max(2) as f64 - 1.0 } else { 1.0 }
    }

    fn class_means(&self, labels: &[usize], ways: usize) -> ClassMeans {
        let mut counts = vec![0.0; ways];
        let mut means = Matrix::zeros(ways, self.coordinates.columns());
        for (row, &label) in self.coordinates.iter_rows().zip(labels) {
            counts[label] += 1.0;
            means.row_mut(label).iter_mut().zip(row).for_each(|(mean, value)| *mean += value);
        }
        for (class, &count) in counts.iter().enumerate() {
            let count: f64 = count;
            means.row_mut(class).iter_mut().for_each(|mean| *mean /= count.max(1.0));
        }
        ClassMeans { counts, means }
    }
}

struct ClassMeans {
    counts: Vec<f64>,
    means: Matrix<f64>,
}

impl ClassMeans {
    fn psi(&self) -> f64 {
        self.means.iter_rows().zip(&self.counts).map(|(mean, count)| count * dot(mean, mean)).sum()
    }

    fn present(&self) -> usize {
        self.counts.iter().filter(|&&count| count > 0.0).count()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    crate::linalg::sums::dot_by_lanes(a, b)
}

fn centre<T: Scalar>(rows: &Matrix<T>) -> Matrix<f64> {
    let mut centred: Matrix<f64> = rows.cast();
    let mean = centred.mean_row();
    for row in 0..centred.rows() {
        centred.row_mut(row).iter_mut().zip(&mean).for_each(|(value, mean)| *value -= mean);
    }
    centred
}

/// Eigenvalues of X'X and the rows in its eigenvectors, from X'X itself.
fn primal(centred: &Matrix<f64>) -> (Vec<f64>, DMatrix<f64>) {
    let rows = DMatrix::from_row_slice(centred.rows(), centred.columns(), centred.as_slice());
    let scatter = rows.transpose() * &rows;
    let scatter = Matrix::from_vec(centred.columns(), centred.columns(), scatter.as_slice().to_vec());
    let (values, vectors) = symmetric_eigen(&scatter);
    (values.into_iter().map(|value| value.max(0.0)).collect(), rows * vectors)
}

/// The same from XX' (rows x rows): XX' e = l e gives the coordinates sqrt(l) e.
fn dual(centred: &Matrix<f64>) -> (Vec<f64>, DMatrix<f64>) {
    let (values, mut vectors) = symmetric_eigen(&inner_products(centred, centred));
    let values: Vec<f64> = values.into_iter().map(|value| value.max(0.0)).collect();
    for (mut column, value) in vectors.column_iter_mut().zip(&values) {
        column *= value.sqrt();
    }
    (values, vectors)
}

#[cfg(test)]
mod tests;
