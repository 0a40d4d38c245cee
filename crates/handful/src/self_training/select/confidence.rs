//! Confidence: the probability of the likeliest class (Table 6's *confid.*).

use crate::linalg::Matrix;
use crate::scalar::Scalar;
use crate::solution::argmax;

pub(super) fn credibility<T: Scalar>(probabilities: &Matrix<T>) -> Vec<f64> {
    probabilities.iter_rows().map(|row| row[argmax(row)].to_f64()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surer_rows_rank_higher() {
        let scores = credibility(&Matrix::from_vec(2, 2, vec![0.6, 0.4, 0.1, 0.9]));
        assert_eq!(scores, vec![0.6, 0.9]);
    }
}
