//! Probabilities that mean what they say.
//!
//! Labels are left out, one of each class at a time, the whole rule is run without them, and what it says about them
//! is compared with what they are. One temperature T makes `softmax(log p / T)` fit: it minimises the mean log-loss of
//! the labels left out plus a pull towards the temperature that fitted the validation classes (`Prior`). With fewer
//! than [`ENOUGH`] labels left out that prior alone is used, and said so.

use handful::fit::head::Example;
use serde::{Deserialize, Serialize};

/// Labels left out from which a temperature is fitted.
pub const ENOUGH: usize = 10;
/// Keeps logarithms finite; smoothing makes exact zeros only where no neighbour disagrees.
pub(crate) const FLOOR: f32 = 1e-5;

/// The temperature expected before any label is left out, and how strongly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prior {
    pub temperature: f64,
    pub weight: f64,
}

/// A temperature and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// T of `softmax(log p / T)`.
    pub temperature: f64,
    /// Labels that were left out to fit it.
    pub labels_left_out: usize,
    /// Whether there were enough of them; otherwise probabilities are to be called uncalibrated.
    pub fitted: bool,
}

/// Which labels are left out together: the j-th of every class that has another, j below the number of parts.
pub(crate) fn parts(given: &[Example], ways: usize, most: usize) -> Vec<Vec<Example>> {
    let mut of_class = vec![0usize; ways];
    given.iter().for_each(|example| of_class[example.class] += 1);
    let count = of_class.iter().copied().max().unwrap_or(0).min(most);
    if count == 0 {
        return Vec::new();
    }
    let mut seen = vec![0usize; ways];
    let mut parts = vec![Vec::new(); count];
    for example in given {
        let place = seen[example.class];
        seen[example.class] += 1;
        // A class keeps at least one of its labels in every part.
        if of_class[example.class] > 1 {
            parts[place % count.min(of_class[example.class])].push(*example);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// What was said about a left-out label.
#[derive(Clone, Debug)]
pub(crate) struct Tested {
    pub probabilities: Vec<f32>,
    pub class: usize,
    /// What it counts: more where the pool holds more of its class than the labels do.
    pub weight: f64,
}

/// Fits the temperature to probabilities of left-out labels and their true classes.
pub(crate) fn fit(left_out: &[Tested], prior: Prior) -> Calibration {
    let labels_left_out = left_out.len();
    if labels_left_out < ENOUGH {
        return Calibration { temperature: prior.temperature, labels_left_out, fitted: false };
    }
    let best = grid().map(|log_t| (loss(left_out, log_t, prior), log_t)).min_by(|a, b| a.0.total_cmp(&b.0));
    let temperature = best.map_or(prior.temperature, |(_, log_t)| log_t.exp());
    Calibration { temperature, labels_left_out, fitted: true }
}

/// The largest temperature whose log-loss on the labels left out is within `margin` of the best one's.
pub(crate) fn upper_temperature(left_out: &[Tested], fitted: &Calibration, prior: Prior, margin: f64) -> f64 {
    let best = loss(left_out, fitted.temperature.ln(), prior);
    let within = |log_t: &f64| loss(left_out, *log_t, prior) <= best + margin;
    grid().filter(within).last().map_or(fitted.temperature, f64::exp).max(fitted.temperature)
}

fn grid() -> impl Iterator<Item = f64> {
    (-60..=40).map(|step| f64::from(step) / 20.0)
}

fn loss(left_out: &[Tested], log_t: f64, prior: Prior) -> f64 {
    let label = |tested: &Tested| {
        -tested.weight
            * tempered(&tested.probabilities, log_t.exp())[tested.class].max(f64::MIN_POSITIVE).ln()
    };
    let pull = (log_t - prior.temperature.ln()).powi(2);
    left_out.iter().map(label).sum::<f64>() + prior.weight * pull
}

/// `softmax(log p / T)`.
pub(crate) fn tempered(probabilities: &[f32], temperature: f64) -> Vec<f64> {
    tempered_logs(&logs(probabilities), temperature)
}

/// The logarithms that `tempered` divides; with thousands of classes worth taking once for several temperatures.
pub(crate) fn logs(probabilities: &[f32]) -> Vec<f64> {
    probabilities.iter().map(|&p| f64::from(p.max(FLOOR)).ln()).collect()
}

/// `softmax(logs / T)`.
pub(crate) fn tempered_logs(logs: &[f64], temperature: f64) -> Vec<f64> {
    let mut out: Vec<f64> = logs.iter().map(|log| log / temperature).collect();
    let largest = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    out.iter_mut().for_each(|log| *log = (*log - largest).exp());
    let total: f64 = out.iter().sum();
    out.iter_mut().for_each(|p| *p /= total);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIOR: Prior = Prior { temperature: 0.6, weight: 10.0 };

    #[test]
    fn every_class_keeps_a_label_and_each_label_is_left_out_once() {
        let given: Vec<Example> = [0, 0, 0, 1, 2, 2]
            .iter()
            .enumerate()
            .map(|(row, &class)| Example { row, class, weight: 1.0 })
            .collect();
        let parts = parts(&given, 3, 10);
        assert_eq!(parts.len(), 3);
        let mut out: Vec<usize> = parts.iter().flatten().map(|example| example.row).collect();
        out.sort();
        assert_eq!(out, [0, 1, 2, 4, 5], "row 3 is its class's only label");
        for part in &parts {
            for class in 0..3 {
                let kept = given.iter().filter(|e| e.class == class && !part.contains(e)).count();
                assert!(kept > 0);
            }
        }
    }

    #[test]
    fn overconfident_probabilities_are_flattened_and_timid_ones_sharpened() {
        // Says 0.9 and is right three times in four; or says 0.55 and is always right.
        let tested =
            |first: f32, class: usize| Tested { probabilities: vec![first, 1.0 - first], class, weight: 1.0 };
        let bold: Vec<_> = (0..400).map(|at| tested(0.9, usize::from(at % 4 == 0))).collect();
        let timid: Vec<_> = (0..400).map(|_| tested(0.55, 0)).collect();
        let bold = fit(&bold, PRIOR);
        assert!((tempered(&[0.9, 0.1], bold.temperature)[0] - 0.75).abs() < 0.05, "{bold:?}");
        assert!(tempered(&[0.55, 0.45], fit(&timid, PRIOR).temperature)[0] > 0.9);
    }

    #[test]
    fn few_labels_leave_it_uncalibrated() {
        let tested = |class: usize| Tested { probabilities: vec![0.9, 0.1], class, weight: 1.0 };
        let calibration = fit(&[tested(0), tested(1)], PRIOR);
        assert!(!calibration.fitted && calibration.temperature == 0.6);
        let given = [0, 0, 1, 1].map(|class| Example { row: class, class, weight: 1.0 });
        assert!(parts(&given, 2, 0).is_empty(), "asked to leave none out");
    }
}
