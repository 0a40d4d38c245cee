//! How many more labels it may take: the rate at which labels brought accepted rows so far, carried on.

use serde::Serialize;

/// The fits that count; earlier ones were on another part of the curve.
const RECENT: usize = 6;
/// Fewer rows than this for a label is no rate to promise anything by.
const LEAST_RATE: f64 = 0.2;
const SHARES: [f64; 5] = [0.25, 0.5, 0.75, 0.9, 0.97];

/// What is left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Forecast {
    /// About this many more labels…
    pub labels: usize,
    /// …until this many rows are accepted.
    pub rows: usize,
}

/// Carries on the line through recent pairs of (labels, accepted rows).
pub fn forecast(past: &[(usize, usize)], rows: usize) -> Option<Forecast> {
    let recent = &past[past.len().saturating_sub(RECENT)..];
    let &(_, now) = recent.last()?;
    let count = recent.len() as f64;
    let mean = |value: fn(&(usize, usize)) -> usize| {
        recent.iter().map(|pair| value(pair) as f64).sum::<f64>() / count
    };
    let (labels, accepted) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let spread: f64 = recent.iter().map(|pair| (pair.0 as f64 - labels).powi(2)).sum();
    let together: f64 = recent.iter().map(|pair| (pair.0 as f64 - labels) * (pair.1 as f64 - accepted)).sum();
    if recent.len() < 3 || spread == 0.0 || together / spread < LEAST_RATE {
        return None;
    }
    let rate = together / spread;
    let target = SHARES.iter().map(|share| (share * rows as f64) as usize).find(|&target| target > now)?;
    let more = ((target - now) as f64 / rate).ceil() as usize;
    // Two figures are more than such a line is good for.
    let rounded = if more > 20 { more.div_ceil(10) * 10 } else { more };
    Some(Forecast { labels: rounded, rows: target })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rate_is_carried_on_and_none_is_none() {
        let steady: Vec<(usize, usize)> = (1..=5).map(|at| (10 * at, 100 * at)).collect();
        assert_eq!(forecast(&steady, 1000), Some(Forecast { labels: 25usize.div_ceil(10) * 10, rows: 750 }));
        assert_eq!(forecast(&steady[..2], 1000), None);
        assert_eq!(forecast(&[(10, 0), (20, 0), (30, 0)], 1000), None);
        assert_eq!(forecast(&[], 1000), None);
        assert_eq!(forecast(&[(10, 900), (20, 990), (30, 999)], 1000), None, "nothing is left");
    }
}
