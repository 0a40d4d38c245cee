//! Neighbour graphs over the rows of a task.

use crate::error::TaskError;
use crate::linalg::Matrix;

/// The most rows a dense graph is made of: 20,000 rows take 3.2 GB.
const MOST_ROWS: usize = 20_000;

/// Refuses a graph that would not fit into memory.
pub(crate) fn check_size(method: &'static str, rows: usize) -> Result<(), TaskError> {
    if rows > MOST_ROWS {
        return Err(TaskError::TooManyRows { method, rows, limit: MOST_ROWS });
    }
    Ok(())
}

/// The `count` rows most similar to `row`, itself left out, most similar first; equals in the order of the rows. `own` is
/// the similarity of every row to it.
///
/// Tasks are compared through the Gram matrix they have anyway; the rows of a pool by [`super::neighbours`], which never
/// holds one.
pub(crate) fn nearest(own: &[f64], row: usize, count: usize) -> Vec<usize> {
    let count = count.min(own.len().saturating_sub(1));
    let mut best: Vec<usize> = Vec::with_capacity(count + 1);
    if count == 0 {
        return best;
    }
    // Few are wanted of many: almost every row is turned away by the comparison with the last of the best.
    let mut bar = f64::NEG_INFINITY;
    for (other, &similarity) in own.iter().enumerate() {
        if (similarity <= bar && best.len() == count) || other == row {
            continue;
        }
        let place = best.partition_point(|&closer| own[closer] >= similarity);
        best.insert(place, other);
        best.truncate(count);
        bar = best.last().map_or(bar, |&last| own[last]);
    }
    best
}

/// `D^-1/2 W D^-1/2` with `D = epsilon + row sums`; a row without any edge keeps none.
pub(crate) fn normalise_symmetric(weights: &mut Matrix<f64>, epsilon: f64) {
    let inverse_root = |row: &[f64]| {
        let degree = epsilon + row.iter().sum::<f64>();
        if degree > 0.0 { 1.0 / degree.sqrt() } else { 0.0 }
    };
    let scales: Vec<f64> = weights.iter_rows().map(inverse_root).collect();
    for (row, own) in scales.iter().enumerate() {
        for (value, other) in weights.row_mut(row).iter_mut().zip(&scales) {
            *value *= own * other;
        }
    }
}

/// Squared distances from inner products.
pub(crate) fn squared_distances(gram: &Matrix<f64>) -> Matrix<f64> {
    let norms: Vec<f64> = (0..gram.rows()).map(|row| gram.row(row)[row]).collect();
    let mut out = gram.clone();
    for (row, own) in norms.iter().enumerate() {
        for (column, (value, norm)) in out.row_mut(row).iter_mut().zip(&norms).enumerate() {
            *value = if row == column { 0.0 } else { (own + norm - 2.0 * *value).max(0.0) };
        }
    }
    out
}

/// From inner products, numbers that order the other rows of each row as their closeness does: `2 <z_i, z_j> - |z_j|^2`,
/// which is minus the squared distance but for a constant of the row.
pub(crate) fn closeness(mut gram: Matrix<f64>) -> Matrix<f64> {
    let norms: Vec<f64> = (0..gram.rows()).map(|row| gram.row(row)[row]).collect();
    for row in 0..gram.rows() {
        gram.row_mut(row).iter_mut().zip(&norms).for_each(|(value, norm)| *value = 2.0 * *value - norm);
    }
    gram
}

/// Cosines from inner products; zero where a row has no length.
pub(crate) fn cosines(gram: &Matrix<f64>) -> Matrix<f64> {
    let norms: Vec<f64> = (0..gram.rows()).map(|row| gram.row(row)[row].max(0.0).sqrt()).collect();
    let mut out = gram.clone();
    for (row, own) in norms.iter().enumerate() {
        for (value, norm) in out.row_mut(row).iter_mut().zip(&norms) {
            *value = if own * norm > 0.0 { *value / (own * norm) } else { 0.0 };
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_leave_the_row_out_and_are_ordered() {
        let similarities = [1.0, 0.2, 0.9, 0.9, 0.5];
        assert_eq!(nearest(&similarities, 0, 3), vec![2, 3, 4]);
        assert_eq!(nearest(&similarities, 0, 0), Vec::<usize>::new());
        assert_eq!(nearest(&similarities, 0, 99), vec![2, 3, 4, 1]);
    }

    #[test]
    fn normalised_graph_has_leading_eigenvalue_one() {
        let mut weights = Matrix::from_vec(3, 3, vec![0.0, 1.0, 2.0, 1.0, 0.0, 3.0, 2.0, 3.0, 0.0]);
        // D^1/2 1 is the eigenvector of eigenvalue one.
        let vector = [3f64.sqrt(), 2.0, 5f64.sqrt()];
        normalise_symmetric(&mut weights, 0.0);
        for (row, wanted) in weights.iter_rows().zip(vector) {
            let product: f64 = row.iter().zip(vector).map(|(w, v)| w * v).sum();
            assert!((product - wanted).abs() < 1e-12);
        }
    }

    #[test]
    fn distances_and_cosines_of_a_small_gram() {
        // Rows (3, 4), (0, 0), (4, 3).
        let gram = Matrix::from_vec(3, 3, vec![25.0, 0.0, 24.0, 0.0, 0.0, 0.0, 24.0, 0.0, 25.0]);
        assert_eq!(squared_distances(&gram).row(0), &[0.0, 25.0, 2.0]);
        assert_eq!(cosines(&gram).row(0), &[1.0, 0.0, 0.96]);
        // |z_i|^2 minus the squared distance.
        assert_eq!(closeness(gram).row(0), &[25.0, 0.0, 23.0]);
    }

    #[test]
    fn an_enormous_graph_is_refused() {
        assert!(check_size("epnet", MOST_ROWS).is_ok());
        let message = check_size("epnet", MOST_ROWS + 1).expect_err("too many").to_string();
        assert!(message.contains("epnet") && message.contains("20001"), "{message}");
    }
}
