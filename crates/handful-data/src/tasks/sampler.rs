//! Draws tasks from the classes of a table.

use std::sync::Arc;

use super::{draw::TaskDraw, episode::Episode, shares, spec::EpisodeSpec};
use crate::{
    error::DataError,
    table::{ClassIndex, FeatureTable},
};

/// Draws any task of a setting by its number; the same number gives the same task, whoever asks and when.
///
/// ```
/// use handful_data::{EpisodeSampler, EpisodeSpec, synthetic::SyntheticSpec};
/// let table = SyntheticSpec::default().table()?;
/// let sampler = EpisodeSampler::new(&table, EpisodeSpec::default(), 1)?;
/// assert_eq!(sampler.episode(41), sampler.episode(41));
/// # Ok::<(), handful_data::DataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct EpisodeSampler {
    classes: Arc<ClassIndex>,
    spec: EpisodeSpec,
    seed: u64,
}

impl EpisodeSampler {
    /// Checks that every class of the table can serve the setting.
    pub fn new(table: &FeatureTable, spec: EpisodeSpec, seed: u64) -> Result<Self, DataError> {
        Self::from_classes(Arc::clone(table.classes()), spec, seed)
    }

    /// The same for classes that are not (yet) a table of features.
    pub fn from_classes(classes: Arc<ClassIndex>, spec: EpisodeSpec, seed: u64) -> Result<Self, DataError> {
        spec.check()?;
        let others = spec.distractor_classes.saturating_add(spec.open_classes);
        let needed = spec.ways.saturating_add(others);
        if needed > classes.len() {
            let breakdown = match others {
                0 => format!("{} ways", spec.ways),
                _ => format!(
                    "{} ways + {} distractor + {} open-set classes",
                    spec.ways, spec.distractor_classes, spec.open_classes
                ),
            };
            return Err(DataError::TooFewClasses { available: classes.len(), needed, breakdown });
        }
        let (shots, pool, queries) = spec.most_rows();
        let own = shots.saturating_add(pool).saturating_add(queries);
        // Any class may be drawn for any purpose.
        let (needed, breakdown) = [
            (own, format!("{shots} shots + {pool} unlabeled + {queries} queries")),
            (spec.distractor_rows, "as distractors".to_owned()),
            (spec.open_rows, "as open-set queries".to_owned()),
        ]
        .into_iter()
        .max_by_key(|(rows, _)| *rows)
        .unwrap_or_default();
        for (name, rows) in classes.names().iter().zip(classes.rows_of_class()) {
            if rows.len() < needed {
                let (class, available) = (name.clone(), rows.len());
                return Err(DataError::TooFewRows { class, available, needed, breakdown });
            }
        }
        Ok(Self { classes, spec, seed })
    }

    /// The setting.
    pub fn spec(&self) -> &EpisodeSpec {
        &self.spec
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The task of the given number.
    pub fn episode(&self, index: u64) -> Episode {
        let mut draw = TaskDraw::new(self.seed, index);
        let spec = &self.spec;
        let drawn_classes =
            draw.distinct(spec.ways + spec.distractor_classes + spec.open_classes, self.classes.len());
        let (ways, others) = drawn_classes.split_at(spec.ways);
        let (distractors, open) = others.split_at(spec.distractor_classes);
        let counts = self.counts(&mut draw);

        let mut episode = Episode { classes: ways.to_vec(), ..Episode::default() };
        for (&class, &(shots, unlabeled, queries)) in ways.iter().zip(&counts) {
            // One draw, then split: the three parts cannot overlap.
            let mut rows = self.rows(&mut draw, class, shots + unlabeled + queries);
            let scored = rows.split_off(shots + unlabeled);
            let pool = rows.split_off(shots);
            episode.support.push(rows);
            if !spec.is_transductive() {
                episode.unlabeled.push(pool);
            }
            episode.query.push(scored);
        }
        for &class in distractors {
            episode.distractors.extend(self.rows(&mut draw, class, spec.distractor_rows));
        }
        for &class in open {
            episode.open_query.extend(self.rows(&mut draw, class, spec.open_rows));
        }
        episode
    }

    fn rows(&self, draw: &mut TaskDraw, class: usize, count: usize) -> Vec<usize> {
        let rows = &self.classes.rows_of_class()[class];
        draw.distinct(count, rows.len()).into_iter().map(|place| rows[place]).collect()
    }

    /// Support, pool and query rows of each class of a task.
    fn counts(&self, draw: &mut TaskDraw) -> Vec<(usize, usize, usize)> {
        let spec = &self.spec;
        let present = match spec.effective_ways {
            Some(effective) => draw.distinct(effective, spec.ways),
            None => (0..spec.ways).collect(),
        };
        let range = spec.most_shots.unwrap_or(spec.shots) - spec.shots;
        let mut counts: Vec<(usize, usize, usize)> = (0..spec.ways)
            // Without a range nothing is drawn, so that plain settings do not depend on this feature.
            .map(|_| if range == 0 { 0 } else { draw.below(range as u64 + 1) as usize })
            .map(|extra| (spec.shots + extra, 0, 0))
            .collect();
        let mut share = |total: usize, imbalance: Option<f64>| match imbalance {
            Some(parameter) => shares::dirichlet(draw, total, present.len(), parameter),
            None => shares::even(draw, total, present.len()),
        };
        let queries = share(spec.query_count(), spec.query_imbalance);
        let pool = share(spec.pool_count(), spec.pool_imbalance);
        for ((&way, queries), pool) in present.iter().zip(queries).zip(pool) {
            counts[way].1 = pool;
            counts[way].2 = queries;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(sizes: &[usize]) -> Arc<ClassIndex> {
        let labels: Vec<Option<i64>> =
            (0i64..).zip(sizes).flat_map(|(class, &size)| vec![Some(class); size]).collect();
        Arc::new(ClassIndex::from_integers(&labels, |label| format!("class {label}")))
    }

    fn error_of(sizes: &[usize], spec: EpisodeSpec) -> String {
        EpisodeSampler::from_classes(classes(sizes), spec, 0).unwrap_err().to_string()
    }

    #[test]
    fn impossible_settings_say_what_is_missing() {
        let spec = EpisodeSpec { ways: 3, shots: 2, queries: 3, unlabeled: 4, ..EpisodeSpec::default() };
        assert_eq!(
            error_of(&[9, 8, 9], spec.clone()),
            "class `class 1` has 8 rows, but a task needs 9 (2 shots + 4 unlabeled + 3 queries)"
        );
        assert_eq!(error_of(&[9, 9], spec.clone()), "the table has 2 classes, but a task needs 3 (3 ways)");
        assert!(error_of(&[9, 9], EpisodeSpec { shots: 0, ..spec.clone() }).starts_with("shots is 0"));
        assert!(error_of(&[9, 9], EpisodeSpec { ways: 1, ..spec.clone() }).starts_with("ways is 1"));
        assert!(
            error_of(&[9, 9, 9], EpisodeSpec { shots: usize::MAX, ..spec.clone() }).contains("a task needs")
        );
        for (wrong, expected) in [
            (EpisodeSpec { most_shots: Some(1), ..spec.clone() }, "most shots is 1"),
            (EpisodeSpec { effective_ways: Some(4), ..spec.clone() }, "effective ways is 4"),
            (EpisodeSpec { query_imbalance: Some(0.0), ..spec.clone() }, "query imbalance is 0"),
            (EpisodeSpec { pool_imbalance: Some(f64::NAN), ..spec.clone() }, "pool imbalance is NaN"),
            (EpisodeSpec { distractor_classes: 1, ..spec.clone() }, "distractor rows is 0 of 1 classes"),
            (
                EpisodeSpec { distractor_classes: 1, distractor_rows: 2, unlabeled: 0, ..spec.clone() },
                "unlabeled is 0",
            ),
            (EpisodeSpec { open_rows: 1, ..spec.clone() }, "open-set queries is 1 of 0 classes"),
            (
                EpisodeSpec {
                    distractor_classes: 1,
                    distractor_rows: 2,
                    open_classes: 1,
                    open_rows: 1,
                    ..spec.clone()
                },
                "the table has 3 classes, but a task needs 5 (3 ways + 1 distractor + 1 open-set classes)",
            ),
            (
                EpisodeSpec { query_imbalance: Some(2.0), ..spec },
                "a task needs 15 (2 shots + 4 unlabeled + 9 queries)",
            ),
        ] {
            let error = error_of(&[9, 9, 9], wrong);
            assert!(error.contains(expected), "expected `{expected}` in `{error}`");
        }
    }

    #[test]
    fn task_uses_each_row_once_and_the_right_counts() {
        let classes = classes(&[10, 12, 9, 30]);
        let spec = EpisodeSpec { ways: 3, shots: 2, queries: 3, unlabeled: 4, ..EpisodeSpec::default() };
        let sampler = EpisodeSampler::from_classes(Arc::clone(&classes), spec, 5).unwrap();
        for index in 0..200 {
            let episode = sampler.episode(index);
            let mut seen: Vec<usize> = Vec::new();
            for (way, &class) in episode.classes.iter().enumerate() {
                for (rows, count) in [(&episode.support, 2), (&episode.unlabeled, 4), (&episode.query, 3)] {
                    assert_eq!(rows[way].len(), count);
                    assert!(rows[way].iter().all(|&row| classes.class_of_row(row) == Some(class)));
                    seen.extend(&rows[way]);
                }
            }
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 27);
        }
    }

    #[test]
    fn transductive_task_has_no_pool_of_its_own() {
        let sampler = EpisodeSampler::from_classes(classes(&[20; 5]), EpisodeSpec::default(), 5).unwrap();
        assert!(sampler.episode(0).unlabeled.is_empty());
    }

    /// A change of these numbers is a change of everybody's tasks: it must not happen by accident.
    #[test]
    fn first_task_is_pinned() {
        let spec = EpisodeSpec { ways: 3, shots: 1, queries: 2, ..EpisodeSpec::default() };
        let sampler = EpisodeSampler::from_classes(classes(&[100; 10]), spec, 1).unwrap();
        let episode = sampler.episode(0);
        assert_eq!(episode.classes, [5, 8, 7]);
        assert_eq!(episode.support, [[582], [883], [779]]);
        assert_eq!(episode.query, [[583, 566], [875, 884], [710, 776]]);
    }
}
