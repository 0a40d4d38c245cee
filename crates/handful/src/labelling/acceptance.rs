//! Which labels to accept so that at most a promised share of them is wrong.
//!
//! Rows are taken by falling probability while the mean of their estimated errors stays within the promise. The
//! estimate of a row's error is not `1 - p` alone, which is right on average and so broken by every other pool: it is
//! the upper end of what the labels left out support. Two corrections, both chosen on the validation classes:
//!
//! - the temperature is raised to the upper end of its likelihood interval (the largest T whose log-loss is within
//!   [`LOSS_MARGIN`] of the best one's), which matters when few labels were left out;
//! - the errors are multiplied by `error_safety`.

/// How far the log-loss may rise above its best: half the 90% point of chi-squared with one degree of freedom.
pub(crate) const LOSS_MARGIN: f64 = 1.35;

/// Which rows were accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Acceptance {
    /// Whether each row is; given labels always are.
    pub accepted: Vec<bool>,
    /// Rows accepted, given ones not counted.
    pub count: usize,
    /// The estimated share of wrong labels among those, corrections included.
    pub estimated_error: f64,
}

/// Takes rows by rising estimated error while their mean stays within `max_error`.
pub(crate) fn accept(errors: &[f64], candidates: &[bool], max_error: f64) -> Acceptance {
    let mut order: Vec<usize> = (0..errors.len()).filter(|&row| candidates[row]).collect();
    order.sort_by(|&a, &b| errors[a].total_cmp(&errors[b]).then(a.cmp(&b)));
    let mut accepted: Vec<bool> = candidates.iter().map(|candidate| !candidate).collect();
    let (mut sum, mut count) = (0.0, 0usize);
    for row in order {
        if sum + errors[row] > max_error * (count + 1) as f64 {
            break;
        }
        sum += errors[row];
        count += 1;
        accepted[row] = true;
    }
    Acceptance { accepted, count, estimated_error: sum / count.max(1) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_stays_within_the_promise_and_no_further_row_would_fit() {
        let errors = [0.5, 0.0, 0.02, 0.3, 0.1, 0.9];
        let candidates = [true, true, true, true, true, false];
        let accepted = accept(&errors, &candidates, 0.05);
        assert_eq!(accepted.accepted, [false, true, true, false, true, true]);
        assert_eq!(accepted.count, 3);
        assert!((accepted.estimated_error - 0.04).abs() < 1e-12);
        assert_eq!(accept(&[0.2], &[true], 0.1).count, 0);
    }
}
