//! Features smoothed over the graph of nearest neighbours: every row moves towards the rows around it.
//!
//! ```text
//! a_ij = max(0, z_i . z_j) for the k rows j most like i,  W = (A + A^T) / 2
//! S = D^-1/2 W D^-1/2,  D = row sums of W,                Z <- (I - alpha S)^-1 Z
//! ```
//!
//! What the classes have in common survives the averaging, what is particular to one image does not, so one labelled
//! row per class says more. The propagated embeddings of Rodriguez et al. (2020) are the same with a dense graph; the
//! nearest neighbours keep far classes out of the average, as in Laplacian regularisation (Ziko et al. 2020).
//!
//! The inverse is never made: `I - alpha S` has its eigenvalues between `1 - alpha` and `1 + alpha`, where the
//! Chebyshev iteration halves the error in about `sqrt(2 / (1 - alpha))` sparse products.

use crate::graph::dense::nearest;
use crate::linalg::Matrix;
use crate::linalg::dense::inner_products;
use crate::scalar::Scalar;

/// Rows whose likeness to all others is in memory at a time.
const BLOCK: usize = 512;
/// The error left, relative to the first.
const TOLERANCE: f64 = 1e-5;

/// A symmetric sparse matrix: of each row the columns and their values.
type Sparse = Vec<Vec<(usize, f64)>>;

/// See the module. `alpha` is at least 0 and below 1.
pub(crate) fn smooth<T: Scalar>(rows: &Matrix<T>, neighbours: usize, alpha: f64) -> Matrix<T> {
    if rows.rows() < 2 || neighbours == 0 || alpha == 0.0 {
        return rows.clone();
    }
    solve(&normalised_graph(rows, neighbours), rows, alpha)
}

/// S of the module's first lines.
fn normalised_graph<T: Scalar>(rows: &Matrix<T>, neighbours: usize) -> Sparse {
    let count = rows.rows();
    let mut graph: Sparse = vec![Vec::with_capacity(3 * neighbours); count];
    let all: Vec<usize> = (0..count).collect();
    for block in all.chunks(BLOCK) {
        let likeness = inner_products(&rows.gather(block), rows);
        for (at, &row) in block.iter().enumerate() {
            let own: Vec<f64> = likeness.row(at).iter().map(|value| value.to_f64()).collect();
            for other in nearest(&own, row, neighbours).into_iter().filter(|&other| own[other] > 0.0) {
                graph[row].push((other, 0.5 * own[other]));
                graph[other].push((row, 0.5 * own[other]));
            }
        }
    }
    let mut degrees = vec![0.0; count];
    for (list, degree) in graph.iter_mut().zip(&mut degrees) {
        list.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        list.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        *degree = list.iter().map(|(_, value)| value).sum::<f64>();
    }
    for (row, list) in graph.iter_mut().enumerate() {
        list.iter_mut().for_each(|(other, value)| *value /= (degrees[row] * degrees[*other]).sqrt());
    }
    graph
}

/// `(I - alpha S)^-1 start` by Chebyshev's iteration.
fn solve<T: Scalar>(graph: &Sparse, start: &Matrix<T>, alpha: f64) -> Matrix<T> {
    // Eigenvalues of I - alpha S lie within 1 +- alpha.
    let rate = alpha / (1.0 + (1.0 - alpha * alpha).sqrt());
    let rounds = (TOLERANCE.ln() / rate.ln()).ceil().max(1.0) as usize;
    let (mut before, mut current) = (Matrix::zeros(start.rows(), start.columns()), start.clone());
    // The first round would start from zero, whose image is `b` itself; omega of the second follows from 2.
    let mut relaxation = 2.0;
    for _ in 1..rounds {
        // Omega of the iteration `x+ = omega (alpha S x + b - x-) + x-`.
        relaxation = 1.0 / (1.0 - alpha * alpha * relaxation / 4.0);
        let omega = T::from_f64(relaxation);
        for (row, list) in graph.iter().enumerate() {
            let target = before.row_mut(row);
            let keep = T::ONE - omega;
            target
                .iter_mut()
                .zip(start.row(row))
                .for_each(|(value, &own)| *value = *value * keep + own * omega);
            for &(other, weight) in list {
                let weight = T::from_f64(relaxation * alpha * weight);
                target.iter_mut().zip(current.row(other)).for_each(|(value, &near)| *value += near * weight);
            }
        }
        std::mem::swap(&mut before, &mut current);
    }
    current
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DMatrix;

    fn rows(count: usize, dim: usize) -> Matrix<f64> {
        let value = |at: usize| ((at * 7919 % 1009) as f64 / 500.0 - 0.7).sin();
        Matrix::from_vec(count, dim, (0..count * dim).map(value).collect())
    }

    /// The definition with dense matrices and an inverse.
    fn slow(rows: &Matrix<f64>, neighbours: usize, alpha: f64) -> DMatrix<f64> {
        let count = rows.rows();
        let z = DMatrix::from_row_slice(count, rows.columns(), rows.as_slice());
        let gram = &z * z.transpose();
        let mut a = DMatrix::zeros(count, count);
        for i in 0..count {
            let mut others: Vec<usize> = (0..count).filter(|&j| j != i).collect();
            others.sort_by(|&j, &k| gram[(i, k)].total_cmp(&gram[(i, j)]).then(j.cmp(&k)));
            others.iter().take(neighbours).for_each(|&j| a[(i, j)] = gram[(i, j)].max(0.0));
        }
        let w = (&a + a.transpose()) * 0.5;
        let degrees = w.column_sum();
        let s = DMatrix::from_fn(count, count, |i, j| match w[(i, j)] {
            0.0 => 0.0,
            weight => weight / (degrees[i] * degrees[j]).sqrt(),
        });
        (DMatrix::identity(count, count) - s * alpha).try_inverse().expect("regular") * z
    }

    #[test]
    fn it_is_the_inverse_applied() {
        for (count, dim, neighbours, alpha) in
            [(30, 7, 4, 0.5), (23, 40, 22, 0.9), (700, 5, 10, 0.8), (5, 3, 50, 0.3)]
        {
            let rows = rows(count, dim);
            let (found, expected) = (smooth(&rows, neighbours, alpha), slow(&rows, neighbours, alpha));
            let scale = expected.amax();
            for i in 0..count {
                for j in 0..dim {
                    let difference = (found.row(i)[j] - expected[(i, j)]).abs();
                    assert!(difference < 1e-4 * scale, "{count} rows, alpha {alpha}: off by {difference}");
                }
            }
        }
    }

    #[test]
    fn rows_without_a_neighbour_stay_where_they_are() {
        let rows = Matrix::from_vec(3, 2, vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(smooth(&rows, 2, 0.5), rows);
        let one = Matrix::from_vec(1, 2, vec![1.0, 0.0]);
        assert_eq!(smooth(&one, 2, 0.5), one);
    }
}
