//! IDA and confidence together: the sum of a row's places in the two rankings.
//!
//! They err on different rows: IDA knows the shape of the pool and not the classifier, confidence the classifier and not the
//! pool. As a ranking of single labels the sum is ahead of either (`docs/src/results/results.md`). Places instead of values, because
//! the two have no common scale.

/// Sum of the places in both rankings, from 0 to 2; equal values share the mean of their places.
pub(super) fn credibility(one: &[f64], other: &[f64]) -> Vec<f64> {
    places(one).into_iter().zip(places(other)).map(|(a, b)| a + b).collect()
}

/// Where each value stands in rising order, from 0 to 1.
fn places(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let last = values.len().saturating_sub(1).max(1) as f64;
    let mut places = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let equal =
            order[start..].iter().take_while(|&&row| values[row] == values[order[start]]).count().max(1);
        let place = (start as f64 + (equal - 1) as f64 / 2.0) / last;
        order[start..start + equal].iter().for_each(|&row| places[row] = place);
        start += equal;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_add_up_and_equals_share_theirs() {
        assert_eq!(places(&[3.0, 1.0, 3.0, 9.0, -1.0]), vec![0.625, 0.25, 0.625, 1.0, 0.0]);
        assert_eq!(credibility(&[1.0, 2.0, 3.0], &[30.0, 10.0, 20.0]), vec![1.0, 0.5, 1.5]);
        assert_eq!(credibility(&[5.0], &[1.0]), vec![0.0]);
        assert!(credibility(&[], &[]).is_empty());
    }
}
