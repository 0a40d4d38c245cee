//! What one task says about a method: more than accuracy where classes are uneven or rows belong to none of them.
//!
//! - **accuracy**: right labels among the query rows of the task's classes;
//! - **macro accuracy**: the mean over classes of the accuracy within the class, so that a class with two rows counts
//!   as much as one with thirty; classes without a query row have none;
//! - **open-set AUROC**: query rows of known against unknown classes, ranked by the probability of the likeliest class;
//! - **distractor AUROC**: the same for the pool, ranked by the method's credibility.

use handful::solution::Solution;
use handful_data::Episode;
use serde::{Deserialize, Serialize};

/// One method on one task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Share of right labels among the query rows of known classes.
    pub accuracy: f64,
    /// Mean accuracy within a class; none where all classes have equally many query rows and it is the accuracy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub macro_accuracy: Option<f64>,
    /// How well confidence tells known from unknown query rows, if there are both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_set_auroc: Option<f64>,
    /// How well credibility tells pool rows of the task's classes from distractors, if there are both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distractor_auroc: Option<f64>,
}

impl Outcome {
    /// Scores a solution against the episode its task was assembled from.
    pub fn of(solution: &Solution<f32>, episode: &Episode) -> Self {
        let labels = solution.query_labels();
        let mut start = 0;
        let mut right_in_class = Vec::with_capacity(episode.query.len());
        for (class, rows) in episode.query.iter().enumerate() {
            let got = labels.get(start..start + rows.len()).unwrap_or_default();
            right_in_class.push((got.iter().filter(|&&label| label == class).count(), rows.len()));
            start += rows.len();
        }
        let right: usize = right_in_class.iter().map(|(right, _)| right).sum();
        let present: Vec<f64> = right_in_class
            .iter()
            .filter(|(_, rows)| *rows > 0)
            .map(|&(right, rows)| right as f64 / rows as f64)
            .collect();
        let uneven = right_in_class.windows(2).any(|pair| pair[0].1 != pair[1].1);
        let confidence: Vec<f64> = solution
            .query
            .iter_rows()
            .map(|row| row.iter().fold(0.0f64, |best, &p| best.max(f64::from(p))))
            .collect();
        let known_in_pool = episode.unlabeled.iter().map(Vec::len).sum();
        Self {
            accuracy: right as f64 / start.max(1) as f64,
            macro_accuracy: uneven.then(|| present.iter().sum::<f64>() / present.len().max(1) as f64),
            open_set_auroc: auroc_of_split(&confidence, start),
            distractor_auroc: if episode.distractors.is_empty() {
                None
            } else {
                auroc_of_split(&solution.credibility, known_in_pool)
            },
        }
    }
}

fn auroc_of_split(scores: &[f64], known: usize) -> Option<f64> {
    let (known, unknown) = scores.split_at_checked(known)?;
    auroc(known, unknown)
}

/// The chance that a value of `higher` exceeds one of `lower`, equal ones counting half; none if either is empty.
pub fn auroc(higher: &[f64], lower: &[f64]) -> Option<f64> {
    if higher.is_empty() || lower.is_empty() {
        return None;
    }
    let mut all: Vec<(f64, bool)> =
        higher.iter().map(|&x| (x, true)).chain(lower.iter().map(|&x| (x, false))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The sum of ranks, where equal values share the mean of theirs.
    let mut rank_sum = 0.0;
    let mut start = 0;
    while start < all.len() {
        let end = start + all[start..].iter().take_while(|(x, _)| *x == all[start].0).count().max(1);
        let mean_rank = (start + end + 1) as f64 / 2.0;
        rank_sum += mean_rank * all[start..end].iter().filter(|(_, is_higher)| *is_higher).count() as f64;
        start = end;
    }
    let (n, m) = (higher.len() as f64, lower.len() as f64);
    Some((rank_sum - n * (n + 1.0) / 2.0) / (n * m))
}

#[cfg(test)]
mod tests {
    use handful::Matrix;

    use super::*;

    #[test]
    fn auroc_counts_pairs() {
        let (higher, lower) = ([0.9, 0.4, 0.4, 0.7], [0.4, 0.1, 0.8]);
        let pairs = higher.iter().flat_map(|a| lower.iter().map(move |b| (a, b)));
        let slow: f64 = pairs
            .map(|(a, b)| {
                if a > b {
                    1.0
                } else if a == b {
                    0.5
                } else {
                    0.0
                }
            })
            .sum::<f64>()
            / 12.0;
        assert!((auroc(&higher, &lower).expect("both present") - slow).abs() < 1e-12);
        assert_eq!(auroc(&higher, &[]), None);
    }

    #[test]
    fn a_small_class_counts_as_much_as_a_large_one_in_macro_accuracy() {
        // Class 0 has three query rows, all right; class 1 one, wrong; class 2 none; then an unknown row, least sure.
        let query = Matrix::from_vec(
            5,
            3,
            vec![0.8f32, 0.1, 0.1, 0.7, 0.2, 0.1, 0.9, 0.0, 0.1, 0.6, 0.3, 0.1, 0.4, 0.3, 0.3],
        );
        let pool = Matrix::from_vec(2, 3, vec![0.9f32, 0.1, 0.0, 0.5, 0.4, 0.1]);
        let episode = Episode {
            classes: vec![0, 1, 2],
            support: vec![vec![0], vec![1], vec![2]],
            unlabeled: vec![vec![9], vec![], vec![]],
            query: vec![vec![3, 4, 5], vec![6], vec![]],
            distractors: vec![8],
            open_query: vec![7],
        };
        let outcome = Outcome::of(&Solution::from_probabilities(query, pool), &episode);
        assert_eq!((outcome.accuracy, outcome.macro_accuracy), (0.75, Some(0.5)));
        assert_eq!((outcome.open_set_auroc, outcome.distractor_auroc), (Some(1.0), Some(1.0)));
    }
}
