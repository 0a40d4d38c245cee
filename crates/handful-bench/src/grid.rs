//! Parameter grids, and two ways to search them.
//!
//! An [`Axis`] is a key with the values to try. [`Search::Grid`] tries every combination. [`Search::Coordinate`] changes
//! one key at a time, keeps the best value, and goes round until a whole round changes nothing: far fewer tries, at the
//! risk of stopping where only two changes together would help.

use std::collections::HashMap;

use handful::methods::Change;

/// A key and the values to try, as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The parameter.
    pub key: String,
    /// Its values.
    pub values: Vec<String>,
}

/// A grid that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// Not `key=value,value`.
    #[error("{text}: write it as key=value,value,…")]
    NotAnAxis {
        /// What was typed.
        text: String,
    },
    /// More combinations than anybody would wait for.
    #[error("the grid has more than {limit} combinations; give fewer values, or search one key at a time")]
    TooLarge {
        /// The most that are accepted.
        limit: usize,
    },
}

/// The most combinations of one grid.
pub const MOST_COMBINATIONS: usize = 10_000;

impl Axis {
    /// Reads `key=value,value,…`.
    pub fn parse(text: &str) -> Result<Self, GridError> {
        let malformed = || GridError::NotAnAxis { text: text.to_owned() };
        let (key, values) = text.split_once('=').ok_or_else(malformed)?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if key.trim().is_empty() || values.iter().any(String::is_empty) {
            return Err(malformed());
        }
        Ok(Self { key: key.trim().to_owned(), values })
    }
}

/// Every combination of one value per axis, the last axis changing fastest; one empty combination for no axis.
pub fn combinations(axes: &[Axis]) -> Result<Vec<Vec<Change>>, GridError> {
    let count = axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.values.len()));
    if count.is_none_or(|count| count > MOST_COMBINATIONS) {
        return Err(GridError::TooLarge { limit: MOST_COMBINATIONS });
    }
    let mut all = vec![Vec::new()];
    for axis in axes {
        let extended = |start: &Vec<Change>| -> Vec<Vec<Change>> {
            let with = |value: &String| [start.clone(), vec![(axis.key.clone(), value.clone())]].concat();
            axis.values.iter().map(with).collect()
        };
        all = all.iter().flat_map(extended).collect();
    }
    Ok(all)
}

/// How to search a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Every combination.
    Grid,
    /// One key at a time.
    Coordinate {
        /// The most combinations to score.
        budget: usize,
    },
}

/// The best combination found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The changes.
    pub changes: Vec<Change>,
    /// Their score.
    pub score: f64,
    /// Combinations that were scored.
    pub tried: usize,
}

/// Finds the combination with the highest score, the first one of equals. `scores` rates several combinations at once.
pub fn search<E: From<GridError>>(
    axes: &[Axis],
    search: Search,
    mut scores: impl FnMut(&[Vec<Change>]) -> Result<Vec<f64>, E>,
) -> Result<Found, E> {
    match search {
        Search::Grid => {
            let all = combinations(axes)?;
            let rated = scores(&all)?;
            let (best, score) = highest(&rated);
            let changes = all.get(best).cloned().unwrap_or_default();
            Ok(Found { changes, score, tried: all.len() })
        }
        Search::Coordinate { budget } => one_at_a_time(axes, budget, scores),
    }
}

/// The first value of every axis is where it starts. Combinations already scored are not scored again.
fn one_at_a_time<E>(
    axes: &[Axis],
    budget: usize,
    mut scores: impl FnMut(&[Vec<Change>]) -> Result<Vec<f64>, E>,
) -> Result<Found, E> {
    let mut known: HashMap<Vec<usize>, f64> = HashMap::new();
    let mut rate = |places: &[Vec<usize>]| -> Result<(Vec<f64>, usize), E> {
        let unknown = places.iter().filter(|place| !known.contains_key(*place));
        // What the budget does not reach stays unknown, and nothing is better than another because of it.
        let new: Vec<&Vec<usize>> = unknown.take(budget.max(1).saturating_sub(known.len())).collect();
        let changes: Vec<Vec<Change>> = new.iter().map(|place| changes_at(axes, place)).collect();
        for (place, score) in new.iter().zip(scores(&changes)?) {
            known.insert((*place).clone(), score);
        }
        Ok((places.iter().map(|place| known.get(place).copied().unwrap_or(f64::NAN)).collect(), known.len()))
    };
    let mut place = vec![0; axes.len()];
    let (rated, mut tried) = rate(std::slice::from_ref(&place))?;
    let mut score = highest(&rated).1;
    loop {
        let before = place.clone();
        for (at, axis) in axes.iter().enumerate() {
            let moved = |value: usize| {
                let mut moved = place.clone();
                moved[at] = value;
                moved
            };
            let candidates: Vec<Vec<usize>> = (0..axis.values.len()).map(moved).collect();
            let (rated, count) = rate(&candidates)?;
            tried = count;
            let (best, best_score) = highest(&rated);
            if best_score > score {
                (place[at], score) = (best, best_score);
            }
        }
        if place == before || tried >= budget {
            return Ok(Found { changes: changes_at(axes, &place), score, tried });
        }
    }
}

fn changes_at(axes: &[Axis], place: &[usize]) -> Vec<Change> {
    axes.iter().zip(place).map(|(axis, &value)| (axis.key.clone(), axis.values[value].clone())).collect()
}

fn highest(scores: &[f64]) -> (usize, f64) {
    scores
        .iter()
        .copied()
        .enumerate()
        .fold((0, f64::NEG_INFINITY), |best, (at, score)| if score > best.1 { (at, score) } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes() -> Vec<Axis> {
        ["a=1,2,3,4", "b = x, y,z, w"].map(|text| Axis::parse(text).expect("an axis")).to_vec()
    }

    /// A hill with its top at a=4, b=y.
    fn hill(changes: &[Change]) -> f64 {
        let a: f64 = changes[0].1.parse().expect("a number");
        a + if changes[1].1 == "y" { 0.5 } else { 0.0 }
    }

    #[test]
    fn every_combination_once_in_order() {
        let all = combinations(&axes()).expect("small");
        assert_eq!(all.len(), 16);
        assert_eq!(all[0], [("a".into(), "1".into()), ("b".into(), "x".into())]);
        assert_eq!(all[1][1].1, "y");
        assert_eq!(combinations(&[]).expect("nothing to combine"), vec![Vec::<Change>::new()]);
    }

    #[test]
    fn both_searches_find_the_top_of_a_hill() {
        let all = |wanted: &[Vec<Change>]| Ok(wanted.iter().map(|changes| hill(changes)).collect());
        let grid = search::<GridError>(&axes(), Search::Grid, all).expect("scored");
        let steps =
            search::<GridError>(&axes(), Search::Coordinate { budget: usize::MAX }, all).expect("scored");
        assert_eq!((grid.score, grid.tried), (4.5, 16));
        assert_eq!((steps.score, &steps.changes), (4.5, &grid.changes));
        assert!(steps.tried < grid.tried, "one key at a time scored {} combinations", steps.tried);
    }

    #[test]
    fn a_budget_is_kept_and_the_best_within_it_returned() {
        let mut scored = 0;
        let mut all = |wanted: &[Vec<Change>]| {
            scored += wanted.len();
            Ok(wanted.iter().map(|changes| hill(changes)).collect())
        };
        let found = search::<GridError>(&axes(), Search::Coordinate { budget: 6 }, &mut all).expect("scored");
        assert_eq!((found.tried, scored), (6, 6));
        assert!(found.score.is_finite() && found.score >= hill(&combinations(&axes()).expect("small")[0]));
        assert_eq!(hill(&found.changes), found.score);
    }

    #[test]
    fn malformed_and_endless_grids_are_refused() {
        for text in ["steps", "=1", "steps=", "steps=1,,2"] {
            assert!(matches!(Axis::parse(text), Err(GridError::NotAnAxis { .. })), "{text}");
        }
        let wide = Axis { key: "a".into(), values: vec!["1".into(); 200] };
        assert!(matches!(combinations(&[wide.clone(), wide.clone(), wide]), Err(GridError::TooLarge { .. })));
    }
}
