//! Nearest: minus the distance to the prototype of the row's class (Table 6's *nn.*).

use crate::linalg::Matrix;
use crate::scalar::Scalar;

pub(super) fn credibility<T: Scalar>(rows: &Matrix<T>, labels: &[usize], prototypes: &Matrix<T>) -> Vec<f64> {
    let distance = |(row, &label): (&[T], &usize)| {
        let squares = row.iter().zip(prototypes.row(label)).map(|(&z, &mu)| (z - mu).to_f64().powi(2));
        -squares.sum::<f64>().sqrt()
    };
    rows.iter_rows().zip(labels).map(distance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_to_the_rows_own_class() {
        let prototypes = Matrix::from_vec(2, 1, vec![0.0f32, 10.0]);
        let scores = credibility(&Matrix::from_vec(2, 1, vec![3.0f32, 9.0]), &[0, 0], &prototypes);
        assert_eq!(scores, vec![-3.0, -9.0]);
    }
}
